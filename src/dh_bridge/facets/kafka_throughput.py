"""kafkaThroughput (dataset): bytes and records of a topic in a window of minutes, as senders for Confluent Cloud write it."""

from __future__ import annotations

from dh_bridge.facet_support.generic import opaque_facet

kafka_throughput = opaque_facet(
    "kafkaThroughput",
    attach="dataset",
    doc="Bytes and records of a topic in a window of minutes, as one JSON.",
    producer="Confluent",
)
