"""What each error of the client causes, with a client that fails as configured; the real ones are in test_sink_kafka.py."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
import responses
from confluent_kafka import KafkaError, KafkaException
from support import kafka_tokens
from support.sink_contract import DATASET, proposals

from dh_bridge.datahub import schemas
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.settings import Settings
from dh_bridge.settings.kafka import registry_url
from dh_bridge.sinks.base import Delivery, SinkOptions, open_sink
from dh_bridge.sinks.kafka import errors, producer, refusals
from dh_bridge.sinks.kafka.options import KafkaOptions, kafka_options

URL = "http://registry:8081"


class Client:
    """A client of which each message fails with the error that ``script`` names for it, and lets go of it at the next flush."""

    def __init__(self, script, settings):
        self.script = script
        self.received = settings["error_cb"]
        self.settings = settings
        self.waiting = []
        self.taken = []
        self.purged = 0
        script.clients.append(self)

    def produce(self, _topic, value, key, on_delivery):
        place = len(self.taken) + len(self.waiting)
        if self.script.full and len(self.waiting) >= self.script.full:
            raise BufferError
        raised = self.script.raised.get(place)
        if raised is not None:
            self.taken.append(None)
            raise KafkaException(KafkaError(raised))
        self.waiting.append((place, key, value, on_delivery))

    def flush(self, _seconds):
        for stated in self.script.received:
            self.received(stated)
        if self.script.stuck and not self.purged:
            return len(self.waiting)
        self.poll(0)
        return 0

    def poll(self, _seconds):
        waiting, self.waiting = self.waiting, []
        for place, _key, value, report in waiting:
            code = KafkaError._PURGE_QUEUE if self.purged else self.script.failed.get(place)
            self.taken.append(value)
            if code is not None:
                report(KafkaError(code), None)

    def purge(self):
        self.purged += 1

    def list_topics(self, topic, timeout):  # noqa: ARG002 - the client's own name
        answer = self.script.topics.pop(0) if len(self.script.topics) > 1 else self.script.topics[0]
        if isinstance(answer, KafkaError):
            for stated in self.script.received:
                self.received(stated)
            raise KafkaException(answer)
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None if answer is None else KafkaError(answer))})

    def __len__(self):
        return len(self.waiting)


@pytest.fixture
def script(monkeypatch):
    behaviour = SimpleNamespace(failed={}, raised={}, received=[], topics=[None], full=0, stuck=False, clients=[])
    monkeypatch.setattr(producer, "Client", lambda settings: Client(behaviour, settings))
    monkeypatch.setattr(producer, "_POLL_SECONDS", 0.001)
    return behaviour


@pytest.fixture
def sink(script):  # noqa: ARG001 - the client
    with responses.RequestsMock() as mocked:
        envelope = schemas.load_schema(schemas.load_index("1.7").envelope)
        latest = f"{URL}/subjects/MetadataChangeProposal_v1-value/versions/latest"
        mocked.get(latest, json={"id": 1, "schema": json.dumps(envelope)})
        area = {"registry": {"url": URL}, "timeout": 0.05}
        with open_sink("kafka:b:9092", SinkOptions(kafka=area)) as opened:
            yield opened


def batch(*urns):
    return [upsert("dataset", DATASET + urn, "status", {"removed": False}) for urn in urns]


def test_all_that_the_tables_name_is_an_error_of_the_client():
    for name in [*errors.CONTENT_ERRORS, *errors.REMEDIES]:
        assert isinstance(getattr(KafkaError, name), int), name
    assert not errors.CONTENT_ERRORS & set(errors.REMEDIES)


@pytest.mark.parametrize("name", sorted(errors.REMEDIES))
def test_permanent_kafka_error_ends_the_batch(sink, script, name):
    script.failed = {1: getattr(KafkaError, name)}
    with pytest.raises(SinkError, match=name) as caught:
        sink.emit(batch("a", "b", "c"))
    assert caught.value.retryable is False
    assert caught.value.remedy


@pytest.mark.parametrize("name", sorted(errors.CONTENT_ERRORS))
def test_message_error_fails_only_its_own_proposal(sink, script, name):
    script.failed = dict.fromkeys([1, 3, 4], getattr(KafkaError, name))  # 1, and when it is sent again alone
    delivery = sink.emit(batch("a", "b", "c"))
    assert delivery.delivered_count == 2
    assert [(failure.proposal, failure.retryable) for failure in delivery.failures] == [(batch("b")[0], False)]


def test_connection_failure_stops_the_single_resends(sink, script):
    script.failed = {1: KafkaError.RECORD_LIST_TOO_LARGE, 5: KafkaError._MSG_TIMED_OUT}  # 5: the first one sent again
    sent = batch("a", "b", "c", "b", "b")
    delivery = sink.emit(sent)
    assert delivery.delivered_count == 2
    assert [failure.proposal for failure in delivery.failures] == [sent[1], sent[3], sent[4]]
    assert all(failure.retryable and "_MSG_TIMED_OUT" in failure.reason for failure in delivery.failures)
    assert len(script.clients[0].taken) == 6


def test_refusal_does_not_end_the_sending_one_by_one(sink, script):
    script.failed = dict.fromkeys([1, 5], KafkaError.RECORD_LIST_TOO_LARGE)
    sent = batch("a", "b", "c", "b", "b")
    delivery = sink.emit(sent)
    assert [(failure.proposal, failure.retryable) for failure in delivery.failures] == [(sent[1], False)]
    assert len(script.clients[0].taken) == 8


TEMPORARY = [
    "_MSG_TIMED_OUT",
    "_TRANSPORT",
    "NOT_ENOUGH_REPLICAS",
    "REQUEST_TIMED_OUT",
    "KAFKA_STORAGE_ERROR",
    "UNKNOWN",
]


@pytest.mark.parametrize("name", TEMPORARY)
def test_batch_of_which_nothing_got_through_is_worth_another_try(sink, script, name):
    script.failed = dict.fromkeys(range(3), getattr(KafkaError, name))
    with pytest.raises(SinkError, match=name) as caught:
        sink.emit(batch("a", "b", "c"))
    assert caught.value.retryable is True


@pytest.mark.parametrize("name", TEMPORARY)
def test_failed_message_also_fails_later_ones_of_its_urn(sink, script, name):
    script.failed = {1: getattr(KafkaError, name)}
    sent = batch("a", "b", "a", "b", "c", "b")
    delivery = sink.emit(sent)
    assert delivery.delivered_count == 3
    assert [failure.proposal for failure in delivery.failures] == [sent[1], sent[3], sent[5]]
    assert all(failure.retryable for failure in delivery.failures)
    assert name in delivery.failures[0].reason


def test_timeout_error_includes_the_connection_error(sink, script):
    script.failed = dict.fromkeys(range(2), KafkaError._MSG_TIMED_OUT)
    script.received = [KafkaError(KafkaError._ALL_BROKERS_DOWN, "2/2 brokers are down")]
    with pytest.raises(SinkError, match="2/2 brokers are down"):
        sink.emit(batch("a", "b"))


def test_refused_login_stops_the_wait_for_reports(sink, script):
    script.stuck = True
    script.received = [KafkaError(KafkaError._AUTHENTICATION, "wrong"), KafkaError(KafkaError._ALL_BROKERS_DOWN)]
    with pytest.raises(SinkError, match="wrong") as caught:
        sink.emit(batch("a", "b"))
    assert caught.value.retryable is False
    assert script.clients[0].purged == 1


def test_messages_without_a_report_time_out(sink, script, monkeypatch):
    monkeypatch.setattr(producer, "_REPORT_SECONDS", 0.01)
    script.stuck = True
    with pytest.raises(SinkError) as caught:
        sink.emit(batch("a", "b"))
    assert caught.value.retryable is True
    assert script.clients[0].purged == 1


def test_client_at_its_end_is_replaced(sink, script):
    script.received = [KafkaError(KafkaError._FATAL, "epoch is over", fatal=True)]
    with pytest.raises(SinkError, match="epoch is over") as caught:
        sink.emit(batch("a"))
    assert caught.value.retryable is True
    script.received = []
    assert sink.emit(batch("a")) == Delivery(1, [])
    assert len(script.clients) == 2


def test_error_in_between_leaves_nothing_that_could_follow(sink, script, monkeypatch):
    def broken(*_arguments):
        raise KeyboardInterrupt

    sink.emit(batch("a"))
    monkeypatch.setattr(producer.KafkaProducer, "_produce", broken)
    with pytest.raises(KeyboardInterrupt):
        sink.emit(batch("b"))
    assert script.clients[0].purged == 1


def test_full_queue_is_waited_for(sink, script):
    script.full = 2
    assert sink.emit(batch(*"abcdefg")) == Delivery(7, [])


def test_full_producer_queue_is_a_retryable_error(sink, script, monkeypatch):
    monkeypatch.setattr(producer, "_REPORT_SECONDS", 0.01)
    monkeypatch.setattr(Client, "poll", lambda _self, _seconds: None)
    script.full = 2
    with pytest.raises(SinkError, match="stays full") as caught:
        sink.emit(batch(*"abc"))
    assert caught.value.retryable is True


def test_message_that_the_client_does_not_take_is_a_failure(sink, script):
    script.raised = {1: KafkaError.MSG_SIZE_TOO_LARGE, 3: KafkaError.MSG_SIZE_TOO_LARGE}
    delivery = sink.emit(batch("a", "b", "c"))
    assert (delivery.delivered_count, [failure.retryable for failure in delivery.failures]) == (2, [False])


def test_topic_that_the_broker_is_about_to_make_is_waited_for(sink, script, monkeypatch):
    monkeypatch.setattr(producer, "_TOPIC_SECONDS", 60.0)
    script.topics = [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE, None]
    sink._kafka = KafkaOptions(bootstrap="b:9092")
    assert sink.emit(batch("a")).delivered_count == 1


@pytest.mark.parametrize(
    ("answer", "received", "retryable"),
    [
        (KafkaError(KafkaError._TRANSPORT), [], True),
        (KafkaError(KafkaError._TIMED_OUT), [KafkaError(KafkaError._RESOLVE, "no such host")], True),
        (KafkaError(KafkaError._TRANSPORT), [KafkaError(KafkaError._AUTHENTICATION, "no")], False),
        (KafkaError(KafkaError._TRANSPORT), [KafkaError(KafkaError._SSL, "no")], False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, [], False),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, [], False),
    ],
)
def test_first_metadata_request_reports_connection_errors(sink, script, answer, received, retryable):
    script.topics, script.received = [answer], received
    with pytest.raises(SinkError, match="topic MetadataChangeProposal_v1") as caught:
        sink.emit(batch("a"))
    assert caught.value.retryable is retryable
    assert (received[0].str() if received else "") in str(caught.value)


def test_settings_of_ours_are_defaults_or_promises(sink, script):
    sink.emit(proposals())
    given = script.clients[0].settings
    assert (given["acks"], given["enable.idempotence"], given["delivery.report.only.error"]) == ("all", "true", True)
    assert (given["partitioner"], given["message.max.bytes"]) == ("murmur2_random", "5242880")


@pytest.mark.parametrize("size", ["5 MB", ""])
def test_size_that_is_no_number_is_named(script, size):  # noqa: ARG001 - the client
    options = KafkaOptions(bootstrap="b:9092", producer={"message.max.bytes": size})
    with pytest.raises(SettingsError, match=rf"^kafka\.producer\.message\.max\.bytes: '{size}' is not a number"):
        producer.KafkaProducer(options, "kafka:b:9092")


def test_reader_of_refusals_is_let_in_as_the_producer_is(monkeypatch):
    seen = {}
    monkeypatch.setattr(refusals, "Consumer", lambda settings: seen.update(settings) or SimpleNamespace(close=print))
    area = {
        "producer": {
            "security.protocol": "SASL_SSL",
            "enable.ssl.certificate.verification": "false",
            "oauth_cb": "support.kafka_tokens:token",
            "enable.idempotence": "true",
            "linger.ms": "5",
        }
    }
    refusals.FailedProposalReader("b:9092", area, group=None).close()
    assert seen["oauth_cb"] is kafka_tokens.token
    assert (seen["security.protocol"], seen["enable.ssl.certificate.verification"]) == ("SASL_SSL", "false")
    assert {"enable.idempotence", "linger.ms"}.isdisjoint(seen)
    with pytest.raises(SettingsError, match="is not a function"):
        refusals.FailedProposalReader("b:9092", {"producer": {"oauth_cb": "support.kafka_tokens:nothing"}}, group=None)


@pytest.mark.parametrize(
    ("place", "brokers"),
    [
        ("localhost:9092", True),
        ("b1.example.com:9092,b2:9093", True),
        ("[::1]:9092", True),
        ("[::1]:9092,[::2]:9092", True),
        ("", False),
        ("localhost", False),
        ("http://localhost:9092", False),
        ("ann:pw@localhost:9092", False),
        ("a:9092,", False),
        ("a:9092 b:9092", False),
    ],
)
def test_brokers_are_host_and_port(place, brokers):
    if brokers:
        assert kafka_options(place, {"bootstrap": "other:1"}).bootstrap == place
    else:
        with pytest.raises(SettingsError):
            kafka_options(place, {})


def test_option_of_the_wrong_kind_is_a_setting():
    with pytest.raises(SettingsError, match="timeout"):
        kafka_options("b:9092", {"timeout": "soon"})


def test_registry_url_falls_back_to_the_datahub_variable():
    environ = {"KAFKA_SCHEMAREGISTRY_URL": "http://theirs:8081"}
    area = {"bootstrap": "b:9092", "registry": {"url": None, "config": {"bearer.auth.token": "t"}}}
    assert registry_url(area, environ)["registry"] == {
        "url": "http://theirs:8081",
        "config": {"bearer.auth.token": "t"},
    }
    assert registry_url(area, {})["registry"]["url"] is None
    own = {"registry": {"url": "http://ours:8081"}}
    assert registry_url(own, environ) == own


def test_settings_and_options_have_the_same_fields_and_defaults():
    from dh_bridge.delivery import plain_values  # noqa: PLC0415 - for this alone

    assert kafka_options("b:9092", plain_values(Settings().kafka)) == KafkaOptions(bootstrap="b:9092")


@pytest.mark.parametrize("missing", ["confluent_kafka", "fastavro"])
def test_missing_kafka_packages_name_the_extra_to_install(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from dh_bridge.sinks.base import open_sink\n"
        "try: open_sink('kafka:b:9092')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("SinkError kafka: ")
    assert "pip install 'dh-bridge[kafka]'" in done.stdout
