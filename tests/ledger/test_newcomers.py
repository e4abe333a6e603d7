"""``max_new_entities_per_hour``: what is new goes by so many an hour, the rest waits in the outbox (issue 6.8)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.ledger_batches import compiled

from dh_bridge import Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError
from dh_bridge.ledger import Ledger
from dh_bridge.openlineage.read import events_of
from dh_bridge.sinks.abilities import Readable
from dh_bridge.sinks.base import Delivery, StoredAspect
from dh_bridge.sinks.memory import MemorySink

MINUTE = 60
RUN = "urn:li:dataProcessInstance:"


class Clock:
    now = 1_796_000_000.0

    def __call__(self):
        return self.now


class Inhabited(MemorySink, Readable):
    """A place that has some entities already, and that can be gone."""

    kind = replace(MemorySink.kind, is_readable=True)

    def __init__(self, *there):
        super().__init__()
        self.there = set(there)
        self.asked = []
        self.gone = False

    def read(self, aspects_by_urn):
        if self.gone:
            raise SinkError("does not answer", retryable=True)
        self.asked += aspects_by_urn
        return {
            urn: {name: StoredAspect({}) for name in names}
            for urn, names in aspects_by_urn.items()
            if urn in self.there
        }


def tables(*names, run=1):
    """Return the event of a run that writes tables."""
    run_id = f"01900000-0000-7000-8000-{run:012d}"
    outputs = ",".join(f'{{"namespace": "s3://lake", "name": "{name}"}}' for name in names)
    text = (
        f'{{"eventType": "COMPLETE", "eventTime": "2026-11-22T01:00:00Z", "run": {{"runId": "{run_id}"}},'
        f'"job": {{"namespace": "etl", "name": "job"}}, "inputs": [], "outputs": [{outputs}], "producer": "test"}}'
    )
    return list(events_of(text.encode(), "event"))


def urn(name):
    return f"urn:li:dataset:(urn:li:dataPlatform:s3,lake/{name},PROD)"


def datasets(sink):
    return [one for one in dict.fromkeys(one.entity_urn for one in sink.proposals) if "dataset" in one]


@pytest.fixture
def file():
    with Catalog(":memory:") as found:
        yield found


@pytest.fixture
def clock():
    return Clock()


def ledger(file, sink, clock, limit):
    chosen = Settings(max_new_entities_per_hour=limit, identity={"rules": [{"platform": "airflow"}]})
    return Ledger(file, compiled(chosen), sink, clock=clock)


def waiting(found):
    return {one.proposal.entity_urn for one in found.relay.outbox.list_queued()}


def test_so_many_new_entities_go_and_the_others_wait(file, clock):
    sink = MemorySink()
    found = ledger(file, sink, clock, 4)
    found.process_and_deliver(tables("a", "b", "c", "d"))
    gone = {one.entity_urn for one in sink.proposals}
    assert len([one for one in gone if not one.startswith(RUN)]) == 4
    assert any(one.startswith(RUN) for one in gone)  # each run is new, so they do not count
    held = waiting(found)
    assert held
    assert held.isdisjoint(gone)
    assert found.relay.new_entities.held_status() == (len(held), int(clock() * 1000) + 3_600_000)
    assert {one.reason for one in found.relay.outbox.list_queued()} == {
        "waits: more new entities than max_new_entities_per_hour"
    }


def test_held_entities_all_arrive_over_the_next_hours(file, clock):
    sink, whole = MemorySink(), MemorySink()
    found = ledger(file, sink, clock, 2)
    with Catalog(":memory:") as other:
        ledger(other, whole, clock, None).process_and_deliver(tables("a", "b", "c", "d"))
    found.process_and_deliver(tables("a", "b", "c", "d"))
    hours = 0
    while waiting(found):
        before = len({one.entity_urn for one in sink.proposals if not one.entity_urn.startswith(RUN)})
        clock.now += 59 * MINUTE
        found.relay.deliver()
        clock.now += MINUTE
        found.relay.deliver()
        hours += 1
        after = len({one.entity_urn for one in sink.proposals if not one.entity_urn.startswith(RUN)})
        assert after - before in {1, 2}
        assert hours < 9
    assert hours >= 2
    assert sorted(map(repr, sink.proposals)) == sorted(map(repr, whole.proposals))
    assert found.relay.new_entities.held_status()[0] == 0


def test_within_the_hour_nothing_more_goes(file, clock):
    sink = MemorySink()
    found = ledger(file, sink, clock, 2)
    found.process_and_deliver(tables("a", "b"))
    before = len(sink.proposals)
    clock.now += 59 * MINUTE
    found.relay.deliver()
    assert len(sink.proposals) == before


def test_existing_entities_are_not_counted_as_new(file, clock):
    sink = Inhabited(urn("a"), urn("b"))
    found = ledger(file, sink, clock, 0)
    found.process_and_deliver(tables("a", "b", "c"))
    assert sorted(datasets(sink)) == [urn("a"), urn("b")]
    assert urn("c") in waiting(found)
    asked = len(sink.asked)
    found.relay.deliver()
    assert len(sink.asked) == asked  # nobody looks twice


def test_admitted_entities_are_still_written_later(file, clock):
    sink = MemorySink()
    found = ledger(file, sink, clock, 10)
    found.process_and_deliver(tables("a"))
    assert waiting(found) == set()
    found.relay.new_entities.limit = 0
    found.process_and_deliver(tables("a", "b", run=2))
    assert waiting(found) == {urn("b")}


def test_unreachable_target_delays_delivery_without_loss(file, clock):
    sink = Inhabited()
    sink.gone = True
    found = ledger(file, sink, clock, 10)
    _, delivery = found.process_and_deliver(tables("a"))
    assert delivery == Delivery(0, [])
    assert str(found.relay.last_error) == "does not answer"
    sink.gone = False
    found.relay.deliver()
    assert datasets(sink) == [urn("a")]


def test_without_the_limit_what_was_held_goes(file, clock):
    sink = MemorySink()
    ledger(file, sink, clock, 0).process_and_deliver(tables("a", "b"))
    assert datasets(sink) == []
    free = ledger(file, sink, clock, None)
    free.relay.deliver()
    assert sorted(datasets(sink)) == [urn("a"), urn("b")]
    assert waiting(free) == set()


def test_dropped_proposals_use_up_no_new_entity_limit(file, clock):
    sink = MemorySink()
    found = ledger(file, sink, clock, 0)
    found.process_and_deliver(tables("a", "b"))
    found.relay.outbox.delete(is_dead=False)
    found.relay.new_entities.limit = 1
    with file.transaction():
        found.relay.new_entities.hold([urn("c")])
        found.relay.outbox.add([upsert("dataset", urn("c"), "status", {"removed": False})], 1)
    found.relay.deliver()
    assert datasets(sink) == [urn("c")]


def test_pause_stops_existence_checks_and_delivery(file, clock):
    sink = Inhabited()
    found = ledger(file, sink, clock, 10)
    found.relay.outbox.set_paused(is_paused=True)
    found.process_and_deliver(tables("a"))
    assert sink.asked == []
    assert sink.proposals == []
