"""The REST sink against a server on loopback that decodes and checks what it sends."""

from __future__ import annotations

import json
import socket
from contextlib import nullcontext

import pytest
from support.gms import VERSIONS, Fault, Gms, RefusedError
from support.sink_contract import CAFE, DATASET, proposals

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.generic_aspect import PatchForms
from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.abilities import Readable, SupportsVersion
from dh_bridge.sinks.base import Delivery, SinkOptions, StoredAspect, open_sink
from dh_bridge.sinks.rest import batches

JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,prod),load)"
ANN = "urn:li:corpuser:ann"


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db") as server:
        yield server


def opened(gms, *, run_id="test-run", pipeline=None, profile=None, **rest):
    options = SinkOptions(rest=rest, run_id=run_id, pipeline_name=pipeline, datahub_version=profile)
    return open_sink(f"rest:{gms.url}", options)


def named(*names):
    """Return a proposal for each name, of datasets of their own."""
    return [
        upsert("dataset", f"urn:li:dataset:(urn:li:dataPlatform:s3,{name},PROD)", "subTypes", {"typeNames": ["Table"]})
        for name in names
    ]


def names_of(found):
    return [one.entity_urn.split(",")[1] for one in found]


def many(number):
    return named(*(f"d{at}" for at in range(number)))


def test_server_ends_up_with_what_the_catalogue_would_have(gms, tmp_path):
    with opened(gms) as sink:
        sink.emit(proposals())
    with Catalog(tmp_path / "own.db") as catalog:
        catalog.apply(proposals())
        assert gms.dump() == list(dump_catalog(catalog))


def test_wire_body_is_that_of_restli(gms):
    with opened(gms, pipeline="nightly", token="abc", headers={"X-Proxy": "p"}) as sink:  # noqa: S106 - none
        sink.emit(proposals()[:1])
    config, write = gms.requests
    assert (config.method, config.path) == ("GET", "/config")
    assert (write.method, write.path) == ("POST", "/aspects?action=ingestProposalBatch")
    headers = {name.lower(): value for name, value in write.headers.items()}
    assert headers["authorization"] == "Bearer abc"
    assert headers["x-restli-protocol-version"] == "2.0.0"
    assert headers["content-type"] == "application/json"
    assert headers["x-proxy"] == "p"
    metadata = write.json["proposals"][0].pop("systemMetadata")
    assert write.json | {"proposals": [{**write.json["proposals"][0], "systemMetadata": None}]} == {
        "proposals": [
            {
                "entityType": "dataset",
                "entityUrn": DATASET,
                "changeType": "UPSERT",
                "aspectName": "subTypes",
                "aspect": {"value": '{"typeNames":["Table"]}', "contentType": "application/json"},
                "systemMetadata": None,
            }
        ],
        "async": "false",
    }
    assert set(metadata) == {"lastObserved", "runId", "pipelineName"}
    assert (metadata["runId"], metadata["pipelineName"]) == ("test-run", "nightly")


def test_without_a_run_there_is_no_system_metadata(gms):
    with opened(gms, run_id=None) as sink:
        sink.emit(proposals()[:1])
    assert "systemMetadata" not in gms.writes[0].json["proposals"][0]


def test_names_that_are_not_ascii_arrive_as_they_are(gms):
    with opened(gms) as sink:
        sink.emit(proposals())
    assert gms.proposals[1].entity_urn == CAFE
    assert gms.proposals[1].value == proposals()[1].value


def test_batches_contain_200_proposals_in_order(gms):
    with opened(gms) as sink:
        assert sink.emit(many(450)) == Delivery(450, [])
    assert [len(one.json["proposals"]) for one in gms.writes] == [200, 200, 50]
    assert names_of(gms.proposals) == names_of(many(450))


def test_batches_are_cut_by_size_and_what_is_large_goes_alone(gms, monkeypatch):
    monkeypatch.setattr(batches, "MAX_BODY_BYTES", 2000)
    large = [
        patch("dataset", DATASET, "datasetProperties", [{"op": "add", "path": "/description", "value": "x" * size}])
        for size in (600, 600, 600, 5000, 10)
    ]
    with opened(gms) as sink:
        assert sink.emit(large) == Delivery(5, [])
    assert [len(one.json["proposals"]) for one in gms.writes] == [2, 1, 1, 1]
    assert all(len(one.body) <= 2000 for one in gms.writes if len(one.json["proposals"]) > 1)


def test_oversized_or_unencodable_proposal_is_refused_unsent(gms):
    large = patch("dataset", DATASET, "datasetProperties", [{"op": "add", "path": "/name", "value": "x" * 16_000_000}])
    broken = upsert("dataset", DATASET, "subTypes", {"typeNames": ["\ud800"]})
    with opened(gms) as sink:
        delivery = sink.emit([large, broken, *named("a")])
    assert delivery.delivered_count == 1
    assert [(failure.retryable, failure.reason[:27]) for failure in delivery.failures] == [
        (False, "the proposal has 16,000,347"),
        (False, "cannot encode the proposal "),
    ]


@pytest.mark.parametrize("position", [0, 1, 99, 100, 198, 199])
def test_bad_proposal_fails_alone_with_the_server_message(gms, position):
    sent = many(200)
    gms.poison = lambda found: "not an aspect that I know" if found == sent[position] else None
    with opened(gms) as sink:
        delivery = sink.emit(sent)
    assert delivery.delivered_count == 199
    assert [(failure.proposal, failure.reason, failure.retryable) for failure in delivery.failures] == [
        (sent[position], "HTTP 422: not an aspect that I know", False)
    ]
    assert gms.proposals == sent[:position] + sent[position + 1 :]
    assert len(gms.writes) <= 2 * 8 + 1


@pytest.mark.parametrize("status", [400, 409, 412, 413, 422])
def test_statuses_about_the_content_are_permanent_failures(gms, naps, status):
    gms.poison = lambda found: RefusedError(status, "no") if "bad" in found.entity_urn else None
    with opened(gms) as sink:
        delivery = sink.emit(named("a", "bad", "b"))
    assert names_of(gms.proposals) == ["a", "b"]
    assert [(failure.reason, failure.retryable) for failure in delivery.failures] == [(f"HTTP {status}: no", False)]
    assert naps == []


def test_proposal_that_causes_a_server_error_fails_alone(gms, naps):
    gms.poison = lambda found: RefusedError(500, "an error of ours") if "bad" in found.entity_urn else None
    with opened(gms, retries=2) as sink:
        delivery = sink.emit(named("a", "b", "bad", "c"))
    assert names_of(gms.proposals) == ["a", "b", "c"]
    assert [(failure.reason, failure.retryable) for failure in delivery.failures] == [
        ("HTTP 500: an error of ours", False)
    ]
    assert len(naps) == 2


@pytest.mark.parametrize(
    "words",
    [
        "java.lang.NullPointerException",
        "java.lang.RuntimeException: jakarta.json.JsonException: The JSON Object is missing the name/value pair",
        "java.lang.RuntimeException: com.fasterxml.jackson.databind.JsonMappingException: no String-argument constructor",
        "Failed to validate record: ERROR :: /owners/0/type :: field is required but not found and has no default value",
    ],
)
def test_500_that_refuses_one_proposal_is_not_retried(gms, naps, words):
    gms.poison = lambda found: RefusedError(500, words) if "bad" in found.entity_urn else None
    with opened(gms) as sink:
        delivery = sink.emit(named("a", "b", "bad", "c"))
    assert names_of(gms.proposals) == ["a", "b", "c"]
    assert [failure.retryable for failure in delivery.failures] == [False]
    assert naps == []


def test_permanent_refusals_do_not_stop_the_delivery(gms, naps):
    """40 patches that cannot be applied stand before the others: each is permanent, none stops the delivery."""
    words = "java.lang.RuntimeException: jakarta.json.JsonException: no such member"
    gms.poison = lambda found: RefusedError(500, words) if "bad" in found.entity_urn else None
    with opened(gms) as sink:
        delivery = sink.emit([*named(*(f"bad{number}" for number in range(40))), *named("a", "b")])
    assert delivery.delivered_count == 2
    assert {failure.retryable for failure in delivery.failures} == {False}
    assert naps == []


def test_server_refusing_everything_is_a_retryable_error(gms, naps):
    gms.poison = lambda found: RefusedError(500, "no database")  # noqa: ARG005 - takes none
    with opened(gms, retries=1) as sink:
        assert [failure.retryable for failure in sink.emit(named("a", "b")).failures] == [True, True]
        with pytest.raises(SinkError, match="HTTP 500: no database") as caught:
            sink.emit(many(200))
    assert caught.value.retryable
    assert len(gms.writes) < 100
    assert len(naps) == 2


def test_entities_that_the_user_may_not_write_fail_alone(gms):
    stated = "User urn:li:corpuser:etl is unauthorized to modify entity: HttpStatus: 403 Urn: …"
    gms.poison = lambda found: RefusedError(403, stated) if "secret" in found.entity_urn else None
    with opened(gms) as sink:
        delivery = sink.emit(named("a", "secret", "b"))
        assert names_of(gms.proposals) == ["a", "b"]
        assert [(failure.reason, failure.retryable) for failure in delivery.failures] == [
            (f"HTTP 403: {stated}", False)
        ]
        gms.poison = lambda found: RefusedError(403, stated)  # noqa: ARG005 - takes none
        with pytest.raises(SinkError, match="the user of the token lacks privileges") as caught:
            sink.emit(many(200))
    assert not caught.value.retryable
    assert len(gms.writes) < 100


def test_many_refusals_do_not_end_a_partly_accepted_delivery(gms):
    stated = RefusedError(403, "HttpStatus: 403 Urn: …")
    gms.poison = lambda found: stated if "secret" in found.entity_urn else None
    sent = named("a", *(f"secret{at}" for at in range(100)), "b")
    with opened(gms) as sink:
        delivery = sink.emit(sent)
    assert (delivery.delivered_count, len(delivery.failures)) == (2, 100)
    assert names_of(gms.proposals) == ["a", "b"]


def test_proposal_order_per_entity_survives_a_refusal(gms):
    sent = [
        patch("dataset", DATASET, "datasetProperties", [{"op": "add", "path": "/name", "value": str(at)}])
        for at in range(20)
    ]
    gms.poison = lambda found: "odd" if int(found.value[0]["value"]) in (0, 7, 19) else None
    with opened(gms) as sink:
        delivery = sink.emit(sent)
    assert [found.value[0]["value"] for found in gms.proposals] == [str(at) for at in range(20) if at not in (0, 7, 19)]
    assert [failure.proposal for failure in delivery.failures] == [sent[0], sent[7], sent[19]]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 520])
def test_busy_server_is_asked_again(gms, naps, status):
    gms.faults = [Fault(status), Fault(status)]
    with opened(gms) as sink:
        assert sink.emit(named("a", "b")) == Delivery(2, [])
    assert names_of(gms.proposals) == ["a", "b"]
    assert len(naps) == 2


def test_pauses_grow_and_are_left_to_chance(gms, naps):
    gms.faults = [Fault(503)] * 8
    with opened(gms, retries=8) as sink:
        sink.emit(named("a"))
    assert all(2**at / 2 <= nap <= 2**at for at, nap in enumerate(naps[:6]))
    assert 30 <= naps[7] <= 60
    assert len({nap / 2**at for at, nap in enumerate(naps[:6])}) > 1


@pytest.mark.parametrize(("status", "asked"), [(429, "7"), (503, "7"), (429, "7.5")])
def test_retry_after_is_heeded(gms, naps, status, asked):
    gms.faults = [Fault(status, {"Retry-After": asked})]
    with opened(gms) as sink:
        assert sink.emit(named("a")) == Delivery(1, [])
    assert naps == [float(asked)]


def test_rate_limits_count_half(gms, naps):
    gms.faults = [Fault(429)] * 4
    with opened(gms, retries=2) as sink:
        assert sink.emit(named("a")) == Delivery(1, [])
    assert len(naps) == 4


def test_rate_limit_that_stays_is_named(gms, naps):
    limit = {"X-DataHub-RateLimit-Type": "ingest", "X-DataHub-RateLimit-Rule": "mcl-lag", "Retry-After": "3"}
    gms.faults = [Fault(429, limit, {"error": "Rate limit exceeded"})] * 10
    with (
        opened(gms, retries=1) as sink,
        pytest.raises(SinkError, match=r"429: Rate limit exceeded \(.*ingest.*mcl-lag") as caught,
    ):
        sink.emit(named("a"))
    assert caught.value.retryable
    assert naps == [3.0, 3.0]


def test_server_that_wants_an_hour_is_left_alone(gms, naps):
    gms.faults = [Fault(429, {"Retry-After": "3600"})]
    with opened(gms) as sink, pytest.raises(SinkError, match="asks to wait for 3,600 seconds") as caught:
        sink.emit(named("a"))
    assert caught.value.retryable
    assert naps == []


@pytest.mark.parametrize("reset", ["before", "after", "mid-answer"])
def test_torn_connection_is_tried_again_and_nothing_doubles(gms, naps, reset, tmp_path):
    gms.faults = [Fault(reset=reset)]
    with opened(gms) as sink:
        assert sink.emit(proposals()) == Delivery(3, [])
    assert len(naps) == 1
    assert len(gms.writes) == 2
    with Catalog(tmp_path / "own.db") as catalog:
        catalog.apply(proposals())
        assert gms.dump() == list(dump_catalog(catalog))


@pytest.mark.parametrize("reset", ["before", "after", "mid-answer"])
def test_connection_that_is_always_torn_may_heal(gms, naps, reset):
    gms.faults = [Fault(reset=reset)] * 10
    with opened(gms, retries=2) as sink, pytest.raises(SinkError, match="connection failed") as caught:
        sink.emit(named("a"))
    assert caught.value.retryable
    assert len(naps) == 2


def test_slow_answer_is_retryable_and_may_have_been_written(gms, naps):
    gms.faults = [Fault(pause=0.5), Fault(pause=0.5)]
    with (
        opened(gms, timeout=0.1, retries=1) as sink,
        pytest.raises(SinkError, match=r"no response within 0\.1 s") as caught,
    ):
        sink.emit(named("a"))
    assert caught.value.retryable
    assert "the server may have written the proposals" in str(caught.value)
    assert len(naps) == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (301, "HTTP 301, redirected to http://other"),
        (401, "set DATAHUB_GMS_TOKEN"),
        (403, "the user of the token lacks privileges"),
        (404, "check that this is the address"),
        (405, "check that this is the address"),
        (407, "HTTPS_PROXY"),
        (415, "HTTP 415"),
        (501, "HTTP 501"),
    ],
)
def test_statuses_about_us_are_permanent(gms, naps, status, words):
    gms.faults = [Fault(status, {"Location": "http://other"})]
    with opened(gms) as sink, pytest.raises(SinkError, match=words) as caught:
        sink.emit(named("a", "b"))
    assert not caught.value.retryable
    assert naps == []


def test_token_that_expires_ends_the_delivery(gms):
    gms.token = "new"  # noqa: S105 - none
    with opened(gms, token="old") as sink, pytest.raises(SinkError, match="401: Unauthorized") as caught:  # noqa: S106
        sink.emit(named("a"))
    assert not caught.value.retryable
    assert "old" not in str(caught.value)


def test_nobody_listening_is_retryable(naps):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        open_sink(f"rest:http://127.0.0.1:{port}", SinkOptions(rest={"retries": 1})) as sink,
        pytest.raises(SinkError, match="Connection refused") as caught,
    ):
        sink.emit(named("a"))
    assert caught.value.retryable
    assert caught.value.location == f"rest:http://127.0.0.1:{port}"
    assert len(naps) == 1


def test_server_without_batches_gets_one_by_one(tmp_path):
    with Gms(tmp_path / "gms.db", batches=False) as gms:
        gms.poison = lambda found: "no" if "bad" in found.entity_urn else None
        with opened(gms) as sink:
            assert sink.emit(named("a", "bad")).delivered_count == 1
            assert sink.emit(named("c", "d")) == Delivery(2, [])
        assert names_of(gms.proposals) == ["a", "c", "d"]
        assert [one.path.partition("action=")[2] for one in gms.writes] == [
            "ingestProposalBatch",
            *["ingestProposal"] * 4,
        ]


OWNER = patch(
    "dataJob",
    JOB,
    "ownership",
    [{"op": "add", "path": f"/owners/{ANN}/DATAOWNER", "value": {"owner": ANN, "type": "DATAOWNER"}}],
)
COLUMN = "/editableSchemaFieldInfo/id"
COLUMN_TAG = patch(
    "dataset",
    DATASET,
    "editableSchemaMetadata",
    [
        {"op": "add", "path": f"{COLUMN}/fieldPath", "value": "id"},
        {"op": "add", "path": f"{COLUMN}/globalTags/tags/urn:li:tag:pii", "value": {"tag": "urn:li:tag:pii"}},
    ],
)


@pytest.mark.parametrize("version", VERSIONS)
def test_owners_and_tags_are_patched_in_the_form_of_the_version(tmp_path, version):
    sent = [
        patch(
            "dataJob",
            JOB,
            "globalTags",
            [{"op": "add", "path": "/tags/urn:li:tag:a~1b", "value": {"tag": "urn:li:tag:a/b"}}],
        ),
        patch("dataJob", JOB, "globalTags", [{"op": "remove", "path": "/tags/urn:li:tag:gone"}]),
        OWNER,
    ]
    with Gms(tmp_path / "gms.db", version=version) as gms:
        with opened(gms) as sink:
            assert sink.emit([*sent, COLUMN_TAG]) == Delivery(4, [])
        assert len(gms.writes) == 1  # nothing was tried in another form
        stated = [json.loads(line) for line in gms.dump()]
        assert {one["aspectName"]: one["aspect"]["json"] for one in stated if one["entityType"] == "dataJob"} == {
            "globalTags": {"tags": [{"tag": "urn:li:tag:a/b"}]},
            "ownership": {
                "owners": [{"owner": ANN, "type": "DATAOWNER"}],
                "ownerTypes": {},
                "lastModified": {"time": 0, "actor": "urn:li:corpuser:unknown"},
            },
        }


@pytest.mark.parametrize(
    ("named_by", "environment", "version"),
    [
        ("1.4.0.3", "core", "1.4.0.3"),
        ("0.15.0rc2", "core", "0.15.0"),
        (None, "core", None),
        ("head", "core", None),
        ("v0.0.0-unknown-SNAPSHOT", "core", None),
        ("0.3.8", "cloud", "0.15.0"),
        ("0.3.12.4-acryl", "cloud", "1.0"),
        ("0.3.15.6", "cloud", "1.3.1"),
        ("0.3.16.7", "cloud", "1.4.0.4"),
        ("0.3.17", "cloud", "1.4.0.9"),
        ("0.3.17.2-acryl", "cloud", "1.4.0.9"),
        ("1.0.1", "cloud", "1.5.0.19"),
        ("1.1.4", "cloud", "1.5.0.19"),
        ("2.0", "cloud", "1.6.0.3"),
        ("2.1", "cloud", "1.6.0.15"),
        ("2.2.0", "cloud", "1.7.0.3"),
        ("2.3.5", "cloud", "1.7.0.14"),
        ("2.3.5.1", "cloud", "1.7.0.14"),
        ("2.3.6-acryl", "cloud", "1.7.0.14+cloud-2.3.6"),
        ("3.0.0", "cloud", "1.7.0.14+cloud-3.0.0"),
    ],
)
def test_server_version_is_read_from_its_config(tmp_path, named_by, environment, version):
    with Gms(tmp_path / "gms.db", version=named_by) as gms:
        gms.environment = environment
        with opened(gms) as sink:
            assert isinstance(sink, SupportsVersion)
            assert isinstance(sink, Readable)
            assert sink.version() == version
            assert sink.version() == version
        assert [one.path for one in gms.requests] == ["/config"]


def test_form_of_patches_is_learned_from_a_refusal(tmp_path):
    """A server that says only 1.5 may be 1.5.0, which takes no keyed owners."""
    with Gms(tmp_path / "gms.db", version="1.5") as gms:
        gms.acts_as = "1.5.0"
        with opened(gms) as sink:
            delivery = sink.emit([*named("a", "b"), OWNER, COLUMN_TAG, *named("c"), OWNER])
            assert delivery == Delivery(6, [])
            assert sink.patch_forms == PatchForms("1.5", {"ownership": False, "editableSchemaMetadata": False})
            writes = len(gms.writes)
            assert sink.emit([OWNER, COLUMN_TAG]) == Delivery(2, [])
            assert len(gms.writes) == writes + 1


def test_patch_form_is_learned_again_after_a_server_upgrade(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms, opened(gms) as sink:
        assert sink.emit([OWNER]) == Delivery(1, [])
        gms.acts_as = "1.7.0"
        assert sink.emit([OWNER]) == Delivery(1, [])


@pytest.mark.parametrize(("noted", "tries"), [("1.5", 1), ("1.4.0", 3)])
def test_noted_form_of_patches_is_of_the_same_version_only(tmp_path, noted, tries):
    forms = PatchForms(noted, {"ownership": False})
    with Gms(tmp_path / "gms.db", version="1.5") as gms:
        gms.acts_as = "1.5.0"
        with open_sink(f"rest:{gms.url}", SinkOptions(patch_forms=forms)) as sink:
            assert sink.emit([OWNER, *named("a")]) == Delivery(2, [])
        assert len(gms.writes) == 1 if tries == 1 else len(gms.writes) >= tries


def test_patch_that_is_refused_in_both_forms_is_a_failure(gms):
    gms.poison = lambda found: "no such person" if found.aspect_name == "ownership" else None
    with opened(gms) as sink:
        delivery = sink.emit([OWNER, *named("a")])
        assert [failure.reason for failure in delivery.failures] == ["HTTP 422: no such person"]
        assert sink.patch_forms == PatchForms("1.4.0", {})


def test_without_a_version_the_chosen_profile_decides_on_patches(tmp_path):
    sent = [patch("dataJob", JOB, "globalTags", [{"op": "remove", "path": "/tags/urn:li:tag:gone"}])]
    with Gms(tmp_path / "gms.db", version="1.7.0") as gms:
        gms.version = None
        with opened(gms, profile="1.7") as sink:
            sink.server()
            gms.version = "1.7.0"
            assert sink.emit(sent) == Delivery(1, [])


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("", "no DataHub server is set"),
        ("localhost:8080", "'localhost:8080' is not the address"),
        ("localhost:hunter22", "'localhost:…' is not the address"),
        ("u:hunter22@localhost?token=x", "'localhost' is not the address"),
        ("ftp://h", "is not the address of a DataHub server"),
        ("http://", "is not the address of a DataHub server"),
        ("http://h:x", "is not the address of a DataHub server"),
        ("http://u:p@h", "a user or a password"),
        ("http://h?a=u:p", "the address http://h has a query"),
        ("http://h/gms?token=u:p@x", "the address http://… has a query"),
    ],
)
def test_invalid_server_address_is_refused(place, reason):
    with pytest.raises(SettingsError, match=reason) as caught:
        open_sink(f"rest:{place}")
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"rest": {"ca_bundle": "/no/such/file"}}, "rest.ca_bundle: /no/such/file does not exist"),
        ({"rest": {"client_certificate": ["/no/such/file"]}}, "rest.client_certificate"),
        ({"rest": {"timeout": "soon"}}, "Expected `float`"),
        ({"file_format": "json"}, "not supported by rest:"),
    ],
)
def test_unsupported_rest_option_is_refused(options, reason):
    with pytest.raises(SettingsError, match=reason):
        open_sink("rest:http://localhost:1", SinkOptions(**options))


def test_rate_is_kept(gms, monkeypatch):
    clock = [100.0]
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr("dh_bridge.sinks.rest.backoff.monotonic", lambda: clock[0])
    monkeypatch.setattr("dh_bridge.sinks.rest.backoff.sleep", sleep)
    with opened(gms, max_rate=10) as sink:
        sink.emit(many(35))
    assert [len(one.json["proposals"]) for one in gms.writes] == [10, 10, 10, 5]
    assert sum(slept) == pytest.approx(3.0)


@pytest.mark.parametrize("batches", [True, False])
def test_written_aspects_are_read_with_their_writer(tmp_path, batches):
    with Gms(tmp_path / "gms.db", batches=batches) as gms, opened(gms, run_id="mine", pipeline="nightly") as sink:
        sink.emit([*proposals(), *many(150)])
        assert sink.read({DATASET: ["subTypes", "status"], CAFE: [], "urn:li:dataset:gone": ["status"]}) == {
            DATASET: {"subTypes": StoredAspect({"typeNames": ["Table"]}, "mine", "nightly", "urn:li:corpuser:etl")},
            CAFE: {
                "datasetProperties": StoredAspect(
                    {"customProperties": {}, "name": 'café ☃ 𝄞 " \\ \n', "tags": []},
                    "mine",
                    "nightly",
                    "urn:li:corpuser:etl",
                )
            },
        }
        asked = {one.entity_urn: ["subTypes"] for one in many(150)}
        assert list(sink.read(asked)) == list(asked)


def test_read_error_is_a_sink_error_with_its_status(gms):
    gms.token = "t"  # noqa: S105 - none
    with opened(gms) as sink, pytest.raises(SinkError, match="HTTP 401"):
        sink.read({DATASET: []})


def test_job_with_an_unreadable_namespace_is_refused_unsent(tmp_path):
    unreadable = [
        upsert("dataJob", "urn:li:dataJob:(urn:li:dataFlow:(openlineage,shop,a%29b),load)", name, value)
        for name, value in (("status", {"removed": False}), ("subTypes", {"typeNames": ["Task"]}))
    ]
    for version, refused in (("0.15.0", 2), ("1.4.0", 0)):
        with Gms(tmp_path / f"{version}.db", version=version) as server, opened(server) as sink:
            delivery = sink.emit([*unreadable, *named("a")])
            assert (delivery.delivered_count, len(delivery.failures)) == (3 - refused, refused)
            assert all("unbalanced parenthesis" in one.reason and not one.retryable for one in delivery.failures)
            assert len(server.writes) == 1


def test_stand_in_refuses_what_0_15_0_cannot_read(tmp_path):
    body = {
        "entityType": "dataJob",
        "entityUrn": "urn:li:dataJob:(urn:li:dataFlow:(openlineage,shop,a%29b),load)",
        "changeType": "UPSERT",
        "aspectName": "status",
        "aspect": {"value": '{"removed":false}', "contentType": "application/json"},
    }
    for version in ("0.15.0", "1.4.0"):
        with Gms(tmp_path / f"{version}.db", version=version) as server:
            with pytest.raises(RefusedError) if version == "0.15.0" else nullcontext():
                server.take([body], 0.0)
            balanced = body["entityUrn"].replace("%29", "%28x%29")
            server.take([{**body, "entityUrn": balanced}], 0.0)
