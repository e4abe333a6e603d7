"""kafkaTopic (dataset): partitions and replicas of a topic, as senders for Confluent Cloud write it."""

from __future__ import annotations

from dh_bridge.translation.reading.generic import opaque_facet

kafka_topic = opaque_facet(
    "kafkaTopic", at="dataset", doc="Partitions and replicas of a topic, as one JSON.", producer="Confluent"
)
