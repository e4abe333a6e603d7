"""A proposal that DataHub would refuse is refused before it leaves, with its place."""

from __future__ import annotations

import pytest
from support.oracles import judged

from dh_bridge.datahub import avro_types, validation
from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.datahub.validation import validator
from dh_bridge.errors import AspectError

DATASET = "urn:li:dataset:(urn:li:dataPlatform:postgres,db.public.orders,PROD)"
RUN = "urn:li:dataProcessInstance:018cc251-f400-7662-b080-b72299e0a86b"
FLOW = "urn:li:dataFlow:(airflow,orders,prod)"
EVENT = {
    "timestampMillis": 1,
    "partitionSpec": {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"},
    "status": "COMPLETE",
}
COLUMN = {
    "fieldPath": "id",
    "nullable": True,
    "type": {"type": {"com.linkedin.schema.ArrayType": {"nestedType": ["int"]}}},
    "nativeDataType": "int[]",
}
TABLE = {
    "schemaName": "orders",
    "platform": "urn:li:dataPlatform:postgres",
    "version": 0,
    "hash": "",
    "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
    "fields": [COLUMN],
}


def finding(proposal, name="0.15.0"):
    return judged(proposal, profile(name))


@pytest.mark.parametrize(
    "proposal",
    [
        upsert("dataset", DATASET, "schemaMetadata", TABLE),
        upsert(
            "dataset",
            DATASET,
            "datasetKey",
            {"platform": TABLE["platform"], "name": "db.public.orders", "origin": "PROD"},
        ),
        upsert("dataProcessInstance", RUN, "dataProcessInstanceRunEvent", EVENT),
        upsert(
            "dataProcessInstance",
            RUN,
            "dataProcessInstanceRelationships",
            {"parentTemplate": FLOW, "upstreamInstances": []},
        ),
        upsert("corpuser", "urn:li:corpuser:jo", "corpUserKey", {"username": "jo"}),
        patch("dataset", DATASET, "globalTags", [{"op": "remove", "path": "/tags/urn:li:tag:pii"}]),
    ],
)
def test_sound_proposal_passes(proposal):
    assert finding(proposal) is None
    validator(profile()).check(proposal)


@pytest.mark.parametrize(
    ("aspect", "value", "where", "what"),
    [
        ("status", {"removed": True, "since": 1}, "$", "unknown field `since`"),
        ("status", {"removed": "yes"}, "$.removed", "Expected `bool`, got `str`"),
        ("status", [], "$", "Expected `object`, got `array`"),
        ("status", None, "$", "Expected `object`, got `null`"),
        ("schemaMetadata", {**TABLE, "hash": None}, "$.hash", "Expected `str`, got `null`"),
        ("schemaMetadata", {**TABLE, "cluster": None}, "$.cluster", "Expected `str`, got `null`"),
        ("schemaMetadata", {**TABLE, "version": 2**63}, "$.version", "Expected `int` <= 9223372036854775807"),
        ("schemaMetadata", {**TABLE, "platform": "postgres"}, "$.platform", "'postgres' is not a URN of dataPlatform"),
        ("schemaMetadata", {**TABLE, "platform": DATASET}, "$.platform", "is not a URN of dataPlatform"),
        ("schemaMetadata", {**TABLE, "platform": 7}, "$.platform", "Expected a URN, got `int`"),
        ("schemaMetadata", {**TABLE, "platform": [7]}, "$.platform", "Expected a URN, got `list`"),
        ("schemaMetadata", {**TABLE, "platformSchema": {}}, "$.platformSchema", "an object with one key"),
        (
            "schemaMetadata",
            {
                **TABLE,
                "fields": [
                    COLUMN,
                    COLUMN,
                    {**COLUMN, "type": {"type": {"com.linkedin.schema.ArrayType": {"nestedType": [1]}}}},
                ],
            },
            "$.fields[2].type.type.nestedType[0]",
            "Expected `str`, got `int`",
        ),
        (
            "schemaMetadata",
            {**TABLE, "fields": [{**COLUMN, "type": {"type": {"com.linkedin.schema.StringType": []}}}]},
            "$.fields[0].type.type",
            "Expected `object`, got `array`",
        ),
        (
            "operation",
            {"timestampMillis": 1, "operationType": "LOOK", "lastUpdatedTimestamp": 1},
            "$.operationType",
            "'LOOK'",
        ),
        ("browsePathsV2", {"path": [{"id": "a", "urn": "x"}]}, "$.path[0].urn", "'x' is not a URN"),
    ],
)
def test_invalid_aspect_error_has_its_location(aspect, value, where, what):
    with pytest.raises(AspectError) as caught:
        validator(profile()).check(upsert("dataset", DATASET, aspect, value))
    assert caught.value.location == f"dataset/{aspect} {where}"
    assert what in caught.value.problem
    assert " - at " not in caught.value.problem
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "entity", "urn", "aspect", "what"),
    [
        ("0.15.0", "dataset", DATASET, "dataJobInfo", "DataHub 0.15.0 has no aspect dataJobInfo on dataset"),
        ("0.15.0", "dataset", DATASET, "noSuchAspect", "has no aspect noSuchAspect on dataset"),
        ("0.15.0", "spaceship", "urn:li:spaceship:x", "status", "has no aspect status on spaceship"),
        ("0.15.0", "dataProcessInstance", RUN, "subTypes", "DataHub 0.15.0 has no aspect subTypes"),
        ("1.7", "dataProcessInstance", RUN, "ownership", "DataHub 1.7 has no aspect ownership"),
        ("1.7", "dataset", DATASET, "forms", "dh-bridge has no schema of the aspect forms"),
    ],
)
def test_aspect_that_the_entity_does_not_have_is_refused(name, entity, urn, aspect, what):
    assert what in finding(upsert(entity, urn, aspect, {}), name)


def test_newer_fields_and_subtypes_need_their_server_version():
    edges = upsert("dataProcessInstance", RUN, "dataProcessInstanceInput", {"inputs": [], "inputEdges": []})
    assert "unknown field `inputEdges`" in finding(edges, "0.15.0")
    assert finding(edges, "1.0") is None
    kind = upsert("dataProcessInstance", RUN, "subTypes", {"typeNames": ["DAG Run"]})
    assert [finding(kind, name) is None for name in ("0.15.0", "0.15.0.5", "1.7")] == [False, True, True]


@pytest.mark.parametrize(
    ("entity", "urn"),
    [
        ("dataset", "urn:li:dataset:orders"),
        ("dataset", FLOW),
        ("dataset", "urn:li:dataset:(urn:li:dataPlatform:postgres,orders,prod)"),
        ("dataset", "urn:li:dataset:(urn:li:dataPlatform:postgres,orders,PRD)"),
        ("dataset", "orders"),
        ("dataset", f"urn:li:dataset:(urn:li:dataPlatform:postgres,{'x' * 500},PROD)"),
        ("dataFlow", "urn:li:dataFlow:(airflow,orders)"),
        ("tag", "urn:li:tag:a "),
    ],
)
def test_entity_urn_must_have_the_type_of_the_entity(entity, urn):
    found = finding(upsert(entity, urn, "status", {"removed": False}))
    assert found.startswith(f"{entity}/status entityUrn: ")
    assert f"is not a URN of {entity}" in found


def test_new_environment_is_known_from_its_version_on():
    status = upsert("dataset", "urn:li:dataset:(urn:li:dataPlatform:postgres,orders,PRD)", "status", {"removed": False})
    assert [finding(status, name) is None for name in ("1.0", "1.1", "1.7")] == [False, True, True]


def test_strict_urn_field_is_strict_from_its_version_on():
    event = {
        "timestampMillis": 1,
        "runId": "r",
        "asserteeUrn": FLOW,
        "status": "COMPLETE",
        "assertionUrn": "urn:li:assertion:a",
    }
    proposal = upsert("assertion", "urn:li:assertion:a", "assertionRunEvent", event)
    assert finding(proposal, "0.15.0") is None
    assert "asserteeUrn: " in finding(proposal, "1.7")


def test_profile_has_one_validator():
    assert validator(profile("1.7")) is validator(profile("1.7.0.3"))
    assert validator(profile("1.7")) is not validator(profile("1.6"))


def test_cache_size_is_bounded(monkeypatch):
    monkeypatch.setattr(avro_types, "_MAX_CACHED_URNS", 5)
    monkeypatch.setattr(validation, "_MAX_CACHED_URNS", 5)
    fresh = validation.Validator(profile())
    marker = avro_types.Marker()
    seen = avro_types.CheckedUrns(marker, frozenset(["tag"]))
    for at in range(20):
        dataset = f"urn:li:dataset:(urn:li:dataPlatform:hive,t{at},PROD)"
        fresh.check(upsert("dataset", dataset, "status", {"removed": False}))
        assert seen[f"urn:li:tag:{at}"] is marker
    assert 0 < len(fresh._entities["dataset"]) <= 5
    assert 0 < len(seen) <= 5


@pytest.mark.parametrize("place", [0, 1, 500])
def test_batch_with_one_invalid_proposal_is_rejected(place):
    sound = [upsert("tag", f"urn:li:tag:t{at}", "status", {"removed": False}) for at in range(500)]
    check = validator(profile())
    assert check.accepts_all(sound) is True
    for wrong in (
        upsert("tag", "urn:li:tag:pii", "status", {"removed": "yes"}),
        upsert("tag", "urn:li:dataset:pii", "status", {"removed": True}),
        upsert("tag", "urn:li:tag:pii", "schemaMetadata", TABLE),
        patch("tag", "urn:li:tag:pii", "globalTags", []),
    ):
        assert check.accepts_all([*sound[:place], wrong, *sound[place:]]) is False


@pytest.mark.parametrize("column", [{**COLUMN, "description": "x" * 600_000}, COLUMN])
def test_large_aspect_cache_is_bounded_in_bytes(column):
    width = 1 if "description" in column else 1000
    large = validation._LargeAspectCheck(lambda value: None)  # noqa: ARG005 - everything is sound
    tables = [{**TABLE, "fields": [column] * width} for _ in range(200)]
    for _ in range(2):
        large.check_all(tables)
    assert 50 < len(large._valid._young) + len(large._valid._old) < 2 * 60  # each takes 600 KB, a generation 32 MiB


def test_large_aspect_check_detects_reused_object_ids():
    looked = []
    large = validation._LargeAspectCheck(lambda value: looked.append(len(value["fields"])))
    places = set()
    for _ in range(1000):
        table = {**TABLE, "fields": [COLUMN]}
        places.add(id(table["fields"]))
        large(table)
    assert len(places) < 1000
    assert looked == [1] * 1000
    large(table)
    large(table)
    assert looked[-1] == 0  # the same list
