"""Proposals into a real Kafka at BROKERS: our sink, or acryl-datahub's Kafka emitter; see turns.py.

    python benchmarks/delivery_kafka.py ours|theirs BROKERS REGISTRY TOPIC FILE

The proposals of FILE's events are made beforehand, for acryl-datahub as objects of its own. What is timed is to serialise them,
to send them, and to wait until the broker has acknowledged all (``acks=all``, idempotent).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from delivery_rest import translated
from results import one_core
from turns import turns

from dh_bridge.sinks.base import SinkOptions, open_sink

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.datahub.proposal import Proposal


def ours(brokers: str, registry: str, topic: str, proposals: list[Proposal]) -> Callable[[], None]:
    """Return what sends all of them through our sink, with the system metadata that it always writes."""
    area = {"topic": topic, "registry": {"url": registry}}
    sink = open_sink(f"kafka:{brokers}", SinkOptions(kafka=area, run_id="benchmark", pipeline_name="benchmark"))

    def send() -> None:
        delivery = sink.emit(proposals)
        assert delivery.delivered_count == len(proposals), delivery.failures[0]  # noqa: S101 - a measurement of errors is none

    return send


def theirs(brokers: str, registry: str, topic: str, proposals: list[Proposal]) -> Callable[[], None]:
    """Return what sends all of them through acryl-datahub's emitter, as safely as ours."""
    from datahub.emitter.kafka_emitter import MCP_KEY, DatahubKafkaEmitter, KafkaEmitterConfig  # noqa: PLC0415 - not ours

    safe = {"acks": "all", "enable.idempotence": True, "compression.type": "lz4", "message.max.bytes": 5_242_880}
    connection = {"bootstrap": brokers, "schema_registry_url": registry, "producer_config": safe}
    emitter = DatahubKafkaEmitter(
        KafkaEmitterConfig.model_validate({"connection": connection, "topic_routes": {MCP_KEY: topic}})
    )
    objects = [one.to_mcpw() for one in proposals]
    lost: list[object] = []

    def heard(error: object, _message: object) -> None:
        if error:
            lost.append(error)

    def send() -> None:
        for one in objects:
            emitter.emit(one, callback=heard)
        emitter.flush()
        assert not lost, lost[0]  # noqa: S101 - as above

    return send


def main() -> None:
    """Take turns."""
    who, brokers, registry, topic, file = sys.argv[1:]
    one_core()
    proposals = translated(file)
    turns(len(proposals), {"ours": ours, "theirs": theirs}[who](brokers, registry, topic, proposals))


if __name__ == "__main__":
    main()
