"""confluent (dataset): cluster and environment of a topic, as senders for Confluent Cloud write it."""

from __future__ import annotations

from dh_bridge.facet_support.generic import opaque_facet

confluent = opaque_facet(
    "confluent", attach="dataset", doc="Cluster and environment of a topic, as one JSON.", producer="Confluent"
)
