"""Facts that many runs say alike stand once in the ledger, and go with the last run that says them."""

from __future__ import annotations

import pytest
from support.ledger_batches import NOW, LedgerCase, settings
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


def facts(ledger_case):
    connection = ledger_case.catalog.connection
    values = connection.execute("SELECT substr(value, 6) FROM state_object").fetchall()  # after the checksum
    return [compression_of(connection).decompress(value) for (value,) in values]


def names(ledger_case, table):
    return any(table.encode() in value for value in facts(ledger_case))


def test_facts_shared_by_many_runs_are_stored_once():
    ledger_case = LedgerCase(forgetful=True)
    ledger_case.process([run(1)])
    before = len(facts(ledger_case))
    assert before > 2
    ledger_case.process(*([run(number)] for number in range(2, 9)))
    assert len(facts(ledger_case)) == before
    ledger_case.process([run(9, table="d.s.other")])
    assert len(facts(ledger_case)) > before


def test_facts_go_when_no_run_names_them_any_more():
    now = [NOW]
    ledger_case = LedgerCase(
        settings(ledger=settings().ledger.model_copy(update={"max_runs": 1})), clock=lambda: now[0]
    )
    ledger_case.process([run(1)])
    assert names(ledger_case, "d.s.t,")
    now[0] += 5 * DAY
    ledger_case.process([run(2, table="d.s.other")])
    assert not names(ledger_case, "d.s.t,")
    assert names(ledger_case, "d.s.other")
    ledger_case.ledger._aggregator.clear_cache()
    assert ledger_case.process([run(2, table="d.s.other", kind="FAIL")])


def test_facts_of_long_running_runs_are_kept():
    now = [NOW]
    ledger_case = LedgerCase(clock=lambda: now[0], forgetful=True)
    for day in range(0, 40, 4):
        now[0] = NOW + day * DAY
        ledger_case.process([run(1, kind="RUNNING"), run(100 + day)])
    assert ledger_case.catalog.connection.execute("SELECT count(*) FROM run WHERE state IS NULL").fetchone()[0] > 0
    assert ledger_case.process([run(1, kind="FAIL")])


def test_missing_fact_is_an_error():
    ledger_case = LedgerCase()
    ledger_case.process([run(1)])
    ledger_case.catalog.connection.execute("DELETE FROM state_object")
    ledger_case.ledger._aggregator.clear_cache()
    with pytest.raises(SinkError, match="fact"):
        ledger_case.process([run(1, kind="FAIL")])
