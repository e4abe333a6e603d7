"""What is built from the checkout can be installed into an empty environment and translates there."""

from __future__ import annotations

import email
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import dh_bridge
from dh_bridge.datahub.proposal import ndjson_line

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "constraints.txt"
EVENTS = ROOT / "examples" / "events" / "client.ndjson"
LIGHT = {"click", "msgspec", "orjson", "pydantic", "pyyaml", "requests", "rich", "zstandard"}
EXTRAS = {"datahub", "kafka", "spark", "server", "airflow", "openlineage", "great-expectations", "all", "dev"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the wheel, made from the source distribution, and that distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def in_checkout(folder: str, pattern: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern)}


def in_wheel(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_wheel_contains_mappings_schemas_and_demo_events(built):
    data = in_checkout("mappings", "*.yaml") | in_checkout("mappings", "*.json")
    data |= in_checkout("avro_schemas", "*.avsc") | in_checkout("avro_schemas", "*.json") | {"avro_schemas/SOURCE.md"}
    assert len(data) > 150
    events = in_checkout("examples/events", "*.ndjson")
    assert events
    assert {f"dh_bridge/_bundled/{name}" for name in data | events} <= in_wheel(built[0])


def test_wheel_contains_modules_types_page_and_licence_only(built):
    names = in_wheel(built[0])
    modules = {name.removeprefix("src/") for name in in_checkout("src/dh_bridge", "*.py")} | {"dh_bridge/py.typed"}
    assert modules <= names
    page = {name.removeprefix("src/") for name in in_checkout("src/dh_bridge/console/static", "*.*")}
    assert page < names
    rest = {name for name in names - modules - page if not name.startswith("dh_bridge/_bundled/")}
    info = f"dh_bridge-{dh_bridge.__version__}.dist-info"
    files = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "licenses/NOTICE")
    assert rest == {f"{info}/{name}" for name in files} | {
        "dh_bridge/event_log/events.zdict",
        "dh_bridge/ledger/states.zdict",
    }


def test_source_distribution_has_what_both_commands_need(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"Makefile", ".importlinter", "constraints.txt", "pyproject.toml", "README.md", "LICENSE", "NOTICE"}
    needed |= in_checkout("examples/events", "*.ndjson") | in_checkout("tests", "*.py") | in_checkout("tools", "*.py")
    assert needed <= names
    assert not {name for name in names if name.startswith((".venv", "out/", ".git/"))}


def test_plain_install_is_light(built):
    requirements = metadata(built[0]).get_all("Requires-Dist")
    plain = {re.split(r"[><=!~; ]", text)[0] for text in requirements if "extra ==" not in text}
    assert plain == LIGHT
    assert set(metadata(built[0]).get_all("Provides-Extra")) == EXTRAS


def test_extra_spark_asks_for_what_its_pyspark_asks_for(built):
    """PySpark refuses to work below its minimum of pandas and pyarrow, which pip does not know of."""

    def least(requirements, extra):
        found = (re.match(rf"(pandas|pyarrow)[<\d.,]*>=([\d.]+).*; extra == .{extra}.$", text) for text in requirements)
        return {one[1]: tuple(map(int, one[2].split("."))) for one in found if one}

    ours, theirs = (
        least(metadata(built[0]).get_all("Requires-Dist"), "spark"),
        least(importlib.metadata.requires("pyspark"), "sql"),
    )
    assert ours.keys() == theirs.keys() == {"pandas", "pyarrow"}
    assert [name for name, version in theirs.items() if (*ours[name], 0, 0)[: len(version)] < version] == []


def test_wheel_names_its_command_and_its_source_for_recipes(built):
    with zipfile.ZipFile(built[0]) as archive:
        name = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        stated = archive.read(name).decode()
    assert "[console_scripts]\ndh-bridge = dh_bridge.cli:main" in stated
    assert "[datahub.ingestion.source.plugins]\ndh-bridge = dh_bridge.ingestion:OpenLineageSource" in stated


def test_version_and_licence_are_consistent(built):
    stated = metadata(built[0])
    assert stated["Version"] == dh_bridge.__version__
    assert stated["License-Expression"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "[name of copyright owner]" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "DataHub" in (ROOT / "NOTICE").read_text(encoding="utf-8")


def test_lock_file_pins_every_requirement_without_urls():
    text = LOCK.read_text(encoding="utf-8")
    pinned = set(re.findall(r"^([a-z0-9._-]+)==\S+( ;.*)?$", text, re.MULTILINE))
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9._-]+==[\w.+!]+( ; .+)?", line) for line in lines)
    assert not re.search(r"https?://|file:|(^|\s)/|--", text)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wanted = set(re.findall(r'^    "(?!dh_bridge)([A-Za-z0-9._-]+)(?:>=[\d.]+)?",$', project, re.MULTILINE))
    assert {name.lower().replace("_", "-") for name in wanted} - {name for name, _ in pinned} == set()


def test_wheel_translates_as_the_zip_that_it_is(built):
    """So Spark's workers import it (``--py-files``)."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import dh_bridge; from dh_bridge import bundled, doctor;"
        "from dh_bridge.datahub.proposal import ndjson_line;"
        "dh_bridge.Bridge(dh_bridge.Settings(mappings='.'));"  # a user's own mappings beside those of the zip
        "print(dh_bridge.__file__, [found.status for found in doctor._bundled_files()]);"
        "found = dh_bridge.translate(sys.stdin.buffer.read()).proposals;"
        "print(*(ndjson_line(one).decode() for one in found), sep='', end='')"
    )
    event = EVENTS.read_bytes().splitlines()[2]
    done = subprocess.run([sys.executable, "-c", code, built[0]], input=event, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    first, _, rest = done.stdout.partition(b"\n")
    assert first.decode() == f"{built[0]}/dh_bridge/__init__.py ['ok', 'ok']"
    assert rest == b"".join(map(ndjson_line, dh_bridge.translate(event).proposals))


@pytest.mark.slow
def test_wheel_translates_in_an_empty_environment(built, tmp_path, real_home):
    home = {**os.environ, "HOME": real_home}
    home.pop("PYTHONPATH", None)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True, env=home)
    python = tmp_path / "env" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", str(LOCK)]
    done = subprocess.run([*install, str(built[0])], capture_output=True, text=True, check=False, env=home)
    assert done.returncode == 0, done.stdout + done.stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    event = EVENTS.read_bytes().splitlines()[2]
    translated = subprocess.run(
        [str(python.with_name("dh-bridge")), "translate", "-"],
        input=event,
        capture_output=True,
        check=False,
        cwd=elsewhere,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert translated.returncode == 0, translated.stderr.decode()
    lines = [json.loads(line) for line in translated.stdout.splitlines()]
    ours = [json.loads(line) for line in map(ndjson_line, dh_bridge.translate(event).proposals)]
    assert lines == ours
    assert {"dataFlow", "dataJob", "dataProcessInstance"} <= {line["entityType"] for line in lines}
    shown = subprocess.run(
        [str(python.with_name("dh-bridge")), "demo"], capture_output=True, text=True, check=False, cwd=elsewhere
    )
    assert shown.returncode == 0, shown.stderr
    assert "The lineage of one of the datasets" in shown.stdout
    listed = subprocess.run([*install[:3], "freeze"], capture_output=True, text=True, check=True, env=home)
    assert {"acryl-datahub", "confluent-kafka", "pyspark", "fastavro"}.isdisjoint(
        line.partition("==")[0] for line in listed.stdout.splitlines()
    )
