"""When a batch of a stream ends: it is full, it is large, or it is old."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import count

import pytest
from support.generated_runs import group
from support.ledger_batches import compiled, read, settings
from support.sample_events import event

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger import Ledger
from dh_bridge.ledger.fold import StatefulAggregator
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.settings import Settings
from dh_bridge.settings.ledger import LedgerSettings
from dh_bridge.sinks.catalog import CatalogSink

EVENTS = [one for number in range(3) for one in group(2026, number)]
NOW = 1_796_000_000


@pytest.fixture
def batches():
    """Return a function that streams EVENTS into a ledger: the sizes of its batches, and the catalogue's dump."""

    def streamed(ticks=lambda: 0, **stated):
        chosen = compiled(settings(ledger=LedgerSettings(**stated)))
        with Catalog(":memory:") as file:
            ledger = Ledger(file, chosen, CatalogSink(file), clock=lambda: NOW, monotonic_clock=ticks)
            sizes = [translation.counts.events for translation, _ in ledger.stream(read(EVENTS))]
            return sizes, list(dump_catalog(file))

    return streamed


def test_batch_ends_if_full_large_or_old(batches, monkeypatch):
    whole, stated = batches()
    assert whole == [len(EVENTS)]
    assert len(EVENTS) > 3
    assert batches(batch=2) == ([2] * (len(EVENTS) // 2) + [1] * (len(EVENTS) % 2), stated)
    slow = count(0, 11)
    assert batches(ticks=lambda: next(slow)) == ([1] * len(EVENTS), stated)
    monkeypatch.setattr("dh_bridge.ledger.batches.MAX_BATCH_BYTES", 1)
    assert batches() == ([1] * len(EVENTS), stated)


@pytest.fixture
def broken(monkeypatch):
    """Let the first batch of a ledger be taken back, at its end."""
    save, stated = StatefulAggregator.save, [True]

    def taken_back(self, now, **more):
        if stated and stated.pop():
            raise ZeroDivisionError("taken back")
        save(self, now, **more)

    return lambda: monkeypatch.setattr(StatefulAggregator, "save", taken_back)


def test_rolled_back_batch_is_counted_and_sent_once(broken):
    chosen = compiled(Settings(filters={"datasets": ["!*"]}))
    batch = [DeadLetter("there", "of no use", b"x"), *read(EVENTS)]
    with Catalog(":memory:") as file:
        once = Ledger(file, chosen, CatalogSink(file)).process_and_deliver(batch)[0].counts
    broken()
    with Catalog(":memory:") as file:
        ledger = Ledger(file, chosen, CatalogSink(file))
        with pytest.raises(ZeroDivisionError):
            ledger.process_and_deliver(batch)
        again = ledger.process_and_deliver(batch)[0].counts
    assert (again.events, again.dead, again.filtered) == (once.events, once.dead, once.filtered)
    assert (once.dead, once.filtered.total() > 0) == (1, True)


def test_rolled_back_batch_writes_the_platform_again(broken):
    chosen = compiled(settings())
    batch = read([event(producer="https://example.com/own", job="own.job")])
    broken()
    with Catalog(":memory:") as file:
        ledger = Ledger(file, chosen, CatalogSink(file))
        with pytest.raises(ZeroDivisionError):
            ledger.process_and_deliver(batch)
        ledger.process_and_deliver(batch)
        assert file.aspect("urn:li:dataPlatform:openlineage", "dataPlatformInfo")["name"] == "openlineage"


def test_order_of_proposals_is_the_same_in_each_process(tmp_path):
    """Sets of texts have another order in each process, so the two that emit have seeds of their own."""
    events = tmp_path / "events.ndjson"
    events.write_text("".join(json.dumps(one) + "\n" for number in range(20) for one in group(2026, number)))
    orders = []
    for seed in "12":
        sent = tmp_path / f"{seed}.ndjson"
        command = [sys.executable, "-c", "from dh_bridge.cli import main; main()", "emit", str(events)]
        target = ["--to", f"file:{sent}", "--ledger", str(tmp_path / f"{seed}.db")]
        subprocess.run([*command, *target], env={**os.environ, "PYTHONHASHSEED": seed}, check=True)
        orders.append([json.loads(line)["entityUrn"] for line in sent.read_text().splitlines()])
    assert orders[0] == orders[1]
    assert len(set(orders[0])) > 20
