"""A client of Kafka ends with its producer: its threads and sockets do not wait for the garbage collector."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError

from dh_bridge.errors import SinkError
from dh_bridge.sinks.kafka import producer, refusals
from dh_bridge.sinks.kafka.options import KafkaOptions
from dh_bridge.sinks.kafka.producer import KafkaProducer

pytestmark = pytest.mark.usefixtures("uncollected")


def options(nobody):
    return KafkaOptions(bootstrap=nobody, timeout=0.0)


def threads():
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux does")
def test_producer_that_is_closed_leaves_no_thread_behind(nobody):
    before = threads()
    retained = []
    for _ in range(2):
        one = KafkaProducer(options(nobody), f"kafka:{nobody}")
        with pytest.raises(SinkError):
            one.check(["proposals"])
        assert threads() > before
        one.close()
        retained.append(one)  # also while somebody still holds it
        assert threads() <= before


def test_producer_ends_without_the_collector(nobody):
    one = KafkaProducer(options(nobody), f"kafka:{nobody}")
    there = weakref.ref(one)
    del one
    assert there() is None


def test_reader_of_refusals_ends_without_the_collector(nobody):
    one = refusals.FailedProposalReader(nobody, {}, group=None)
    there = weakref.ref(one)
    one.close()
    del one
    assert there() is None


@pytest.mark.parametrize("closes", [False, True], ids=["without", "with"])
def test_client_is_closed_where_it_can_be_and_once(monkeypatch, closes):
    stated = []
    client = SimpleNamespace(purge=lambda: stated.append("purge"), flush=lambda _: stated.append("flush"))
    if closes:
        client.close = lambda: stated.append("close")
    monkeypatch.setattr(producer, "Client", lambda _: client)
    one = KafkaProducer(KafkaOptions(bootstrap="b:9092"), "kafka:b:9092")
    one.close()
    one.close()
    assert stated == ["purge", "flush", *(["close"] if closes else [])]


def test_client_error_is_kept_after_close(monkeypatch):
    received = []
    client = SimpleNamespace(purge=print, flush=print)
    monkeypatch.setattr(producer, "Client", lambda settings: received.append(settings["error_cb"]) or client)
    one = KafkaProducer(KafkaOptions(bootstrap="b:9092"), "kafka:b:9092")
    received[0](KafkaError(KafkaError._SSL, "no"))
    received[0](KafkaError(KafkaError._TRANSPORT, "down"))
    one.close()
    assert one.connection_error is not None
    assert one.connection_error.name() == "_SSL", "a refusal stays"
