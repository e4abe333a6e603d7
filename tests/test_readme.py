"""The README: what it prints works as printed; and what all pages name exists."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest
import yaml
from openlineage.client import OpenLineageClient
from pydantic import BaseModel
from support.client_events import emit_start
from support.gms import Gms
from support.receivers import served

from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.settings import Settings
from dh_bridge.settings.loading import load

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
EVENTS = ROOT / "examples" / "events" / "client.ndjson"
PAGES = [*ROOT.glob("*.md"), ROOT / "examples" / "README.md", *(ROOT / "docs").glob("*.md")]
WRITTEN_BY_OTHERS = {"CHANGELOG.md"}
PICTURE_BYTES = 100_000


def blocks(page, title, language="console"):
    """Return the blocks of a language in the section of this title, without prompts."""
    (section,) = re.findall(rf"^##+ {re.escape(title)}\n(.+?)(?=^##+ |\Z)", page, re.DOTALL | re.MULTILINE)
    texts = re.findall(rf"```{language}\n(.+?)```", section, re.DOTALL)
    return [re.sub(r"^\$ ", "", text, flags=re.MULTILINE) for text in texts]


def test_readme_is_short():
    assert 6_000 <= len(README.encode()) <= 9_000
    assert "<!-- generated" not in README


def test_ci_calls_the_two_commands_of_the_readme():
    lines = blocks(README, "Try it in 60 seconds")[0].splitlines()
    assert lines == ["make demo", "make test"]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in ci if line in lines] == lines


def test_picture_shows_the_lineage_of_the_demo(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from lineage_picture import PICTURE, lineage_source, source_of  # noqa: PLC0415 - a script of tools/

    assert f"]({PICTURE.relative_to(ROOT).as_posix()})" in README
    assert PICTURE.stat().st_size < PICTURE_BYTES
    assert source_of(PICTURE.read_text(encoding="utf-8")) == lineage_source()


@pytest.mark.slow
def test_package_installs_as_printed(tmp_path, real_home):
    copy = tmp_path / "checkout"
    skipped = shutil.ignore_patterns(".venv*", ".git", "out", "dist", ".*_cache", ".hypothesis", "*.db", ".jars")
    shutil.copytree(ROOT, copy, ignore=skipped)
    environment = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment |= {
        "HOME": real_home,  # pip reads its settings there
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    lines = [re.sub(r"\s+#.*", "", line) for line in blocks(README, "Install")[0].splitlines()]
    assert [line.split()[1] for line in lines] == ["install", "wheel", "install"]
    for number, line in enumerate(lines):
        venv = tmp_path / f"venv{number}"
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        here = environment | {"PATH": f"{venv / 'bin'}{os.pathsep}{environment['PATH']}"}
        done = subprocess.run(["bash", "-c", line], cwd=copy, env=here, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if " install " in line:
            elsewhere = tmp_path / f"elsewhere{number}"
            elsewhere.mkdir()
            lines_without_checkout = "set -e\n" + blocks(README, "Try it in 60 seconds")[2]
            done = subprocess.run(
                ["bash", "-c", lines_without_checkout],
                cwd=elsewhere,
                env=here,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert {path.name for path in elsewhere.iterdir()} == {"out", "shop2.db", "shop2.db.log"}


def test_transport_of_airflow_is_configured_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (line,) = blocks(README, "Airflow")
    (assignment,) = shlex.split(line)[1:]
    name, _, value = assignment.partition("=")
    assert name == "AIRFLOW__OPENLINEAGE__TRANSPORT"
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        client = OpenLineageClient(config={"transport": json.loads(value.replace("http://localhost:8080", gms.url))})
        emit_start(client)
        assert client.close()
        assert {one.entity_type for one in gms.proposals} >= {"dataFlow", "dataProcessInstance"}


def test_dbt_transport_works_as_printed_without_a_server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DH_BRIDGE_REST__RETRIES", "0")
    (block,) = blocks(README, "dbt", "yaml")
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        url = gms.url
    send_to_nobody = OpenLineageClient(config=yaml.safe_load(block.replace("http://localhost:8080", url)))
    emit_start(send_to_nobody)
    assert (tmp_path / "dh_bridge.db").is_file()


def test_spark_is_configured_for_the_endpoint_that_serve_opens(tmp_path):
    (text,) = blocks(README, "Spark", "properties")
    properties = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert properties["spark.openlineage.transport.type"] == "http"
    assert urlsplit(properties["spark.openlineage.transport.url"]).port == 5000
    listener = re.search(
        r'LISTENER = "(.+?)"', (ROOT / "examples/capture/spark/capture.py").read_text(encoding="utf-8")
    )
    assert properties["spark.jars.packages"] == listener[1]
    with served(f"catalog:{tmp_path}/shop.db") as receiver:
        body = (ROOT / "examples" / "events" / "spark.ndjson").read_bytes()
        with urllib.request.urlopen(f"{receiver.url}/api/v1/lineage", body, timeout=30) as answer:  # noqa: S310 - loopback
            assert json.load(answer)["failed"] == []


def test_python_runs_as_printed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(PYTHON_PAGE, "Translate events", "python")
    exec(compile(code, "python.md", "exec"), {"event": json.loads(EVENTS.read_bytes().splitlines()[2])})  # noqa: S102 - our own page
    assert "urn:li:dataPlatform:openlineage dataPlatformInfo {'name': 'openlineage'" in capsys.readouterr().out
    (code,) = blocks(PYTHON_PAGE, "Runs and checks without events", "python")
    exec(compile(code, "python.md", "exec"), {})  # noqa: S102 - as above
    with Catalog("shop.db") as catalog:
        assert len(list(catalog.entities("dataProcessInstance"))) == 1
        assert len(list(catalog.entities("assertion"))) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_that_a_page_prints_are_settings(page, tmp_path, monkeypatch):
    for name in ("DATAHUB_GMS_TOKEN", "KAFKA_PASSWORD", "REGISTRY_PASSWORD"):
        monkeypatch.setenv(name, "secret")
    for block in re.findall(r"```yaml\n(.+?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        others = {
            "source",
            "transport",
            "openlineage",
            "system",
            "producer",
        }  # of DataHub, of OpenLineage, of Flink, of mappings
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_that_a_sentence_names_are_settings(page, tmp_path):
    areas = {key for key in Settings.model_fields if isinstance(getattr(Settings(), key), BaseModel)}
    text = page.read_text(encoding="utf-8")
    for key, value in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+): ([^`…|]+)`", text):
        if page.name in WRITTEN_BY_OTHERS or key.partition(".")[0] not in areas:
            continue
        *areas_of_key, name = key.split(".")
        lines = [f"{'  ' * depth}{area}:" for depth, area in enumerate(areas_of_key)]
        lines.append(f"{'  ' * len(areas_of_key)}{name}: {value}")
        (tmp_path / "dh_bridge.yml").write_text("\n".join(lines), encoding="utf-8")
        load(tmp_path / "dh_bridge.yml")
