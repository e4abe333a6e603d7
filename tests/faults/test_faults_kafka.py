"""``emit --to kafka: --ledger FILE`` while a real broker or registry is killed: the topic ends as one that nothing happened to."""

from __future__ import annotations

import json
import time

import pytest
from support.kafka_proposals import read

from dh_bridge.datahub.proposal import Payload, Proposal
from dh_bridge.ledger import outbox_relay
from dh_bridge.sinks.kafka.producer import KafkaProducer

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


class Topic:
    """A topic of proposals that takes the part of the server."""

    def __init__(self, broker, registry_url, end_of):
        self.broker, self._url, self._end_of = broker, registry_url, end_of
        self.name = broker.topic("proposals")

    def words(self, ledger):
        stated = {"kafka.topic": self.name, "kafka.registry.url": self._url}
        settings = [word for key, value in stated.items() for word in ("--set", f"{key}={value}")]
        return (
            "--to",
            f"kafka:{self.broker.bootstrap}",
            "--ledger",
            str(ledger),
            "--datahub-version",
            "1.4",
            *settings,
        )

    @property
    def proposals(self):
        return [
            Proposal(
                one.entityType, one.entityUrn, one.changeType, one.aspectName, Payload(json.loads(one.aspect.value))
            )
            for one in read(self.broker.messages(self.name), self._url)
        ]

    def dump(self):
        return self._end_of(self.proposals)


@pytest.fixture
def sent(monkeypatch):
    """Return the sizes of the batches that have been handed to the brokers so far; a slow start delays none of them."""
    monkeypatch.setattr(outbox_relay, "FIRST_PAUSE_SECONDS", 0)
    found = []
    send = KafkaProducer.send

    def counted(self, messages):
        found.append(len(messages))
        return send(self, messages)

    monkeypatch.setattr(KafkaProducer, "send", counted)
    return found


def test_broker_killed_in_the_middle_and_back(own_broker, registry, trying, ends, later, sent, long):
    topic = Topic(own_broker, registry.url, ends)
    trial = trying(topic)

    def killed():
        own_broker.kill()
        time.sleep(20 if long else 0)
        own_broker.start()

    with later(lambda: len(sent) >= 15, killed):
        stated = trial.emit()
    assert stated.code == 0, stated.stderr
    trial.ends_well(stated)


def test_broker_away_for_longer_than_the_timeout(own_broker, registry, trying, ends, later, sent):
    topic = Topic(own_broker, registry.url, ends)
    trial = trying(topic)
    with later(lambda: len(sent) >= 15, own_broker.kill):
        first = trial.emit("--set", "kafka.timeout=1")
    waiting = trial.waits(first, "proposals wait in the ledger", 100)
    own_broker.start()
    trial.sends_what_waits(first, waiting)


def test_registry_gone_and_back(kafka, own_registry, trying, ends):
    topic = Topic(kafka, own_registry.url, ends)
    trial = trying(topic)
    own_registry.kill()
    first = trial.emit("--set", "ledger.batch=60")  # each batch asks it four times
    waiting = trial.waits(first, "schema registry", 500)
    own_registry.start()
    trial.sends_what_waits(first, waiting)
