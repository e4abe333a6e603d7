"""Replays: under the same settings nothing changes; under other ones, the result is that of a ledger that always had them."""

from __future__ import annotations

import random

import pytest
from support.generated_runs import group, group_of_tries
from support.ledger_batches import NOW, compiled, read

from dh_bridge import Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SinkError
from dh_bridge.event_log import EventLog
from dh_bridge.ledger import Ledger, open_ledger
from dh_bridge.ledger.ledger_log import LedgerLog, log_folder
from dh_bridge.replay import CHANGED, NEW, VANISHED, apply_replay, compare_replay
from dh_bridge.sinks.catalog import CatalogSink

EVENTS = [event for number in range(4) for event in (*group(11, number), *group_of_tries(11, number))]
SAME = Settings(datahub_version="1.4")
OTHER = Settings(datahub_version="1.4", naming={"env": "TEST"})


def make_ledger(path, chosen=SAME, events=EVENTS, *, seed=0, batch=7):
    """Make a catalogue and its log of events in an order."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    events = [*events]
    if seed:
        chance.shuffle(events)
    with Catalog(path) as file, EventLog(log_folder(path), max_bytes=1 << 30) as event_log:
        ledger = Ledger(file, compiled(chosen), CatalogSink(file), clock=lambda: NOW, event_log=event_log)
        for start in range(0, len(events), batch):
            part = read(events[start : start + batch])
            if seed and chance.random() < 0.3:  # accepted by a process that is killed before it folds
                event_log.append(LedgerLog(event_log, file.connection, compiled(chosen), lambda: NOW).to_records(part))
            else:
                ledger.process_and_deliver(part)
        list(ledger.fold_log())


def dump(path):
    with Catalog(path, readonly=True) as file:
        return list(dump_catalog(file))


@pytest.mark.parametrize("seed", range(3))
def test_replay_under_the_same_settings_changes_nothing(tmp_path, seed):
    path = tmp_path / "ledger.db"
    make_ledger(path, seed=seed)
    result = compare_replay(path, SAME, old_settings=SAME)
    assert (result.differences, result.plan, result.is_complete, result.events) == ([], ([], [], []), True, len(EVENTS))


def deliver(path, chosen):
    with CatalogSink(Catalog(path)) as sink, open_ledger(None, sink, chosen) as ledger:
        return list(ledger.stream([]))


def test_replayed_states_are_those_of_the_events(tmp_path):
    """The states are replaced, and events that come later are merged with them."""
    path, fresh = tmp_path / "ledger.db", tmp_path / "fresh.db"
    make_ledger(path, events=EVENTS[:-9])
    before = dump(path)
    apply_replay(path, SAME)
    assert [translation.proposals for translation, _ in deliver(path, SAME) if translation.proposals] == []
    assert dump(path) == before
    make_ledger(path, events=EVENTS[-9:])
    make_ledger(fresh)
    assert dump(path) == dump(fresh)


def test_other_settings_show_what_moves_and_what_is_sent(tmp_path):
    path, fresh = tmp_path / "ledger.db", tmp_path / "fresh.db"
    make_ledger(path)
    make_ledger(fresh, OTHER)
    before = dump(path)
    result = compare_replay(path, OTHER, old_settings=SAME)
    assert dump(path) == before
    counts = result.counts()
    assert counts[NEW, "dataset"] == counts[VANISHED, "dataset"] > 0
    assert counts[CHANGED, "dataJob dataJobInputOutput"] > 0
    assert result.example(NEW, "dataset").endswith(",TEST)")
    assert {move.target.rpartition(",")[2] for move in result.plan.moves if move.entity_type == "dataset"} == {"TEST)"}

    apply_replay(path, OTHER)
    sent = [proposal for translation, _ in deliver(path, OTHER) for proposal in translation.proposals]
    changed = {(item.urn, item.aspect) for item in result.differences if item.kind == CHANGED}
    new = {item.urn for item in result.differences if item.kind == NEW}
    assert {item.entity_urn for item in sent} == new | {urn for urn, _ in changed}
    vanished = {item.urn.encode() for item in result.differences if item.kind == VANISHED}
    stays = [line for line in dump(path) if not any(urn in line for urn in vanished)]
    assert stays == [line for line in dump(fresh) if not any(urn in line for urn in vanished)]


def test_events_since_a_time_are_added_to_the_present_states(tmp_path):
    path = tmp_path / "ledger.db"
    make_ledger(path)
    result = compare_replay(path, SAME, since=int(NOW * 1000) + 1)
    assert (result.events, result.differences, result.is_complete) == (0, [], False)
    result = compare_replay(path, SAME, since=int(NOW * 1000))
    assert (result.events, result.differences, result.is_complete) == (len(EVENTS), [], False)


def test_log_that_lacks_events_is_added_to_the_present_states(tmp_path):
    path = tmp_path / "ledger.db"
    with Catalog(path) as file:
        Ledger(file, compiled(SAME), CatalogSink(file), clock=lambda: NOW).process_and_deliver(read(EVENTS[:9]))
    make_ledger(path, events=EVENTS[9:])
    result = compare_replay(path, SAME)
    assert (result.differences, result.is_complete) == ([], False)


def test_ledger_without_a_log_is_an_error_with_the_remedy(tmp_path):
    path = tmp_path / "ledger.db"
    Catalog(path).close()
    with pytest.raises(SinkError, match="the ledger has no event log") as caught:
        compare_replay(path, Settings())
    assert "emit" in caught.value.remedy
