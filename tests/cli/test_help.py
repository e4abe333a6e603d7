"""The help: sections, examples that run, and nothing heavy loaded to show it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support.fork_server import command_folder

from dh_bridge.cli import MENU, commands

ROOT = Path(__file__).resolve().parents[2]
WIDE = {"terminal_width": 200, "max_content_width": 200}


def _tree(group: click.Group, parent: click.Context):
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        context = click.Context(command, info_name=name, parent=parent, **WIDE)
        yield context.command_path, command, command.get_help(context)
        if isinstance(command, click.Group):
            yield from _tree(command, context)


def _commands():
    root = click.Context(commands, info_name="dh-bridge", **WIDE)
    return [("dh-bridge", commands, commands.get_help(root)), *_tree(commands, root)]


def _examples(text: str) -> list[str]:
    after = text.partition("Examples:\n" if "Examples:\n" in text else "Example:\n")[2].split("\n\n")[0]
    return [line.strip() for line in after.splitlines()]


ALL = _commands()
SPARK = "dh-bridge spark"  # needs Java, and takes its time to start: tests/spark runs these examples in one session
KAFKA = "dh-bridge queue import"  # needs a broker: test_emit_kafka.py runs its example
SERVER = "dh-bridge serve"  # runs until it is ended: test_serve.py runs its example
CONSOLE = "dh-bridge console"  # as SERVER: test_console_command.py runs its example
ELSEWHERE = (SPARK, KAFKA, SERVER, CONSOLE)
EXAMPLES = [(path, line) for path, _, text in ALL for line in _examples(text) if not path.startswith(ELSEWHERE)]


def test_newcomer_sees_the_five_everyday_commands_first(run):
    shown = run("--help").stdout
    first = shown.partition("Translate and deliver:\n")[2].partition("\n\n")[0]
    everyday = [line.split()[0] for line in first.splitlines() if line[2] != " "]
    assert everyday == ["translate", "emit", "check", "explain", "demo"]
    assert shown.index("Translate and deliver:") < shown.index("Look:") < shown.index("Operate:")


def test_help_of_the_group_loads_click_alone():
    code = (
        "import sys\nfrom dh_bridge.cli import commands\n"
        "try:\n    commands(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name.split('.')[0] in "
        "('pydantic', 'yaml', 'msgspec', 'orjson', 'rich', 'sqlite3', 'requests', 'datahub', 'fastavro', 'pyspark')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_menu_equals_the_summary_of_each_command():
    shown = {name: line for section in MENU.values() for name, line in section.items()}
    stated = {path.split()[1]: command.help.splitlines()[0] for path, command, _ in ALL if path.count(" ") == 1}
    assert stated == shown


@pytest.mark.parametrize(("path", "text"), [(path, text) for path, _, text in ALL])
def test_every_help_text_has_an_example_of_the_command_itself(path, text):
    lines = _examples(text)
    assert lines
    assert all(path in line for line in lines)


@pytest.mark.parametrize(("path", "command"), [(path, one) for path, one, _ in ALL if not isinstance(one, click.Group)])
def test_commands_all_accept_a_settings_file(path, command):
    assert path == "dh-bridge config schema" or any("-c" in option.opts for option in command.params)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """Return a function that runs a line in a folder as a checkout is: with the examples, and after the demo."""
    folder = tmp_path_factory.mktemp("workshop")
    shutil.copytree(ROOT / "examples" / "events", folder / "examples" / "events")
    with command_folder(tmp_path_factory.mktemp("commands")) as command:

        def shell(line: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["bash", "-c", f"set -o pipefail; {line}"],
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
                env={"PATH": f"{command}:/usr/bin:/bin"},
            )

        assert shell("dh-bridge demo").returncode == 0
        yield shell


@pytest.mark.parametrize(("path", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_help_examples_run_as_printed(path, line, workshop):
    done = workshop(line)
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout
        or ">" in line
        or any(word in line for word in (" emit ", " prune ", " --html "))
        or path.endswith("check")
    )


def test_version_is_the_packages(run):
    assert run("--version").stdout.startswith("dh-bridge 0.")


def test_unknown_command_is_wrong_usage(run):
    result = run("transalte")
    assert result.exit_code == 2
    assert "No such command 'transalte' (did you mean translate?)" in result.stderr
    assert "No such command 'quack'" in run("quack").stderr


def test_pages_and_readme_are_in_step_with_the_code():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "generate_docs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_python_runs_it_as_a_module():
    done = subprocess.run([sys.executable, "-m", "dh_bridge", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("dh-bridge ")
