"""Proposals as acryl-datahub's objects, through emitters of acryl-datahub."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import responses

from dh_bridge import translate
from dh_bridge.datahub.generic_aspect import plain_operations
from dh_bridge.datahub.proposal import create, patch, upsert
from dh_bridge.errors import SinkError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from datahub.emitter.mcp import MetadataChangeProposalWrapper
    from datahub.emitter.rest_emitter import DatahubRestEmitter
    from datahub.metadata.schema_classes import MetadataChangeProposalClass, SubTypesClass

    from dh_bridge.datahub.emitters import emit, to_mcpw

DATASET = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.café,PROD)"
TABLE = upsert("dataset", DATASET, "subTypes", {"typeNames": ["Table"]})
RENAME = patch("dataset", DATASET, "datasetProperties", [{"op": "add", "path": "/name", "value": "café ☃"}])
SERVER = "http://gms.test:8080"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "events"


def examples():
    lines = [line for file in sorted(EXAMPLES.glob("*.ndjson")) for line in file.read_bytes().splitlines()]
    return translate(lines).proposals


def leaves(value, path="$"):
    if isinstance(value, dict) and value:
        return {leaf for key, member in value.items() for leaf in leaves(member, f"{path}.{key}")}
    if isinstance(value, list) and value:
        return {leaf for place, member in enumerate(value) for leaf in leaves(member, f"{path}[{place}]")}
    return {(path, json.dumps(value))}


class Only:
    """An emitter with the methods named, which notes what it gets."""

    def __init__(self, *methods):
        self.got, self.calls = [], []
        for method in methods:
            setattr(self, method, lambda item, method=method: self._take(method, item))
        self.flush = lambda: self.calls.append("flush")

    def _take(self, method, item):
        self.calls.append(method)
        self.got.extend(item if isinstance(item, list) else [item])


def test_upsert_becomes_a_wrapper_with_the_typed_aspect():
    wrapper = TABLE.to_mcpw()
    assert isinstance(wrapper, MetadataChangeProposalWrapper)
    assert isinstance(wrapper.aspect, SubTypesClass)
    assert (wrapper.entityType, wrapper.entityUrn, wrapper.changeType) == ("dataset", DATASET, "UPSERT")
    assert wrapper.validate()


def test_patch_converts_like_those_of_datahub_patch_builders():
    mcp = RENAME.to_mcpw()
    assert isinstance(mcp, MetadataChangeProposalClass)
    assert (mcp.changeType, mcp.aspectName, mcp.entityUrn) == ("PATCH", "datasetProperties", DATASET)
    assert mcp.aspect.contentType == "application/json-patch+json"
    assert json.loads(mcp.aspect.value) == RENAME.value
    assert mcp.validate()


@pytest.mark.parametrize(
    ("aspect", "value"),
    [
        ("subTypes", {"typeNames": ["Table"], "ofTheYear2040": True}),
        ("aspectOfTheYear2040", {"name": "x"}),
    ],
)
def test_unknown_aspect_of_the_installed_sdk_is_sent_as_json(aspect, value):
    mcp = to_mcpw(upsert("dataset", DATASET, aspect, value))
    assert isinstance(mcp, MetadataChangeProposalClass)
    assert (mcp.changeType, mcp.aspectName, mcp.aspect.contentType) == ("UPSERT", aspect, "application/json")
    assert json.loads(mcp.aspect.value) == value


def test_examples_convert_to_valid_datahub_objects_without_loss():
    proposals = examples()
    kinds = set()
    for proposal in proposals:
        mcp = proposal.to_mcpw()
        assert mcp.validate()
        plain = mcp.make_mcp() if isinstance(mcp, MetadataChangeProposalWrapper) else mcp
        kinds.add((type(mcp).__name__, proposal.change_type))
        written = json.loads(plain.aspect.value)
        if proposal.change_type == "PATCH":
            assert plain_operations(proposal.aspect_name, written) == proposal.value
        else:
            assert leaves(proposal.value) <= leaves(written)
    assert kinds == {("MetadataChangeProposalWrapper", "UPSERT"), ("MetadataChangeProposalClass", "PATCH")}


@pytest.mark.parametrize(
    ("methods", "calls"),
    [
        (("emit", "emit_mcp", "emit_mcps"), ["emit_mcps", "flush"]),
        (("emit", "emit_mcp"), ["emit_mcp", "emit_mcp", "flush"]),
        (("emit",), ["emit", "emit", "flush"]),
    ],
)
def test_any_emitter_gets_every_proposal_in_order(methods, calls):
    emitter = Only(*methods)
    assert emit(emitter, iter([TABLE, RENAME])) == 2
    assert emitter.calls == calls
    assert [mcp.aspectName for mcp in emitter.got] == ["subTypes", "datasetProperties"]


def test_emitter_need_not_flush():
    emitter = Only("emit")
    del emitter.flush
    assert emit(emitter, [TABLE]) == 1
    assert emitter.calls == ["emit"]


def test_long_inputs_are_handed_over_in_batches():
    emitter = Only("emit_mcps")
    assert emit(emitter, [TABLE] * 401) == 401
    assert emitter.calls == ["emit_mcps"] * 3 + ["flush"]


@pytest.mark.parametrize(("version", "sent"), [("0.15.0", 1), ("1.4.0", 2), (None, 2)])
def test_emit_omits_a_create_that_the_server_would_reject(version, sent):
    emitter = Only("emit_mcps")
    assert emit(emitter, [TABLE, create("dataset", DATASET, "status", {"removed": False})], version=version) == sent


def test_object_without_emit_method_is_refused():
    with pytest.raises(SinkError, match="object is not an emitter: expected a method emit_mcps"):
        emit(object(), [TABLE])


def test_emitter_exceptions_propagate():
    class Broken:
        def emit(self, item):
            raise ConnectionError(item.aspectName)

    with pytest.raises(ConnectionError, match="subTypes"):
        emit(Broken(), [TABLE])


@responses.activate
def test_rest_emitter_requests_match_the_gms_api():
    responses.get(f"{SERVER}/config", json={"noCode": "true", "versions": {}})
    sent = responses.post(f"{SERVER}/aspects?action=ingestProposalBatch", json={"value": "ok"})
    proposals = examples()[:150]
    emitter = DatahubRestEmitter(SERVER, openapi_ingestion=False)
    assert emit(emitter, [TABLE, RENAME, *proposals]) == 152
    emitter.close()
    bodies = [json.loads(call.request.body) for call in sent.calls]
    wire = [proposal for body in bodies for proposal in body["proposals"]]
    assert [(one["entityUrn"], one["aspectName"], one["changeType"]) for one in wire] == [
        (one.entity_urn, one.aspect_name, one.change_type) for one in [TABLE, RENAME, *proposals]
    ]
    first, second = wire[:2]
    assert first["aspect"] == {"value": '{"typeNames": ["Table"]}', "contentType": "application/json"}
    assert second["aspect"]["contentType"] == "application/json-patch+json"
    assert json.loads(second["aspect"]["value"]) == RENAME.value


def test_non_ascii_text_is_escaped_for_the_rest_emitter():
    found = to_mcpw(RENAME)
    assert found.aspect.value.isascii()
    assert json.loads(found.aspect.value) == RENAME.value


@pytest.mark.parametrize(("version", "keyed"), [(None, True), ("1.4.0", False), ("1.5.0", False), ("1.5.0.5", True)])
def test_tag_patches_have_primary_keys_if_the_server_needs_keys(version, keyed):
    tag = "urn:li:tag:pii"
    one = patch("dataset", DATASET, "globalTags", [{"op": "add", "path": f"/tags/{tag}", "value": {"tag": tag}}])
    emitter = Only("emit_mcps")
    emit(emitter, [one], version=version)
    body = json.loads(emitter.got[0].aspect.value)
    assert ("arrayPrimaryKeys" in body) is keyed


@responses.activate
def test_datahubs_rest_emitter_sends_a_single_proposal_too():
    sent = responses.post(f"{SERVER}/aspects?action=ingestProposal", json={"value": "ok"})
    responses.get(f"{SERVER}/config", json={"noCode": "true", "versions": {}})
    with DatahubRestEmitter(SERVER, openapi_ingestion=False) as emitter:
        emitter.emit(RENAME.to_mcpw())
    body = json.loads(sent.calls[0].request.body)
    assert body["proposal"]["changeType"] == "PATCH"
    assert json.loads(body["proposal"]["aspect"]["value"]) == RENAME.value


def test_missing_acryl_datahub_error_names_the_extra():
    code = (
        "import sys; sys.modules['datahub'] = None\n"
        "from dh_bridge.datahub.proposal import upsert\nfrom dh_bridge.errors import SinkError\n"
        "try:\n    upsert('tag', 'urn:li:tag:a', 'tagKey', {'name': 'a'}).to_mcpw()\n"
        "except SinkError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'dh-bridge[datahub]'" in done.stdout
