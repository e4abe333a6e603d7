"""The lineage of one column, over several datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.console.entities import column_path, dataset_of
from dh_bridge.console.parameters import require_entity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.catalog.store import Catalog
    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource

_MAX_EDGES = 1_000
_EDGES = """
    SELECT c.upstream, c.downstream, u.urn, d.urn, c.operation, o.urn FROM column_edge c
    JOIN entity u ON u.id = c.upstream JOIN entity d ON d.id = c.downstream JOIN entity o ON o.id = c.owner
    WHERE c.{side} = ? ORDER BY 3, 4, 5
"""
_UPSTREAM, _DOWNSTREAM = _EDGES.format(side="downstream"), _EDGES.format(side="upstream")


class ColumnEdge(msgspec.Struct, frozen=True):
    """An edge between two columns: the transformation, and the entity that states it. A dataset as a whole has no column."""

    upstream_dataset: str
    upstream_column: str
    downstream_dataset: str
    downstream_column: str
    operation: str
    stated_by: str


class ColumnGraph(msgspec.Struct, frozen=True):
    """The edges around a column, nearest first; ``is_cut`` if there are more."""

    edges: list[ColumnEdge]
    is_cut: bool


def answer_column_lineage(source: ConsoleSource, parameters: RequestParameters) -> ColumnGraph:
    """Return what the column ``column`` of the dataset ``urn`` comes from, and what comes from it."""
    urn, column = parameters.required("urn"), parameters.required("column")
    with source.read_catalog() as catalog:
        require_entity(catalog, urn)
        return read_column_lineage(catalog, urn, column)


def read_column_lineage(catalog: Catalog, dataset: str, column: str, *, steps: int = _MAX_EDGES) -> ColumnGraph:
    """Return the edges around a column, up to a number of steps."""
    urn = f"urn:li:schemaField:({dataset},{column})"
    row = catalog.connection.execute("SELECT id FROM entity WHERE urn = ?", (urn,)).fetchone()
    if row is None:
        return ColumnGraph([], is_cut=False)
    edges: dict[ColumnEdge, None] = {}
    for query, next_position in ((_UPSTREAM, 0), (_DOWNSTREAM, 1)):
        for edge in _follow(catalog, row[0], query, next_position, steps):
            if len(edges) >= _MAX_EDGES:
                return ColumnGraph(list(edges), is_cut=True)
            edges[edge] = None
    return ColumnGraph(list(edges), is_cut=False)


def _follow(catalog: Catalog, start: int, query: str, next_position: int, steps: int) -> Iterator[ColumnEdge]:
    """Yield the edges on one side, level by level; each column is followed once."""
    seen, level = {start}, [start]
    while level and steps:
        steps -= 1
        next_level = []
        for node in level:
            for row in catalog.connection.execute(query, (node,)):
                yield ColumnEdge(*_end(row[2]), *_end(row[3]), operation=row[4], stated_by=row[5])
                if row[next_position] not in seen:
                    seen.add(row[next_position])
                    next_level.append(row[next_position])
        level = next_level


def _end(urn: str) -> tuple[str, str]:
    return (dataset_of(urn), column_path(urn)) if urn.startswith("urn:li:schemaField:") else (urn, "")
