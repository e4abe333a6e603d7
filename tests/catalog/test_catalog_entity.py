from __future__ import annotations

import msgspec
import pytest
from support.catalog_sample import DAG_RUN, FLOW, LOAD, NOON, ORDERS, RAW, REPORT, RUN, job, shop

from dh_bridge.catalog.edges import column_edges, entity_type
from dh_bridge.catalog.entity import display_name, find_entity
from dh_bridge.catalog.summary import summarize
from dh_bridge.datahub.proposal import patch, upsert


@pytest.fixture
def shop_catalog(catalog):
    catalog.apply(shop())
    return catalog


def test_everything_that_is_known_of_a_job(shop_catalog):
    found = find_entity(shop_catalog, LOAD)
    assert (found.type, found.name, found.raw_names) == ("dataJob", "shop.load", [("prod", "shop.load")])
    assert list(found.aspects) == ["dataJobInfo", "dataJobInputOutput"]
    assert [(one.name, one.urn) for one in found.relationships] == [
        ("Consumes", RAW), ("IsPartOf", LOAD.partition("(")[2].rpartition(",")[0]), ("Produces", ORDERS),
    ]  # fmt: skip
    assert [(one.name, one.urn) for one in found.referrers] == [
        ("InstanceOf", RUN),
        ("InstanceOf", "urn:li:dataProcessInstance:load-2"),
    ]
    assert msgspec.json.encode(found)


def test_points_of_a_run_are_shown_with_it(shop_catalog):
    found = find_entity(shop_catalog, RUN)
    assert [point["timestampMillis"] for point in found.points["dataProcessInstanceRunEvent"]] == [
        NOON + 1000,
        NOON + 61_000,
    ]


def test_referenced_entity_is_found_with_its_referrers(shop_catalog):
    found = find_entity(shop_catalog, "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.totals,PROD)")
    assert (found.aspects, [one.urn for one in found.referrers]) == ({}, [REPORT])


def test_unknown_entity_is_none(shop_catalog):
    assert find_entity(shop_catalog, "urn:li:dataset:nothing") is None


@pytest.mark.parametrize(
    ("urn", "name"),
    [
        (FLOW, "shop"),
        (LOAD, "shop.load"),
        (RAW, "lake/raw"),
        (RUN, "load_1"),
        (DAG_RUN, "scheduled__1"),
        (f"urn:li:schemaField:({RAW},a.b)", "a.b"),
        ("urn:li:tag:pii", "pii"),
        ("urn:li:dataJob:(urn:li:dataFlow:(dbt,unknown,prod),unknown.model)", "unknown.model"),
        ("urn:li:dataJob:(urn:li:dataFlow:(dbt,twin,prod),twin)", "twin"),
        ("no urn", "no urn"),
        ("urn:li:dataJob:x", "urn:li:dataJob:x"),
        ("urn:li:dataJob:(urn:li:dataFlow:(a,b,c))", "urn:li:dataJob:(urn:li:dataFlow:(a,b,c))"),
        ("urn:li:dataJob:(urn:li:dataJob:x,y)", "urn:li:dataJob:(urn:li:dataJob:x,y)"),
    ],
)
def test_display_name_is_readable_for_each_entity_type(shop_catalog, urn, name):
    assert display_name(shop_catalog, urn) == name


def test_flow_job_with_another_id_has_its_display_name(catalog):
    twin = "urn:li:dataJob:(urn:li:dataFlow:(spark,app,prod),app)"
    flow = "urn:li:dataFlow:(spark,app,prod)"
    name = [{"op": "add", "path": "/name", "value": "My app"}]
    catalog.apply([patch("dataFlow", flow, "dataFlowInfo", name), job(twin, "My app")])
    assert display_name(catalog, twin) == "My app"


def test_container_names_come_from_their_properties(catalog):
    urn = "urn:li:container:5f"
    catalog.apply([upsert("container", urn, "containerProperties", {"customProperties": {}, "name": "shop"})])
    assert display_name(catalog, urn) == "shop"


def test_summary_counts_what_is_there(shop_catalog):
    counted = summarize(shop_catalog)
    assert counted.entities == {"dataFlow": 1, "dataJob": 2, "dataProcessInstance": 3, "dataset": 2}
    assert counted.aspects["dataJobInputOutput"] == 2
    assert counted.points == {"dataProcessInstanceRunEvent": 5}
    assert counted.relationships["Consumes"] == 3
    assert (counted.lineage, counted.columns) == (4, 3)


def test_empty_catalogue_counts_nothing(catalog):
    assert summarize(catalog).entities == {}
    assert summarize(catalog).lineage == 0


@pytest.mark.parametrize(
    ("urn", "kind"),
    [(RAW, "dataset"), ("urn:li:tag:x", "tag"), ("urn:li:tag", ""), ("a:b:c:d", ""), ("", ""), ("no urn", "")],
)
def test_type_of_what_may_be_no_urn(urn, kind):
    assert entity_type(urn) == kind


def test_column_pairs_are_unique_across_entries():
    entry = {"upstreams": ["a", "b"], "downstreams": ["c", "d"], "transformOperation": "SUM"}
    value = {"fineGrainedLineages": [entry, entry, {"downstreams": ["c"]}, {"upstreams": ["a"], "downstreams": ["c"]}]}
    assert sorted(column_edges(value)) == [
        ("c", "a", "NONE"),
        ("c", "a", "SUM"),
        ("c", "b", "SUM"),
        ("d", "a", "SUM"),
        ("d", "b", "SUM"),
    ]
    assert list(column_edges({})) == []
