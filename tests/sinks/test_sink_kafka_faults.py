"""The Kafka sink while the broker or the registry is killed: nothing lost, nothing doubled, errors that say what now."""

from __future__ import annotations

import json
import threading

import pytest
from support.kafka_proposals import read
from support.sink_contract import DATASET, proposals

from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import Delivery, SinkOptions, open_sink
from dh_bridge.sinks.kafka import options as kafka_options

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def numbered(start, count):
    return [
        upsert("dataset", f"{DATASET}{number % 3}", "status", {"removed": False, "n": number})
        for number in range(start, start + count)
    ]


def options(topic, url, **area):
    return SinkOptions(kafka={"topic": topic, "registry": {"url": url}, "timeout": 120.0, **area})


def arrived(broker, topic, url):
    return [json.loads(mcp.aspect.value)["n"] for mcp in read(broker.messages(topic), url)]


def test_killed_and_restarted_broker_loses_and_repeats_nothing(own_broker, registry):
    topic = own_broker.topic("proposals")
    batches, size = 30, 200
    killed = threading.Event()

    def kill_and_start():
        own_broker.kill()
        killed.set()
        own_broker.start()

    fault = threading.Thread(target=kill_and_start)
    with open_sink(f"kafka:{own_broker.bootstrap}", options(topic, registry.url)) as sink:
        for batch in range(batches):
            if batch == 10:
                fault.start()
            elif batch == 12:
                assert killed.wait(60)  # so that batches meet a dead broker, and its return
            assert sink.emit(numbered(batch * size, size)) == Delivery(size, [])
    fault.join()
    assert arrived(own_broker, topic, registry.url) == list(range(batches * size))


def test_unavailable_broker_is_an_error_without_late_messages(own_broker, registry):
    topic = own_broker.topic("proposals")
    with open_sink(f"kafka:{own_broker.bootstrap}", options(topic, registry.url, timeout=5.0)) as sink:
        assert sink.emit(numbered(0, 10)).delivered_count == 10
        own_broker.kill()
        with pytest.raises(SinkError, match=r"Connect to .* failed|brokers are down|timed out") as caught:
            sink.emit(numbered(10, 10))
        assert caught.value.retryable
        own_broker.start()
        assert sink.emit(numbered(20, 10)).delivered_count == 10
        assert sink.emit(numbered(10, 10)).delivered_count == 10
    assert arrived(own_broker, topic, registry.url) == [*range(10), *range(20, 30), *range(10, 20)]


def test_broker_down_at_startup_is_an_error_and_found_later(own_broker, registry, monkeypatch):
    monkeypatch.setattr(kafka_options, "CONNECT_TIMEOUT", 1.0)
    topic = own_broker.topic("proposals")
    own_broker.kill()
    with open_sink(f"kafka:{own_broker.bootstrap}", options(topic, registry.url)) as sink:
        with pytest.raises(SinkError, match="try again later") as caught:
            sink.emit(proposals())
        assert caught.value.retryable
        own_broker.start()
        assert sink.emit(numbered(0, 3)) == Delivery(3, [])
    assert arrived(own_broker, topic, registry.url) == [0, 1, 2]


def test_unavailable_registry_stops_only_sinks_without_schema(kafka, own_registry):
    topic = kafka.topic("proposals")
    target, output = f"kafka:{kafka.bootstrap}", options(topic, own_registry.url)
    with open_sink(target, output) as early, open_sink(target, output) as late:
        assert early.emit(numbered(0, 5)).delivered_count == 5
        own_registry.kill()
        assert early.emit(numbered(5, 5)).delivered_count == 5
        with pytest.raises(SinkError, match=r"schema registry .* connection failed") as caught:
            late.emit(numbered(10, 5))
        assert caught.value.retryable
        own_registry.start()  # empty: it lives in memory
        assert late.emit(numbered(10, 5)).delivered_count == 5
        assert early.emit(numbered(15, 5)).delivered_count == 5
    assert arrived(kafka, topic, own_registry.url) == list(range(20))
