"""Lineage as a picture: Graphviz DOT and Mermaid. Arrows point the way the data flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.catalog.lineage import LineageNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dh_bridge.catalog.graph import LineageEdge
    from dh_bridge.catalog.lineage import ColumnPair

_DOT_SHAPES = {"dataJob": "box", "dataset": "cylinder", "schemaField": "plaintext"}
_MERMAID_SHAPES = {"dataJob": '["{}"]', "dataset": '[("{}")]'}
_MERMAID_DEFAULT_SHAPE = '("{}")'
_ENTITY_CODES = {ord(sign): f"#{ord(sign)};" for sign in '#"<>&`'} | {ord("\n"): " "}


def to_dot(lineage: LineageNode | Sequence[LineageEdge]) -> str:
    """Return a tree or edges as a Graphviz digraph; nodes are named by their URNs, the root of a tree is bold."""
    nodes, edges, root_urn = _graph(lineage)
    lines = ["digraph lineage {", "  rankdir=LR;"]
    for urn, node in nodes.items():
        style = ', style="bold"' if urn == root_urn else ', style="dashed"' if node.removed else ""
        shape = _DOT_SHAPES.get(node.type, "ellipse")
        lines.append(f"  {_quote(urn)} [label={_quote(node.name)}, shape={shape}{style}];")
    for (upstream, downstream), columns in edges.items():
        label = f" [label={_quote(_label(columns, chr(10)))}]" if columns else ""
        lines.append(f"  {_quote(upstream)} -> {_quote(downstream)}{label};")
    return "\n".join([*lines, "}", ""])


def to_mermaid(lineage: LineageNode | Sequence[LineageEdge]) -> str:
    """Return a tree or edges as a Mermaid flowchart; nodes are numbered in the order of the tree, the root is n0."""
    nodes, edges, _ = _graph(lineage)
    names = {urn: f"n{number}" for number, urn in enumerate(nodes)}
    lines = ["flowchart LR"]
    for urn, node in nodes.items():
        shape = _MERMAID_SHAPES.get(node.type, _MERMAID_DEFAULT_SHAPE)
        lines.append(f"  {names[urn]}{shape.format(_escape_mermaid(node.name))}")
    for (upstream, downstream), columns in edges.items():
        label = f'|"{_label(columns, "<br/>", _escape_mermaid)}"|' if columns else ""
        lines.append(f"  {names[upstream]} -->{label} {names[downstream]}")
    return "\n".join([*lines, ""])


def _graph(
    lineage: LineageNode | Sequence[LineageEdge],
) -> tuple[dict[str, LineageNode], dict[tuple[str, str], list[ColumnPair]], str]:
    """Return the entities, the links ``(upstream, downstream)`` with their columns, each once, and the URN of the root."""
    nodes: dict[str, LineageNode] = {}
    edges: dict[tuple[str, str], list[ColumnPair]] = {}
    if not isinstance(lineage, LineageNode):
        for upstream, downstream in lineage:
            nodes |= {upstream.urn: upstream, downstream.urn: downstream}
            edges[upstream.urn, downstream.urn] = []
        return nodes, edges, ""
    for node, upstream_urn, downstream_urn in _links(lineage):
        nodes.setdefault(node.urn, node)
        if upstream_urn != downstream_urn or node is not lineage:
            edges.setdefault((upstream_urn, downstream_urn), node.columns)
    return nodes, edges, lineage.urn


def _links(root: LineageNode) -> Iterator[tuple[LineageNode, str, str]]:
    """Yield each node with the ends of the link to its parent, the root with itself; a stack, for deep trees."""
    yield root, root.urn, root.urn
    stack = [root]
    while stack:
        parent = stack.pop()
        for child in parent.upstream:
            yield child, child.urn, parent.urn
        for child in parent.downstream:
            yield child, parent.urn, child.urn
        stack.extend(reversed([*parent.upstream, *parent.downstream]))


def _label(columns: list[ColumnPair], newline: str, escape: Callable[[str], str] = str) -> str:
    """Return the column pairs, a line each, their names as ``escape``."""
    return newline.join(
        f"{escape(_field_path(column.upstream))} → {escape(_field_path(column.downstream))}" for column in columns
    )


def _field_path(urn: str) -> str:
    return urn.rpartition(",")[2].removesuffix(")")


def _quote(text: str) -> str:
    """Return a DOT string; line breaks become its escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _escape_mermaid(text: str) -> str:
    """Return text that Mermaid shows as it is: quotes, its own signs and those of HTML as entity codes."""
    return text.translate(_ENTITY_CODES)
