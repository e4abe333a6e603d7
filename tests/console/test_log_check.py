"""The check of the event log: findings, unknown facets and platforms, and the events that have them."""

from __future__ import annotations

import json
import shutil

import msgspec
import pytest

from dh_bridge.console import ConsoleSource
from dh_bridge.console.log_check import log_check_of
from dh_bridge.console.parameters import RequestParameters
from dh_bridge.console.routes import ROUTES
from dh_bridge.ledger import open_ledger
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.openlineage.read import events_of
from dh_bridge.settings import Settings
from dh_bridge.sinks.memory import MemorySink

RUNS = 30
ACME = "acmedb://db.example.com:7000"


def event(number):
    return {
        "eventType": "COMPLETE", "eventTime": f"2026-11-01T10:{number:02}:00Z", "producer": "https://example.com/tool",
        "run": {"runId": f"01941b29-7e3a-7c5e-9f43-0d6f3a1c2b{number:02}", "facets": {"acme_cost": {"amount": number}}},
        "job": {"namespace": "prod", "name": f"load_1f{number:02}9c4e1a-0000-4000-8000-0123456789{number:02}", "facets": {}},
        "outputs": [{"namespace": ACME, "name": "shop.orders", "facets": {"schema": {"fields": []}, "acme_rank": {"rank": 1}}}],
    }  # fmt: skip


@pytest.fixture
def source(tmp_path):
    """A ledger with a log of 30 events."""
    path = tmp_path / "runs.db"
    settings = Settings(datahub_version="1.4")
    with open_ledger(path, MemorySink(), settings) as ledger:
        for _ in ledger.stream(events_of(json.dumps([event(number) for number in range(RUNS)]).encode(), "events")):
            pass
    return ConsoleSource(str(path), settings)


def ask(source, path, body=None, **query):
    parameters = RequestParameters(query, b"" if body is None else json.dumps(body).encode())
    return msgspec.to_builtins(ROUTES[path].answer(source, parameters))


def check(source, **request):
    assert ask(source, "start-log-check", request)["state"] in ("running", "done")
    log_check_of(source).wait()
    return ask(source, "log-check")


def test_check_of_the_log_runs_beside_requests_and_ends(source):
    assert ask(source, "log-check") | {"state": ""} == {
        "has_log": True, "state": "", "checked": 0, "total": 0, "since": None, "error": None, "findings": None,
    }  # fmt: skip
    done = check(source)
    assert (done["state"], done["checked"], done["total"]) == ("done", RUNS, RUNS)
    assert done["findings"]["events"] == RUNS


def test_check_of_the_log_reads_the_latest_events(source):
    assert check(source, events=7)["findings"]["events"] == 7


def test_unknown_facets_are_counted_and_lead_to_an_event(source):
    facets = check(source)["findings"]["unknown_facets"]
    assert [(part["name"], part["group"], part["events"]) for part in facets] == [
        ("acme_cost", "run", RUNS), ("acme_rank", "dataset", RUNS),
    ]  # fmt: skip
    text = ask(source, "logged-event", position=str(facets[0]["position"]))["text"]
    assert json.loads(text)["run"]["facets"] == event(RUNS - 1)["run"]["facets"]


def test_unknown_platforms_name_the_namespace(source):
    (platform,) = check(source)["findings"]["unknown_platforms"]
    assert (platform["group"], platform["events"]) == (ACME, RUNS)


def test_names_that_grow_lead_to_their_events(source):
    findings = check(source)["findings"]
    growing = [finding for finding in findings["findings"] if finding["is_growing"]]
    assert [finding["kind"] for finding in growing] == ["name-per-run"]
    events = ask(source, "logged-events", q=growing[0]["search"])["events"]
    assert events
    assert all(growing[0]["search"] in row["job"] for row in events)


def test_stopped_check_keeps_what_it_found(source):
    log_check_of(source).start(None)
    stopped = ask(source, "stop-log-check")
    assert stopped["state"] in ("stopped", "done")
    assert stopped["findings"]["events"] == stopped["checked"]


@pytest.mark.parametrize("request_body", [{"events": 0}, {"events": "all"}, {"number": 1}, []])
def test_wrong_request_starts_no_check(source, request_body):
    with pytest.raises(ValueError, match=r"body|events"):
        ask(source, "start-log-check", request_body)
    assert ask(source, "log-check")["state"] == "none"


def test_ledger_without_a_log_is_reported(tmp_path):
    path = tmp_path / "plain.db"
    with open_ledger(path, MemorySink(), Settings(datahub_version="1.4")) as ledger:
        for _ in ledger.stream(events_of(json.dumps(event(1)).encode(), "events")):
            pass
    shutil.rmtree(log_folder(path))
    source = ConsoleSource(str(path), Settings(datahub_version="1.4"))
    assert ask(source, "start-log-check") == ask(source, "log-check")
    assert ask(source, "log-check")["has_log"] is False
    (producer,) = ask(source, "overview")["events"]["producers"]
    assert (producer["producer"], producer["count"], sum(producer["by_day"])) == ("example.com/tool", 1, 1)


def test_search_reads_the_log_backwards_in_blocks(source, monkeypatch):
    monkeypatch.setattr("dh_bridge.console.logged_events._BLOCK_EVENTS", 4)
    found, before = [], None
    while True:
        answer = ask(
            source,
            "logged-events",
            q="load_1f1",
            limit="3",
            **({} if before is None else {"before": str(before)}),
        )
        found += [row["job"][5:9] for row in answer["events"]]
        before = answer["before"]
        if before is None:
            break
    assert found == [f"1f{number}" for number in range(19, 9, -1)]


def test_list_without_a_text_is_paged(source):
    first = ask(source, "logged-events", limit="20")
    rest = ask(source, "logged-events", limit="20", before=str(first["before"]))
    assert [len(first["events"]), len(rest["events"]), rest["before"]] == [20, 10, None]
    assert first["events"][-1]["position"] == rest["events"][0]["position"] + 1


@pytest.mark.parametrize("name", ['quote "', "snow ☃", "line\nfeed", "back\\slash"])
def test_search_finds_names_as_json_writes_them(tmp_path, name):
    path = tmp_path / "runs.db"
    settings = Settings(datahub_version="1.4")
    with open_ledger(path, MemorySink(), settings) as ledger:
        named = event(1) | {"job": {"namespace": "prod", "name": name}}
        for _ in ledger.stream(events_of(json.dumps(named).encode(), "events")):
            pass
    assert len(ask(ConsoleSource(str(path), settings), "logged-events", q=name)["events"]) == 1
