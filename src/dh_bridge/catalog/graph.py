"""The lineage edges of a whole catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.catalog.edges import UPSTREAM, entity_type
from dh_bridge.catalog.entity import display_name
from dh_bridge.catalog.lineage import LineageNode
from dh_bridge.catalog.paging import decode_key, take_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.catalog.paging import Page, PageKey
    from dh_bridge.catalog.store import Catalog

EDGES_OF_RANGE = """
    SELECT source.urn, relationship.rowid, relationship.lineage, target.urn FROM entity source
    CROSS JOIN relationship ON relationship.source = source.id AND relationship.lineage <> 0
    CROSS JOIN entity target ON target.id = relationship.target
    WHERE source.urn >= ? AND source.urn < ? AND target.type <> 'dataProcessInstance' ORDER BY source.urn, relationship.rowid
"""
_RANGES = (
    ("", "urn:li:dataProcessInstance:"),
    ("urn:li:dataProcessInstance;", "urn:li:schemaField:"),
    ("urn:li:schemaField;", "v"),
)
"""The URNs of entities that state lineage: those of runs and columns are left out, as there are very many of them."""


class LineageEdge(NamedTuple):
    """An edge between two entities; data flows from ``upstream`` to ``downstream``."""

    upstream: LineageNode
    downstream: LineageNode


def lineage_edges(catalog: Catalog, *, limit: int | None = None, page: str | None = None) -> Page[LineageEdge]:
    """Return the edges between datasets and jobs.

    The pages are in the order of the URNs of the entities that state the edges; the edges of a page are sorted by their own URNs.

    Args:
        catalog: The catalogue.
        limit: The number of edges to return; None for all.
        page: The token of the page; None for the first one.

    Raises:
        SettingsError: The token is not one of this list.
    """
    after = decode_key(page, (str, int)) if page is not None else ("", 0)
    listed = take_page(_edge_rows(catalog, after), limit=limit)
    nodes: dict[str, LineageNode] = {}
    pairs = sorted(set(listed.items))
    for urn in (urn for pair in pairs for urn in pair):
        if urn not in nodes:
            removed = bool((catalog.aspect(urn, "status") or {}).get("removed"))
            nodes[urn] = LineageNode(urn, entity_type(urn), display_name(catalog, urn), removed=removed)
    return listed.with_items([LineageEdge(nodes[upstream], nodes[downstream]) for upstream, downstream in pairs])


def _edge_rows(catalog: Catalog, after: PageKey) -> Iterator[tuple[PageKey, tuple[str, str]]]:
    """Yield each edge after a key: its key, and its upstream and downstream URN."""
    for first, end in _RANGES:
        edges_of_entity: set[tuple[str, str]] = set()
        previous = ""
        rows = catalog.connection.execute(EDGES_OF_RANGE, (max(first, str(after[0])), end))
        for stated_by, row, lineage, target in rows:
            if stated_by != previous:
                edges_of_entity, previous = set(), stated_by
            edge = (target, stated_by) if lineage == UPSTREAM else (stated_by, target)
            if edge not in edges_of_entity:
                edges_of_entity.add(edge)
                if (stated_by, row) > after:
                    yield (stated_by, row), edge
