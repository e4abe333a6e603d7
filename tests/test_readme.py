"""What the README prints runs as printed, with a server on loopback; what all pages name is there."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path

import click
import pytest
import yaml
from support.gms import Gms
from support.shell import typed

from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.settings.loading import load

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EVENTS = ROOT / "examples" / "events" / "client.ndjson"
PAGES = [*ROOT.glob("*.md"), ROOT / "examples" / "README.md", *(ROOT / "docs").glob("*.md")]
WRITTEN_BY_OTHERS = {"CHANGELOG.md"}


@pytest.fixture
def shell(tmp_path):
    """Return a function that runs a line in a folder that holds nothing but ``my_events.ndjson``."""
    shutil.copy(EVENTS, tmp_path / "my_events.ndjson")
    return partial(typed, folder=tmp_path)


def blocks(title, language="console"):
    """Return the blocks of a language in the section of this title, without prompts."""
    (section,) = re.findall(rf"^##+ {re.escape(title)}\n(.+?)(?=^##+ )", README, re.DOTALL | re.MULTILINE)
    found = re.findall(rf"```{language}\n(.+?)```", section, re.DOTALL)
    return [re.sub(r"^\$ ", "", block, flags=re.MULTILINE) for block in found]


def test_the_first_lines_run_as_printed_in_an_empty_folder(shell):
    install, *first = blocks("Try it")[0].splitlines()
    assert install.startswith("pip install .")
    lines = [*first, *blocks("Try it")[1].splitlines()]
    done = {line: shell(line) for line in lines}
    codes = [(line.split()[1], result.returncode) for line, result in done.items()]
    assert codes == [("demo", 0), ("urn", 0), ("emit", 0), ("catalog", 0), ("lineage", 1), ("explain", 0)]
    (like,) = [result.stdout + result.stderr for line, result in done.items() if " lineage " in line]
    assert "urn:li:dataset:(urn:li:dataPlatform:kafka,shop.orders,PROD)" in like


def test_the_lines_for_a_server_run_as_printed(shell, tmp_path):
    (block,), (with_ledger,) = blocks("Into DataHub"), blocks("In any order, any number of times")
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        done = shell("set -e\n" + (block + with_ledger).replace("http://localhost:8080", gms.url))
        assert done.returncode == 0, done.stderr
        assert len(gms.dump()) > 100
    assert f"{gms.url}: DataHub 1.4.0, written for DataHub 1.4" in done.stdout
    assert done.stderr.count(f"nothing is written to rest:{gms.url} ") == 1
    assert done.stderr.count(f"writing to rest:{gms.url} ") == 2
    assert (tmp_path / "dh_bridge.db").is_file()


def test_python_runs_as_printed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("In Python", "python")
    exec(compile(code, "README.md", "exec"), {"event": json.loads(EVENTS.read_bytes().splitlines()[2])})  # noqa: S102 - our own page
    assert "urn:li:dataPlatform:openlineage dataPlatformInfo {'name': 'openlineage'" in capsys.readouterr().out
    (code,) = blocks("Runs and checks without events", "python")
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - as above
    with Catalog("shop.db") as catalog:
        assert len(list(catalog.entities("dataProcessInstance"))) == 1
        assert len(list(catalog.entities("assertion"))) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_that_a_page_prints_are_settings(page, tmp_path, monkeypatch):
    for name in ("DATAHUB_GMS_TOKEN", "KAFKA_PASSWORD", "REGISTRY_PASSWORD"):
        monkeypatch.setenv(name, "secret")
    for block in re.findall(r"```yaml\n(.+?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        others = {"source", "transport", "openlineage", "system"}  # of DataHub, of OpenLineage, of Flink, of a mapping
        if not others & {key.partition(".")[0] for key in yaml.safe_load(block)}:
            (tmp_path / "dh_bridge.yml").write_text(block, encoding="utf-8")
            load(tmp_path / "dh_bridge.yml")


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    for link in re.findall(r"\]\((?!http)([^)\s]+)\)", page.read_text(encoding="utf-8")):
        file, _, part = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        if part:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert part in map(anchor, headings), link


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in WRITTEN_BY_OTHERS], ids=lambda page: page.name
)
def test_commands_and_flags_that_a_page_names_exist(page):
    for line in re.findall(r"dh-bridge ([a-z][^`\n|;&#]*)", page.read_text(encoding="utf-8")):
        command: click.Command = commands
        words = line.split()
        while (
            isinstance(command, click.Group)
            and words
            and (inner := command.get_command(click.Context(command), words[0]))
        ):
            command, words = inner, words[1:]
        assert command is not commands, line
        known = {flag for option in command.params for flag in option.opts} | {"--help"}
        assert {word for word in words if re.fullmatch(r"--[a-z-]+|-c", word)} <= known, line
