"""Pages of lists: together they are the whole list, and the tables behind them follow each write."""

from __future__ import annotations

import random

import pytest
from support.catalog_sample import DAG_RUN, LATER, LOAD, NOON, ORDERS, RAW, RUN, point, shop

from dh_bridge.catalog.check_results import find_checks, find_results
from dh_bridge.catalog.entity import find_entity, list_referrers, list_relations
from dh_bridge.catalog.graph import lineage_edges
from dh_bridge.catalog.lineage import lineage_tree, list_neighbours
from dh_bridge.catalog.listing import find_urns, list_urns, search_urns
from dh_bridge.catalog.run_index import FILL_RUN_TABLES
from dh_bridge.catalog.run_selection import RunFilter
from dh_bridge.catalog.runs import list_runs
from dh_bridge.catalog.store import Catalog, delete_entities
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SettingsError
from dh_bridge.storage.migrations import split_statements


def dataset(number):
    return f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.t{number},PROD)"


def check(number):
    info = {"type": "DATASET", "datasetAssertion": {"dataset": ORDERS, "scope": "DATASET_ROWS", "operator": "NOT_NULL"}}
    urn = f"urn:li:assertion:check-{number}"
    yield upsert("assertion", urn, "assertionInfo", info)
    for time in range(number % 3):
        result = {"type": "FAILURE" if time else "SUCCESS"}
        value = {"timestampMillis": NOON + time, "asserteeUrn": ORDERS, "status": "COMPLETE", "result": result}
        yield upsert("assertion", urn, "assertionRunEvent", value)


def run_of(number, job, *, status="SUCCESS", inputs=(RAW,)):
    urn = f"urn:li:dataProcessInstance:run-{number}"
    aspects = {
        "dataProcessInstanceRelationships": {"parentTemplate": job, "parentInstance": DAG_RUN, "upstreamInstances": []},
        "dataProcessInstanceInput": {"inputs": list(inputs)},
        "dataProcessInstanceOutput": {"outputs": [ORDERS]},
    }
    yield from (upsert("dataProcessInstance", urn, name, value) for name, value in aspects.items())
    yield point(urn, NOON + number // 3, "STARTED")
    yield point(urn, NOON + number, "COMPLETE", result={"type": status, "nativeResultType": "x"})


@pytest.fixture(scope="module")
def large_shop():
    with Catalog(":memory:") as catalog:
        catalog.apply(shop())
        for number in range(30):
            catalog.apply([*check(number), *run_of(number, LOAD, status="FAILURE" if number % 4 == 0 else "SUCCESS")])
            edge = {"upstreams": [{"dataset": RAW, "type": "TRANSFORMED"}]}
            catalog.apply([upsert("dataset", dataset(number), "upstreamLineage", edge)])
        yield catalog


LISTS = {
    "runs": list_runs,
    "failed runs": lambda catalog, **page: list_runs(catalog, None, RunFilter(failed=True), **page),
    "runs since": lambda catalog, **page: list_runs(catalog, None, RunFilter(since=NOON + 9), **page),
    "runs of a dataset": lambda catalog, **page: list_runs(catalog, RAW, **page),
    "failed runs of a dataset": lambda catalog, **page: list_runs(catalog, RAW, RunFilter(failed=True), **page),
    "runs of jobs by name": lambda catalog, **page: list_runs(catalog, None, RunFilter(job="shop.load"), **page),
    "runs of a dataset by job": lambda catalog, **page: list_runs(catalog, RAW, RunFilter(job="shop.load"), **page),
    "runs of a producer": lambda catalog, **page: list_runs(catalog, None, RunFilter(producer="airflow"), **page),
    "children of a run": lambda catalog, **page: list_runs(catalog, DAG_RUN, **page),
    "all entities": lambda catalog, **page: list_urns(catalog.connection, **page),
    "datasets and runs": lambda catalog, **page: list_urns(
        catalog.connection, ["dataset", "dataProcessInstance"], **page
    ),
    "names": lambda catalog, **page: find_urns(catalog.connection, "shop", **page),
    "search": lambda catalog, **page: search_urns(catalog.connection, "RUN", **page),
    "checks": find_checks,
    "results": find_results,
    "failed results": lambda catalog, **page: find_results(catalog, failed=True, **page),
    "results of a dataset": lambda catalog, **page: find_results(catalog, ORDERS, **page),
    "edges": lineage_edges,
    "neighbours": lambda catalog, **page: list_neighbours(catalog, RAW, "down", **page),
    "relations": lambda catalog, **page: list_relations(catalog, RUN, **page),
    "referrers": lambda catalog, **page: list_referrers(catalog, RAW, **page),
}


@pytest.mark.parametrize("limit", [1, 3, 7])
@pytest.mark.parametrize("name", LISTS)
def test_pages_together_are_the_whole_list(name, limit, large_shop):
    whole = LISTS[name](large_shop, limit=None)
    assert (whole.next_page, whole.remaining, whole.is_exact) == (None, 0, True)
    items, page = [], None
    while True:
        found = LISTS[name](large_shop, limit=limit, page=page)
        items += found.items
        assert len(found.items) + found.remaining == len(whole.items) - len(items) + len(found.items)
        page = found.next_page
        if page is None:
            break
        assert len(found.items) == limit
    assert len(items) == len(whole.items) > 1
    assert sorted(map(repr, items)) == sorted(map(repr, whole.items))
    if name not in {"checks", "edges", "neighbours", "relations", "referrers"}:  # sorted within each page
        assert items == whole.items


def test_runs_of_an_entity_are_the_latest_first(large_shop):
    times = [row.updated for row in list_runs(large_shop, RAW).items]
    assert times == sorted(times, reverse=True)
    assert len(times) == 31


def test_page_of_another_list_is_refused(large_shop):
    page = list_runs(large_shop, limit=1).next_page
    for token in (page, "", "@", "é", "ks8"):
        with pytest.raises(SettingsError, match="is not a page of this list"):
            find_checks(large_shop, page=token)


def test_examined_rows_are_limited_and_the_next_page_continues(large_shop, monkeypatch):
    monkeypatch.setattr("dh_bridge.catalog.paging.MAX_EXAMINED", 5)
    nothing = RunFilter(producer="no such producer")
    first = list_runs(large_shop, None, nothing, limit=2)
    assert (first.items, first.is_exact, first.next_page is not None) == ([], False, True)
    pages = 1
    while first.next_page is not None:
        first = list_runs(large_shop, None, nothing, limit=2, page=first.next_page)
        pages += 1
    assert pages == 7  # of 33 runs
    assert list_runs(large_shop, limit=2).remaining == 3


def test_entity_with_a_limit_counts_what_it_leaves_out(large_shop):
    whole, part = find_entity(large_shop, RAW), find_entity(large_shop, RAW, limit=3)
    assert whole.hidden == {}
    assert len(part.referrers) == 3
    assert part.hidden == {"referrers": len(whole.referrers) - 3}
    run = find_entity(large_shop, RUN, limit=1)
    assert [value["status"] for value in run.points["dataProcessInstanceRunEvent"]] == ["COMPLETE"]
    assert run.hidden["dataProcessInstanceRunEvent"] == 1


def test_lineage_of_a_hot_table_ends_with_a_count(large_shop):
    whole, part = (
        lineage_tree(large_shop, RAW, direction="down"),
        lineage_tree(large_shop, RAW, direction="down", limit=5),
    )
    assert len(part.downstream) == 5
    assert part.hidden_downstream == len(whole.downstream) - 5 > 20
    assert {node.mark for node in part.downstream} == {"", "limit"} or not any(node.mark for node in part.downstream)


def test_texts_are_found_in_any_part_and_with_any_sign(catalog):
    names = {1: "100% of*[a-z]?_x", 2: "Größe", 3: "plain"}
    for number, name in names.items():
        catalog.apply(
            [
                upsert(
                    "dataset", dataset(number), "datasetProperties", {"name": name, "customProperties": {}, "tags": []}
                )
            ]
        )
    for text, expected in {
        "0% OF*[": [1],
        "]?_": [1],
        "größ": [2],
        "_": [1],
        "ai": [3],
        "shop.t": [1, 2, 3],
        "*": [1],
        "ß": [2],
    }.items():
        assert search_urns(catalog.connection, text).items == [dataset(number) for number in expected], text
    catalog.apply(
        [upsert("dataset", dataset(3), "datasetProperties", {"name": "other", "customProperties": {}, "tags": []})]
    )
    assert search_urns(catalog.connection, "plain").items == []
    assert search_urns(catalog.connection, "other").items == [dataset(3)]
    delete_entities(catalog, [dataset(3)])
    assert search_urns(catalog.connection, "other").items == []


def test_runs_are_found_by_their_beginning_and_by_any_part_of_the_latest(catalog, monkeypatch):
    catalog.apply([proposal for number in range(20) for proposal in run_of(number, LOAD)])
    assert len(search_urns(catalog.connection, "run-1").items) == 11
    assert len(search_urns(catalog.connection, "N-1").items) == 11
    monkeypatch.setattr("dh_bridge.catalog.listing.MAX_EXAMINED", 3)
    assert [urn[-6:] for urn in search_urns(catalog.connection, "un-1", limit=9).items] == [
        "run-17",
        "run-18",
        "run-19",
    ]
    assert search_urns(catalog.connection, "run-2", limit=9).items == ["urn:li:dataProcessInstance:run-2"]


def run_tables(catalog):
    return [sorted(catalog.connection.execute(f"SELECT * FROM {table}")) for table in ("run_summary", "run_link")]  # noqa: S608 - constants


@pytest.mark.parametrize("seed", range(5))
def test_run_tables_follow_every_write(seed, catalog):
    numbers = random.Random(seed)  # noqa: S311 - a test
    for _ in range(60):
        number = numbers.randrange(8)
        proposals = list(
            run_of(
                number,
                numbers.choice([LOAD, f"{LOAD}x"]),
                status=numbers.choice(["SUCCESS", "FAILURE"]),
                inputs=numbers.sample([RAW, ORDERS, dataset(1)], 2),
            )
        )
        catalog.apply(numbers.sample(proposals, numbers.randrange(1, len(proposals) + 1)))
        if numbers.random() < 0.1:
            delete_entities(catalog, [f"urn:li:dataProcessInstance:run-{number}"])
    retained = run_tables(catalog)
    assert len(retained[0]) > 3
    catalog.connection.execute("DELETE FROM run_summary")
    assert run_tables(catalog) == [[], []]
    catalog.connection.execute("DROP TRIGGER run_summary_inserted")
    for statement in split_statements(FILL_RUN_TABLES):
        catalog.connection.execute(statement)
    assert run_tables(catalog) == retained


def test_later_run_is_first(large_shop):
    assert LATER in {row.urn for row in list_runs(large_shop, LOAD, limit=3).items}
