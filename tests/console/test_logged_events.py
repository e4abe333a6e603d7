"""Events of the event log: the latest, one, and those of a run."""

from __future__ import annotations

import json
import shutil

import msgspec
import pytest

from dh_bridge.console import ConsoleSource
from dh_bridge.console.parameters import RequestParameters
from dh_bridge.console.routes import ROUTES
from dh_bridge.ledger import open_ledger
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.openlineage.read import events_of
from dh_bridge.settings import Settings
from dh_bridge.sinks.memory import MemorySink

RUN_ID = "01941b29-7e3a-7c5e-9f43-0d6f3a1c2b1"
EVENTS = [
    {
        "eventType": kind, "eventTime": f"2026-11-0{day}T10:00:00Z", "producer": "https://example.com/tool",
        "run": {"runId": f"{RUN_ID}{day}"}, "job": {"namespace": "prod", "name": f"load_{day}"},
    }
    for day in (1, 2)
    for kind in ("START", "COMPLETE")
]  # fmt: skip


def write_ledger(path, settings):
    with open_ledger(path, MemorySink(), settings) as ledger:
        events = events_of(json.dumps(EVENTS).encode(), "events")
        for _ in ledger.stream(events):
            pass


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "runs.db"
    settings = Settings(datahub_version="1.4")
    write_ledger(path, settings)
    return ConsoleSource(str(path), settings)


def ask(source, path, **query):
    return msgspec.to_builtins(ROUTES[path].answer(source, RequestParameters(query)))


def test_latest_events_come_newest_first(source):
    answer = ask(source, "logged-events", limit="3")
    assert answer["has_log"] is True
    assert [(event["type"], event["job"]) for event in answer["events"]] == [
        ("COMPLETE", "load_2"), ("START", "load_2"), ("COMPLETE", "load_1"),
    ]  # fmt: skip


def test_event_of_the_log_is_returned_as_it_was(source):
    position = ask(source, "logged-events")["events"][0]["position"]
    assert json.loads(ask(source, "logged-event", position=str(position))["text"]) == EVENTS[-1]
    with pytest.raises(ValueError, match="the log has no event 99"):
        ask(source, "logged-event", position="99")


def test_events_of_a_run_are_found_by_its_urn(source):
    text = ask(source, "run-events", urn=f"urn:li:dataProcessInstance:{RUN_ID}1")["text"]
    assert [json.loads(line) for line in text.splitlines()] == EVENTS[:2]
    assert ask(source, "run-events", urn="urn:li:dataProcessInstance:none")["text"] == ""


def test_ledger_without_a_log_has_no_events(tmp_path):
    path = tmp_path / "plain.db"
    settings = Settings(datahub_version="1.4")
    write_ledger(path, settings)
    shutil.rmtree(log_folder(path))
    source = ConsoleSource(str(path), settings)
    assert ask(source, "logged-events") == {
        "events": [],
        "has_log": False,
        "before": None,
        "searched_since": None,
    }
    assert ask(source, "run-events", urn=f"urn:li:dataProcessInstance:{RUN_ID}1")["text"] == ""
    assert ask(source, "overview")["log_bytes"] is None
    assert ask(source, "overview")["is_ledger"] is True
