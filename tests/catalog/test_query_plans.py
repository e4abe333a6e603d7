"""First pages of large catalogues and ledgers: every statement uses an index, whatever the time that it takes."""

from __future__ import annotations

import re

import pytest
from support.catalog_sample import LOAD, ORDERS, RAW, RUN, field, shop

from dh_bridge.catalog.check_results import find_checks, find_results
from dh_bridge.catalog.entity import find_entity
from dh_bridge.catalog.graph import lineage_edges
from dh_bridge.catalog.lineage import lineage_tree, list_neighbours
from dh_bridge.catalog.listing import find_urns, list_urns, search_urns
from dh_bridge.catalog.paging import encode_key
from dh_bridge.catalog.run_selection import RunFilter
from dh_bridge.catalog.runs import list_runs
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert

CHECK = "urn:li:assertion:not-null"
LATER = encode_key((1 << 60, 5))
QUERIES = {
    "runs": lambda catalog: list_runs(catalog, limit=2),
    "runs on a later page": lambda catalog: list_runs(catalog, limit=2, page=LATER),
    "runs that failed": lambda catalog: list_runs(catalog, None, RunFilter(failed=True, since=1), limit=2),
    "runs of a job": lambda catalog: list_runs(catalog, LOAD, limit=2),
    "runs of a dataset that failed": lambda catalog: list_runs(catalog, RAW, RunFilter(failed=True), limit=2),
    "runs of jobs by name": lambda catalog: list_runs(catalog, None, RunFilter(job="shop.load"), limit=2),
    "runs of a producer": lambda catalog: list_runs(catalog, None, RunFilter(producer="spark"), limit=2),
    "datasets": lambda catalog: list_urns(catalog.connection, ["dataset"], limit=2),
    "names": lambda catalog: find_urns(catalog.connection, "orders", limit=2),
    "search": lambda catalog: search_urns(catalog.connection, "orders", limit=2),
    "entity": lambda catalog: find_entity(catalog, ORDERS, limit=2),
    "run": lambda catalog: find_entity(catalog, RUN, limit=2),
    "lineage": lambda catalog: lineage_tree(catalog, ORDERS, limit=2, columns=True),
    "lineage of a run": lambda catalog: lineage_tree(catalog, RUN, limit=2),
    "lineage of a column": lambda catalog: lineage_tree(catalog, field(ORDERS, "id"), limit=2),
    "neighbours": lambda catalog: list_neighbours(catalog, RAW, "down", limit=2),
    "edges": lambda catalog: lineage_edges(catalog, limit=2),
    "checks": lambda catalog: find_checks(catalog, limit=2),
    "results": lambda catalog: find_results(catalog, limit=2),
    "results that failed": lambda catalog: find_results(catalog, failed=True, limit=2),
    "results of a dataset": lambda catalog: find_results(catalog, ORDERS, limit=2),
    "results of a check": lambda catalog: find_results(catalog, CHECK, limit=2),
}
ALLOWED_SCANS = (
    r"SCAN json_each.*",  # the list of a parameter
    r"SCAN search_index VIRTUAL TABLE INDEX \d+:[A-Z0>=]+",  # the index of trigrams
    r"SCAN run_summary USING COVERING INDEX run_summary_time",  # in order, up to a LIMIT
    r"SCAN \(subquery-\d+\)",  # whose own steps are in the plan, too
    r"SCAN CONSTANT ROW",
)
ALLOWED_SORTS = (
    "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY",  # of rows with equal times
    "USE TEMP B-TREE FOR LAST TERM OF ORDER BY",
)


@pytest.fixture(scope="module")
def checked_shop():
    with Catalog(":memory:") as catalog:
        catalog.apply(shop())
        info = {
            "type": "DATASET",
            "datasetAssertion": {"dataset": ORDERS, "scope": "DATASET_ROWS", "operator": "NOT_NULL"},
        }
        result = {"timestampMillis": 5, "asserteeUrn": ORDERS, "status": "COMPLETE", "result": {"type": "FAILURE"}}
        catalog.apply(
            [upsert("assertion", CHECK, "assertionInfo", info), upsert("assertion", CHECK, "assertionRunEvent", result)]
        )
        yield catalog


def full_scans(connection, statement):
    """Return the steps of a statement that read or sort a whole table."""
    sorts_few_rows = "FROM checks" in statement  # the datasets of one check
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    return [
        step
        for step in plan
        if (step.startswith("SCAN") and not any(re.fullmatch(scan, step) for scan in ALLOWED_SCANS))
        or ("TEMP B-TREE" in step and step not in ALLOWED_SORTS and not sorts_few_rows)
    ]


@pytest.mark.parametrize("name", QUERIES)
def test_query_reads_no_whole_table(name, checked_shop):
    statements = []
    checked_shop.connection.set_trace_callback(statements.append)
    try:
        QUERIES[name](checked_shop)
    finally:
        checked_shop.connection.set_trace_callback(None)
    scans = {
        text: steps
        for text in statements
        if not text.startswith("--") and (steps := full_scans(checked_shop.connection, text))
    }
    assert statements  # those of FTS5 itself begin with --
    assert scans == {}


def test_search_that_is_not_limited_by_its_index_is_noticed(checked_shop):
    assert full_scans(checked_shop.connection, "SELECT * FROM entity WHERE instr(urn, 'a')") == ["SCAN entity"]
    assert full_scans(checked_shop.connection, "SELECT * FROM point ORDER BY value") != []
