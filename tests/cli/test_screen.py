"""The screen: tables that grep likes, trees that are never cut, a bar only where somebody watches."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner
from rich.tree import Tree

from dh_bridge import __version__
from dh_bridge.cli import commands, exit_code, terminal
from dh_bridge.doctor import WRONG, Diagnostic
from dh_bridge.errors import AspectError, EventError, MappingError, SettingsError, SinkError


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_table_is_aligned_and_nothing_is_cut(capsys):
    terminal.write_table(("a", "long head"), [("x" * 300, None), ("y", 5)])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["a" + " " * 301 + "long head", "x" * 300, "y" + " " * 301 + "5"]


def test_pairs_without_a_value_are_left_out(capsys):
    terminal.write_pairs({"a": 1, "bcd": None, "e": [], "f": ["x", "y"], "g": False})
    assert capsys.readouterr().out == "a    1\nf    x, y\ng    False\n"


def test_tree_is_plain_and_unwrapped_without_a_terminal(capsys):
    tree = Tree("[bold]root[/bold]")
    tree.add("x" * 500)
    terminal.write_tree(tree)
    assert capsys.readouterr().out == "root\n└── " + "x" * 500 + "\n"


def test_tree_on_a_narrow_terminal_is_coloured_and_unwrapped(monkeypatch):
    screen = _Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "20")
    tree = Tree("[bold]root[/bold]")
    tree.add("x" * 500)
    terminal.write_tree(tree)
    assert screen.getvalue() == "\x1b[1mroot\x1b[0m\n└── " + "x" * 500 + "\n"


def test_name_in_a_tree_is_no_emoji(capsys):
    terminal.write_tree(Tree("etl:key:load"))
    assert capsys.readouterr().out == "etl:key:load\n"


def test_control_characters_of_a_name_reach_no_terminal(capsys):
    terminal.write_table(("a",), [("x\ny\x1b[31m",)])
    terminal.write_pairs({"é": "x\u2028y"})
    assert capsys.readouterr().out == "a\nx\\ny\\x1b[31m\né  x\\u2028y\n"


@pytest.mark.parametrize("stated", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_are_off_if_the_environment_disables_them(stated, monkeypatch):
    for name, value in stated.items():
        monkeypatch.setenv(name, value)
    colours = CliRunner().invoke(commands, ["doctor"], color=True).stdout
    assert "\x1b" not in colours


def test_progress_shows_a_bar_on_a_terminal_only(monkeypatch, capsys):
    assert list(terminal.progress([1, 2], "events")) == [1, 2]
    assert capsys.readouterr().err == ""
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert list(terminal.progress([1, 2], "events")) == [1, 2]
    assert "events" in screen.getvalue()


@pytest.mark.parametrize(
    ("error", "code"),
    [(EventError("x"), 1), (SettingsError("x"), 2), (MappingError("x"), 2), (AspectError("x"), 2), (SinkError("x"), 3)],
)
def test_each_kind_of_error_has_its_exit_code(error, code):
    assert exit_code(error) == code


def test_doctor_is_a_table_for_people_and_json_for_programs(run):
    result = run("doctor")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[0].split() == ["ok", "versions", "dh-bridge", __version__]
    rows = [json.loads(line) for line in run("doctor", "--json").stdout.splitlines()]
    assert {row["area"] for row in rows} >= {"versions", "extras", "java", "settings"}


def test_doctor_with_a_problem_exits_with_1(run, monkeypatch):
    monkeypatch.setattr(
        "dh_bridge.cli.doctor.diagnose", lambda *_, **__: [Diagnostic("files", "mappings", WRONG, "0 files", "mend")]
    )
    assert run("doctor").exit_code == 1


def test_program_translates_a_pipe_as_a_process_of_its_own():
    event = {"eventTime": "2024-05-01T10:00:00Z", "run": {"runId": "r"}, "job": {"namespace": "n", "name": "j"}}
    code = "import sys; sys.argv = ['dh-bridge', 'identity', '-', '--json']; from dh_bridge.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(event), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    row = json.loads(done.stdout)
    assert (row["event"], row["dataJob"] is not None or row["dataFlow"] is not None) == ("stdin:1", True)


def test_file_name_that_is_no_utf_8_is_json_all_the_same():
    row = {"event": "a\udcff.json:1", "more": ["b\udcff", 1, {"c": None}]}
    assert json.loads(terminal.json_line(row)) == {"event": "a\\udcff.json:1", "more": ["b\\udcff", 1, {"c": None}]}
