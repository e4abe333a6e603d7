"""What `writes` keep from being sent is put off, not lost: another list, or none, lets it come."""

from __future__ import annotations

import random

import pytest
from support.generated_runs import group
from support.ledger_batches import NOW, catalogue, compiled, read, settings
from support.sample_events import dataset, event

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.delivery import WriteFilterSink
from dh_bridge.errors import SinkError
from dh_bridge.ledger import Ledger
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.settings import Settings
from dh_bridge.sinks.abilities import SinkWrapper
from dh_bridge.sinks.catalog import CatalogSink

ALL = settings(datahub_version="1.7")
OTHER = "018cc251-f400-734d-88b3-000000000002"
LISTS = [
    {"aspects": ["status"]},
    {"entities": ["dataset"]},
    {"entities": ["dataJob", "dataProcessInstance"], "aspects": ["data*"]},
    {"aspects": ["dataJobInputOutput", "upstreamLineage", "dataJobInfo", "dataFlowInfo", "dataProcessInstance*"]},
]


def under(writes):
    return Settings(datahub_version="1.7", writes=writes)


def stream_events(file, events, chosen=ALL):
    """Stream events into the ledger of a catalogue; return what its batches came to."""
    ledger = Ledger(file, compiled(chosen), CatalogSink(file), clock=lambda: NOW)
    return [translation for translation, _ in ledger.stream(read(events))]


def groups(first, number=8):
    return [one for i in range(first, first + number) for one in group(2026, i)]


@pytest.fixture
def file():
    with Catalog(":memory:") as found:
        yield found


@pytest.mark.parametrize("writes", LISTS, ids=str)
@pytest.mark.parametrize("again", [True, False])
def test_without_the_list_the_end_is_as_if_there_had_been_none(file, writes, again, monkeypatch):
    monkeypatch.setattr("dh_bridge.ledger.ledger.RERENDERED_PER_BATCH", 7)
    events = groups(0)
    whole = catalogue(events, chosen=ALL)
    stream_events(file, events, under(writes))
    assert list(dump_catalog(file)) != whole
    stream_events(file, events if again else [])
    assert list(dump_catalog(file)) == whole
    assert all(not translation.proposals for translation in stream_events(file, events))


@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_lists_may_come_and_go(file, seed, monkeypatch):
    monkeypatch.setattr("dh_bridge.ledger.ledger.RERENDERED_PER_BATCH", 7)
    events = groups(seed)
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    chance.shuffle(events)
    step = len(events) // 6 + 1
    for start in range(0, len(events), step):
        stream_events(file, events[start : start + step], under(chance.choice([{}, *LISTS])))
    stream_events(file, [])
    assert list(dump_catalog(file)) == catalogue(events, chosen=ALL)


def test_removal_during_write_filtering_is_sent_later(file):
    first = [event("COMPLETE", outputs=[dataset("d.s.a"), dataset("d.s.b")])]
    second = [event("COMPLETE", "2026-11-21T10:00:00Z", run=OTHER, outputs=[dataset("d.s.a")])]
    chosen = Settings(datahub_version="1.7", edges="last_run")
    stream_events(file, first, chosen)
    before = list(dump_catalog(file))
    stream_events(file, second, Settings(datahub_version="1.7", edges="last_run", writes={"entities": ["tag"]}))
    assert list(dump_catalog(file)) == before
    stream_events(file, [], chosen)
    assert list(dump_catalog(file)) == catalogue(first, second, chosen=chosen)


def test_same_list_renders_nothing_again(file):
    events = groups(0)
    stream_events(file, events, under(LISTS[0]))
    assert stream_events(file, [], under(LISTS[0])) == []
    assert Outbox(file.connection).read_note("render again") is None


def test_list_that_withheld_nothing_is_not_noted(file):
    stream_events(file, groups(0), under({"aspects": ["*"]}))
    assert Outbox(file.connection).read_note("writes") is None


def test_write_filtered_proposals_are_counted_by_rule(file):
    (translation,) = stream_events(file, groups(0), under({"aspects": ["status"]}))
    with Catalog(":memory:") as other:
        (whole,) = stream_events(other, groups(0))
    left_out = translation.counts.filtered
    assert {rule.partition(":")[0] for rule in left_out} == {"writes.aspects"}
    assert left_out.total() == len(whole.proposals) - len(translation.proposals) > 0
    assert translation.counts.proposals == len(translation.proposals)


def test_rejected_batch_neither_counts_nor_releases_aspects(file):
    events = groups(0)
    stream_events(file, events, under(LISTS[0]))

    class Refusal:
        is_asking = True

        def __call__(self, *_):
            raise SinkError("no")

    ledger = Ledger(file, compiled(ALL), CatalogSink(file), clock=lambda: NOW, approve_batch=Refusal())
    with pytest.raises(SinkError, match="no"):
        list(ledger.stream([]))
    stream_events(file, [])
    assert list(dump_catalog(file)) == catalogue(events, chosen=ALL)


class Down(SinkWrapper):
    """Takes nothing while it is ``down``."""

    down = True

    def emit(self, proposals):
        if self.down:
            raise SinkError("does not answer", retryable=True)
        return super().emit(proposals)


@pytest.mark.parametrize("writes", LISTS, ids=str)
def test_write_filter_also_postpones_waiting_proposals(file, writes):
    events = groups(0)
    with Catalog(":memory:") as place:
        sink = Down(CatalogSink(place))

        def streamed(chosen, stated):
            guarded = WriteFilterSink(sink, chosen.writes)
            list(Ledger(file, compiled(chosen), guarded, clock=lambda: NOW).stream(read(stated)))
            return guarded.dropped_counts

        streamed(ALL, events)
        assert Outbox(file.connection).count()[0] > 0
        sink.down = False
        assert streamed(under(writes), []).total() > 0
        assert Outbox(file.connection).count() == (0, 0)
        assert list(dump_catalog(place)) != catalogue(events, chosen=ALL)
        streamed(ALL, [])
        assert list(dump_catalog(place)) == catalogue(events, chosen=ALL)


def test_released_aspects_are_sent_alone_despite_their_age(file):
    """What no new event states is not sent again, restored or retained longer: only runs do that."""
    events = groups(0)
    stream_events(file, events, under({"aspects": ["data*", "status"]}))
    touched = file.connection.execute("SELECT id, touched FROM run ORDER BY id").fetchall()
    later = NOW + 30 * 86_400
    ledger = Ledger(file, compiled(ALL), CatalogSink(file), clock=lambda: later)
    come = [one for translation, _ in ledger.stream(read([])) for one in translation.proposals]
    assert come
    assert not [one for one in come if one.aspect_name.startswith("data") or one.aspect_name == "status"]
    assert file.connection.execute("SELECT id, touched FROM run ORDER BY id").fetchall() == touched
    assert list(dump_catalog(file)) == catalogue(events, chosen=ALL)


def test_released_aspects_wait_for_an_available_target(file, monkeypatch):
    monkeypatch.setattr("dh_bridge.ledger.ledger.RERENDERED_PER_BATCH", 7)
    events = groups(0)
    with Catalog(":memory:") as place:
        sink = Down(CatalogSink(place))
        sink.down = False
        list(Ledger(file, compiled(under(LISTS[0])), sink, clock=lambda: NOW).stream(read(events)))
        sink.down = True
        ledger = Ledger(file, compiled(ALL), sink, clock=lambda: NOW)
        list(ledger.stream(read(groups(40, 1))))
        waiting = Outbox(file.connection).count()[0]
        list(ledger.stream([]))
        assert Outbox(file.connection).count()[0] == waiting > 0  # the rest is no burden of the outbox
        sink.down = False
        list(Ledger(file, compiled(ALL), sink, clock=lambda: NOW).stream([]))
        assert list(dump_catalog(place)) == catalogue(events, groups(40, 1), chosen=ALL)
