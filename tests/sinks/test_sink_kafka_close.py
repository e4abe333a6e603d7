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
    kept = []
    for _ in range(2):
        one = KafkaProducer(options(nobody), f"kafka:{nobody}")
        with pytest.raises(SinkError):
            one.check(["proposals"])
        assert threads() > before
        one.close()
        kept.append(one)  # also while somebody still holds it
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
    said = []
    client = SimpleNamespace(purge=lambda: said.append("purge"), flush=lambda _: said.append("flush"))
    if closes:
        client.close = lambda: said.append("close")
    monkeypatch.setattr(producer, "Client", lambda _: client)
    one = KafkaProducer(KafkaOptions(bootstrap="b:9092"), "kafka:b:9092")
    one.close()
    one.close()
    assert said == ["purge", "flush", *(["close"] if closes else [])]


def test_client_error_is_kept_after_close(monkeypatch):
    heard = []
    client = SimpleNamespace(purge=print, flush=print)
    monkeypatch.setattr(producer, "Client", lambda settings: heard.append(settings["error_cb"]) or client)
    one = KafkaProducer(KafkaOptions(bootstrap="b:9092"), "kafka:b:9092")
    heard[0](KafkaError(KafkaError._SSL, "no"))
    heard[0](KafkaError(KafkaError._TRANSPORT, "down"))
    one.close()
    assert one.connection_error is not None
    assert one.connection_error.name() == "_SSL", "a refusal stays"
