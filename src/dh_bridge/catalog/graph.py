"""The lineage edges of a whole catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.entity import display_name
from dh_bridge.catalog.lineage import LineageNode

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog

_EDGES = """
    SELECT upstream, downstream, count(*) OVER () FROM (
        SELECT DISTINCT CASE lineage WHEN 1 THEN target.urn ELSE source.urn END AS upstream,
            CASE lineage WHEN 1 THEN source.urn ELSE target.urn END AS downstream
        FROM relationship
        JOIN entity source ON source.id = relationship.source JOIN entity target ON target.id = relationship.target
        WHERE lineage <> 0 AND source.type <> 'dataProcessInstance' AND target.type <> 'dataProcessInstance'
    ) ORDER BY 1, 2 LIMIT ?
"""


class LineageEdge(NamedTuple):
    """An edge between two entities; data flows from ``upstream`` to ``downstream``."""

    upstream: LineageNode
    downstream: LineageNode


def lineage_edges(catalog: Catalog, *, limit: int = -1) -> tuple[list[LineageEdge], int]:
    """Return the edges between datasets and jobs, sorted by URN, and their number without the limit (-1: no limit)."""
    rows = catalog.connection.execute(_EDGES, (limit,)).fetchall()
    nodes: dict[str, LineageNode] = {}
    for urn in [urn for row in rows for urn in row[:2]]:
        if urn not in nodes:
            removed = bool((catalog.aspect(urn, "status") or {}).get("removed"))
            nodes[urn] = LineageNode(urn, entity_type(urn), display_name(catalog, urn), removed=removed)
    edges = [LineageEdge(nodes[upstream], nodes[downstream]) for upstream, downstream, _ in rows]
    return edges, rows[0][2] if rows else 0
