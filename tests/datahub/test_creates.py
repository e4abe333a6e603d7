"""CREATE proposals: which targets write them, and as what."""

from __future__ import annotations

import json

import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from support.gms import Gms

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.creates import LEFT_OUT, drops_creates_silently
from dh_bridge.datahub.emitters import to_mcp
from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.proposal import create, patch, upsert
from dh_bridge.datahub.validation import validator
from dh_bridge.delivery import open_target
from dh_bridge.errors import AspectError
from dh_bridge.sinks.base import Delivery, SinkOptions, open_sink
from dh_bridge.testing import values_at

RUN = "urn:li:dataProcessInstance:r"
PROPERTIES = {"customProperties": {}, "name": "n", "created": {"time": 1, "actor": "urn:li:corpuser:a"}}
CREATE = create("dataProcessInstance", RUN, "dataProcessInstanceProperties", PROPERTIES)
TABLE = "urn:li:dataset:(urn:li:dataPlatform:s3,lake.a,PROD)"
OTHER = upsert("dataProcessInstance", RUN, "dataProcessInstanceInput", {"inputs": []})


@pytest.mark.parametrize(("version", "silently"), [("0.15.0", False), ("1.4.0", True), ("1.7.0", True)])
def test_create_is_dropped_silently_by_newer_servers(version, silently):
    assert drops_creates_silently(version) is silently


def test_create_is_validated_as_an_upsert():
    check = validator(profile("1.7"))
    check.check(CREATE)
    with pytest.raises(AspectError, match="name"):
        check.check(create("dataProcessInstance", RUN, CREATE.aspect_name, {"created": PROPERTIES["created"]}))
    with pytest.raises(AspectError, match="a timeseries aspect does not support CREATE"):
        check.check(create("dataProcessInstance", RUN, "dataProcessInstanceRunEvent", {}))


def test_create_in_a_catalogue_is_written_only_if_absent():
    def named(name):
        return create("dataProcessInstance", RUN, CREATE.aspect_name, {**PROPERTIES, "name": name})

    tags = patch(
        "dataset", TABLE, "globalTags", [{"op": "add", "path": "/tags/urn:li:tag:x", "value": {"tag": "urn:li:tag:x"}}]
    )
    with Catalog(":memory:") as catalog:
        assert catalog.apply([named("first"), named("second")]) == Delivery(2, [])
        assert catalog.apply([named("third")]) == Delivery(1, [])
        assert catalog.aspect(RUN, CREATE.aspect_name)["name"] == "first"
        assert catalog.apply([tags, create("dataset", TABLE, "globalTags", {"tags": []})]) == Delivery(2, [])
        assert catalog.aspect(TABLE, "globalTags") == {"tags": [{"tag": "urn:li:tag:x"}]}


@pytest.mark.parametrize(("version", "arrives"), [("0.15.0", False), ("1.7", True)])
def test_json_array_omits_a_create_for_older_servers(tmp_path, version, arrives):
    with open_sink(f"file:{tmp_path / 'x.json'}", SinkOptions(datahub_version=version)) as sink:
        assert sink.emit([OTHER, CREATE]) == Delivery(1 + arrives, [])
        assert sink.dropped_counts == ({} if arrives else {LEFT_OUT: 1})
    items = [item for item in json.loads((tmp_path / "x.json").read_bytes()) if item["changeType"] == "CREATE"]
    if arrives:
        (item,) = items
        made = MetadataChangeProposalWrapper.from_obj(item)
        assert (made.changeType, made.headers) == ("CREATE", {"If-None-Match": "*"})
        assert json.loads(made.aspect.value) == PROPERTIES
    else:
        assert items == []


def test_acryl_datahubs_object_of_a_create_has_its_header():
    made = to_mcp(CREATE, version="1.7")
    assert (made.changeType, made.headers) == ("CREATE", {"If-None-Match": "*"})


def test_matcher_looks_into_a_create():
    assert values_at(CREATE, "/name") == ["n"]


@pytest.mark.parametrize(
    ("target", "version", "creates"),
    [
        ("file:{folder}/x.ndjson", "0.15.0", True),
        ("file:{folder}/x.json", "0.15.0", False),
        ("file:{folder}/x.json", "1.7", True),
        ("catalog:{folder}/x.db", "0.15.0", True),
        ("rest:{url}", "0.15.0", True),
    ],
)
def test_report_matches_the_create_support_of_the_target(tmp_path, target, version, creates):
    """Of a run without its START: the leaf is withheld where the target cannot write its properties."""
    event = {
        "eventType": "COMPLETE", "eventTime": "2026-11-20T01:00:00Z", "producer": "https://example.com/me",
        "run": {"runId": "01938a9c-0000-7000-8000-000000000001", "facets": {"errorMessage": {"message": "m"}}},
        "job": {"namespace": "shop", "name": "daily"}, "inputs": [{"namespace": "s3://lake", "name": "a"}],
    }  # fmt: skip
    with Gms(tmp_path / "gms.db", version=version) as gms:
        place = target.format(folder=tmp_path, url=gms.url)
        destination = open_target(place, Settings(datahub_version=version), environ={"HOME": "/nowhere"})
        with destination.sink as sink:
            assert destination.can_create is creates
            bridge = Bridge(destination.settings)
            bridge.options.can_create = destination.can_create
            translation = bridge.translate(event, report=True)
            assert sink.emit(translation.proposals).failures == []
            assert bool(getattr(sink, "dropped_counts", {})) is not creates
    lines = {line["path"]: (line["outcome"], line["reason"]) for line in translation.report.lines()}
    message = ("property", None) if creates else ("dropped", "policy:state=none")
    assert lines["$.run.facets.errorMessage.message"] == message
