"""State mode read: what is there is read first, and nothing that is there is erased."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from support.gms import Gms

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.delivery import open_target
from dh_bridge.errors import SettingsError
from dh_bridge.review.merging import merge_aspect
from dh_bridge.sinks.base import Delivery

RUN = "urn:li:dataProcessInstance:r"
A, B, C = (f"urn:li:dataset:(urn:li:dataPlatform:s3,lake.{name},PROD)" for name in "abc")
READ = Settings(datahub_version="1.4", state="read")


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.4.0") as server:
        yield server


def opened(target, settings, **more):
    return open_target(target, settings, environ={"HOME": "/nowhere"}, **more)


def io(*urns):
    return upsert("dataProcessInstance", RUN, "dataProcessInstanceInput", {"inputs": list(urns)})


def aspect(gms, urn, name):
    with Catalog(gms.place, readonly=True) as catalog:
        return catalog.aspect(urn, name)


def test_sets_grow_across_calls_and_inside_one(gms):
    for batch in ([io(A)], [io(B), io(C)], [io(A)]):
        with opened(f"rest:{gms.url}", READ).sink as sink:
            assert sink.emit(batch) == Delivery(len(batch), [])
    assert aspect(gms, RUN, "dataProcessInstanceInput") == {"inputs": [A, C, B]}


def test_properties_are_joined_and_ours_win():
    there = {
        "name": "old",
        "customProperties": {"a": "1", "b": "1"},
        "created": {"time": 5, "actor": "x"},
        "externalUrl": "u",
    }
    ours = {"name": "new", "customProperties": {"b": "2"}, "created": {"time": 7, "actor": "y"}}
    assert merge_aspect("dataProcessInstanceProperties", there, ours) == {
        "name": "new",
        "customProperties": {"a": "1", "b": "2"},
        "created": {"time": 5, "actor": "x"},
        "externalUrl": "u",
    }


def test_check_is_one_statement_but_for_its_properties():
    there = {"type": "DATASET", "datasetAssertion": {"x": 1}, "customProperties": {"a": "1"}}
    ours = {"type": "CUSTOM", "customAssertion": {"y": 1}, "customProperties": {"b": "2"}}
    assert merge_aspect("assertionInfo", there, ours) == {**ours, "customProperties": {"a": "1", "b": "2"}}
    assert merge_aspect("assertionInfo", there, {"type": "CUSTOM"}) == {
        "type": "CUSTOM",
        "customProperties": {"a": "1"},
    }


def test_failure_has_the_original_unmerged_proposal(gms):
    gms.poison = lambda found: "no" if len(found.value["inputs"]) > 1 else None
    with opened(f"rest:{gms.url}", READ).sink as sink:
        sink.emit([io(A)])
        given = io(B)
        (failure,) = sink.emit([given]).failures
    assert failure.proposal is given


def schema(urn, version):
    value = {
        "schemaName": "s", "platform": "urn:li:dataPlatform:s3", "version": version, "hash": "", "fields": [],
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
    }  # fmt: skip
    return upsert("dataset", urn, "schemaMetadata", value)


@pytest.mark.parametrize(
    ("writer", "version"),
    [
        ({"runId": "snowflake-1", "pipelineName": "nightly"}, 1),
        ({}, 1),
        ({"runId": "dh_bridge-1"}, 2),
        ({"runId": "x", "pipelineName": "dh_bridge"}, 2),
    ],
)
def test_schema_of_others_stays_where_it_is(gms, writer, version):
    with opened(f"rest:{gms.url}", Settings(datahub_version="1.4")).sink as sink:
        sink.emit([schema(A, 1)])
    gms.metadata[A, "schemaMetadata"] = writer
    with opened(f"rest:{gms.url}", Settings(datahub_version="1.4", schema={"write": "if_absent"})).sink as sink:
        assert sink.emit([schema(A, 2), schema(B, 1), io(A)]).failures == []
        assert sink.dropped_counts == ({} if version == 2 else {"schema-owned": 1})
    assert aspect(gms, A, "schemaMetadata")["version"] == version
    assert aspect(gms, B, "schemaMetadata")["version"] == 1


def test_state_read_needs_a_readable_target(tmp_path):
    with pytest.raises(SettingsError, match="cannot read aspects from file"):
        opened(f"file:{tmp_path / 'x.ndjson'}", READ)
    with opened(f"file:{tmp_path / 'x.ndjson'}", Settings(schema={"write": "if_absent"})).sink as sink:
        assert sink.emit([schema(A, 1)]) == Delivery(1, [])


def test_dropped_counts_cover_schema_and_write_filters(gms):
    chosen = {"datahub_version": "1.4", "schema": {"write": "if_absent"}, "writes": {"entities": ["dataset"]}}
    with opened(f"rest:{gms.url}", Settings(**chosen)).sink as sink:
        sink.emit([schema(A, 1)])
        gms.metadata[A, "schemaMetadata"] = {"runId": "other"}
        sink.emit([schema(A, 1), io(A)])
        assert sink.dropped_counts == {"schema-owned": 1, "writes.entities: dataProcessInstance": 1}


def event(kind, second, **more):
    return {
        "eventType": kind,
        "eventTime": f"2026-01-01T00:00:{second:02d}Z",
        "producer": "https://example.com/me",
        "run": {"runId": "01890d3e-0000-7000-8000-000000000001", "facets": more.pop("facets", {})},
        "job": {"namespace": "n", "name": "j"},
        **more,
    }


def dataset(name):
    return {"namespace": "postgres://db:5432", "name": f"shop.public.{name}"}


EVENTS = (
    event("START", 0, inputs=[dataset("a")], facets={"nominalTime": {"nominalStartTime": "2026-01-01T00:00:00Z"}}),
    event("RUNNING", 1, inputs=[dataset("b")], outputs=[dataset("c")]),
    event("COMPLETE", 2, inputs=[dataset("d")], outputs=[dataset("e")]),
)


def leaves(value, path=""):
    if isinstance(value, dict):
        return {leaf for key, inner in value.items() for leaf in leaves(inner, f"{path}/{key}")}
    if isinstance(value, list):
        return {leaf for inner in value for leaf in leaves(inner, f"{path}/*")}
    return {(path, str(value))}


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_events_sent_one_by_one_erase_no_stored_value(tmp_path, order):
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        seen: set[tuple[str, ...]] = set()
        for at in order:
            with opened(f"rest:{gms.url}", READ).sink as sink:
                assert sink.emit(Bridge(READ).translate(EVENTS[at]).proposals).failures == []
            stated = [json.loads(line) for line in gms.dump()]
            sets = {
                (one["entityUrn"], one["aspectName"], *leaf)
                for one in stated
                for leaf in leaves(one["aspect"]["json"])
                if one["aspectName"]
                in ("dataProcessInstanceInput", "dataProcessInstanceOutput", "dataProcessInstanceRelationships")
            }
            assert seen <= sets
            seen |= sets
        whole = {
            leaf
            for one in Bridge(READ).translate(list(EVENTS)).proposals
            if one.aspect_name in ("dataProcessInstanceInput", "dataProcessInstanceOutput")
            for leaf in {(one.entity_urn, one.aspect_name, *inner) for inner in leaves(one.value)}
        }
        assert whole <= seen
