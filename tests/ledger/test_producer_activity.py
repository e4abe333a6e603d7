"""Events by producer and day, which the ledger counts while it processes them."""

from __future__ import annotations

import json

import pytest

from dh_bridge.ledger import open_ledger
from dh_bridge.ledger.producer_activity import DAY_MILLIS, KEPT_DAYS, ProducerActivityWriter, read_producer_activity
from dh_bridge.openlineage.read import events_of
from dh_bridge.settings import Settings
from dh_bridge.sinks.memory import MemorySink
from dh_bridge.storage.database import Database

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.0.0"
TODAY = 20_000


class Producer:
    """A producer's URI as an event has it."""

    def __init__(self, uri):
        self.producer = uri


@pytest.fixture
def ledger_file():
    with Database(":memory:") as file:
        yield file


def write(file, uris, day):
    writer = ProducerActivityWriter(file.connection, lambda _uri: None)
    with file.transaction():
        for uri in uris:
            writer.add_event(Producer(uri))
        writer.save(day * DAY_MILLIS + 5)


def read(file, since):
    return [(row.day, row.producer, row.events) for row in read_producer_activity(file.connection, since)]


def test_ledger_counts_events_by_producer_and_day(tmp_path):
    events = [
        {
            "eventType": kind, "eventTime": "2026-11-01T10:00:00Z", "producer": producer,
            "run": {"runId": "01941b29-7e3a-7c5e-9f43-0d6f3a1c2b11"}, "job": {"namespace": "prod", "name": "load"},
        }
        for producer, kind in ((AIRFLOW, "START"), (AIRFLOW, "COMPLETE"), ("https://acme.example.com/etl/tree/2", "START"))
    ]  # fmt: skip
    path = tmp_path / "runs.db"
    with open_ledger(path, MemorySink(), Settings(datahub_version="1.4")) as ledger:
        for _ in ledger.stream(events_of(json.dumps(events).encode(), "events")):
            pass
    with Database(path, readonly=True) as file:
        rows = read_producer_activity(file.connection, 0)
    assert {(row.producer, row.events) for row in rows} == {("Apache Airflow", 2), ("acme.example.com/etl", 1)}
    assert len({row.day for row in rows}) == 1


def test_batches_of_a_day_are_added_up(ledger_file):
    write(ledger_file, ["https://a.example.com/x"] * 2, TODAY)
    write(ledger_file, ["https://a.example.com/x", None], TODAY)
    assert read(ledger_file, TODAY) == [(TODAY, "a.example.com/x", 3), (TODAY, "no producer", 1)]


def test_producer_that_is_silent_for_long_is_still_listed(ledger_file):
    write(ledger_file, ["https://a.example.com/"], TODAY - 90)
    write(ledger_file, ["https://a.example.com/"] * 2, TODAY - 80)
    write(ledger_file, ["https://b.example.com/"], TODAY)
    assert read(ledger_file, TODAY - 10) == [(TODAY - 80, "a.example.com", 2), (TODAY, "b.example.com", 1)]


def test_old_days_are_deleted(ledger_file):
    write(ledger_file, ["https://a.example.com/"], TODAY - KEPT_DAYS - 1)
    write(ledger_file, ["https://b.example.com/"], TODAY)
    assert [producer for _, producer, _ in read(ledger_file, 0)] == ["b.example.com"]


def test_invented_producers_of_a_day_share_a_row(ledger_file):
    write(ledger_file, [f"https://{number}.example.com/{'x' * 500}" for number in range(1_000)], TODAY)
    rows = read(ledger_file, TODAY)
    assert len(rows) == 201
    assert {producer: events for _, producer, events in rows}["other producers"] == 800
    assert max(len(producer) for _, producer, _ in rows) <= 100


def test_batch_that_fails_is_not_counted(ledger_file):
    writer = ProducerActivityWriter(ledger_file.connection, lambda _uri: None)
    writer.add_event(Producer("https://a.example.com/"))
    writer.discard()
    with ledger_file.transaction():
        writer.save(DAY_MILLIS)
    assert read(ledger_file, 0) == []
