"""The lineage around an entity as a graph of bounded size: datasets and jobs, nearest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.catalog.edges import DOWNSTREAM, UPSTREAM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.catalog.lineage import Direction
    from dh_bridge.catalog.store import Catalog

_NEIGHBOURS = """
    SELECT r.target FROM relationship r JOIN entity e ON e.id = r.target
        WHERE r.source = :id AND r.lineage = :side AND e.type <> 'dataProcessInstance'
    UNION SELECT r.source FROM relationship r JOIN entity e ON e.id = r.source
        WHERE r.target = :id AND r.lineage = (- :side) AND e.type <> 'dataProcessInstance'
"""


class GraphNode(msgspec.Struct):
    """An entity of a graph.

    ``distance`` counts the steps to the root: negative upstream, positive downstream. ``hidden_upstream`` and ``hidden_downstream``
    count neighbours that the graph does not have.
    """

    urn: str
    type: str
    distance: int
    hidden_upstream: int = 0
    hidden_downstream: int = 0


class LineageGraph(msgspec.Struct):
    """The lineage around an entity.

    Attributes:
        nodes: The entities, the root first.
        edges: Pairs of positions in ``nodes``: (upstream, downstream).
        hidden: The number of neighbours that the limit or the depth cut off; a neighbour of several nodes is counted once.
    """

    nodes: list[GraphNode]
    edges: list[tuple[int, int]]
    hidden: int


def lineage_graph(
    catalog: Catalog, urn: str, *, direction: Direction = "both", depth: int = 3, limit: int = 300
) -> LineageGraph:
    """Return the lineage around a dataset or job.

    Args:
        catalog: The catalogue.
        urn: The root.
        direction: The sides to follow.
        depth: The number of steps to follow on each side; jobs count, too.
        limit: The number of nodes, at most. The nearest come first; the others are counted.
    """
    builder = _GraphBuilder(catalog, limit)
    root = catalog.connection.execute("SELECT id FROM entity WHERE urn = ?", (urn,)).fetchone()
    if root is None:
        return LineageGraph([], [], 0)
    builder.grow(root[0], [side for side in (UPSTREAM, DOWNSTREAM) if direction in ("both", _SIDE_NAMES[side])], depth)
    return builder.finish()


def fold_nodes(graph: LineageGraph, folded: set[int]) -> LineageGraph:
    """Return a graph without some nodes; what is upstream of such a node is linked with what is downstream of it.

    Args:
        graph: The graph.
        folded: The positions of the nodes to leave out; the root stays.
    """
    edges = set(graph.edges)
    for node in folded - {0}:
        upstream = [source for source, target in edges if target == node]
        downstream = [target for source, target in edges if source == node]
        edges = {edge for edge in edges if node not in edge}
        edges |= {(source, target) for source in upstream for target in downstream if source != target}
    positions = {
        old: new for new, old in enumerate(number for number in range(len(graph.nodes)) if number not in folded - {0})
    }
    return LineageGraph(
        [graph.nodes[old] for old in positions],
        sorted((positions[source], positions[target]) for source, target in edges),
        graph.hidden,
    )


_SIDE_NAMES = {UPSTREAM: "up", DOWNSTREAM: "down"}


class _GraphBuilder:
    def __init__(self, catalog: Catalog, limit: int) -> None:
        self._connection = catalog.connection
        self._limit = limit
        self._distances: dict[int, int] = {}

    def grow(self, root: int, sides: list[int], depth: int) -> None:
        """Collect nodes, level by level, both sides in turn, so that the nearest come first."""
        self._distances[root] = 0
        levels = {side: [root] for side in sides}
        for step in range(1, depth + 1):
            for side in sides:
                next_level = []
                for node in levels[side]:
                    for neighbour in self._neighbours(node, side):
                        if neighbour not in self._distances and len(self._distances) < self._limit:
                            self._distances[neighbour] = -step if side == UPSTREAM else step
                            next_level.append(neighbour)
                levels[side] = next_level

    def finish(self) -> LineageGraph:
        """Return the graph: edges between the collected nodes, and counts of the other neighbours."""
        positions = {node: position for position, node in enumerate(self._distances)}
        rows = self._connection.execute(
            "SELECT id, urn, type FROM entity WHERE id IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode(list(positions)).decode(),),
        )
        details = {number: (urn, type_name) for number, urn, type_name in rows}
        nodes = [GraphNode(*details[node], distance) for node, distance in self._distances.items()]
        edges: set[tuple[int, int]] = set()
        hidden: set[int] = set()
        for node, position in positions.items():
            for side in (UPSTREAM, DOWNSTREAM):
                for neighbour in self._neighbours(node, side):
                    other = positions.get(neighbour)
                    if other is not None:
                        edges.add((other, position) if side == UPSTREAM else (position, other))
                        continue
                    hidden.add(neighbour)
                    if side == UPSTREAM:
                        nodes[position].hidden_upstream += 1
                    else:
                        nodes[position].hidden_downstream += 1
        return LineageGraph(nodes, sorted(edges), len(hidden))

    def _neighbours(self, node: int, side: int) -> Iterator[int]:
        return (number for (number,) in self._connection.execute(_NEIGHBOURS, {"id": node, "side": side}))
