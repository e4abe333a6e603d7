"""Pairs of plain words: looked at together they are what they are when each is looked at, as for a report."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dh_bridge import Bridge
from dh_bridge.lineage import plain_pairs as module

#: columns that are plain, that are not, and that no table has
COLUMNS = ["a", "A_1", "1a", "a.b", "größe", "a b", "a/b", "a~b", "", "x" * 60, "x" * 300]
TABLES = [
    ("postgres://db:5432", "shop.public.orders"),
    ("snowflake://acme-eu1", "SHOP.PUBLIC.ORDERS"),
    ("s3://lake", "raw/orders"),
    ("nowhere", "t"),
    ("", ""),
]
HOW = [
    None,
    [],
    [{"type": "DIRECT", "subtype": "IDENTITY", "description": "as it is"}],
    [{"type": "DIRECT", "subtype": "a/b~c"}],
    [{"type": "INDIRECT", "subtype": "FILTER"}],
    [{"type": "DIRECT"}, {"type": "INDIRECT", "subtype": "JOIN", "description": "joined"}],
]


BRIDGE = Bridge()


def source(table, column, how):
    return {"namespace": table[0], "name": table[1], "field": column, "transformations": how}


SOURCES = st.lists(
    st.builds(source, st.sampled_from(TABLES), st.sampled_from(COLUMNS), st.sampled_from(HOW)), max_size=3
)
ENTRIES = st.fixed_dictionaries(
    {"inputFields": SOURCES},
    optional={"transformationType": st.just("MASKED"), "transformationDescription": st.just("old")},
)


def stated(table, fields, *columns):
    schema = {"schema": {"fields": [{"name": column, "type": "int"} for column in columns]}} if columns else {}
    return json.dumps(
        {
            "eventType": "COMPLETE",
            "eventTime": "2026-01-15T10:00:00Z",
            "run": {"runId": "0190a3b4-c5d6-7e8f-8a9b-acbdcedf0000"},
            "job": {"namespace": "n", "name": "j"},
            "inputs": [],
            "outputs": [
                {"namespace": table[0], "name": table[1], "facets": {"columnLineage": {"fields": fields}, **schema}}
            ],
        }
    )


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(TABLES[:3]),
    st.dictionaries(st.sampled_from(COLUMNS), ENTRIES, max_size=4),
    st.sampled_from([(), ("a", "A_1", "x" * 60)]),
)
def test_together_is_as_one_by_one(table, fields, columns):
    event = stated(table, fields, *columns)
    assert BRIDGE.translate(event).proposals == BRIDGE.translate(event, report=True).proposals


@pytest.mark.parametrize(("column", "found"), [("a", True), ("1a", True), ("a.b", False), ("", False)])
def test_plain_columns_alone_are_looked_at_together(monkeypatch, column, found):
    seen = []

    def watched(facet, at):
        seen.append(module.plain_pairs(facet, at))
        return seen[-1]

    monkeypatch.setattr("dh_bridge.facets.column_lineage.plain_pairs", watched)
    BRIDGE.translate(stated(TABLES[0], {column: {"inputFields": [source(TABLES[0], "b", HOW[2])]}}))
    assert (seen[0] is not None) is found
