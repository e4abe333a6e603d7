"""What a batch costs does not grow with the ledger's file: what is many is counted once, not with each batch."""

from __future__ import annotations

import pytest
from support.ledger_batches import NOW, read, settings
from support.sample_events import event

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError
from dh_bridge.ledger import Ledger, Outbox
from dh_bridge.ledger.pruning import prune_runs
from dh_bridge.ledger.retention import _SELECT_SILENT
from dh_bridge.ledger.row_estimate import RowEstimate
from dh_bridge.options import Options
from dh_bridge.sinks.memory import MemorySink

_STEP = 100


@pytest.fixture
def file():
    with Catalog(":memory:") as found:
        yield found


def ledger(file, **stated):
    chosen = settings(ledger=settings().ledger.model_copy(update=stated))
    return Ledger(file, Options(chosen, is_stateful=True), MemorySink(), clock=lambda: NOW)


def start(number, kind="START"):
    return read([event(kind, "2026-11-20T10:00:00Z", run=f"018cc251-f400-734d-88b3-{number:012}")])


def letters(file, number):
    rows = ((f"urn:li:dataset:{one}", "status", b"{}", 1) for one in range(number))
    file.connection.executemany("INSERT INTO outbox (urn, aspect, proposal, since, dead) VALUES (?, ?, ?, ?, 1)", rows)


def runs(file, number):
    rows = ((f"urn:li:dataProcessInstance:{one:09}", b"x", one % 2 or None, NOW * 1000) for one in range(number))
    file.connection.executemany("INSERT INTO run (key, state, ended, touched) VALUES (?, ?, ?, ?)", rows)


def steps(file, tested_ledger, number):
    """Return how many hundreds of steps SQLite takes for a batch."""
    taken = [0]

    def step():
        taken[0] += 1

    file.connection.set_progress_handler(step, _STEP)
    tested_ledger.process_and_deliver(start(number))
    file.connection.set_progress_handler(None, 0)
    return taken[0]


@pytest.mark.parametrize("fill", [letters, runs])
def test_batch_costs_the_same_in_a_large_file(file, fill, monkeypatch):
    monkeypatch.setattr(
        "dh_bridge.ledger.compression.TRAINING_RUNS", 1 << 40
    )  # a dictionary is made once, whatever it costs
    tested_ledger = ledger(file)
    tested_ledger.process_and_deliver(start(1))
    small = steps(file, tested_ledger, 2)
    fill(file, 30_000)
    assert steps(file, tested_ledger, 3) < small + 10


@pytest.mark.parametrize("fill", [letters, runs])
def test_rows_over_the_limit_are_not_counted_repeatedly(file, fill):
    """Dead letters of long ago have numbers far below those of today, and so has what is kept beside runs that were let go."""
    fill(file, 20_000)
    file.connection.execute("DELETE FROM outbox WHERE id > 9000")
    file.connection.execute("UPDATE run SET state = NULL WHERE id > 9000")
    stated = {"outbox_limit": 10_000, "max_runs": 10_000}
    asked = []
    file.connection.set_trace_callback(asked.append)
    for number in range(3):
        ledger(file, **stated).process_and_deliver(start(number))
    assert sum("count(*)" in one and "new_entity" not in one for one in asked) == 1


def test_oldest_queued_proposal_is_found_among_dead_letters(file):
    letters(file, 20_000)
    taken = []
    file.connection.set_progress_handler(lambda: taken.append(1), _STEP)
    assert Outbox(file.connection).oldest_time() is None
    assert len(taken) < 10


def test_open_runs_are_selected_through_an_index(file):
    plan = [row[3] for row in file.connection.execute(f"EXPLAIN QUERY PLAN {_SELECT_SILENT}", (1, 1))]
    assert not any("SCAN" in step for step in plan)
    assert any("run_open" in step for step in plan)


def test_run_is_pruned_fast_despite_many_siblings(file):
    parent = {"run": {"runId": "118cc251-f400-734d-88b3-000000000001"}, "job": {"namespace": "ns", "name": "up"}}
    tested_ledger = ledger(file, max_runs=1)
    moment, run = "2026-11-20T10:00:00Z", "218cc251-f400-734d-88b3-000000000001"
    tested_ledger.process_and_deliver(read([event("COMPLETE", moment, run=run, run_facets={"parent": parent})]))
    query = "INSERT INTO contribution SELECT shared.id, ? FROM shared WHERE urn LIKE '%118cc251%'"
    file.connection.executemany(query, ((number + 1000,) for number in range(20_000)))
    assert steps(file, tested_ledger, 1) < 100
    assert file.connection.execute("SELECT count(*) FROM run WHERE state IS NULL").fetchone() == (1,)


def test_outbox_limit_applies_across_writers(file):
    for number in range(40):
        tested_ledger = ledger(file, outbox_limit=60)
        with file.transaction():
            tested_ledger.relay.outbox.set_paused(is_paused=True)
        try:
            tested_ledger.process_and_deliver(start(number))
        except SinkError:
            break
        if number == 3:
            with file.transaction():
                tested_ledger.relay.outbox.delete(is_dead=False)
    waits, _ = tested_ledger.relay.outbox.count()
    assert 60 <= waits < 80


def test_run_limit_applies_across_writers_and_pruning(file):
    chosen = settings().ledger.model_copy(update={"max_runs": 10})
    for number in range(60):
        ledger(file, max_runs=10).process_and_deliver(start(number, "COMPLETE" if number % 3 else "START"))
        if not number % 7:
            keys = [key for (key,) in file.connection.execute("SELECT key FROM run ORDER BY id DESC LIMIT 4")]
            with file.transaction():
                prune_runs(file, keys, chosen)
        (retained,) = file.connection.execute("SELECT count(*) FROM run WHERE state IS NOT NULL").fetchone()
        assert retained <= 10
        assert retained == 10 or number % 7 < 4 or number < 15


def test_hundredth_more_goes_than_must(file):
    tested_ledger = ledger(file, max_runs=200)
    tested_ledger.process_and_deliver([one for number in range(250) for one in start(number, "COMPLETE")])
    assert file.connection.execute("SELECT count(*) FROM run WHERE state IS NOT NULL").fetchone() == (198,)


def test_number_is_never_too_low(file):
    tally = RowEstimate(
        file.connection, "x", count_query="SELECT count(*) FROM run", last_id_query="SELECT max(id) FROM run"
    )
    assert tally.max_count() == 0
    runs(file, 5)
    assert (tally.max_count(), tally.count_rows()) == (5, 5)
    file.connection.execute("DELETE FROM run WHERE id > 2")
    assert (tally.max_count(), tally.count_rows()) == (5, 2)
    file.connection.execute("INSERT INTO run (key, touched) VALUES ('x', 1)")
    assert tally.max_count() == 3
    tally.reset()
    assert tally.max_count() == 3


def test_dead_letters_that_fill_the_outbox_name_the_remedy(file):
    tested_ledger = ledger(file, outbox_limit=1)
    with file.transaction():
        tested_ledger.relay.outbox.add([upsert("dataset", "urn:li:dataset:a", "status", {"removed": False})], 1)
    with pytest.raises(SinkError) as waits:
        tested_ledger.process_and_deliver(start(1))
    assert "queue drop" not in str(waits.value)
    file.connection.execute("UPDATE outbox SET dead = 1")
    with pytest.raises(SinkError, match="1 were given up") as dead:
        tested_ledger.process_and_deliver(start(1))
    assert "`dh-bridge queue drop --dead`" in str(dead.value)
    assert "`dh-bridge queue retry`" in str(dead.value)
    with file.transaction():
        tested_ledger.relay.outbox.delete(is_dead=True)
    tested_ledger.process_and_deliver(start(1))
