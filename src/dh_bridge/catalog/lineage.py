# ruff: noqa: S608 - the statements are made of constants
"""The upstream and downstream lineage of an entity: a tree of datasets and jobs, or of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.catalog.edges import DOWNSTREAM, UPSTREAM, entity_type
from dh_bridge.catalog.entity import display_name

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog

Direction = Literal["up", "down", "both"]
NodeMark = Literal["", "cycle", "again", "deeper"]

_DEFAULT_DEPTH = 20

_NEIGHBOURS = """
    SELECT e.urn, r.aspect FROM relationship r JOIN entity e ON e.id = r.target
        WHERE r.source = (SELECT id FROM entity WHERE urn = :urn) AND r.lineage = :side
    UNION SELECT e.urn, r.aspect FROM relationship r JOIN entity e ON e.id = r.source
        WHERE r.target = (SELECT id FROM entity WHERE urn = :urn) AND r.lineage = -:side
    ORDER BY 1, 2
"""
_RUN_NEIGHBOURS = {
    UPSTREAM: """
    SELECT e.urn, r.name FROM relationship r JOIN entity e ON e.id = r.target
        WHERE r.source = (SELECT id FROM entity WHERE urn = :urn) AND r.name IN ('ChildOf', 'UpstreamOf')
    UNION """
    + _NEIGHBOURS,
    DOWNSTREAM: """
    SELECT e.urn, r.name FROM relationship r JOIN entity e ON e.id = r.source
        WHERE r.target = (SELECT id FROM entity WHERE urn = :urn) AND r.name IN ('ChildOf', 'UpstreamOf')
            AND e.type = 'dataProcessInstance'
    UNION """
    + _NEIGHBOURS,
}
"""Runs that events name as parents (ChildOf) and upstreams (UpstreamOf) of a run, and datasets where edges name them."""
_FIELD_NEIGHBOURS = {
    UPSTREAM: """
    SELECT DISTINCT e.urn, o.urn FROM column_edge c JOIN entity e ON e.id = c.upstream JOIN entity o ON o.id = c.owner
        WHERE c.downstream = (SELECT id FROM entity WHERE urn = :urn) ORDER BY 1, 2
    """,
    DOWNSTREAM: """
    SELECT DISTINCT e.urn, o.urn FROM column_edge c JOIN entity e ON e.id = c.downstream JOIN entity o ON o.id = c.owner
        WHERE c.upstream = (SELECT id FROM entity WHERE urn = :urn) ORDER BY 1, 2
    """,
}
_COLUMN_PAIRS = """
    SELECT u.urn, d.urn, c.operation FROM column_edge c JOIN entity u ON u.id = c.upstream
        JOIN entity d ON d.id = c.downstream WHERE c.owner = (SELECT id FROM entity WHERE urn = ?) ORDER BY 2, 1, 3
"""


class ColumnPair(msgspec.Struct, frozen=True):
    """One column that comes from another (schemaField URNs), and by which operation."""

    upstream: str
    downstream: str
    operation: str


class LineageNode(msgspec.Struct, omit_defaults=True):
    """An entity in the tree.

    ``via`` is its link to the parent: the aspects with the edge, for a column the jobs and datasets with it, for a run
    ``ChildOf`` and ``UpstreamOf``. ``mark`` says why there is nothing below: ``cycle`` (it is above itself), ``again`` (it is
    followed elsewhere), ``deeper`` (the requested depth ends here, the lineage does not).
    """

    urn: str
    type: str
    name: str
    via: list[str] = []
    mark: NodeMark = ""
    removed: bool = False
    columns: list[ColumnPair] = []
    upstream: list[LineageNode] = []
    downstream: list[LineageNode] = []


def lineage_tree(
    catalog: Catalog, urn: str, *, direction: Direction = "both", depth: int = _DEFAULT_DEPTH, columns: bool = False
) -> LineageNode:
    """Return the lineage tree of a dataset, job, run or column; ``depth`` counts entities, jobs too, as DataHub does.

    The neighbours of a run are the runs that events name as its upstreams and parents, and the runs of which it is one.

    With ``columns`` each node names the column pairs behind its link to its parent. Every entity is followed once, where it
    is nearest to ``urn``. An unknown URN is a node alone.
    """
    builder = _LineageTreeBuilder(catalog, depth, columns=columns)
    root = builder.node(urn, [])
    if direction != "down":
        root.upstream = builder.build_children(root, UPSTREAM)
    if direction != "up":
        root.downstream = builder.build_children(root, DOWNSTREAM)
    return root


def to_json(node: LineageNode) -> dict[str, Any]:
    """Return the tree as plain dicts and lists; empty fields are left out."""
    plain: dict[str, Any] = msgspec.to_builtins(node)
    return plain


class _LineageTreeBuilder:
    def __init__(self, catalog: Catalog, depth: int, *, columns: bool) -> None:
        self._catalog = catalog
        self._depth = depth
        self._has_columns = columns
        self._pairs_by_owner: dict[str, list[ColumnPair]] = {}

    def node(self, urn: str, via: list[str]) -> LineageNode:
        """Return an entity without its neighbours."""
        removed = bool((self._catalog.aspect(urn, "status") or {}).get("removed"))
        return LineageNode(urn, entity_type(urn), self._name(urn), via=via, removed=removed)

    def build_children(self, root: LineageNode, direction: int) -> list[LineageNode]:
        """Return the root's children on one side, grown level by level, so that each is followed where it is nearest."""
        parents: dict[str, str] = {root.urn: ""}
        children: dict[str, list[LineageNode]] = {}
        level = [root]
        for _ in range(self._depth):
            children |= {parent.urn: self._children(parent, direction, parents) for parent in level}
            level = [child for parent in level for child in children[parent.urn] if not child.mark]
        for node_at_limit in level:
            if node_at_limit is not root and self._neighbours(node_at_limit.urn, direction):
                node_at_limit.mark = "deeper"
        for nodes in children.values():
            for node in nodes:
                if not node.mark:
                    setattr(node, "upstream" if direction == UPSTREAM else "downstream", children.get(node.urn, []))
        return children.get(root.urn, [])

    def _children(self, parent: LineageNode, direction: int, parents: dict[str, str]) -> list[LineageNode]:
        """Return the parent's neighbours on one side; those met before are marked."""
        children = []
        for urn, via in self._neighbours(parent.urn, direction).items():
            child = self.node(urn, via)
            if urn in parents:
                child.mark = "cycle" if _is_ancestor(urn, parent.urn, parents) else "again"
            else:
                parents[urn] = parent.urn
            if self._has_columns:
                upstream, downstream = (child, parent) if direction == UPSTREAM else (parent, child)
                child.columns = self._column_pairs(upstream, downstream)
            children.append(child)
        return children

    def _neighbours(self, urn: str, direction: int) -> dict[str, list[str]]:
        """Return the neighbours' URNs, sorted, each with what links it."""
        queries = {"schemaField": _FIELD_NEIGHBOURS, "dataProcessInstance": _RUN_NEIGHBOURS}.get(entity_type(urn))
        query = queries[direction] if queries else _NEIGHBOURS
        links_by_urn: dict[str, list[str]] = {}
        for neighbour, via in self._catalog.connection.execute(query, {"urn": urn, "side": direction}):
            links_by_urn.setdefault(neighbour, []).append(via)
        return links_by_urn

    def _name(self, urn: str) -> str:
        """Return the name of an entity; a column has that of its dataset before it, and a run that of its job."""
        name = display_name(self._catalog, urn)
        if entity_type(urn) == "schemaField":
            return f"{display_name(self._catalog, _dataset_of(urn))}.{name}"
        if entity_type(urn) == "dataProcessInstance":
            relations = self._catalog.aspect(urn, "dataProcessInstanceRelationships") or {}
            job = relations.get("parentTemplate")
            return f"{display_name(self._catalog, job)} {name}" if job else name
        return name

    def _column_pairs(self, upstream: LineageNode, downstream: LineageNode) -> list[ColumnPair]:
        """Return the column pairs behind a link: those that the job states, or else the downstream dataset; none between jobs."""
        if upstream.type == downstream.type == "dataJob":
            return []
        owner = upstream if upstream.type == "dataJob" else downstream
        if owner.urn not in self._pairs_by_owner:
            self._pairs_by_owner[owner.urn] = [
                ColumnPair(*row) for row in self._catalog.connection.execute(_COLUMN_PAIRS, (owner.urn,))
            ]
        return [
            column
            for column in self._pairs_by_owner[owner.urn]
            if (upstream is owner or _dataset_of(column.upstream) == upstream.urn)
            and (downstream.type != "dataset" or _dataset_of(column.downstream) == downstream.urn)
        ]


def _is_ancestor(urn: str, start: str, parents: dict[str, str]) -> bool:
    """Return whether ``urn`` is on the path from ``start`` to the root."""
    while start:
        if start == urn:
            return True
        start = parents[start]
    return False


def _dataset_of(column: str) -> str:
    """Return the dataset of a schemaField URN; a dataset's URN is its own."""
    return column.partition("(")[2].rpartition(",")[0] if entity_type(column) == "schemaField" else column
