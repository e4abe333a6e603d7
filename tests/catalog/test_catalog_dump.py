from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.catalog_sample import LOAD, NOON, ORDERS, RAW, RUN, column, edge, esc, field, io, point, shop

from dh_bridge.catalog.dump import canonical_aspect, dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.catalog.templates import AUDIT_STAMP
from dh_bridge.datahub.proposal import Payload, Proposal, patch, upsert

TAG = "/editableSchemaFieldInfo/id/globalTags/tags/urn:li:tag:pii"


def dumped(*proposals):
    with Catalog(":memory:") as catalog:
        assert catalog.apply(proposals).failures == []
        return list(dump_catalog(catalog))


def test_lines_are_proposals_sorted_by_urn_aspect_and_time():
    lines = [json.loads(line) for line in dumped(*shop())]
    places = [(line["entityUrn"], "timestampMillis" in line["aspect"]["json"], line["aspectName"]) for line in lines]
    assert places == sorted(places)
    times = [
        line["aspect"]["json"]["timestampMillis"]
        for line in lines
        if line["entityUrn"] == RUN and "RunEvent" in line["aspectName"]
    ]
    assert times == [NOON + 1000, NOON + 61_000]
    assert {line["changeType"] for line in lines} == {"UPSERT"}
    assert [list(line) for line in lines] == [["entityType", "entityUrn", "changeType", "aspectName", "aspect"]] * len(
        lines
    )
    assert all(line.endswith(b"\n") for line in dumped(*shop()))


def test_dump_applied_to_an_empty_catalogue_is_identical():
    lines = dumped(*shop())
    again = [
        Proposal(
            line["entityType"],
            line["entityUrn"],
            line["changeType"],
            line["aspectName"],
            Payload(line["aspect"]["json"]),
        )
        for line in map(json.loads, lines)
    ]
    assert dumped(*again) == lines


@given(st.randoms())
@settings(max_examples=20, deadline=None)
def test_additions_in_any_order_give_one_dump(random):
    operations = [
        edge("input", RAW),
        edge("input", ORDERS),
        edge("output", ORDERS),
        column(field(RAW, "a"), field(ORDERS, "x")),
        column(field(RAW, "b"), field(ORDERS, "x")),
        column(field(RAW, "b"), field(ORDERS, "y"), "SUM"),
    ]
    tags = [
        patch(
            "dataset",
            RAW,
            "globalTags",
            [{"op": "add", "path": f"/tags/urn:li:tag:{t}", "value": {"tag": f"urn:li:tag:{t}"}}],
        )
        for t in "abc"
    ]
    one = [io(LOAD, operation) for operation in operations] + tags
    other = random.sample(one, len(one))
    assert dumped(*other) == dumped(*one)


SAME = {
    "status that is not removed": [upsert("dataset", ORDERS, "status", {"removed": False})],
    "an empty array": [upsert("dataset", ORDERS, "globalTags", {"tags": []})],
    "nothing but empty": [upsert("dataset", ORDERS, "upstreamLineage", {"upstreams": [], "fineGrainedLineages": None})],
    "an aspect without template": [upsert("dataset", ORDERS, "subTypes", {"typeNames": []})],
    "an aspect of nulls": [upsert("dataset", ORDERS, "subTypes", {"typeNames": None})],
    "an emptied ownership": [
        upsert(
            "dataset", ORDERS, "ownership", {"owners": [], "lastModified": {"time": 5, "actor": "urn:li:corpuser:a"}}
        )
    ],
    "a tag taken back": [
        patch("dataset", ORDERS, "globalTags", [{"op": "add", "path": "/tags/a", "value": {"tag": "urn:li:tag:a"}}]),
        patch("dataset", ORDERS, "globalTags", [{"op": "remove", "path": "/tags/a"}]),
    ],
    "a column's tag taken back": [
        patch(
            "dataset",
            ORDERS,
            "editableSchemaMetadata",
            [{"op": "add", "path": TAG, "value": {"tag": "urn:li:tag:pii"}}],
        ),
        patch("dataset", ORDERS, "editableSchemaMetadata", [{"op": "remove", "path": TAG}]),
    ],
    "edges taken back": [
        io(LOAD, edge("input", RAW), column(field(RAW, "a"), field(ORDERS, "x"))),
        io(
            LOAD,
            {"op": "remove", "path": f"/inputDatasetEdges/{esc(RAW)}"},
            {
                "op": "remove",
                "path": f"/fineGrainedLineages/NONE/{esc(field(ORDERS, 'x'))}/NONE/{esc(field(RAW, 'a'))}",
            },
        ),
    ],
}


@pytest.mark.parametrize("proposals", SAME.values(), ids=SAME)
def test_dump_omits_empty_aspects(proposals):
    assert dumped(*proposals) == []


DIFFERENT = {
    "a removed status": ("status", {"removed": True}),
    "a tag": ("globalTags", {"tags": [{"tag": "urn:li:tag:a"}]}),
    "a description beside an emptied tag": (
        "editableSchemaMetadata",
        {
            "created": AUDIT_STAMP,
            "lastModified": AUDIT_STAMP,
            "editableSchemaFieldInfo": [{"fieldPath": "id", "description": "x", "globalTags": {"tags": []}}],
        },
    ),
    "a number that is zero": ("datasetProperties", {"customProperties": {}, "tags": [], "size": 0}),
    "a false flag that is no default": ("datasetKey", {"flag": False}),
}


@pytest.mark.parametrize(("aspect", "value"), DIFFERENT.values(), ids=DIFFERENT)
def test_dump_contains_nonempty_aspects(aspect, value):
    assert len(dumped(upsert("dataset", ORDERS, aspect, value))) == 1


def test_keys_nulls_and_keyed_arrays_are_evened_out():
    one = {"tags": [{"tag": "urn:li:tag:b"}, {"tag": "urn:li:tag:a", "context": None}]}
    other = {"tags": [{"tag": "urn:li:tag:a"}, {"tag": "urn:li:tag:b"}]}
    assert canonical_aspect("globalTags", one) == canonical_aspect("globalTags", other)
    assert dumped(upsert("dataset", ORDERS, "x", {"b": 1, "a": {"d": 1, "c": 2}})) == dumped(
        upsert("dataset", ORDERS, "x", {"a": {"c": 2, "d": 1}, "b": 1})
    )
    emptied = {
        "created": AUDIT_STAMP,
        "editableSchemaFieldInfo": [{"fieldPath": "id", "description": "x", "globalTags": {"tags": []}}],
    }
    plain = {"created": AUDIT_STAMP, "editableSchemaFieldInfo": [{"fieldPath": "id", "description": "x"}]}
    assert canonical_aspect("editableSchemaMetadata", emptied) == canonical_aspect("editableSchemaMetadata", plain)


def test_order_of_other_arrays_is_kept():
    one = upsert("dataset", ORDERS, "subTypes", {"typeNames": ["b", "a"]})
    assert json.loads(dumped(one)[0])["aspect"]["json"] == {"typeNames": ["b", "a"]}


def test_entry_that_cannot_be_patched_is_dumped_as_it_is():
    value = {
        "upstreams": [],
        "fineGrainedLineages": [
            {
                "upstreamType": "NONE",
                "downstreamType": "FIELD_SET",
                "downstreams": [field(ORDERS, "b"), field(ORDERS, "a")],
            }
        ],
    }
    assert json.loads(dumped(upsert("dataset", ORDERS, "upstreamLineage", value))[0])["aspect"]["json"] == value


def test_points_that_differ_in_message_only_are_both_there():
    lines = dumped(point(RUN, NOON, "STARTED", "a"), point(RUN, NOON, "STARTED", "b"))
    assert sorted(json.loads(line)["aspect"]["json"]["messageId"] for line in lines) == ["a", "b"]
    assert lines == dumped(point(RUN, NOON, "STARTED", "b"), point(RUN, NOON, "STARTED", "a"))
