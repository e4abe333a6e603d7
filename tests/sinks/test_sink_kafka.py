"""The Kafka sink on a real broker and a real registry, read back by acryl-datahub's own deserialiser."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
import requests
from realparts.kafka import PASSWORD
from support.kafka_proposals import read
from support.sink_contract import CAFE, DATASET, proposals

from dh_bridge.bridge import Bridge
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub import schemas
from dh_bridge.datahub.profiles import newest_profile
from dh_bridge.datahub.proposal import Payload, Proposal, patch, upsert
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.openlineage.read import read_events
from dh_bridge.sinks.base import Delivery, SinkOptions, open_sink

pytestmark = pytest.mark.kafka

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "events"


@pytest.fixture
def topic(kafka):
    return kafka.topic("proposals")


@pytest.fixture
def opened(kafka, registry, topic):
    """Open sinks that write to this test's topic; options of the area ``kafka`` may be added."""
    made = []

    def open_one(*, bootstrap=None, run_id="dh_bridge-test", profile=None, **area):
        area = {"topic": topic, "registry": {"url": registry.url}, "timeout": 20.0, **area}
        options = SinkOptions(kafka=area, run_id=run_id, pipeline_name="shop", datahub_version=profile)
        made.append(open_sink(f"kafka:{bootstrap or kafka.bootstrap}", options))
        return made[-1]

    yield open_one
    for sink in made:
        sink.close()


def many(count, start=0):
    """Return proposals for some URNs in turn, numbered."""
    return [upsert("dataset", f"{DATASET}{number % 7}", "status", {"removed": False, "n": number}) for number in range(start, start + count)]  # fmt: skip


def numbers(messages):
    """Return the numbers of the messages by URN."""
    found: dict[str, list[int]] = {}
    for mcp in messages:
        found.setdefault(mcp.entityUrn, []).append(json.loads(mcp.aspect.value)["n"])
    return found


def test_acryl_datahub_reads_the_sent_messages(opened, kafka, registry, topic):
    assert opened().emit(proposals()) == Delivery(3, [])
    messages = kafka.messages(topic)
    mcps = read(messages, registry.url)
    for proposal, message, mcp in zip(proposals(), messages, mcps, strict=True):
        assert message.key().decode() == mcp.entityUrn == proposal.entity_urn
        assert (mcp.entityType, mcp.changeType, mcp.aspectName) == (
            proposal.entity_type,
            proposal.change_type,
            proposal.aspect_name,
        )
        assert json.loads(mcp.aspect.value) == proposal.value
        assert mcp.systemMetadata.runId == "dh_bridge-test"
        assert mcp.systemMetadata.pipelineName == "shop"
        assert mcp.systemMetadata.lastObserved > 1_700_000_000_000


def test_without_a_run_there_is_no_system_metadata(opened, kafka, registry, topic):
    opened(run_id=None).emit(proposals())
    assert [mcp.systemMetadata for mcp in read(kafka.messages(topic), registry.url)] == [None] * 3


@pytest.mark.parametrize("version", ["0.15.0", "1.2", "1.5"])
def test_registered_envelope_schema_is_used(opened, kafka, registry, topic, version):
    theirs = schemas.load_schema(schemas.load_index(version).envelope)
    posted = requests.post(
        f"{registry.url}/subjects/{topic}-value/versions", json={"schema": json.dumps(theirs)}, timeout=30
    )
    opened(profile="1.7").emit(proposals())
    messages = kafka.messages(topic)
    assert {message.value()[:5] for message in messages} == {b"\0" + posted.json()["id"].to_bytes(4, "big")}
    assert registry.get(f"/subjects/{topic}-value/versions") == [1]
    assert [mcp.systemMetadata.runId for mcp in read(messages, registry.url)] == ["dh_bridge-test"] * 3


@pytest.mark.parametrize("version", [None, "0.15.0", "1.3", "1.7"])
def test_missing_envelope_schema_is_registered_by_version(opened, registry, topic, version):
    opened(profile=version).emit(proposals())
    stored = json.loads(registry.get(f"/subjects/{topic}-value/versions/latest")["schema"])
    assert stored == schemas.load_schema(schemas.load_index(version or newest_profile()).envelope)


def test_registry_that_we_may_not_write_to_stays_as_it_is(opened, registry, topic):
    with pytest.raises(SinkError, match=r"auto\.register\.schemas is false") as caught:
        opened(registry={"url": registry.url, "config": {"auto.register.schemas": "false"}}).emit(proposals())
    assert not caught.value.retryable
    assert f"{topic}-value" not in registry.get("/subjects")


@pytest.mark.parametrize(("profile", "keyed"), [("1.5", True), ("1.5.0", False), ("1.4", False), (None, True)])
def test_tags_are_patched_as_the_profile_wants_them(opened, kafka, registry, topic, profile, keyed):
    tag = patch("dataset", DATASET, "globalTags", [{"op": "add", "path": "/tags/urn:li:tag:x", "value": {"tag": "x"}}])
    opened(profile=profile).emit([tag])
    value = json.loads(read(kafka.messages(topic), registry.url)[0].aspect.value)
    assert isinstance(value, dict) is keyed


def test_urn_always_maps_to_the_partition_of_java(kafka, registry, opened):
    topic = kafka.topic("proposals", partitions=5)
    opened(topic=topic).emit(many(300))
    messages = kafka.messages(topic)
    assert len(messages) == 300
    assert {message.partition() for message in messages} != {0}
    for message in messages:
        assert message.partition() == (murmur2(message.key()) & 0x7FFFFFFF) % 5
    for found in numbers(read(messages, registry.url)).values():
        assert found == sorted(found)


def murmur2(data):
    """Return the hash of Kafka's Java clients (org.apache.kafka.common.utils.Utils.murmur2)."""
    mask, mixer = 0xFFFFFFFF, 0x5BD1E995
    value = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        part = int.from_bytes(data[at : at + 4], "little") * mixer & mask
        part = (part ^ part >> 24) * mixer & mask
        value = (value * mixer & mask) ^ part
    if len(data) > whole:
        value = (value ^ int.from_bytes(data[whole:], "little")) * mixer & mask
    value = (value ^ value >> 13) * mixer & mask
    return value ^ value >> 15


def test_catalogue_of_what_arrived_is_that_of_the_catalogue_sink(opened, kafka, registry, topic, tmp_path):
    found = Bridge().translate(list(read_events([str(EXAMPLES)]))).proposals
    assert opened(run_id=None).emit(found) == Delivery(len(found), [])
    arrived = [
        Proposal(mcp.entityType, mcp.entityUrn, mcp.changeType, mcp.aspectName, Payload(json.loads(mcp.aspect.value)))
        for mcp in read(kafka.messages(topic), registry.url)
    ]
    dumps = []
    for name, batch in (("sent", found), ("arrived", arrived)):
        with Catalog(tmp_path / f"{name}.db") as catalog:
            catalog.apply(batch)
            dumps.append(list(dump_catalog(catalog)))
    assert len(found) > 500
    assert dumps[0] == dumps[1]


def test_message_too_large_for_the_client_fails_alone(opened, kafka, topic):
    large = upsert("dataset", CAFE, "datasetProperties", {"description": "x" * 6_000_000, "customProperties": {}})
    delivery = opened().emit([*many(3), large, *many(3, 3)])
    assert delivery.delivered_count == 6
    [failure] = delivery.failures
    assert (failure.proposal, failure.retryable) == (large, False)
    assert "the topic accepts at most 5,242,880" in failure.reason
    assert len(kafka.messages(topic)) == 6


def test_message_too_large_for_the_broker_fails_alone(opened, kafka, registry):
    topic = kafka.topic("small", max_message_bytes="2000")
    large = upsert("dataset", f"{DATASET}1", "datasetProperties", {"description": uuid.uuid4().hex * 200, "n": 1})
    delivery = opened(topic=topic, producer={"compression.type": "none"}).emit([*many(40), large, *many(40, 40)])
    assert delivery.delivered_count == 80
    assert [(failure.proposal, failure.retryable) for failure in delivery.failures] == [(large, False)]
    assert "MSG_SIZE_TOO_LARGE" in delivery.failures[0].reason
    arrived = numbers(read(kafka.messages(topic), registry.url))
    assert {number for found in arrived.values() for number in found} == set(range(80))
    for found in arrived.values():
        assert found[-1] == max(found)  # the last word on an URN is the last that was said


def test_proposal_that_json_cannot_encode_fails_alone(opened, kafka, topic):
    broken = upsert("dataset", CAFE, "datasetProperties", {"name": "\ud800"})
    nameless = upsert("dataset", "urn:li:dataset:\ud800", "status", {"removed": False})
    delivery = opened().emit([*many(2), broken, nameless])
    assert [(failure.proposal, failure.retryable) for failure in delivery.failures] == [
        (broken, False),
        (nameless, False),
    ]
    assert delivery.delivered_count == len(kafka.messages(topic)) == 2


def test_job_with_an_unreadable_namespace_is_refused_unsent(opened, kafka, topic):
    urn = "urn:li:dataJob:(urn:li:dataFlow:(openlineage,shop,a%29b),load)"
    job = upsert("dataJob", urn, "status", {"removed": False})
    (failure,) = opened(profile="0.15.0").emit([job, *many(2)]).failures
    assert failure.proposal is job
    assert "unbalanced parenthesis" in failure.reason
    assert not failure.retryable
    assert len(kafka.messages(topic)) == 2
    assert opened(profile="1.4").emit([job]) == Delivery(1, [])


def test_batch_of_only_invalid_proposals_is_no_broker_error(opened):
    broken = upsert("dataset", CAFE, "datasetProperties", {"name": "\ud800"})
    delivery = opened().emit([broken])
    assert (delivery.delivered_count, len(delivery.failures)) == (0, 1)


def test_full_queue_slows_down_and_loses_nothing(opened, kafka, registry, topic):
    sink = opened(producer={"queue.buffering.max.messages": "10"})
    assert sink.emit(many(500)) == Delivery(500, [])
    assert sum(map(len, numbers(read(kafka.messages(topic), registry.url)).values())) == 500


def test_missing_topic_is_an_immediate_error(opened):
    with pytest.raises(SinkError, match=r"topic no-such-topic: .*kafka\.topic") as caught:
        opened(topic="no-such-topic").emit(proposals())
    assert not caught.value.retryable


SAFE = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "ann"}


def test_login_and_certificates_are_passed_on(opened, kafka, topic):
    producer = {**SAFE, "sasl.password": PASSWORD, "ssl.ca.location": kafka.authority}
    assert opened(bootstrap=kafka.safe, producer=producer).emit(proposals()).delivered_count == 3
    assert len(kafka.messages(topic)) == 3


@pytest.mark.parametrize(
    ("login", "hint"),
    [
        ({"sasl.password": "wrong"}, r"sasl\.\*"),
        ({"sasl.password": PASSWORD, "ssl.ca.location": None}, r"ssl\.ca\.location"),
        ({"sasl.password": PASSWORD, "sasl.mechanism": "SCRAM-SHA-256"}, r"sasl\.\*"),
    ],
    ids=["password", "certificate", "mechanism"],
)
def test_refused_login_is_an_error_without_the_password(opened, kafka, topic, login, hint):
    producer = {**SAFE, "ssl.ca.location": kafka.authority, **login}
    sink = opened(bootstrap=kafka.safe, producer={key: value for key, value in producer.items() if value is not None})
    with pytest.raises(SinkError, match=hint) as caught:
        sink.emit(proposals())
    assert not caught.value.retryable
    assert PASSWORD not in str(caught.value)
    assert kafka.messages(topic) == []


def test_token_comes_from_a_function_of_the_user_s(opened, kafka):
    """oauth_cb as DataHub's recipes name it; the broker does not take tokens, and says so."""
    producer = {**SAFE, "sasl.mechanism": "OAUTHBEARER", "oauth_cb": "support.kafka_tokens:token"}
    producer["ssl.ca.location"] = kafka.authority
    from support import kafka_tokens  # noqa: PLC0415 - it counts

    with pytest.raises(SinkError):
        opened(bootstrap=kafka.safe, producer=producer).emit(proposals())
    assert kafka_tokens.asked


@pytest.mark.parametrize(
    ("producer", "reason"),
    [
        ({"no.such.setting": "1"}, "No such configuration property"),
        ({"linger.ms": "soon"}, "Invalid value"),
        ({"oauth_cb": "support.kafka_tokens:nothing"}, "is not a function"),
        ({"oauth_cb": "nothing"}, "is not a function"),
    ],
)
def test_settings_that_librdkafka_does_not_take_are_named(opened, producer, reason):
    with pytest.raises(SettingsError, match=reason):
        opened(producer=producer).emit(proposals())


def test_required_producer_settings_cannot_be_overridden(opened, kafka, topic):
    assert opened(producer={"acks": "0", "bootstrap.servers": "127.0.0.1:1"}).emit(proposals()).delivered_count == 3
    assert len(kafka.messages(topic)) == 3
