"""The console below /console/ of the receiver: behind its token, on the ledger that the receiver writes."""

from __future__ import annotations

import json

import pytest
import requests
from support.gms import Gms
from support.receivers import served, settle

from dh_bridge.settings import Settings

SECONDS = 30
KEY = "s3cret"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
EVENT = {
    "eventType": "COMPLETE",
    "eventTime": "2026-11-01T10:00:00Z",
    "producer": "https://example.com/tool",
    "run": {"runId": "01941b29-7e3a-7c5e-9f43-0d6f3a1c2b11"},
    "job": {"namespace": "prod", "name": "load"},
    "outputs": [{"namespace": "postgres://db.example.com:5432", "name": "shop.public.orders"}],
}


@pytest.mark.slow
def test_console_shows_the_ledger_of_the_receiver_behind_its_token(tmp_path):
    ledger = tmp_path / "runs.db"
    with (
        Gms(tmp_path / "gms.db", version="1.4.0") as gms,
        served(f"rest:{gms.url}", ledger, receiver={"token": KEY}) as running,
    ):
        url = running.open_console(str(ledger), Settings(receiver={"token": KEY}))
        assert url == f"{running.url}/console/"
        headers = {"Authorization": f"Bearer {KEY}"}
        sent = requests.post(f"{running.url}/api/v1/lineage", json=EVENT, headers=headers, timeout=SECONDS)
        assert sent.status_code == 200
        settle(running)

        def get(path, **headers):
            return requests.get(f"{url}{path}", headers=headers, timeout=SECONDS)

        assert "dh_bridge console" in get("").text
        assert requests.get(f"{running.url}/console", timeout=SECONDS).url == url
        assert get("api/overview").status_code == 401
        overview = get("api/overview", Authorization=f"Bearer {KEY}").json()
        assert overview["is_ledger"] is True
        assert overview["entities"]["dataset"] == 1
        assert "This file is a ledger" in overview["notes"][0]
        lineage = get(f"api/lineage?urn={TABLE}", Authorization=f"Bearer {KEY}").json()
        assert [node["distance"] for node in lineage["nodes"]] == [0, -1]
        run = f"urn:li:dataProcessInstance:{EVENT['run']['runId']}"
        history = get(f"api/run?urn={run}", Authorization=f"Bearer {KEY}").json()["history"]
        assert [event["type"] for event in history] == ["COMPLETE"]
        assert json.dumps(history).count("dataProcessInstanceRunEvent") == 1


def test_console_without_a_key_has_a_token_of_its_own(tmp_path):
    file = tmp_path / "shop.db"
    with served(f"catalog:{file}") as running:
        assert requests.get(f"{running.url}/console/", timeout=SECONDS).status_code == 404
        url, _, token = running.open_console(str(file), Settings()).partition("#token=")
        headers = {"Authorization": f"Bearer {token}"}
        assert requests.get(f"{url}api/overview", headers=headers, timeout=SECONDS).json()["is_ledger"] is False
