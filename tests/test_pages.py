"""What the pages of docs/ print runs as printed, in their order, beside a server on loopback; others test airflow.md and spark.md."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from support.gms import Gms
from support.receivers import metrics, served
from support.shell import typed

from dh_bridge.catalog.store import Catalog

ROOT = Path(__file__).resolve().parents[1]
EVENTS = ROOT / "examples" / "events"
DELIVERY = "dh_bridge-2026_11_22-01_02_03-9f3a1c"
STOPS = 1  # "new>0" holds of a file that knows none of them


def page(name):
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def lines(name):
    """Return the lines of a page that call the command, without prompts."""
    blocks = re.findall(r"```console\n(.+?)```", page(name), re.DOTALL)
    return re.findall(r"^\$ (dh-bridge .+?)(?: +#.*)?$", "\n".join(blocks), re.MULTILINE)


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.4.0") as server:
        yield server


@pytest.fixture
def shell(tmp_path, gms):
    """Return a function that runs a line in a folder with what the pages name: events, and places to compare with."""
    folder = tmp_path / "here"
    (folder / "my_events").mkdir(parents=True)
    shutil.copy(EVENTS / "client.ndjson", folder / "my_events.ndjson")
    for name in ("spark", "dbt"):
        shutil.copy(EVENTS / f"{name}.ndjson", folder / "my_events")
    (folder / "events").symlink_to(folder / "my_events")
    (folder / "urns.txt").write_text("urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)\n", encoding="utf-8")
    (folder / "old.yml").write_text("identity: {mode: datahub-openlineage}\n", encoding="utf-8")
    (folder / "new.yml").write_text("", encoding="utf-8")
    return lambda line: typed(line.replace("http://localhost:8080", gms.url), folder, DATAHUB_GMS_URL=gms.url)


@pytest.mark.parametrize(
    ("name", "number"),
    [("delivery", 8), ("ledger", 3), ("identity", 1), ("datahub-gc", 1), ("sql", 1)],
    ids=str,
)
def test_the_commands_of_a_page_run_as_printed(name, number, shell):
    ran = [line for line in lines(name) if "kafka:" not in line]
    assert len(ran) == number
    emitted = shell(f"dh-bridge emit my_events.ndjson --to rest: --ledger ledger.db --run-id {DELIVERY}")
    assert emitted.returncode == 0, emitted.stderr
    for line in ran:
        done = shell(line)
        assert done.returncode == (STOPS if "urns.txt" in line else 0), f"{line}\n{done.stdout}{done.stderr}"


def test_the_transport_is_configured_as_printed(gms, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```yaml\n(.+?)```", page("transport"), re.DOTALL)
    (python,) = re.findall(r"`(OpenLineageClient\(config=.+?\))` \|", page("transport"))
    block = block.replace("http://localhost:8080", gms.url)
    for client in (OpenLineageClient(config=yaml.safe_load(block)), eval(python)):  # noqa: S307 - our own page
        client.emit(
            RunEvent(
                eventType=RunState.START,
                eventTime="2026-11-21T07:13:10Z",
                run=Run("01a1fcf3-ae1a-7325-9ff6-fa80f2885a38"),
                job=Job("shop_prod", "nightly"),
                producer="https://example.com",
            )
        )
        assert client.close()
    with Catalog("shop.db") as catalog:
        assert len(list(catalog.entities("dataProcessInstance"))) == 1
    assert {one.entity_type for one in gms.proposals} >= {"dataFlow", "dataProcessInstance"}


def test_metrics_have_the_names_that_the_page_tells(tmp_path):
    told = set(re.findall(r"`dh_bridge_(\w+)`", page("http")))
    with served(f"catalog:{tmp_path}/shop.db") as found:
        assert {name.partition("{")[0] for name in metrics(found)} | {"requests_total"} == told
