"""The upstream and downstream lineage of an entity: a tree of datasets and jobs, or of columns."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.catalog.edges import DOWNSTREAM, UPSTREAM, entity_type
from dh_bridge.catalog.entity import display_name
from dh_bridge.catalog.paging import MAX_EXAMINED, Page, decode_key, encode_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.catalog.store import Catalog

Direction = Literal["up", "down", "both"]
NodeMark = Literal["", "cycle", "again", "deeper", "limit"]

_DEFAULT_DEPTH = 20

_Queries = dict[int, tuple[str, ...]]
"""Direction -> the queries whose rows are (URN of the neighbour, what links it)."""

_STATED = """
    SELECT e.urn, r.aspect FROM relationship r JOIN entity e ON e.id = r.target
        WHERE r.source = (SELECT id FROM entity WHERE urn = :urn) AND r.lineage = :side
"""
_STATED_BY_OTHERS = """
    SELECT e.urn, r.aspect FROM relationship r JOIN entity e ON e.id = r.source
        WHERE r.target = (SELECT id FROM entity WHERE urn = :urn) AND r.lineage = (- :side)
"""
_RUNS_NAMED = """
    SELECT e.urn, r.name FROM relationship r JOIN entity e ON e.id = r.target
        WHERE r.source = (SELECT id FROM entity WHERE urn = :urn) AND r.name IN ('ChildOf', 'UpstreamOf')
"""
_RUNS_THAT_NAME = """
    SELECT e.urn, r.name FROM relationship r JOIN entity e ON e.id = r.source
        WHERE r.target = (SELECT id FROM entity WHERE urn = :urn) AND r.lineage IN (-1, 0, 1)
            AND r.name IN ('ChildOf', 'UpstreamOf') AND e.type = 'dataProcessInstance'
"""
_ENTITY_NEIGHBOURS = (_STATED, _STATED_BY_OTHERS)
NEIGHBOURS: _Queries = {UPSTREAM: _ENTITY_NEIGHBOURS, DOWNSTREAM: _ENTITY_NEIGHBOURS}
RUN_NEIGHBOURS: _Queries = {
    UPSTREAM: (_RUNS_NAMED, *_ENTITY_NEIGHBOURS),
    DOWNSTREAM: (_RUNS_THAT_NAME, *_ENTITY_NEIGHBOURS),
}
"""Runs that events name as parents (ChildOf) and upstreams (UpstreamOf) of a run, and datasets where edges name them."""
FIELD_NEIGHBOURS: _Queries = {
    UPSTREAM: (
        """
    SELECT e.urn, o.urn FROM column_edge c JOIN entity e ON e.id = c.upstream JOIN entity o ON o.id = c.owner
        WHERE c.downstream = (SELECT id FROM entity WHERE urn = :urn)
    """,
    ),
    DOWNSTREAM: (
        """
    SELECT e.urn, o.urn FROM column_edge c JOIN entity e ON e.id = c.downstream JOIN entity o ON o.id = c.owner
        WHERE c.upstream = (SELECT id FROM entity WHERE urn = :urn)
    """,
    ),
}
_COLUMN_PAIRS = """
    SELECT d.urn, u.urn, c.operation FROM column_edge c JOIN entity u ON u.id = c.upstream
        JOIN entity d ON d.id = c.downstream WHERE c.owner = (SELECT id FROM entity WHERE urn = ?)
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
    followed elsewhere), ``deeper`` (the requested depth ends here, the lineage does not), ``limit`` (so does the limit of nodes).
    ``hidden_upstream`` and ``hidden_downstream`` count the neighbours that the limit leaves out, up to MAX_EXAMINED.
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
    hidden_upstream: int = 0
    hidden_downstream: int = 0


def lineage_tree(  # noqa: PLR0913 - the options of the command
    catalog: Catalog,
    urn: str,
    *,
    direction: Direction = "both",
    depth: int = _DEFAULT_DEPTH,
    columns: bool = False,
    limit: int | None = None,
) -> LineageNode:
    """Return the lineage tree of a dataset, job, run or column.

    The neighbours of a run are the runs that events name as its upstreams and parents, and the runs of which it is one. Every
    entity is followed once, where it is nearest to ``urn``. An unknown URN is a node alone.

    Args:
        catalog: The catalogue.
        urn: The root.
        direction: The sides to follow.
        depth: The number of entities on a path; jobs count, too, as in DataHub.
        columns: Whether each node names the column pairs behind its link to its parent.
        limit: The maximum number of nodes on each side, the nearest first; None for all.
    """
    builder = _LineageTreeBuilder(catalog, depth, columns=columns, limit=limit)
    root = builder.node(urn, [])
    if direction != "down":
        root.upstream = builder.build_children(root, UPSTREAM)
    if direction != "up":
        root.downstream = builder.build_children(root, DOWNSTREAM)
    return root


def list_neighbours(
    catalog: Catalog, urn: str, direction: Literal["up", "down"], *, limit: int | None = None, page: str | None = None
) -> Page[LineageNode]:
    """Return the neighbours of an entity on one side, each without its own neighbours.

    Args:
        catalog: The catalogue.
        urn: A dataset, job, run or column.
        direction: The side.
        limit: The number of neighbours to return; None for all.
        page: The token of the page; None for the first one.

    Raises:
        SettingsError: The token is not one of this list.
    """
    offset = int(decode_key(page, (int,))[0]) if page is not None else 0
    builder = _LineageTreeBuilder(catalog, 1, columns=False, limit=limit)
    listed = builder.find_neighbours(urn, UPSTREAM if direction == "up" else DOWNSTREAM, limit=limit, offset=offset)
    return listed.with_items([builder.node(neighbour, links) for neighbour, links in listed.items])


def to_json(node: LineageNode) -> dict[str, Any]:
    """Return the tree as plain dicts and lists; empty fields are left out."""
    plain: dict[str, Any] = msgspec.to_builtins(node)
    return plain


class _LineageTreeBuilder:
    def __init__(self, catalog: Catalog, depth: int, *, columns: bool, limit: int | None) -> None:
        self._catalog = catalog
        self._depth = depth
        self._limit = limit
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
        free_count = self._limit
        for _ in range(self._depth):
            for parent in level:
                children[parent.urn] = self._children(parent, direction, parents, free_count)
                if free_count is not None:
                    free_count -= len(children[parent.urn])
            level = [child for parent in level for child in children[parent.urn] if not child.mark]
        for node_at_limit in level:
            if node_at_limit is not root and self._has_neighbours(node_at_limit.urn, direction):
                node_at_limit.mark = "deeper"
        for nodes in children.values():
            for node in nodes:
                if not node.mark:
                    setattr(node, "upstream" if direction == UPSTREAM else "downstream", children.get(node.urn, []))
        return children.get(root.urn, [])

    def _children(
        self, parent: LineageNode, direction: int, parents: dict[str, str], limit: int | None
    ) -> list[LineageNode]:
        """Return the parent's neighbours on one side, at most ``limit``; those met before are marked."""
        if limit is not None and limit <= 0:
            if self._has_neighbours(parent.urn, direction):
                parent.mark = "limit"
            return []
        children = []
        neighbours = self.find_neighbours(parent.urn, direction, limit=limit)
        for urn, via in neighbours.items:
            child = self.node(urn, via)
            if urn in parents:
                child.mark = "cycle" if _is_ancestor(urn, parent.urn, parents) else "again"
            else:
                parents[urn] = parent.urn
            if self._has_columns:
                upstream, downstream = (child, parent) if direction == UPSTREAM else (parent, child)
                child.columns = self._column_pairs(upstream, downstream)
            children.append(child)
        if direction == UPSTREAM:
            parent.hidden_upstream = neighbours.remaining
        else:
            parent.hidden_downstream = neighbours.remaining
        return children

    def find_neighbours(
        self, urn: str, direction: int, *, limit: int | None, offset: int = 0
    ) -> Page[tuple[str, list[str]]]:
        """Return neighbours, each with what links it, sorted by URN within the page."""
        links_by_urn: dict[str, list[str]] = {}
        row_limit = -1 if limit is None else offset + MAX_EXAMINED
        rows = chain.from_iterable(self._neighbour_rows(urn, direction, row_limit))
        row_count = 0
        for neighbour, via in rows if limit is None else islice(rows, row_limit):
            row_count += 1
            links_by_urn.setdefault(neighbour, []).append(via)
        urns = list(links_by_urn)[offset:]
        page_links = {name: links_by_urn[name] for name in urns[:limit]}
        remaining = len(urns) - len(page_links)
        return Page(
            [(name, sorted(set(page_links[name]))) for name in sorted(page_links)],
            remaining,
            is_exact=limit is None or row_count < row_limit,
            next_page=encode_key((offset + len(page_links),)) if remaining else None,
        )

    def _neighbour_rows(self, urn: str, direction: int, limit: int) -> Iterator[Iterable[tuple[str, str]]]:
        queries = {"schemaField": FIELD_NEIGHBOURS, "dataProcessInstance": RUN_NEIGHBOURS}.get(
            entity_type(urn), NEIGHBOURS
        )
        for query in queries[direction]:
            yield self._catalog.connection.execute(
                f"{query} LIMIT :limit", {"urn": urn, "side": direction, "limit": limit}
            )

    def _has_neighbours(self, urn: str, direction: int) -> bool:
        return any(True for rows in self._neighbour_rows(urn, direction, 1) for _ in rows)

    def _name(self, urn: str) -> str:
        """Return the name of an entity; a column has that of its dataset before it, and a run that of its job."""
        name = display_name(self._catalog, urn)
        if entity_type(urn) == "schemaField":
            return f"{display_name(self._catalog, dataset_of(urn))}.{name}"
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
            rows = self._catalog.connection.execute(_COLUMN_PAIRS, (owner.urn,))
            self._pairs_by_owner[owner.urn] = [
                ColumnPair(upstream_urn, downstream_urn, operation)
                for downstream_urn, upstream_urn, operation in sorted(rows)
            ]
        return [
            column
            for column in self._pairs_by_owner[owner.urn]
            if (upstream is owner or dataset_of(column.upstream) == upstream.urn)
            and (downstream.type != "dataset" or dataset_of(column.downstream) == downstream.urn)
        ]


def _is_ancestor(urn: str, start: str, parents: dict[str, str]) -> bool:
    """Return whether ``urn`` is on the path from ``start`` to the root."""
    while start:
        if start == urn:
            return True
        start = parents[start]
    return False


def dataset_of(column: str) -> str:
    """Return the dataset of a schemaField URN; a dataset's URN is its own."""
    return column.partition("(")[2].rpartition(",")[0] if entity_type(column) == "schemaField" else column
