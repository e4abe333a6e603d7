"""The graph around a dataset or job, with the column lineage between its datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.entity import display_name, key_parts
from dh_bridge.catalog.neighbourhood import fold_nodes, lineage_graph
from dh_bridge.console.parameters import platform_of, require_entity

if TYPE_CHECKING:
    from dh_bridge.catalog.lineage import Direction
    from dh_bridge.catalog.store import Catalog
    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource
    from dh_bridge.naming import Naming

MAX_NODES = 500
_DEFAULT_NODES = 200
_MAX_DEPTH = 50
_DIRECTIONS: tuple[Direction, ...] = ("both", "up", "down")


class LineageItem(msgspec.Struct, frozen=True):
    """An entity of the graph; ``distance`` is negative upstream. Neighbours that are not in the graph are counted."""

    urn: str
    type: str
    name: str
    platform: str
    distance: int
    is_removed: bool
    column_count: int
    hidden_upstream: int
    hidden_downstream: int


class LineageView(msgspec.Struct, frozen=True):
    """A graph: its entities, the root first, and edges as positions of (upstream, downstream).

    ``hidden`` counts entities that the limit or the depth cut off, ``folded`` temporary datasets that are skipped.
    """

    nodes: list[LineageItem]
    edges: list[tuple[int, int]]
    hidden: int
    folded: int = 0


def answer_lineage(source: ConsoleSource, parameters: RequestParameters) -> LineageView:
    """Return the graph around ``urn``; ``direction``, ``depth`` and ``nodes`` bound it, ``fold=0`` shows temporary datasets."""
    urn = parameters.required("urn")
    direction = parameters.choice("direction", _DIRECTIONS, "both")
    depth = parameters.number("depth", 4, maximum=_MAX_DEPTH)
    limit = max(1, parameters.number("nodes", _DEFAULT_NODES, maximum=MAX_NODES))
    naming = source.bridge.options.naming if parameters.text("fold", "1") == "1" else None
    with source.read_catalog() as catalog:
        require_entity(catalog, urn)
        side = _DIRECTIONS[_DIRECTIONS.index(direction)]
        return read_lineage_view(catalog, urn, direction=side, depth=depth, limit=limit, naming=naming)


def read_lineage_view(  # noqa: PLR0913 - the bounds of the graph
    catalog: Catalog, urn: str, *, direction: Direction, depth: int, limit: int, naming: Naming | None = None
) -> LineageView:
    """Return the graph around an entity, with what the page shows of each entity.

    Args:
        catalog: The catalogue.
        urn: The root.
        direction: The sides to follow.
        depth: The number of steps on each side.
        limit: The number of nodes, at most.
        naming: Folds datasets that it knows as temporary; None folds none.
    """
    graph = lineage_graph(catalog, urn, direction=direction, depth=depth, limit=limit)
    temporary_nodes = {
        position for position, node in enumerate(graph.nodes) if naming is not None and _is_temporary(naming, node.urn)
    } - {0}
    graph = fold_nodes(graph, temporary_nodes)
    items = [
        LineageItem(
            urn=node.urn,
            type=node.type,
            name=display_name(catalog, node.urn),
            platform=platform_of(node.urn),
            distance=node.distance,
            is_removed=bool((catalog.aspect(node.urn, "status") or {}).get("removed")),
            column_count=_column_count(catalog, node.urn) if node.type == "dataset" else 0,
            hidden_upstream=node.hidden_upstream,
            hidden_downstream=node.hidden_downstream,
        )
        for node in graph.nodes
    ]
    return LineageView(items, graph.edges, graph.hidden, len(temporary_nodes))


def _is_temporary(naming: Naming, urn: str) -> bool:
    platform, name = platform_of(urn), key_parts(urn)[1:2]
    return entity_type(urn) == "dataset" and bool(name) and naming.is_temporary(platform, name[0])


def _column_count(catalog: Catalog, urn: str) -> int:
    return len((catalog.aspect(urn, "schemaMetadata") or {}).get("fields") or ())
