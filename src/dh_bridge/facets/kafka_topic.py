"""kafkaTopic (dataset): partitions and replicas of a topic, as senders for Confluent Cloud write it."""

from __future__ import annotations

from dh_bridge.facet_support.generic import opaque_facet

kafka_topic = opaque_facet(
    "kafkaTopic", attach="dataset", doc="Partitions and replicas of a topic, as one JSON.", producer="Confluent"
)
