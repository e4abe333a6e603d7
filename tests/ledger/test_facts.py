"""Facts that many runs say alike stand once in the ledger, and go with the last run that says them."""

from __future__ import annotations

import pytest
from support.ledger_batches import NOW, Told, settings
from support.sample_events import dataset, event

from dh_bridge.errors import SinkError
from dh_bridge.ledger.compression import compression_of

DAY = 86_400
FIELDS = {"schema": {"fields": [{"name": "id", "type": "int"}]}}


def run(number, *, table="d.s.t", kind="COMPLETE"):
    return event(
        kind,
        "2026-11-20T10:00:00Z",
        run=f"018cc251-f400-734d-88b3-{number:012}",
        inputs=[dataset(table, facets=FIELDS)],
    )


def facts(told):
    connection = told.catalog.connection
    values = connection.execute("SELECT substr(value, 6) FROM state_object").fetchall()  # after the checksum
    return [compression_of(connection).decompress(value) for (value,) in values]


def names(told, table):
    return any(table.encode() in value for value in facts(told))


def test_facts_shared_by_many_runs_are_stored_once():
    told = Told(forgetful=True)
    told.tell([run(1)])
    before = len(facts(told))
    assert before > 2
    told.tell(*([run(number)] for number in range(2, 9)))
    assert len(facts(told)) == before
    told.tell([run(9, table="d.s.other")])
    assert len(facts(told)) > before


def test_facts_go_when_no_run_names_them_any_more():
    now = [NOW]
    told = Told(settings(ledger=settings().ledger.model_copy(update={"max_runs": 1})), clock=lambda: now[0])
    told.tell([run(1)])
    assert names(told, "d.s.t,")
    now[0] += 5 * DAY
    told.tell([run(2, table="d.s.other")])
    assert not names(told, "d.s.t,")
    assert names(told, "d.s.other")
    told.ledger._aggregator.clear_cache()
    assert told.tell([run(2, table="d.s.other", kind="FAIL")])


def test_facts_of_long_running_runs_are_kept():
    now = [NOW]
    told = Told(clock=lambda: now[0], forgetful=True)
    for day in range(0, 40, 4):
        now[0] = NOW + day * DAY
        told.tell([run(1, kind="RUNNING"), run(100 + day)])
    assert told.catalog.connection.execute("SELECT count(*) FROM run WHERE state IS NULL").fetchone()[0] > 0
    assert told.tell([run(1, kind="FAIL")])


def test_missing_fact_is_an_error():
    told = Told()
    told.tell([run(1)])
    told.catalog.connection.execute("DELETE FROM state_object")
    told.ledger._aggregator.clear_cache()
    with pytest.raises(SinkError, match="fact"):
        told.tell([run(1, kind="FAIL")])
