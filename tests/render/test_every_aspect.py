"""What holds for every proposal of every event, whatever the profile."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.public_data import CORPUS, NO_CORPUS

from dh_bridge.bridge import Bridge
from dh_bridge.openlineage.read import read_events
from dh_bridge.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "events"
SOURCES = {"examples": [EXAMPLES], "corpus": [CORPUS], "golden": sorted(ROOT.glob("tests/golden/*/*.events.json"))}


@pytest.fixture(scope="module", params=["0.15.0", "1.7"])
def bridge(request):
    return Bridge(Settings(datahub_version=request.param))


@pytest.fixture(scope="module", params=SOURCES)
def translation(request, bridge):
    places = SOURCES[request.param]
    if not places[0].exists():
        pytest.skip(NO_CORPUS)
    return bridge.translate(read_events(places))


def values(node):
    yield node
    members = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for member in members:
        yield from values(member)


def operations(translation):
    for proposal in translation.proposals:
        if proposal.change_type == "PATCH":
            for operation in proposal.value:
                yield proposal, operation


def test_none_is_refused_by_its_schema(translation):
    assert translation.rejected == []


def test_none_is_empty_for_an_empty_aspect_erases(translation):
    required = {"upstreamInstances", "inputDatasets", "outputDatasets"}
    for proposal in translation.proposals:
        value = proposal.value
        assert value
        if isinstance(value, dict):
            assert any(member or member in (0, False) for name, member in value.items() if name not in required), (
                proposal
            )


def test_nobody_s_dataset_is_revived(translation):
    for proposal in translation.proposals:
        if proposal.aspect_name == "status":
            assert proposal.value == {"removed": True}


def test_aspects_shared_with_people_are_patched(translation):
    shared = {"ownership", "globalTags", "datasetProperties", "dataJobInfo", "dataFlowInfo", "dataJobInputOutput",
              "upstreamLineage", "editableSchemaMetadata"}  # fmt: skip
    for proposal in translation.proposals:
        assert (proposal.change_type == "PATCH") is (proposal.aspect_name in shared), proposal


def test_fine_grained_entry_has_one_downstream_and_no_query(translation):
    for _, operation in operations(translation):
        if operation["path"].startswith("/fineGrainedLineages/"):
            _, _, kind, down, query, up = operation["path"].split("/")
            assert down.startswith("urn:li:schemaField:(")
            assert query == "NONE"
            assert up.startswith(("urn:li:schemaField:(", "urn:li:dataset:("))
            assert kind == "NONE" or len(kind) <= 200


def test_check_is_about_a_dataset(translation):
    for proposal in translation.proposals:
        if proposal.aspect_name == "assertionRunEvent":
            assert proposal.value["asserteeUrn"].startswith("urn:li:dataset:(")
            assert proposal.value["assertionUrn"] == proposal.entity_urn


def test_point_of_time_has_an_id_and_no_time_partition(translation):
    seen = set()
    for proposal in translation.proposals:
        value = proposal.value
        if isinstance(value, dict) and "timestampMillis" in value:
            assert len(value["messageId"]) == 32
            assert "timePartition" not in value["partitionSpec"]
            key = (proposal.aspect_name, proposal.entity_urn, value["messageId"], str(value["partitionSpec"]))
            assert key not in seen
            seen.add(key)


def test_no_value_is_longer_than_a_server_indexes(translation):
    for proposal in translation.proposals:
        for node in values(proposal.value):
            if isinstance(node, dict) and "customProperties" in node:
                assert all(len(text) <= 4096 for text in node["customProperties"].values())
    for _, operation in operations(translation):
        if operation["path"].startswith("/customProperties/"):
            assert len(operation["value"]) <= 4096


def test_sql_language_is_never_unknown(translation):
    assert not any(
        node == "UNKNOWN"
        for proposal in translation.proposals
        if proposal.aspect_name == "dataTransformLogic"
        for node in values(proposal.value)
    )


def test_each_aspect_is_written_once_for_an_entity(translation):
    seen = set()
    for proposal in translation.proposals:
        if not isinstance(proposal.value, dict) or "timestampMillis" not in proposal.value:
            key = (proposal.entity_urn, proposal.aspect_name)
            assert key not in seen
            seen.add(key)


def test_same_events_give_the_same_proposals(bridge):
    path = EXAMPLES / "dbt.ndjson"
    one, two = (bridge.translate(read_events([path])).proposals for _ in range(2))
    assert one == two


def test_aspects_that_break_servers_are_never_written(translation):
    run = {"Properties", "Input", "Output", "Relationships", "RunEvent"}
    allowed = {f"dataProcessInstance{name}" for name in run} | {"dataPlatformInstance", "subTypes"}
    for proposal in translation.proposals:
        assert proposal.aspect_name != "institutionalMemory"  # its template fails on what is not there
        if proposal.entity_type == "dataProcessInstance":
            assert proposal.aspect_name in allowed  # no owners, tags, domains
            assert not {"inputEdges", "outputEdges"} & proposal.value.keys()  # every run would be a node of lineage


def test_patches_of_jobs_and_flows_include_required_fields(translation):
    found = [one for one in translation.proposals if one.aspect_name in {"dataJobInfo", "dataFlowInfo"}]
    assert found
    for proposal in found:
        added = {operation["path"] for operation in proposal.value if operation["op"] == "add"}
        assert {"/name", "/type"} - added <= ({"/type"} if proposal.aspect_name == "dataFlowInfo" else set())


def test_assertion_uses_only_displayable_values(translation):
    for proposal in translation.proposals:
        for node in values(proposal.value):
            assert node != "UNIQUE_PROPORTION"  # GraphQL knows UNIQUE_PROPOTION
            if isinstance(node, dict) and node.get("operator") == "BETWEEN":
                assert {"minValue", "maxValue"} <= node["parameters"].keys()


def test_operation_is_of_a_dataset_that_is_written(translation):
    written = {urn for one in translation.proposals for urn in outputs_of(one)}
    operated = {one.entity_urn: one.value for one in translation.proposals if one.aspect_name == "operation"}
    assert operated
    assert {
        urn for urn, value in operated.items() if value["operationType"] not in {"DROP", "ALTER", "CREATE"}
    } <= written


def outputs_of(proposal):
    return proposal.value["outputs"] if proposal.aspect_name == "dataProcessInstanceOutput" else ()
