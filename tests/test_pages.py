"""Configurations and names that pages of docs/ print; tests/test_console_blocks.py runs their commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from support.gms import Gms
from support.receivers import metrics, served

from dh_bridge.catalog.store import Catalog

ROOT = Path(__file__).resolve().parents[1]


def page(name):
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.4.0") as server:
        yield server


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
