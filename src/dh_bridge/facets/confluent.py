"""Facets of senders for Confluent Cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.generic import opaque_facet
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import DATASET_FIELD, Facts
from dh_bridge.model.precedence import FIELD_WEAK
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- confluent (dataset): cluster and environment of a topic, as senders for Confluent Cloud write it.

confluent = opaque_facet(
    "confluent", attach="dataset", doc="Cluster and environment of a topic, as one JSON property.", producer="Confluent"
)


# -- kafkaTopic (dataset): partitions and replicas of a topic, as senders for Confluent Cloud write it.

kafka_topic = opaque_facet(
    "kafkaTopic",
    attach="dataset",
    doc="Partitions and replicas of a topic, as one JSON property.",
    producer="Confluent",
)


# -- kafkaThroughput (dataset): bytes and records of a topic in a window of minutes, as senders for Confluent Cloud write it.

kafka_throughput = opaque_facet(
    "kafkaThroughput",
    attach="dataset",
    doc="Bytes and records of a topic in a window of minutes, as one JSON property.",
    producer="Confluent",
)


# -- description (dataset): a text for people, as senders for Confluent Cloud write it; the spec's own is documentation.


@facet(
    "description",
    attach="dataset",
    outcomes={"description": mapped(DATASET_FIELD["description"]), "**": as_property()},
    producer="Confluent",
)
def description(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Description of the dataset, if the facet documentation is absent."""
    content = dict(facet.content)
    text = text_of(content.get("description"))
    if text.strip():
        del content["description"]
        yield ctx.dataset_urn, DATASET_FIELD, ("description", FIELD_WEAK), text
    properties = flatten("description", content)
    if properties:
        yield property_fact(ctx, properties)
