"""What proposals would change at a place, and what of a delivery is there."""

from __future__ import annotations

import pytest

from dh_bridge import Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.delivery import wrap_sink
from dh_bridge.errors import SinkError
from dh_bridge.review.plan import build_plan
from dh_bridge.review.state import ReviewState, UrnList
from dh_bridge.review.verdicts import judge_change
from dh_bridge.sinks.abilities import Readable
from dh_bridge.sinks.base import StoredAspect
from dh_bridge.sinks.catalog import CatalogSink

JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,prod),load)"
RUN = "urn:li:dataProcessInstance:r"
A, B, C = (f"urn:li:dataset:(urn:li:dataPlatform:s3,lake.{name},PROD)" for name in "abc")
OURS = {"run_id": "dh_bridge-1", "pipeline_name": "dh_bridge"}
THEIRS = {"run_id": "snowflake-2", "pipeline_name": "nightly snowflake"}


class Place(Readable):
    """A place that has what it is given."""

    def __init__(self, **held: dict[str, StoredAspect]) -> None:
        self.held = held
        self.asked: list[dict[str, set[str]]] = []

    def read(self, aspects_by_urn):
        self.asked.append(aspects_by_urn)
        return {
            urn: {name: present for name, present in self.held[urn].items() if name in names}
            for urn, names in aspects_by_urn.items()
            if urn in self.held
        }


def place(**aspects):
    """Return a place with a job's aspects."""
    return Place(**{JOB: aspects})


def edge(urn):
    return {"op": "add", "path": f"/inputDatasetEdges/{urn}", "value": {"destinationUrn": urn}}


def reviewed(held, *proposals):
    with ReviewState(held) as state:
        state.emit(list(proposals))
        return list(state.changes())


def planned(held, *proposals, known=()):
    with ReviewState(held) as state:
        for one in proposals:
            state.emit([one])
        counts, rows = build_plan(state, pipeline="dh_bridge", existing_urns=known)
        return {name: number for name, number in counts.items() if number}, rows


def point(urn):
    value = {"timestampMillis": 1, "partitionSpec": {"partition": "P", "type": "FULL_TABLE"}, "status": "STARTED"}
    return upsert("dataProcessInstance", urn, "dataProcessInstanceRunEvent", value)


def test_entities_are_found_or_new_and_asked_for_once():
    held = place(subTypes=StoredAspect({"typeNames": ["Task"]}))
    sent = [
        upsert("dataJob", JOB, "subTypes", {"typeNames": ["Task"]}),
        upsert("dataset", A, "status", {"removed": True}),
    ]
    counts, rows = planned(held, *sent, *sent, point(RUN), point(RUN))
    assert counts == {"found": 1, "new": 2, "unchanged": 1, "changed": 1, "points": 2}
    assert [row["kind"] for row in rows] == ["found", "new", "new", "changed"]
    assert rows[-1] == {"kind": "changed", "urn": A, "aspect": "status", "members": ["removed"]}
    assert held.asked == [
        {JOB: {"subTypes", "dataJobKey"}},
        {A: {"status", "datasetKey"}},
        {RUN: {"dataProcessInstanceKey"}},
    ]


def test_added_and_removed_edges_are_listed():
    there = {
        "inputDatasets": [],
        "outputDatasets": [],
        "inputDatasetEdges": [{"destinationUrn": A}, {"destinationUrn": B}],
    }
    removal = {"op": "remove", "path": f"/inputDatasetEdges/{A}"}
    sent = patch("dataJob", JOB, "dataJobInputOutput", [edge(C), removal])
    counts, rows = planned(place(dataJobInputOutput=StoredAspect(there, **OURS)), sent)
    assert counts == {"found": 1, "changed": 1, "added": 1, "removed": 1}
    assert [(row["kind"], row["target"]) for row in rows if "target" in row] == [("added", C), ("removed", A)]


@pytest.mark.parametrize(
    ("proposal", "how"),
    [
        (upsert("dataJob", JOB, "subTypes", {"typeNames": ["Task"]}), "replaced"),
        (patch("dataJob", JOB, "dataJobInputOutput", [edge(A)]), "merged"),
    ],
)
def test_foreign_aspects_are_listed_with_their_writer(proposal, how):
    there = {"subTypes": {"typeNames": ["Other"]}, "dataJobInputOutput": {"inputDatasets": [], "outputDatasets": []}}
    held = place(**{name: StoredAspect(value, **THEIRS) for name, value in there.items()})
    counts, rows = planned(held, proposal)
    assert counts["foreign"] == 1
    row = next(row for row in rows if row["kind"] == "foreign")
    assert (row["writer"], row["how"]) == ("nightly snowflake snowflake-2", how)


@pytest.mark.parametrize("present", [OURS, {"run_id": "x", "pipeline_name": "dh_bridge"}, {}])
def test_our_own_aspects_and_those_of_nobody_are_no_others(present):
    held = place(subTypes=StoredAspect({"typeNames": ["Other"]}, **present))
    counts, _ = planned(held, upsert("dataJob", JOB, "subTypes", {"typeNames": ["Task"]}))
    assert counts == {"found": 1, "changed": 1}


def test_equal_aspect_is_unchanged_despite_another_writer():
    held = place(subTypes=StoredAspect({"typeNames": ["Task"]}, **THEIRS))
    counts, _ = planned(held, upsert("dataJob", JOB, "subTypes", {"typeNames": ["Task"]}))
    assert counts == {"found": 1, "unchanged": 1}


def test_near_misses_are_found_among_what_is_known():
    proposal = upsert("dataset", A, "status", {"removed": False})
    counts, rows = planned(Place(), proposal, known=[A.replace("PROD", "DEV")])
    assert counts["near"] == 1
    assert rows[1] == {"kind": "near", "urn": A, "found": A.replace("PROD", "DEV"), "differs": "env"}


def test_proposal_the_server_would_reject_is_listed():
    counts, rows = planned(Place(), patch("dataJob", JOB, "dataJobInfo", [{"op": "add", "path": "/x", "value": 1}]))
    assert counts["refused"] == 1
    assert "which is required" in rows[0]["reason"]


def test_file_of_urns_knows_what_is_there_alone(tmp_path):
    (tmp_path / "urns.txt").write_text(f'{A}\n\n"{B}"\n')
    counts, _ = planned(
        UrnList(str(tmp_path / "urns.txt")), *(upsert("dataset", urn, "status", {"removed": True}) for urn in (A, B, C))
    )
    assert (counts["found"], counts["new"]) == (2, 1)
    with pytest.raises(SinkError, match="cannot read the file: No such file"):
        UrnList(str(tmp_path / "none.txt"))
    with Catalog(tmp_path / "c.db"):
        pass
    with pytest.raises(
        SinkError, match=r"expected a list of URNs in UTF-8 \(if it is a catalogue, use catalog:.*c\.db\)"
    ):
        UrnList(str(tmp_path / "c.db"))
    (tmp_path / "events.ndjson").write_text('{"eventType": "START"}\n')
    with pytest.raises(SinkError, match="the file contains no URN"):
        UrnList(str(tmp_path / "events.ndjson"))


def test_review_writes_nothing_to_the_target(tmp_path):
    with CatalogSink(Catalog(tmp_path / "c.db")) as sink:
        sink.emit([upsert("dataJob", JOB, "subTypes", {"typeNames": ["Task"]})])
        counts, _ = planned(sink, upsert("dataJob", JOB, "subTypes", {"typeNames": ["Other"]}))
        assert counts == {"found": 1, "changed": 1}
        assert sink.catalog.aspect(JOB, "subTypes") == {"typeNames": ["Task"]}


NAMED = {"op": "add", "path": "/name", "value": "load"}
TYPED = {"op": "add", "path": "/type", "value": {"string": "airflow"}}
KEPT = {"op": "add", "path": "/customProperties/openlineage.x", "value": "1"}
HELD = {"name": "load", "type": {"string": "airflow"}, "customProperties": {"openlineage.x": "1"}}


@pytest.mark.parametrize(
    ("there", "word", "paths"),
    [
        (HELD, "held", []),
        (HELD | {"description": "of people", "customProperties": {"openlineage.x": "1", "team": "a"}}, "held", []),
        (None, "missing", []),
        (
            {"name": "load", "type": {"string": "airflow"}, "customProperties": {}},
            "trimmed",
            ["/customProperties/openlineage.x"],
        ),
        ({"name": "load", "customProperties": {"openlineage.x": "1"}}, "trimmed", ["/type"]),
        (HELD | {"name": "other"}, "overwritten", ["/name"]),
        (HELD | {"name": "other", "customProperties": {}}, "overwritten", ["/name"]),
    ],
)
def test_written_aspect_is_held_missing_trimmed_or_overwritten(there, word, paths):
    held = Place() if there is None else place(dataJobInfo=StoredAspect(there, **THEIRS))
    (change,) = reviewed(held, patch("dataJob", JOB, "dataJobInfo", [NAMED, TYPED, KEPT]))
    found = judge_change(change)
    assert (found.status, found.paths) == (word, paths)
    assert found.writer == (None if word in ("held", "missing") else "nightly snowflake snowflake-2")


def edges(*urns):
    """Return a job's inputs as a place has them."""
    found = [{"destinationUrn": urn, "created": {"time": 1, "actor": "urn:li:corpuser:x"}} for urn in urns]
    return StoredAspect({"inputDatasets": [], "outputDatasets": [], "inputDatasetEdges": found}, **THEIRS)


def test_elements_of_others_beside_ours_are_no_fault():
    sent = patch("dataJob", JOB, "dataJobInputOutput", [edge(A)])
    (change,) = reviewed(place(dataJobInputOutput=edges(B, A)), sent)
    assert judge_change(change).status == "held"
    (change,) = reviewed(place(dataJobInputOutput=edges(B)), sent)
    assert judge_change(change)[:2] == ("trimmed", [f"/inputDatasetEdges/{A}"])


@pytest.mark.parametrize(("others", "word"), [([B], "held"), ([B, A], "overwritten"), ([A], "overwritten")])
def test_removed_edge_that_is_present_again_is_not_held(others, word):
    gone = [{"op": "remove", "path": f"/inputDatasetEdges/{A}"}]
    (change,) = reviewed(place(dataJobInputOutput=edges(*others)), patch("dataJob", JOB, "dataJobInputOutput", gone))
    paths = [] if word == "held" else [f"/inputDatasetEdges/{A}"]
    assert judge_change(change)[:2] == (word, paths)


def test_removed_tag_is_held_only_if_it_is_absent():
    tag = {"tags": [{"tag": "urn:li:tag:pii"}]}
    there = {"editableSchemaFieldInfo": [{"fieldPath": "a", "globalTags": tag}, {"fieldPath": "b", "globalTags": tag}]}
    for path, gone in (("a", "a"), ("c", None)):
        taken = [{"op": "remove", "path": f"/editableSchemaFieldInfo/{path}/globalTags/tags/urn:li:tag:pii"}]
        held = Place(**{A: {"editableSchemaMetadata": StoredAspect(there)}})
        (change,) = reviewed(held, patch("dataset", A, "editableSchemaMetadata", taken))
        output = [] if gone is None else [f"/editableSchemaFieldInfo/{gone}/globalTags/tags/urn:li:tag:pii"]
        assert judge_change(change).paths == output


def test_revived_entity_that_is_removed_again_is_not_held():
    alive = upsert("dataJob", JOB, "status", {"removed": False})
    (change,) = reviewed(place(status=StoredAspect({"removed": True}, **THEIRS)), alive)
    assert judge_change(change) == ("overwritten", ["/removed"], "nightly snowflake snowflake-2")
    for held in (Place(), place(status=StoredAspect({"removed": False})), place(status=StoredAspect({}))):
        (change,) = reviewed(held, alive)
        assert judge_change(change).status == "held"


def test_set_order_and_additions_by_others_are_ignored():
    run = {"upstreamInstances": ["urn:li:dataProcessInstance:a", "urn:li:dataProcessInstance:b"]}
    sent = upsert("dataProcessInstance", RUN, "dataProcessInstanceRelationships", run)
    for there, word in (("ba", "held"), ("bca", "held"), ("b", "trimmed"), ("", "trimmed")):
        found = {"upstreamInstances": [f"urn:li:dataProcessInstance:{one}" for one in there]}
        (change,) = reviewed(Place(**{RUN: {"dataProcessInstanceRelationships": StoredAspect(found)}}), sent)
        assert judge_change(change).status == word


SCHEMA = {
    "schemaName": "s", "platform": "urn:li:dataPlatform:s3", "version": 0, "hash": "", "fields": [],
    "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
}  # fmt: skip


def test_plan_leaves_to_others_what_emit_would_leave_to_them():
    schemas = [upsert("dataset", urn, "schemaMetadata", SCHEMA) for urn in (A, B)]
    held = Place(**{A: {"schemaMetadata": StoredAspect({**SCHEMA, "hash": "theirs"}, **THEIRS)}})
    for write, words in (("all", ["changed", "foreign", "changed"]), ("if_absent", ["changed"])):
        with ReviewState(held) as state:
            for _ in range(2):  # what was planned already is ours
                wrap_sink(state, Settings(schema={"write": write})).emit(schemas)
            _, rows = build_plan(state, pipeline="dh_bridge", existing_urns=())
        assert [row["kind"] for row in rows if row.get("aspect")] == words


def test_plan_joins_with_what_is_there_where_emit_would_join():
    held = Place(**{RUN: {"dataProcessInstanceInput": StoredAspect({"inputs": [A]}, **OURS)}})
    sent = [upsert("dataProcessInstance", RUN, "dataProcessInstanceInput", {"inputs": [urn]}) for urn in (B, C)]
    for mode, inputs in (("none", [C]), ("read", [C, B, A])):
        with ReviewState(held) as state:
            for one in sent:
                wrap_sink(state, Settings(state=mode)).emit([one])
            (change,) = state.changes()
        assert change.after == {"inputs": inputs}


def test_lists_of_another_length_are_overwritten():
    (change,) = reviewed(Place(), upsert("dataJob", JOB, "subTypes", {"typeNames": ["Task", "Python"]}))
    found = judge_change(change._replace(before=StoredAspect({"typeNames": ["Task"]}, actor="urn:li:corpuser:ann")))
    assert found == ("overwritten", ["/typeNames"], "urn:li:corpuser:ann")


def test_default_value_is_held_and_raw_values_are_compared():
    (change,) = reviewed(Place(), upsert("dataset", A, "status", {"removed": False}))
    assert judge_change(change).status == "held"
    fine = {"fineGrainedLineages": [{"upstreamType": "FIELD_SET", "downstreamType": "FIELD", "downstreams": [A, B]}]}
    (change,) = reviewed(Place(), upsert("dataset", A, "upstreamLineage", {"upstreams": [], **fine}))
    assert judge_change(change._replace(before=StoredAspect({"upstreams": [], **fine}))).status == "held"
    assert judge_change(change._replace(before=StoredAspect({"upstreams": []}))).status == "trimmed"


# -- 32-bit floats -----------------------------------------------------------------------------------------------------


def _sure(number):
    pair = {
        "upstreamType": "FIELD_SET",
        "downstreamType": "FIELD",
        "transformOperation": "COPY",
        "confidenceScore": number,
    }
    ends = {"upstreams": [f"urn:li:schemaField:({B},id)"], "downstreams": [f"urn:li:schemaField:({A},id)"]}
    return {"upstreams": [], "fineGrainedLineages": [{**pair, **ends}]}


def test_float_that_a_server_keeps_with_32_bits_is_no_change():
    held = {A: {"upstreamLineage": StoredAspect(_sure(0.33333334), **OURS)}}
    stated = upsert("dataset", A, "upstreamLineage", _sure(1 / 3))
    (change,) = reviewed(Place(**held), stated)
    assert judge_change(change).status == "held"
    counts, _ = planned(Place(**held), stated)
    assert counts == {"found": 1, "unchanged": 1}


def test_float_of_another_number_is_a_change():
    held = {A: {"upstreamLineage": StoredAspect(_sure(0.5), **THEIRS)}}
    stated = upsert("dataset", A, "upstreamLineage", _sure(1 / 3))
    (change,) = reviewed(Place(**held), stated)
    assert judge_change(change).status == "overwritten"
    assert planned(Place(**held), stated)[0]["changed"] == 1
