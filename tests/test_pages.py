"""Configurations and names that pages of docs/ print; tests/test_console_blocks.py runs their commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from openlineage.client import OpenLineageClient
from support.client_events import emit_start
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


def test_transport_is_configured_as_printed(gms, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```yaml\n(.+?)```", page("transport"), re.DOTALL)
    (python,) = re.findall(r"`(OpenLineageClient\(config=.+?\))` \|", page("transport"))
    block = block.replace("http://localhost:8080", gms.url)
    for client in (OpenLineageClient(config=yaml.safe_load(block)), eval(python)):  # noqa: S307 - our own page
        emit_start(client)
        assert client.close()
    with Catalog("shop.db") as catalog:
        assert len(list(catalog.entities("dataProcessInstance"))) == 1
    assert {one.entity_type for one in gms.proposals} >= {"dataFlow", "dataProcessInstance"}


def test_metrics_have_the_names_on_the_page(tmp_path):
    output = set(re.findall(r"`dh_bridge_(\w+)`", page("http")))
    with served(f"catalog:{tmp_path}/shop.db") as found:
        assert {name.partition("{")[0] for name in metrics(found)} | {"requests_total"} == output
