"""spark_unknown (run): plan nodes that the listener did not understand (OpenLineage integration/spark)."""

from __future__ import annotations

import msgspec

from dh_bridge.facet_support.generic import BulkFacet, bulk_facet


class SparkPlanNodes(BulkFacet, forbid_unknown_fields=False):
    """The nodes, unread: one that writes, and those that read."""

    output: msgspec.Raw = msgspec.Raw()
    inputs: list[msgspec.Raw] | None = None


def _count_nodes(nodes: BulkFacet) -> int:
    plan_nodes = nodes if isinstance(nodes, SparkPlanNodes) else SparkPlanNodes()
    return len(plan_nodes.inputs or ()) + (bytes(plan_nodes.output) not in (b"", b"null"))


spark_unknown = bulk_facet(
    "spark_unknown",
    attach="run",
    reason="plan",
    doc="Withheld; number of nodes, hash and size kept.",
    producer="Spark",
    struct=SparkPlanNodes,
    count=_count_nodes,
)
