"""The event log of a ledger: each event takes effect once, whichever process appended it, and whatever was killed."""

from __future__ import annotations

import random
import shutil

import pytest
from support.generated_runs import group
from support.ledger_batches import NOW, compiled, read, settings

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SinkError
from dh_bridge.event_log import EventLog, LoggedEvent
from dh_bridge.ledger import Ledger
from dh_bridge.ledger.ledger_log import LedgerLog, has_all_events, log_folder
from dh_bridge.ledger.log_cursor import read_cursor
from dh_bridge.ledger.log_failures import MAX_TRIES
from dh_bridge.sinks.catalog import CatalogSink

EVENTS = [event for number in range(6) for event in group(11, number)]
OPTIONS = compiled(settings())


def open_event_log(path):
    return EventLog(log_folder(path), max_bytes=1 << 30)


def open_ledger(file, event_log, **options):
    return Ledger(file, OPTIONS, CatalogSink(file), clock=lambda: NOW, event_log=event_log, **options)


def accept(event_log, file, events):
    """Append events as a process does that folds nothing."""
    ledger_log = LedgerLog(event_log, file.connection, OPTIONS, lambda: NOW)
    event_log.append(ledger_log.to_records(read(events)))


@pytest.fixture(scope="module")
def expected():
    with Catalog(":memory:") as file:
        Ledger(file, OPTIONS, CatalogSink(file), clock=lambda: NOW).process_and_deliver(read(EVENTS))
        return list(dump_catalog(file))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def fold(ledger):
    return list(ledger.fold_log())


def test_accepted_events_are_folded_once(path, expected):
    with Catalog(path) as file, open_event_log(path) as event_log:
        accept(event_log, file, EVENTS)
        ledger = open_ledger(file, event_log)
        assert sum(translation.counts.events for translation, _ in fold(ledger)) == len(EVENTS)
        assert fold(ledger) == []
        assert list(dump_catalog(file)) == expected
        assert read_cursor(file.connection) == (event_log.log_id(), len(EVENTS))


def test_processed_events_are_in_the_log_and_not_folded_again(path, expected):
    with Catalog(path) as file, open_event_log(path) as event_log:
        ledger = open_ledger(file, event_log)
        ledger.process_and_deliver(read(EVENTS[:20]))
        ledger.process_and_deliver(read(EVENTS[20:]))
        assert fold(ledger) == []
        assert list(dump_catalog(file)) == expected
        assert has_all_events(file.connection, event_log)
        events = event_log.read_after(0, max_events=1_000, max_bytes=1 << 24).events
    assert [(position, event.event) for position, event in events] == list(
        enumerate((item.raw for item in read(EVENTS)), 1)
    )
    assert {event.run_key for _, event in events} == {item.run_id for item in read(EVENTS)}


@pytest.mark.parametrize("seed", range(3))
def test_any_mix_of_processes_gives_the_same(path, expected, seed):
    """Some events are accepted only, some are processed at once, by ledgers that take turns."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    events = [*EVENTS]
    chance.shuffle(events)
    with (
        Catalog(path) as first_file, Catalog(path) as second_file,
        open_event_log(path) as first_log, open_event_log(path) as second_log,
    ):  # fmt: skip
        ledgers = [open_ledger(first_file, first_log), open_ledger(second_file, second_log)]
        while events:
            batch, events = events[:9], events[9:]
            action = chance.randrange(3)
            if action == 2:
                accept(first_log, first_file, batch)
            else:
                ledgers[action].process_and_deliver(read(batch))
            if chance.random() < 0.3:
                fold(ledgers[chance.randrange(2)])
        for ledger in ledgers:
            fold(ledger)
        assert list(dump_catalog(first_file)) == expected
        assert read_cursor(first_file.connection).position == first_log.status(0).last


def test_events_that_others_accept_meanwhile_are_not_waited_for(path):
    """A receiver that accepts as fast as `emit` merges would otherwise keep `emit` busy for ever."""
    with Catalog(path) as file, open_event_log(path) as event_log, open_event_log(path) as log_of_another:
        ledger = open_ledger(file, event_log)
        accept(log_of_another, file, EVENTS[:3])
        process = ledger.process_source

        def process_beside_another(source):
            accept(log_of_another, file, EVENTS[3:6])
            return process(source)

        ledger.process_source = process_beside_another
        results = []
        for result in ledger.stream(read(EVENTS[6:8])):
            results.append(result)
            assert len(results) < 10
        assert log_of_another.status(ledger_position(file)).unfolded_events
    assert sum(translation.counts.events for translation, _ in results) >= 5


def ledger_position(file):
    return read_cursor(file.connection).position


def test_process_that_dies_between_log_and_ledger_loses_nothing(path, expected):
    """The log has the batch, the transaction of the ledger was not committed."""
    with Catalog(path) as file, open_event_log(path) as event_log:
        ledger = open_ledger(file, event_log)
        ledger.process_and_deliver(read(EVENTS[:20]))
        append = event_log.append

        def die(*arguments, **options):
            append(*arguments, **options)
            raise KeyboardInterrupt

        event_log.append = die
        with pytest.raises(KeyboardInterrupt):
            ledger.process_and_deliver(read(EVENTS[20:]))
    with Catalog(path) as file, open_event_log(path) as event_log:
        fold(open_ledger(file, event_log))
        assert list(dump_catalog(file)) == expected


def test_batch_that_is_not_approved_is_not_in_the_log(path):
    class Refusal:
        is_asking = True

        def __call__(self, *_):
            raise KeyboardInterrupt

    with Catalog(path) as file, open_event_log(path) as event_log:
        with pytest.raises(KeyboardInterrupt):
            open_ledger(file, event_log, approve_batch=Refusal()).process_and_deliver(read(EVENTS))
        assert event_log.status(0).last == 0


def test_stream_folds_what_is_pending_first(path, expected):
    with Catalog(path) as file, open_event_log(path) as event_log:
        accept(event_log, file, EVENTS[:15])
        results = list(open_ledger(file, event_log).stream(read(EVENTS[15:])))
        assert [translation.counts.events for translation, _ in results] == [15, len(EVENTS) - 15]
        assert list(dump_catalog(file)) == expected


def test_log_that_was_deleted_is_read_from_its_first_event(path, expected):
    with Catalog(path) as file, open_event_log(path) as event_log:
        ledger = open_ledger(file, event_log)
        ledger.process_and_deliver(read(EVENTS[:20]))
        shutil.rmtree(log_folder(path))
        accept(event_log, file, EVENTS[20:])
        fold(ledger)
        assert list(dump_catalog(file)) == expected


def test_log_that_is_older_than_its_ledger_gets_later_positions(path, tmp_path, expected):
    """A copy of the log was restored, and the ledger was not: new events must not look processed."""
    with Catalog(path) as file:
        with open_event_log(path) as event_log:
            ledger = open_ledger(file, event_log)
            ledger.process_and_deliver(read(EVENTS[:10]))
            shutil.copytree(log_folder(path), tmp_path / "copy")
            ledger.process_and_deliver(read(EVENTS[10:20]))
        shutil.rmtree(log_folder(path))
        shutil.copytree(tmp_path / "copy", log_folder(path))
        with open_event_log(path) as event_log:
            ledger = open_ledger(file, event_log)
            ledger.process_and_deliver(read(EVENTS[20:]))
            assert event_log.status(0).last == len(EVENTS)
            fold(ledger)
        assert list(dump_catalog(file)) == expected


@pytest.mark.parametrize("is_late", [False, True])
def test_ledger_knows_whether_its_log_has_all_events(path, is_late):
    with Catalog(path) as file, open_event_log(path) as event_log:
        if is_late:
            open_ledger(file, None).process_and_deliver(read(EVENTS[:1]))
        open_ledger(file, event_log).process_and_deliver(read(EVENTS[1:2]))
        assert has_all_events(file.connection, event_log) is not is_late
    shutil.rmtree(log_folder(path))
    with Catalog(path) as file, open_event_log(path) as event_log:
        open_ledger(file, event_log).process_and_deliver(read(EVENTS[2:3]))
        assert not has_all_events(file.connection, event_log)


class PoisonError(Exception):
    """What a bug of the translation raises."""


def poison(ledger, event_text, error):
    """Let the ledger fail for events with a text."""
    add = ledger._session.add

    def add_or_fail(event):
        if event_text in event.raw:
            raise error
        return add(event)

    ledger._session.add = add_or_fail


def test_event_that_raises_becomes_a_dead_event_and_the_others_are_folded(path, expected, caplog):
    bad = {**EVENTS[0], "run": {"runId": "01a1f6ae-0000-7000-8000-00000000dead"}}
    with Catalog(path) as file, open_event_log(path) as event_log:
        accept(event_log, file, [*EVENTS[:20], bad, *EVENTS[20:]])
        ledger = open_ledger(file, event_log)
        poison(ledger, b"00000000dead", PoisonError("cannot be divided"))
        fold(ledger)
        assert list(dump_catalog(file)) == expected
        (failure,) = LedgerLog(event_log, file.connection, OPTIONS, lambda: NOW).failures.iter_failures(is_dead=True)
        assert (failure.position, failure.tries, failure.location) == (21, MAX_TRIES, "e20")
        assert failure.reason == "a bug in dh-bridge, please report it: PoisonError: cannot be divided"
        assert read_cursor(file.connection).position == len(EVENTS) + 1
    assert "event 21 of the log cannot be processed" in caplog.text


def test_event_that_ends_the_process_is_given_up_after_three_tries(path, expected):
    bad = {**EVENTS[0], "run": {"runId": "01a1f6ae-0000-7000-8000-00000000dead"}}
    with Catalog(path) as file, open_event_log(path) as event_log:
        accept(event_log, file, [*EVENTS[:5], bad, *EVENTS[5:]])
    ends = 0
    while True:
        with Catalog(path) as file, open_event_log(path) as event_log:
            ledger = open_ledger(file, event_log)
            poison(ledger, b"00000000dead", KeyboardInterrupt())
            try:
                list(ledger.fold_log(careful_events=10))
            except KeyboardInterrupt:
                ends += 1
                continue
            assert list(dump_catalog(file)) == expected
            (failure,) = LedgerLog(event_log, file.connection, OPTIONS, lambda: NOW).failures.iter_failures(
                is_dead=True
            )
            assert (failure.position, failure.tries) == (6, MAX_TRIES)
            assert failure.reason == "the process ended while it processed the event"
            break
    assert ends == MAX_TRIES


def test_ledger_that_cannot_be_written_is_no_fault_of_an_event(path):
    with Catalog(path) as file, open_event_log(path) as event_log:
        accept(event_log, file, EVENTS[:2])
        ledger = open_ledger(file, event_log)
        poison(ledger, b"{", SinkError("the disk is full"))
        for _ in range(MAX_TRIES + 1):
            with pytest.raises(SinkError):
                list(ledger.fold_log(careful_events=2))
        failures = LedgerLog(event_log, file.connection, OPTIONS, lambda: NOW).failures
        assert [*failures.iter_failures(is_dead=True), *failures.iter_failures(is_dead=False)] == []


def test_event_of_the_log_that_is_invalid_is_a_dead_event(path):
    with Catalog(path) as file, open_event_log(path) as event_log:
        event_log.append([LoggedEvent(1, "e:1", "", b"[]")])
        ((translation, _),) = fold(open_ledger(file, event_log))
        assert [letter.location for letter in translation.dead] == ["e:1"]
        failures = LedgerLog(event_log, file.connection, OPTIONS, lambda: NOW).failures
        assert [failure.position for failure in failures.iter_failures(is_dead=True)] == [1]
        assert failures.delete_dead() == 1
        assert list(failures.iter_failures(is_dead=True)) == []


def test_secrets_are_not_in_the_log(path):
    secret = {**EVENTS[0], "job": {"namespace": "n", "name": "jdbc:postgresql://h/db?password=hunter2"}}
    with Catalog(path) as file, open_event_log(path) as event_log:
        open_ledger(file, event_log).process_and_deliver(read([secret]))
        ((_, event),) = event_log.read_after(0, max_events=9, max_bytes=1 << 20).events
        assert b"hunter2" not in event.event
