"""spark_unknown (run): plan nodes that the listener did not understand (OpenLineage integration/spark)."""

from __future__ import annotations

import msgspec

from dh_bridge.translation.reading.generic import Bulk, bulk_facet


class Nodes(Bulk, forbid_unknown_fields=False):
    """The nodes, unread: one that writes, and those that read."""

    output: msgspec.Raw = msgspec.Raw()
    inputs: list[msgspec.Raw] | None = None


def _count(nodes: Bulk) -> int:
    found = nodes if isinstance(nodes, Nodes) else Nodes()
    return len(found.inputs or ()) + (bytes(found.output) not in (b"", b"null"))


spark_unknown = bulk_facet(
    "spark_unknown",
    at="run",
    reason="plan",
    doc="Withheld; number of nodes, hash and size kept.",
    producer="Spark",
    reads=Nodes,
    count=_count,
)
