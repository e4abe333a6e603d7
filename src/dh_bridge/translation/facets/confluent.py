"""confluent (dataset): cluster and environment of a topic, as senders for Confluent Cloud write it."""

from __future__ import annotations

from dh_bridge.translation.reading.generic import opaque_facet

confluent = opaque_facet(
    "confluent", at="dataset", doc="Cluster and environment of a topic, as one JSON.", producer="Confluent"
)
