"""What an entity comes from and what comes from it: a tree of datasets and jobs, or of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.catalog.edges import DOWNSTREAM, UPSTREAM, entity_type
from dh_bridge.catalog.entity import display_name

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog

Direction = Literal["up", "down", "both"]
Mark = Literal["", "cycle", "again", "deeper"]

_DEPTH = 20

_NEIGHBOURS = """
    SELECT e.urn, r.aspect FROM relationship r JOIN entity e ON e.id = r.target
        WHERE r.source = (SELECT id FROM entity WHERE urn = :urn) AND r.lineage = :side
    UNION SELECT e.urn, r.aspect FROM relationship r JOIN entity e ON e.id = r.source
        WHERE r.target = (SELECT id FROM entity WHERE urn = :urn) AND r.lineage = -:side
    ORDER BY 1, 2
"""
_FIELDS = {
    UPSTREAM: """
    SELECT DISTINCT e.urn, o.urn FROM column_edge c JOIN entity e ON e.id = c.upstream JOIN entity o ON o.id = c.owner
        WHERE c.downstream = (SELECT id FROM entity WHERE urn = :urn) ORDER BY 1, 2
    """,
    DOWNSTREAM: """
    SELECT DISTINCT e.urn, o.urn FROM column_edge c JOIN entity e ON e.id = c.downstream JOIN entity o ON o.id = c.owner
        WHERE c.upstream = (SELECT id FROM entity WHERE urn = :urn) ORDER BY 1, 2
    """,
}
_COLUMNS = """
    SELECT u.urn, d.urn, c.operation FROM column_edge c JOIN entity u ON u.id = c.upstream
        JOIN entity d ON d.id = c.downstream WHERE c.owner = (SELECT id FROM entity WHERE urn = ?) ORDER BY 2, 1, 3
"""


class Column(msgspec.Struct, frozen=True):
    """One column that comes from another (schemaField URNs), and by which operation."""

    upstream: str
    downstream: str
    operation: str


class Node(msgspec.Struct, omit_defaults=True):
    """An entity in the tree.

    ``via`` is what links it to its parent: the aspects that say so, or for a column the jobs and datasets that do.
    ``mark`` says why nothing hangs below: ``cycle`` (it is above itself), ``again`` (it is followed elsewhere),
    ``deeper`` (the depth asked for ends here, the lineage does not).
    """

    urn: str
    type: str
    name: str
    via: list[str] = []
    mark: Mark = ""
    removed: bool = False
    columns: list[Column] = []
    upstream: list[Node] = []
    downstream: list[Node] = []


def lineage(
    catalog: Catalog, urn: str, *, direction: Direction = "both", depth: int = _DEPTH, columns: bool = False
) -> Node:
    """Return the lineage tree of a dataset, job, run or column; ``depth`` counts entities, jobs too, as DataHub does.

    With ``columns`` each node names the column pairs behind its link to its parent. Every entity is followed once, where it
    is nearest to ``urn``. An unknown URN is a node alone.
    """
    walk = _Walk(catalog, depth, columns=columns)
    root = walk.node(urn, [])
    if direction != "down":
        root.upstream = walk.grow(root, UPSTREAM)
    if direction != "up":
        root.downstream = walk.grow(root, DOWNSTREAM)
    return root


def to_json(node: Node) -> dict[str, Any]:
    """Return the tree as plain dicts and lists; empty fields are left out."""
    plain: dict[str, Any] = msgspec.to_builtins(node)
    return plain


class _Walk:
    def __init__(self, catalog: Catalog, depth: int, *, columns: bool) -> None:
        self._catalog = catalog
        self._depth = depth
        self._columns = columns
        self._owned: dict[str, list[Column]] = {}

    def node(self, urn: str, via: list[str]) -> Node:
        """Return an entity without its neighbours."""
        removed = bool((self._catalog.aspect(urn, "status") or {}).get("removed"))
        return Node(urn, entity_type(urn), self._name(urn), via=via, removed=removed)

    def grow(self, root: Node, side: int) -> list[Node]:
        """Return the root's children on one side, grown level by level, so that each is followed where it is nearest."""
        above: dict[str, str] = {root.urn: ""}
        children: dict[str, list[Node]] = {}
        level = [root]
        for _ in range(self._depth):
            children |= {parent.urn: self._children(parent, side, above) for parent in level}
            level = [child for parent in level for child in children[parent.urn] if not child.mark]
        for leaf in level:
            if leaf is not root and self._neighbours(leaf.urn, side):
                leaf.mark = "deeper"
        for nodes in children.values():
            for node in nodes:
                if not node.mark:
                    setattr(node, "upstream" if side == UPSTREAM else "downstream", children.get(node.urn, []))
        return children.get(root.urn, [])

    def _children(self, parent: Node, side: int, above: dict[str, str]) -> list[Node]:
        """Return the parent's neighbours on one side; those met before are marked."""
        found = []
        for urn, via in self._neighbours(parent.urn, side).items():
            child = self.node(urn, via)
            if urn in above:
                child.mark = "cycle" if _is_above(urn, parent.urn, above) else "again"
            else:
                above[urn] = parent.urn
            if self._columns:
                up, down = (child, parent) if side == UPSTREAM else (parent, child)
                child.columns = self._links(up, down)
            found.append(child)
        return found

    def _neighbours(self, urn: str, side: int) -> dict[str, list[str]]:
        """Return the neighbours' URNs, sorted, each with what links it."""
        query = _FIELDS[side] if entity_type(urn) == "schemaField" else _NEIGHBOURS
        found: dict[str, list[str]] = {}
        for other, via in self._catalog.connection.execute(query, {"urn": urn, "side": side}):
            found.setdefault(other, []).append(via)
        return found

    def _name(self, urn: str) -> str:
        """Return the name of an entity, of a column with that of its dataset before it: many are called `id`."""
        name = display_name(self._catalog, urn)
        return f"{display_name(self._catalog, _dataset(urn))}.{name}" if entity_type(urn) == "schemaField" else name

    def _links(self, up: Node, down: Node) -> list[Column]:
        """Return the column pairs behind a link: those that the job states, or else the downstream dataset; none between jobs."""
        if up.type == down.type == "dataJob":
            return []
        owner = up if up.type == "dataJob" else down
        if owner.urn not in self._owned:
            self._owned[owner.urn] = [Column(*row) for row in self._catalog.connection.execute(_COLUMNS, (owner.urn,))]
        return [
            column
            for column in self._owned[owner.urn]
            if (up is owner or _dataset(column.upstream) == up.urn)
            and (down.type != "dataset" or _dataset(column.downstream) == down.urn)
        ]


def _is_above(urn: str, start: str, above: dict[str, str]) -> bool:
    """Say whether ``urn`` lies on the way from ``start`` to the root."""
    while start:
        if start == urn:
            return True
        start = above[start]
    return False


def _dataset(column: str) -> str:
    """Return the dataset of a schemaField URN; a dataset's URN is its own."""
    return column.partition("(")[2].rpartition(",")[0] if entity_type(column) == "schemaField" else column
