from __future__ import annotations

import struct
from io import BytesIO

import fastavro
import pytest
from datahub.metadata.schema_classes import (
    GenericAspectClass,
    MetadataChangeProposalClass,
    SystemMetadataClass,
)
from support.sink_contract import CAFE, DATASET, proposals

from dh_bridge.datahub import schemas
from dh_bridge.datahub.generic_aspect import aspect_text
from dh_bridge.datahub.profiles import known_profiles
from dh_bridge.datahub.proposal import create, patch, upsert
from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import SinkOptions, open_sink
from dh_bridge.sinks.kafka.envelope import Envelope, compile_envelope

METADATA = {"lastObserved": 1700000000123, "runId": "dh_bridge-1", "pipelineName": "shop"}


def schema(version):
    return schemas.load_schema(schemas.load_index(version).envelope)


def envelope(version, number=7):
    return Envelope(schema(version), number, location="registry")


def written(version, proposal, metadata=METADATA, *, keyed=False):
    made = envelope(version)
    return made.message(proposal, made.tail(metadata, creates=proposal.change_type == "CREATE"), keyed=keyed)


def oracle(version, proposal, metadata=METADATA):
    """Return the same proposal as fastavro writes it in one go, from the object of acryl-datahub."""
    text, kind = aspect_text(proposal, keyed=False)
    system = SystemMetadataClass(**metadata) if metadata else None
    mcp = MetadataChangeProposalClass(
        entityType=proposal.entity_type,
        entityUrn=proposal.entity_urn,
        changeType=proposal.change_type,
        aspectName=proposal.aspect_name,
        aspect=GenericAspectClass(value=text, contentType=kind),
        systemMetadata=system,
        headers={"If-None-Match": "*"} if proposal.change_type == "CREATE" else None,
    )
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema(version)), mcp.to_obj(tuples=True))
    return out.getvalue()


@pytest.mark.parametrize("version", known_profiles())
@pytest.mark.parametrize("metadata", [METADATA, None], ids=["with-run", "without-run"])
@pytest.mark.parametrize("proposal", proposals(), ids=lambda proposal: proposal.aspect_name)
def test_envelope_bytes_equal_those_of_acryl_datahub(version, metadata, proposal):
    assert written(version, proposal, metadata)[5:] == oracle(version, proposal, metadata)


@pytest.mark.parametrize("version", known_profiles())
def test_create_message_has_the_if_absent_header(version):
    proposal = create("dataset", DATASET, "status", {"removed": False})
    assert envelope(version).has_headers
    assert written(version, proposal)[5:] == oracle(version, proposal)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 63, 64, 4_095, 8_191, 8_192, 1_048_575, 1_048_576])
def test_avro_lengths_are_written_for_any_size(size):
    proposal = upsert("dataset", f"urn:li:dataset:{'é' * (size % 70)}", "status", {"removed": "x" * size})
    assert written("1.7", proposal)[5:] == oracle("1.7", proposal)


def test_envelope_encodes_all_message_kinds_in_turn():
    made, tail = envelope("1.7"), envelope("1.7").tail(METADATA)
    for proposal in [*proposals(), *proposals()]:
        assert made.message(proposal, tail, keyed=False)[5:] == oracle("1.7", proposal)


@pytest.mark.parametrize("version", known_profiles())
def test_every_byte_is_read_back(version):
    for proposal in proposals():
        source = BytesIO(written(version, proposal)[5:])
        record = fastavro.schemaless_reader(source, fastavro.parse_schema(schema(version)))
        assert source.read() == b""
        assert record["entityUrn"] == proposal.entity_urn
        assert record["systemMetadata"]["runId"] == METADATA["runId"]
        assert record["systemMetadata"]["pipelineName"] == METADATA["pipelineName"]
        assert record["systemMetadata"]["lastObserved"] == METADATA["lastObserved"]


def test_three_layouts_differ_which_is_why_the_registry_is_asked():
    proposal = proposals()[0]
    assert len({written(version, proposal) for version in ("0.15.0", "1.2", "1.5")}) == 3
    assert written("1.5", proposal) == written("1.7", proposal)


def test_framing_names_the_schema():
    made = envelope("1.7", number=1_000_042)
    message = made.message(proposals()[0], made.tail(None), keyed=False)
    assert struct.unpack(">bI", message[:5]) == (0, 1_000_042)


def test_aspect_is_ascii_json_with_its_content_type():
    source = BytesIO(written("1.7", proposals()[1])[5:])
    record = fastavro.schemaless_reader(source, fastavro.parse_schema(schema("1.7")))
    assert record["aspect"]["contentType"] == "application/json-patch+json"
    assert record["aspect"]["value"].isascii()
    assert b"caf\\u00e9" in record["aspect"]["value"]
    assert record["entityUrn"] == CAFE


def test_tag_patches_have_keys_if_the_reader_needs_them():
    tag = patch("dataset", DATASET, "globalTags", [{"op": "add", "path": "/tags/urn:li:tag:x", "value": {"tag": "x"}}])
    assert b"arrayPrimaryKeys" in written("1.7", tag, keyed=True)
    assert b"arrayPrimaryKeys" not in written("1.7", tag, keyed=False)


@pytest.mark.parametrize(
    ("version", "keyed"),
    [("0.15.0", False), ("1.0", False), ("1.2", False), ("1.4", False), ("1.5", True), ("1.7", True)],
)
def test_envelope_schema_shows_support_for_keyed_patches(version, keyed):
    assert envelope(version).has_keyed_patches is keyed


@pytest.mark.parametrize(
    "other",
    [
        "string",
        ["null"],
        {},
        {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]},
        {"type": "record", "name": "MetadataChangeProposal", "fields": [{"name": "entityType", "type": "string"}]},
        {**schemas.load_schema(schemas.load_index("1.7").envelope), "name": "MetadataChangeLog"},
    ],
)
def test_schema_of_something_else_is_refused(other):
    with pytest.raises(SinkError, match="not the schema of a MetadataChangeProposal") as caught:
        Envelope(other, 3, location="registry")
    assert caught.value.retryable is False


@pytest.mark.parametrize("value", [{"name": "\ud800"}, {"name": object()}], ids=["lone-surrogate", "no-json"])
def test_unencodable_value_is_an_error_of_its_proposal(value):
    with pytest.raises((TypeError, ValueError)):
        written("1.7", upsert("dataset", DATASET, "datasetProperties", value))


@pytest.mark.parametrize(
    ("profile", "envelope_version", "accepted"),
    [("0.15.0", "0.15.0", 0), ("1.7", "1.7", 1), (None, "0.15.0", 0), (None, "1.7", 1)],
)
def test_unsupported_creates_are_dropped(profile, envelope_version, accepted):
    sink = open_sink(
        "kafka:127.0.0.1:1", SinkOptions(datahub_version=profile, kafka={"registry": {"url": "http://127.0.0.1:1"}})
    )
    others = [upsert("dataset", DATASET, "status", {"removed": False})]
    created = [create("dataset", DATASET, "status", {"removed": False})]
    assert sink._drop_unsupported_creates([*others, *created], envelope(envelope_version)) == [
        *others,
        *created[:accepted],
    ]
    assert sum(sink.dropped_counts.values()) == 1 - accepted
    sink.close()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda one: one | {"fields": [*one["fields"], 5]},
        lambda one: one | {"fields": [{"name": field["name"]} for field in one["fields"]]},
        lambda one: one | {"fields": [{**field, "type": "no.such.Type"} for field in one["fields"]]},
        lambda one: one | {"fields": [{**field, "type": {"type": "enum"}} for field in one["fields"]]},
        lambda one: one | {"fields": 7},
        lambda one: [one],
    ],
)
def test_schema_that_is_no_schema_is_an_error_of_the_registry(spoil):
    with pytest.raises(SinkError, match="registry"):
        compile_envelope(spoil(schema("1.7")), 5, location="registry")
