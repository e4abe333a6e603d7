from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.catalog_sample import (
    LOAD,
    NOON,
    ORDERS,
    RAW,
    RUN,
    TOTALS,
    column,
    edge,
    esc,
    field,
    io,
    point,
    shop,
)

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.lineage import lineage_tree
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import Payload, Proposal, patch, upsert

TABLE = {"typeNames": ["Table"]}
FLOW = "urn:li:dataFlow:(airflow,shop,prod)"
TASK = f"urn:li:dataJob:({FLOW},pack)"
PART_OF = ("IsPartOf", "dataJobKey", FLOW)


def test_upsert_replaces_the_aspect(catalog):
    catalog.apply([upsert("dataset", ORDERS, "subTypes", {"typeNames": ["View", "Table"]})])
    catalog.apply([upsert("dataset", ORDERS, "subTypes", TABLE)])
    assert catalog.aspects(ORDERS) == {"subTypes": TABLE}
    assert catalog.aspect(ORDERS, "subTypes") == TABLE
    assert catalog.aspect(ORDERS, "status") is None
    assert catalog.aspects("urn:li:dataset:unknown") == {}


def test_patches_and_upserts_of_one_aspect_apply_in_batch_order(catalog):
    tag = [{"op": "add", "path": "/tags/urn:li:tag:b", "value": {"tag": "urn:li:tag:b"}}]
    batch = [
        patch("dataset", ORDERS, "globalTags", tag),
        upsert("dataset", ORDERS, "globalTags", {"tags": [{"tag": "urn:li:tag:a"}]}),
        patch("dataset", ORDERS, "globalTags", tag),
    ]
    assert catalog.apply(batch).delivered_count == 3
    assert catalog.aspects(ORDERS)["globalTags"] == {"tags": [{"tag": "urn:li:tag:a"}, {"tag": "urn:li:tag:b"}]}
    catalog.apply(
        [*batch[::-1], patch("dataset", ORDERS, "globalTags", [{"op": "remove", "path": "/tags/urn:li:tag:b"}])]
    )
    assert catalog.aspects(ORDERS)["globalTags"] == {"tags": [{"tag": "urn:li:tag:a"}]}


def test_upsert_that_a_patch_leaves_as_it_is_is_kept(catalog):
    gone = [{"op": "remove", "path": "/tags/urn:li:tag:b"}]
    value = {"tags": [{"tag": "urn:li:tag:a"}]}
    catalog.apply([upsert("dataset", ORDERS, "globalTags", value), patch("dataset", ORDERS, "globalTags", gone)])
    assert catalog.aspects(ORDERS) == {"globalTags": value}


def test_removing_from_an_aspect_that_is_absent_writes_none(catalog):
    gone = [{"op": "remove", "path": "/tags/urn:li:tag:b"}]
    assert catalog.apply([patch("dataset", ORDERS, "globalTags", gone)]).delivered_count == 1
    assert list(catalog.entities()) == []


BAD = {
    "malformed patch": patch("dataset", TOTALS, "globalTags", [{"op": "add"}]),
    "patch that is no list": patch("dataset", TOTALS, "globalTags", "tags"),
    "patch of a timeseries": patch("dataset", TOTALS, "operation", []),
    "patch without template": patch("dataset", TOTALS, "subTypes", []),
    "job without name": patch("dataJob", LOAD, "dataJobInfo", [{"op": "add", "path": "/description", "value": "x"}]),
    "upsert of a list": upsert("dataset", TOTALS, "subTypes", ["Table"]),
    "point without time": upsert("dataset", TOTALS, "operation", {"operationType": "INSERT"}),
    "point with two partitions": upsert(
        "dataset",
        TOTALS,
        "operation",
        {"timestampMillis": 1, "partitionSpec": {"partition": "a", "timePartition": {"startTimeMillis": 1}}},
    ),
    "point with an empty partition": upsert(
        "dataset", TOTALS, "operation", {"timestampMillis": 1, "partitionSpec": {}}
    ),
    "another entity's URN": upsert("dataJob", TOTALS, "status", {"removed": True}),
    "no change type": Proposal("dataset", TOTALS, "DELETE", "status", Payload({"removed": True})),
    "no JSON": upsert("dataset", TOTALS, "status", {"removed": object()}),
    "no text": upsert("dataset", TOTALS, "status", {"removed": "\ud800"}),
    "a URN that is no text": upsert("dataset", "urn:li:dataset:\ud800", "status", {"removed": True}),
    "no JSON in a patch": patch("dataset", TOTALS, "status", [{"op": "add", "path": "/removed", "value": object()}]),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_invalid_proposal_is_a_failure_and_the_others_are_stored(catalog, bad):
    good = [upsert("dataset", ORDERS, "subTypes", TABLE), *shop()]
    delivery = catalog.apply([good[0], bad, *good[1:]])
    assert delivery.delivered_count == len(good)
    [failure] = delivery.failures
    assert failure.proposal is bad
    assert failure.retryable is False
    assert failure.reason.startswith(f"{bad.entity_urn} {bad.aspect_name}: ")
    assert catalog.aspects(ORDERS)["subTypes"] == TABLE
    assert TOTALS not in set(catalog.entities())


def test_bad_patch_leaves_the_aspect_as_its_good_ones_made_it(catalog):
    good = io(LOAD, edge("input", RAW))
    half = io(LOAD, edge("input", TOTALS), {"op": "add", "path": "nowhere", "value": 1})
    after = io(LOAD, edge("output", ORDERS))
    delivery = catalog.apply([good, half, after])
    assert [failure.proposal for failure in delivery.failures] == [half]
    assert [name for name, _, _ in catalog.relationships(LOAD)] == ["Consumes", "IsPartOf", "Produces"]
    assert [urn for _, _, urn in catalog.relationships(LOAD)] == [RAW, FLOW, ORDERS]


def test_timeseries_points_are_sorted_and_equal_keys_overwrite(catalog):
    catalog.apply(
        [point(RUN, NOON + 5, "COMPLETE"), point(RUN, NOON, "STARTED"), point(RUN, NOON, "STARTED", attempt=2)]
    )
    catalog.apply([point(RUN, NOON + 5, "COMPLETE", durationMillis=5)])
    points = catalog.timeseries(RUN, "dataProcessInstanceRunEvent")
    assert [(item["timestampMillis"], item.get("attempt"), item.get("durationMillis")) for item in points] == [
        (NOON, 2, None),
        (NOON + 5, None, 5),
    ]
    assert catalog.timeseries_aspects(RUN) == ["dataProcessInstanceRunEvent"]
    assert catalog.timeseries(RUN, "operation") == []
    assert catalog.aspects(RUN) == {}


def test_entities_exclude_urns_that_are_only_referenced(catalog):
    catalog.apply([io(LOAD, edge("input", RAW)), point(RUN, NOON, "STARTED")])
    assert list(catalog.entities()) == [LOAD, RUN]
    assert list(catalog.entities("dataJob")) == [LOAD]
    assert list(catalog.entities("dataset")) == []


def test_relationships_are_replaced_with_their_aspect(catalog):
    catalog.apply(shop())
    before = list(catalog.relationships(LOAD))
    gone = {"op": "remove", "path": f"/inputDatasetEdges/{esc(RAW)}"}
    catalog.apply([io(LOAD, gone, edge("input", TOTALS))])
    assert [urn for name, _, urn in before if name == "Consumes"] == [RAW]
    assert [urn for name, _, urn in catalog.relationships(LOAD) if name == "Consumes"] == [TOTALS]
    assert list(catalog.referrers(RAW)) == [("Consumes", "dataProcessInstanceInput", RUN)]
    catalog.apply([upsert("dataJob", LOAD, "dataJobInputOutput", {"inputDatasets": [], "outputDatasets": []})])
    assert list(catalog.relationships(LOAD)) == [PART_OF]
    assert catalog.connection.execute(
        "SELECT count(*) FROM column_edge c JOIN entity e ON e.id = c.owner WHERE e.urn = ?", (LOAD,)
    ).fetchone() == (0,)


def test_annotated_relationships_are_stored_with_lineage_flag(catalog):
    owner = {"owner": "urn:li:corpuser:ann", "type": "CUSTOM", "typeUrn": "urn:li:ownershipType:x"}
    tag = {
        "op": "add",
        "path": "/editableSchemaFieldInfo/id/globalTags/tags/urn:li:tag:pii",
        "value": {"tag": "urn:li:tag:pii"},
    }
    upstream = {
        "upstreams": [{"dataset": RAW, "type": "TRANSFORMED", "auditStamp": {"time": 0, "actor": "urn:li:corpuser:x"}}],
        "fineGrainedLineages": [
            {
                "upstreamType": "DATASET",
                "upstreams": [TOTALS],
                "downstreamType": "FIELD",
                "downstreams": [field(ORDERS, "id")],
            }
        ],
    }
    catalog.apply(
        [
            upsert("dataset", ORDERS, "ownership", {"owners": [owner]}),
            upsert("dataset", ORDERS, "container", {"container": "urn:li:container:c"}),
            patch("dataset", ORDERS, "editableSchemaMetadata", [tag]),
            upsert("dataset", ORDERS, "upstreamLineage", upstream),
        ]
    )
    assert list(catalog.relationships(ORDERS)) == [
        ("DownstreamOf", "upstreamLineage", TOTALS),
        ("DownstreamOf", "upstreamLineage", RAW),
        ("EditableSchemaFieldTaggedWith", "editableSchemaMetadata", "urn:li:tag:pii"),
        ("IsPartOf", "container", "urn:li:container:c"),
        ("OwnedBy", "ownership", "urn:li:corpuser:ann"),
        ("ownershipType", "ownership", "urn:li:ownershipType:x"),
    ]
    rows = "SELECT e.urn FROM relationship r JOIN entity e ON e.id = r.target WHERE lineage = 1"
    assert catalog.connection.execute(rows).fetchall() == [(RAW,)]


def test_raw_names_are_the_namespace_and_name_of_the_entity(catalog):
    catalog.apply(shop())
    assert catalog.raw_names(RAW) == [("s3://lake", "raw")]
    assert catalog.raw_names(LOAD) == [("prod", "shop.load")]
    assert catalog.raw_names(TOTALS) == []


def test_proposals_applied_twice_are_stored_once(catalog):
    catalog.apply(shop())
    once, changes = list(dump_catalog(catalog)), catalog.connection.total_changes
    catalog.apply(shop())
    assert list(dump_catalog(catalog)) == once
    points = sum(1 for proposal in shop() if proposal.aspect_name == "dataProcessInstanceRunEvent")
    assert catalog.connection.total_changes == changes + points  # aspects that say the same are not written again


@given(st.lists(st.integers(1, 9), max_size=12))
@settings(max_examples=25, deadline=None)
def test_how_proposals_are_cut_into_batches_does_not_matter(cuts):
    proposals = [*shop(), *shop()[::-1]]
    with Catalog(":memory:") as whole, Catalog(":memory:") as parts:
        whole.apply(proposals)
        start = 0
        for cut in [*cuts, len(proposals)]:
            parts.apply(proposals[start : start + cut])
            start += cut
        assert list(dump_catalog(parts)) == list(dump_catalog(whole))
        rows = "SELECT s.urn, r.aspect, r.name, t.urn, r.lineage FROM relationship r JOIN entity s ON s.id = r.source JOIN entity t ON t.id = r.target ORDER BY 1, 2, 3, 4"
        assert parts.connection.execute(rows).fetchall() == whole.connection.execute(rows).fetchall()


def test_aspect_values_round_trip_unchanged(catalog):
    value = {
        "customProperties": {"a": "ü𝄞\n\u0000", "b": ""},
        "tags": [],
        "name": "x" * 100_000,
        "n": [1, 2.5, 2**62, -0.0, True],
    }
    catalog.apply([upsert("dataset", ORDERS, "datasetProperties", value)])
    assert msgspec.json.encode(catalog.aspects(ORDERS)["datasetProperties"]) == msgspec.json.encode(value)


def test_large_catalogue_is_asked_by_index(catalog):
    catalog.apply(shop())
    for query in (
        "SELECT value FROM aspect WHERE entity = 1 AND name = 'a'",
        "SELECT value FROM point WHERE entity = 1 AND aspect = 'a'",
        "SELECT source FROM relationship WHERE target = 1",
        "SELECT target FROM relationship WHERE source = 1 AND aspect = 'a'",
        "SELECT upstream FROM column_edge WHERE downstream = 1",
        "SELECT downstream FROM column_edge WHERE upstream = 1",
        "SELECT id FROM entity WHERE urn = 'a'",
    ):
        plan = " ".join(row[3] for row in catalog.connection.execute(f"EXPLAIN QUERY PLAN {query}"))
        assert "USING" in plan
        assert "INDEX" in plan
        assert "SCAN" not in plan


def test_columns_in_any_number_are_kept_apart_by_operation(catalog):
    up, down = field(RAW, "id"), field(ORDERS, "id")
    catalog.apply([io(LOAD, column(up, down, "a"), column(up, down, "b"))])
    assert catalog.connection.execute("SELECT operation FROM column_edge ORDER BY 1").fetchall() == [("a",), ("b",)]


def test_column_lineage_follows_a_patch_that_names_its_keys(catalog):
    operations = [column(field(RAW, "id"), field(ORDERS, "id")), column(field(RAW, "sum"), field(ORDERS, "total"))]
    catalog.apply([io(LOAD, operations[0])])
    keyed = {
        "arrayPrimaryKeys": {"inputDatasetEdges": ["destinationUrn"]},
        "patch": [edge("input", RAW), operations[1]],
    }
    assert catalog.apply([patch("dataJob", LOAD, "dataJobInputOutput", keyed)]).failures == []
    assert catalog.connection.execute("SELECT count(*) FROM column_edge").fetchone() == (2,)
    assert [urn for _, _, urn in catalog.relationships(LOAD)] == [RAW, FLOW]


def test_column_lineage_that_a_patch_does_not_name_stays(catalog):
    upserted = {
        "inputDatasets": [],
        "outputDatasets": [],
        "fineGrainedLineages": [
            {
                "upstreamType": "FIELD_SET",
                "upstreams": [field(RAW, "id")],
                "downstreamType": "FIELD",
                "downstreams": [field(ORDERS, "id")],
            }
        ],
    }
    other = LOAD.replace("load", "other")
    catalog.apply([upsert("dataJob", LOAD, "dataJobInputOutput", upserted), io(LOAD, edge("input", RAW))])
    catalog.apply([upsert("dataJob", other, "dataJobInputOutput", upserted)])
    catalog.apply([io(other, edge("input", RAW))])
    assert catalog.connection.execute("SELECT count(*) FROM column_edge").fetchone() == (2,)
    catalog.apply([io(LOAD, {"op": "remove", "path": "/fineGrainedLineages"}), io(other, edge("output", RAW))])
    assert catalog.connection.execute("SELECT count(*) FROM column_edge").fetchone() == (1,)


# -- what a key says ---------------------------------------------------------------------------------------------------


def test_job_is_part_of_its_flow_as_soon_as_it_has_an_aspect(catalog):
    for aspect, value in (("status", {"removed": False}), ("subTypes", TABLE), ("subTypes", {"typeNames": ["View"]})):
        catalog.apply([upsert("dataJob", TASK, aspect, value)])
        assert list(catalog.relationships(TASK)) == [PART_OF]
    assert "dataJobKey" not in catalog.aspects(TASK)
    catalog.apply([upsert("dataJob", TASK, "dataJobKey", {"flow": FLOW, "jobId": "pack"})])
    assert list(catalog.relationships(TASK)) == [PART_OF]


def test_job_that_is_only_named_is_part_of_nothing_yet(catalog):
    upstream = [{"op": "add", "path": f"/inputDatajobEdges/{esc(TASK)}", "value": {"destinationUrn": TASK}}]
    other = f"urn:li:dataJob:({FLOW},other)"
    catalog.apply([patch("dataJob", other, "dataJobInputOutput", upstream)])
    assert list(catalog.relationships(TASK)) == []
    assert PART_OF in catalog.relationships(other)


def test_being_part_of_a_flow_is_no_lineage(catalog):
    catalog.apply([upsert("dataJob", TASK, "status", {"removed": False})])
    tree = lineage_tree(catalog, TASK)
    assert (tree.upstream, tree.downstream) == ([], [])
    tree = lineage_tree(catalog, FLOW)
    assert (tree.upstream, tree.downstream) == ([], [])
