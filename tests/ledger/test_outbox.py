"""The outbox: nothing leaves it before it arrived, order is kept for each URN, old values never come after new ones."""

from __future__ import annotations

import random
from itertools import count

import pytest
from support.generated_runs import group
from support.ledger_batches import read, settings

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.errors import SinkError
from dh_bridge.ledger import Ledger
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.options import Options
from dh_bridge.sinks.base import Delivery, Failure
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.sinks.memory import MemorySink

A, B = ("urn:li:dataset:(urn:li:dataPlatform:s3,lake/a,PROD)", "urn:li:dataset:(urn:li:dataPlatform:s3,lake/b,PROD)")


class Moody(MemorySink):
    """Takes what ``mood`` lets it: a function of a proposal that returns "", "later" or "never", or raises."""

    def __init__(self, mood):
        super().__init__()
        self.mood = mood

    def emit(self, proposals):
        stated = [(one, self.mood(one)) for one in proposals]
        self.proposals += [one for one, word in stated if not word]
        failed = [Failure(one, f"{word}, said the server", retryable=word == "later") for one, word in stated if word]
        return Delivery(len(stated) - len(failed), failed)


def well(_proposal):
    return ""


def down(_proposal):
    raise SinkError("does not answer", retryable=True)


def written(ledger, proposals):
    """Put proposals into a ledger's outbox."""
    with ledger._file.transaction():
        ledger.relay.outbox.add(proposals, 1_000)


@pytest.fixture
def file():
    with Catalog(":memory:") as found:
        yield found


def ledger(file, sink, clock=lambda: 1, **stated):
    chosen = settings().model_copy(update={"ledger": settings().ledger.model_copy(update=stated)})
    return Ledger(file, Options(chosen, is_stateful=True), sink, clock=clock, monotonic_clock=clock)


def status(urn, *, removed=False):
    return upsert("dataset", urn, "status", {"removed": removed})


def renamed(urn, name):
    return patch("dataset", urn, "datasetProperties", [{"op": "add", "path": "/name", "value": name}])


def names(proposals):
    return [one.value[0]["value"] for one in proposals]


def test_waiting_proposal_blocks_only_its_own_entity(file):
    sink = Moody(lambda one: "later" if one.entity_urn == A and not sink.proposals else "")
    tested_ledger = ledger(file, sink)
    written(tested_ledger, [renamed(A, "1"), *(status(f"{B}{i}") for i in range(1_200)), renamed(A, "2")])
    first = tested_ledger.relay.deliver()
    assert (first.delivered_count, first.failures) == (1_200, [])
    assert [one.reason for one in tested_ledger.relay.outbox.iter_queued()] == ["later, said the server"] * 2
    second = tested_ledger.relay.deliver()
    assert second.delivered_count == 2
    assert names(sink.proposals[-2:]) == ["1", "2"]
    assert tested_ledger.relay.outbox.count() == (0, 0)


def rows(number, time=1_790_000_000_000):
    value = {"timestampMillis": time, "messageId": "m", "rowCount": number}
    return upsert("dataset", A, "datasetProfile", value)


def given_up(tested_ledger):
    return [one.proposal.value["rowCount"] for one in tested_ledger.relay.outbox.iter_queued(is_dead=True)]


def test_dead_point_is_replaced_only_by_the_same_point(file):
    sink = Moody(lambda _: "never")
    tested_ledger = ledger(file, sink)
    written(tested_ledger, [rows(1), rows(2, time=1_790_000_000_001)])
    tested_ledger.relay.deliver()
    sink.mood = well
    written(tested_ledger, [rows(3)])
    assert tested_ledger.relay.deliver().delivered_count == 1
    assert given_up(tested_ledger) == [2], "retried, the first would bring back what is old"


def test_refused_point_with_a_waiting_successor_is_dropped(file):
    tested_ledger = ledger(file, Moody(lambda one: "" if one.value["rowCount"] == 3 else "never"))
    written(tested_ledger, [rows(1), rows(2, time=1_790_000_000_001), rows(3)])
    assert tested_ledger.relay.deliver().delivered_count == 1
    assert given_up(tested_ledger) == [2]


def test_sink_failure_keeps_the_batch_and_its_reason(file):
    sink = Moody(down)
    tested_ledger = ledger(file, sink)
    written(tested_ledger, [renamed(A, "1"), renamed(A, "2")])
    assert tested_ledger.relay.deliver() == Delivery(0, [])
    assert str(tested_ledger.relay.last_error) == "does not answer"
    assert [(one.tries, one.reason, one.is_dead) for one in tested_ledger.relay.outbox.iter_queued()] == [
        (1, "does not answer", False)
    ] * 2
    sink.mood = well
    assert tested_ledger.relay.deliver().delivered_count == 2
    assert tested_ledger.relay.last_error is None
    assert names(sink.proposals) == ["1", "2"]


def test_delivery_stops_after_1000_retryable_refusals(file):
    asked = []
    sink = Moody(lambda one: asked.append(one) or "later")
    tested_ledger = ledger(file, sink)
    written(tested_ledger, [status(f"{B}{i}") for i in range(2_500)])
    assert tested_ledger.relay.deliver() == Delivery(0, [])
    assert len(asked) == 1_000
    assert tested_ledger.relay.outbox.count() == (2_500, 0)


def test_newer_proposal_replaces_a_waiting_or_dead_one(file):
    sink = Moody(lambda _one: "never")
    tested_ledger = ledger(file, sink)
    written(tested_ledger, [status(A), renamed(B, "old")])
    assert len(tested_ledger.relay.deliver().failures) == 2
    assert tested_ledger.relay.outbox.count() == (0, 2)
    written(tested_ledger, [status(A, removed=True), renamed(B, "new"), status(A, removed=False)])
    assert [one.proposal for one in tested_ledger.relay.outbox.iter_queued()] == [
        renamed(B, "new"),
        status(A, removed=False),
    ]
    assert tested_ledger.relay.outbox.retry_dead() == 0


@pytest.mark.parametrize(
    ("older", "newer", "retained"),
    [
        (renamed(A, "1"), renamed(A, "2"), 0),
        (renamed(A, "1"), upsert("dataset", A, "datasetProperties", {"customProperties": {}}), 0),
        (upsert("dataset", A, "datasetProperties", {"customProperties": {}}), renamed(A, "2"), 0),
        (patch("dataset", A, "datasetProperties", [{"op": "remove", "path": "/description"}]), renamed(A, "2"), 1),
        (renamed(A, "1"), status(A), 1),
    ],
    ids=["the same path", "whole after a patch", "a patch after the whole", "another path", "another aspect"],
)
def test_refused_proposal_is_never_sent_after_a_newer_one(file, older, newer, retained):
    sink = Moody(lambda one: "never" if one == older else "later")
    tested_ledger = ledger(file, sink)
    if newer.change_type == "UPSERT" and newer.aspect_name == older.aspect_name:  # it would take the older one's place
        asked, still = sink.emit, [newer]
        sink.emit = lambda proposals: (written(tested_ledger, [still.pop()] if still else []), asked(proposals))[1]
        written(tested_ledger, [older])
    else:
        written(tested_ledger, [older, newer])
    assert tested_ledger.relay.deliver().failures == [Failure(older, "never, said the server")]
    sink.mood = well
    assert tested_ledger.relay.outbox.count()[1] == retained
    assert tested_ledger.relay.outbox.retry_dead() == retained
    tested_ledger.relay.deliver()
    assert sink.proposals == ([older, newer] if retained else [newer])


def test_every_point_in_time_counts(file):
    tested_ledger = ledger(file, Moody(well))
    points = [upsert("dataset", A, "operation", {"timestampMillis": i}) for i in range(3)]
    written(tested_ledger, points)
    assert [one.proposal for one in tested_ledger.relay.outbox.iter_queued()] == points


def test_pause_stops_all_delivery(file):
    sink = Moody(well)
    tested_ledger = ledger(file, sink)
    with file.transaction():
        tested_ledger.relay.outbox.set_paused(is_paused=True)
    written(tested_ledger, [status(A)])
    assert tested_ledger.relay.deliver() == Delivery(0, [])
    with file.transaction():
        tested_ledger.relay.outbox.set_paused(is_paused=False)
    assert tested_ledger.relay.deliver().delivered_count == 1


def test_full_outbox_processes_nothing_until_there_is_room(file):
    sink = Moody(down)
    tested_ledger = ledger(file, sink, outbox_limit=5)
    assert tested_ledger.process_and_deliver(read(group(1, 1)))[1] == Delivery(0, [])
    before = file.connection.execute("SELECT count(*) FROM run").fetchone()
    with pytest.raises(SinkError, match="the outbox is full: ") as found:
        tested_ledger.process_and_deliver(read(group(1, 2)))
    assert found.value.retryable
    assert file.connection.execute("SELECT count(*) FROM run").fetchone() == before
    sink.mood = well
    tested_ledger.relay.deliver()
    tested_ledger.process_and_deliver(read(group(1, 2)))
    assert tested_ledger.relay.outbox.count() == (0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_server_does_in_between_the_end_is_the_same(seed):
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    batches = [read(group(seed, i)) for i in range(8)]

    def mood(_proposal):
        if chance.random() < 0.02:
            raise SinkError("resets the connection", retryable=True)
        return "later" if chance.random() < 0.2 else ""

    ends = []
    for chosen in (well, mood):
        with Catalog(":memory:") as file, Catalog(":memory:") as server:
            sink = Moody(chosen)
            tested_ledger = ledger(file, sink, count(0, 60).__next__)
            for batch in batches:
                tested_ledger.process_and_deliver(batch)
            sink.mood = well
            tested_ledger.relay.deliver()
            assert tested_ledger.relay.outbox.count() == (0, 0)
            assert CatalogSink(server).emit(sink.proposals).failures == []
            ends.append(list(dump_catalog(server)))
    assert ends[0] == ends[1]
    assert len(ends[0]) > 20


def test_outbox_numbers_are_never_reused(file):
    box = Outbox(file.connection)
    with file.transaction():
        box.add([status(A)], 1)
        (first,) = box.iter_queued()
        box.delete(is_dead=False)
        box.add([status(B)], 2)
    (second,) = box.iter_queued()
    assert second.number > first.number
    assert box.oldest_time() == 2


def test_unavailable_target_is_retried_with_growing_backoff(file):
    """A sink that breaks off has tried for long: not every batch is to wait for that."""
    asked = []

    def noted(_proposal):
        asked.append(now[0])
        raise SinkError("does not answer", retryable=True)

    now = [0.0]
    sink = Moody(noted)
    tested_ledger = ledger(file, sink, lambda: now[0], batch=1)

    def events():
        for number in range(41):
            now[0] = float(5 * number)
            yield from read(group(1, number))[:1]
        sink.mood = well

    delivered = sum(delivery.delivered_count for _, delivery in tested_ledger.stream(events()))
    assert asked == [0.0, 5.0, 15.0, 35.0, 75.0, 135.0, 195.0]
    assert delivered == len(sink.proposals) > 40
    assert tested_ledger.relay.outbox.count() == (0, 0)


def test_single_batch_that_breaks_off_is_not_tried_twice(file):
    asked = []

    def noted(_proposal):
        asked.append(1)
        raise SinkError("does not answer", retryable=True)

    list(ledger(file, Moody(noted)).stream(read(group(1, 1))))
    assert asked == [1]
