"""Queries, where runs are told one by one (``optional_metadata: [queries]``): what a run first said is not what it ran."""

from __future__ import annotations

import pytest
from support.ledger_batches import Told, settings
from support.sample_events import dataset, event

FIRST = event(job_facets={"sql": {"query": "select 1", "dialect": "postgres"}})
LATER = event("COMPLETE", "2026-11-20T10:01:00Z", job_facets={"sql": {"query": "alter table x rename to y"}})
OTHER_RUN = {**FIRST, "run": {"runId": "018cc251-f400-734d-88b3-000000000002"}}


def queries(told):
    """Return the SQL of the queries that stand there, and of those that were removed."""
    found = [], []
    for urn in told.catalog.entities("query"):
        removed = told.catalog.aspect(urn, "status") == {"removed": True}
        found[removed].append(told.catalog.aspect(urn, "queryProperties")["statement"]["value"])
    return sorted(found[0]), sorted(found[1])


@pytest.mark.parametrize("forgetful", [True, False])
def test_query_is_removed_by_its_run_and_restored_by_another(forgetful):
    told = Told(settings(optional_metadata=("queries",)), forgetful=forgetful)
    told.tell([FIRST], [LATER], [LATER])
    assert queries(told) == (["alter table x rename to y"], ["select 1"])
    told.tell([OTHER_RUN])
    assert queries(told) == (["alter table x rename to y", "select 1"], [])


def test_query_of_another_run_is_kept():
    told = Told(settings(optional_metadata=("queries",)))
    told.tell([OTHER_RUN], [FIRST], [LATER])
    assert queries(told) == (["alter table x rename to y", "select 1"], [])


def test_retracted_query_is_absent_in_any_batch_order():
    for batches in ([[FIRST, LATER]], [[LATER], [FIRST]]):
        told = Told(settings(optional_metadata=("queries",)))
        told.tell(*batches)
        assert queries(told)[0] == ["alter table x rename to y"]


def test_query_subjects_are_removed_with_their_run():
    first = {**FIRST, "inputs": [dataset("d.s.t")]}
    wanted = Told(settings(optional_metadata=("queries",)))
    wanted.tell([first, LATER, OTHER_RUN])
    for batches in ([[first], [OTHER_RUN], [LATER]], [[OTHER_RUN], [first], [LATER]]):
        told = Told(settings(optional_metadata=("queries",)))
        told.tell(*batches)
        assert told.tell([OTHER_RUN], [LATER]) == []
        kept = [line for line in told.dump() if b'"removed":true' not in line]
        assert kept == wanted.dump()
