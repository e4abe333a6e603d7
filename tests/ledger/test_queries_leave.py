"""Queries, where runs arrive one by one (``optional_metadata: [queries]``): what a run first stated is not what it ran."""

from __future__ import annotations

import pytest
from support.ledger_batches import LedgerCase, settings
from support.sample_events import dataset, event

FIRST = event(job_facets={"sql": {"query": "select 1", "dialect": "postgres"}})
LATER = event("COMPLETE", "2026-11-20T10:01:00Z", job_facets={"sql": {"query": "alter table x rename to y"}})
OTHER_RUN = {**FIRST, "run": {"runId": "018cc251-f400-734d-88b3-000000000002"}}


def queries(ledger_case):
    """Return the SQL of the queries that stand there, and of those that were removed."""
    found = [], []
    for urn in ledger_case.catalog.entities("query"):
        removed = ledger_case.catalog.aspect(urn, "status") == {"removed": True}
        found[removed].append(ledger_case.catalog.aspect(urn, "queryProperties")["statement"]["value"])
    return sorted(found[0]), sorted(found[1])


@pytest.mark.parametrize("forgetful", [True, False])
def test_query_is_removed_by_its_run_and_restored_by_another(forgetful):
    ledger_case = LedgerCase(settings(optional_metadata=("queries",)), forgetful=forgetful)
    ledger_case.process([FIRST], [LATER], [LATER])
    assert queries(ledger_case) == (["alter table x rename to y"], ["select 1"])
    ledger_case.process([OTHER_RUN])
    assert queries(ledger_case) == (["alter table x rename to y", "select 1"], [])


def test_query_of_another_run_is_kept():
    ledger_case = LedgerCase(settings(optional_metadata=("queries",)))
    ledger_case.process([OTHER_RUN], [FIRST], [LATER])
    assert queries(ledger_case) == (["alter table x rename to y", "select 1"], [])


def test_retracted_query_is_absent_in_any_batch_order():
    for batches in ([[FIRST, LATER]], [[LATER], [FIRST]]):
        ledger_case = LedgerCase(settings(optional_metadata=("queries",)))
        ledger_case.process(*batches)
        assert queries(ledger_case)[0] == ["alter table x rename to y"]


def test_query_subjects_are_removed_with_their_run():
    first = {**FIRST, "inputs": [dataset("d.s.t")]}
    wanted = LedgerCase(settings(optional_metadata=("queries",)))
    wanted.process([first, LATER, OTHER_RUN])
    for batches in ([[first], [OTHER_RUN], [LATER]], [[OTHER_RUN], [first], [LATER]]):
        ledger_case = LedgerCase(settings(optional_metadata=("queries",)))
        ledger_case.process(*batches)
        assert ledger_case.process([OTHER_RUN], [LATER]) == []
        retained = [line for line in ledger_case.dump() if b'"removed":true' not in line]
        assert retained == wanted.dump()
