"""``dh-bridge lineage``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.tree import Tree

from dh_bridge.catalog.drawing import to_dot, to_mermaid
from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.lineage import LineageNode, lineage_tree, to_json
from dh_bridge.catalog.paging import MAX_EXAMINED
from dh_bridge.cli.examples import examples
from dh_bridge.cli.lookup import file_argument, open_contents, page_option, resolve_urn, say_hidden, shell_quote
from dh_bridge.cli.options import json_option, utf_8, with_settings
from dh_bridge.cli.server_help import show_server_help
from dh_bridge.cli.summary import open_output
from dh_bridge.cli.terminal import escape_line, json_line, note, say, write, write_table, write_tree
from dh_bridge.console.html_page import lineage_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.catalog.graph import LineageEdge
    from dh_bridge.catalog.lineage import ColumnPair, Direction
    from dh_bridge.catalog.store import Catalog
    from dh_bridge.settings import Settings

_KIND_NAMES = {"dataJob": "job", "dataFlow": "flow", "dataProcessInstance": "run", "schemaField": "column"}
_LINEAGE_TYPES = {"dataset", "dataJob", "schemaField", "dataProcessInstance"}
_TIERS = (["dataset"], ["dataJob"], ["dataProcessInstance"], ["schemaField"])
_LINK_TEXTS = {
    "upstream": {"ChildOf": "parent", "UpstreamOf": "upstream"},
    "downstream": {"ChildOf": "child", "UpstreamOf": "downstream"},
}
"""Side of the tree -> relationship of a run -> relation to the run above it in the tree."""
_MAX_TREE_DEPTH = 120
"""Levels of a tree, each of them two of JSON: deeper than 254 the encoder takes none, and other readers give up, too."""

_MARK_TEXTS = {
    "cycle": "(a cycle: shown above)",
    "again": "(shown elsewhere)",
    "deeper": "(more: --depth)",
    "limit": "(more: --limit)",
    "": "",
}


@click.command()
@file_argument
@click.argument("urn", metavar="[URN]", type=utf_8, required=False)
@click.option("--up", is_flag=True, help="Only the upstream side: where the data comes from.")
@click.option("--down", is_flag=True, help="Only the downstream side: where the data goes.")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Steps to follow; jobs count, too. A tree has at most 120.",
)
@click.option("--columns", is_flag=True, help="Also show column lineage.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    callback=lambda _context, _option, limit: limit or None,
    help="Entities to follow on each side, lines of a tree, or edges of the whole graph; 0 for all.",
)
@page_option
@json_option
@click.option("--dot", is_flag=True, help="A Graphviz picture.")
@click.option("--mermaid", is_flag=True, help="A Mermaid picture.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write an interactive page to this file.")
@with_settings
@examples(
    "dh-bridge lineage out/demo.db mart.daily_revenue",
    "dh-bridge lineage out/demo.db 'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.mart.daily_revenue,PROD)' --up --columns",
    "dh-bridge lineage out/demo.db --dot > lineage.dot",
    "dh-bridge lineage out/demo.db mart.daily_revenue --html lineage.html",
)
def lineage(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    file: str,
    urn: str | None,
    up: bool,
    down: bool,
    depth: int,
    columns: bool,
    limit: int | None,
    page: str | None,
    as_json: bool,
    dot: bool,
    mermaid: bool,
    html: Path | None,
) -> None:
    """Show the lineage of a dataset, job, column or run, or of the whole graph.

    FILE is a catalogue or a ledger. URN is a URN, or a part of it that is unique, such as a name. The lineage of a run has the runs
    that events name as its parents and upstreams. Without URN, the output has all edges between datasets and jobs.
    """
    if as_json + dot + mermaid + (html is not None) > 1:
        raise click.UsageError("Pass only one of --json, --dot, --mermaid and --html.")
    direction: Direction = "both" if up == down else "up" if up else "down"
    if show_server_help(file, settings, urn=urn or "", command=_server_command(urn, direction), tab="Lineage"):
        return
    _check_urn(urn, needs_urn=bool(up or down or columns or html), page=page)
    if not (dot or mermaid) and depth > _MAX_TREE_DEPTH:
        say(f"A tree ends after {_MAX_TREE_DEPTH} steps. --dot and --mermaid have no such limit.")
        depth = _MAX_TREE_DEPTH
    draw = to_dot if dot else to_mermaid
    with open_contents(file, settings) as contents:
        if urn is None:
            edges = contents.lineage_edges(limit=limit, page=page)
            if dot or mermaid:
                write([draw(edges.items).encode()])  # UTF-8, whatever the terminal's code page
            else:
                _write_edges(edges.items, as_json=as_json)
            say_hidden(edges, "edges")
            return
        entity = resolve_urn(contents, file, urn, _TIERS)
        is_run = entity_type(entity) == "dataProcessInstance"
        catalog = (
            contents.load_related_runs(entity)
            if is_run
            else contents.load_lineage(entity, direction, depth=depth, limit=None if html is not None else limit)
        )
        if html is not None:
            _write_page(html, catalog, entity, direction, depth)
            return
        root = lineage_tree(catalog, entity, direction=direction, depth=depth, columns=columns, limit=limit)
    if as_json:
        write([json_line(to_json(root))])
    elif dot or mermaid:
        write([draw(root).encode()])
    else:
        write_tree(console_tree(root, direction), limit=limit or 0)
    _say_cut(root, limit)
    if not (root.upstream or root.downstream):
        _say_no_lineage(root)


def _check_urn(urn: str | None, *, needs_urn: bool, page: str | None) -> None:
    if urn is None and needs_urn:
        raise click.UsageError("--up, --down, --columns and --html need a URN.")
    if urn is not None and page is not None:
        raise click.UsageError("--page continues a list of edges. Pass it without URN.")


def _write_page(path: Path, catalog: Catalog, urn: str, direction: Direction, depth: int) -> None:
    """Write the graph around a dataset or job as a page."""
    if entity_type(urn) not in ("dataset", "dataJob"):
        raise click.UsageError("--html shows datasets and jobs. Pass the URN of one of them.")
    page = lineage_page(catalog, urn, direction=direction, depth=depth)
    with open_output("--html", str(path), "wb") as file:
        file.write(page.encode())
    note(f"Written to {path}. Open it in a browser; it needs no network.")


def _server_command(urn: str | None, direction: Direction) -> str:
    """Return the `datahub` command that shows the lineage of an entity on a server."""
    if urn is None or not urn.startswith("urn:li:"):
        return ""
    commands = [
        f"--direction {side}"
        for side, name in (("upstream", "up"), ("downstream", "down"))
        if direction in {name, "both"}
    ]
    return "; ".join(f"datahub lineage --urn {shell_quote(urn)} {option}" for option in commands)


def _write_edges(edges: Sequence[LineageEdge], *, as_json: bool) -> None:
    if as_json:
        write(json_line({"upstream": edge.upstream.urn, "downstream": edge.downstream.urn}) for edge in edges)
    elif edges:
        rows = [
            (edge.upstream.name, _kind(edge.upstream), edge.downstream.name, _kind(edge.downstream)) for edge in edges
        ]
        write_table(("upstream", "kind", "downstream", "kind"), rows)
    else:
        say("There is no lineage.")


def _say_cut(root: LineageNode, limit: int | None) -> None:
    """Print on which sides the tree is cut: an entity may have 100,000 neighbours."""
    for side in ("upstream", "downstream"):
        nodes, hidden, is_cut = [root], 0, False
        for node in nodes:
            nodes += getattr(node, side)
            hidden += getattr(node, f"hidden_{side}")
            is_cut = is_cut or node.mark == "limit"
        if hidden or is_cut:
            count = f"{'at least ' if is_cut or hidden >= MAX_EXAMINED else ''}{hidden:,}" if hidden else "some"
            say(
                f"The {side} side ends after {limit:,} entities; {count} more are not shown. Pass --limit 0 to see all."
            )


def _say_no_lineage(root: LineageNode) -> None:
    if root.type == "dataProcessInstance":
        say("No event contains a parent or upstream run of this run. `dh-bridge get` shows its inputs and outputs.")
    elif root.type not in _LINEAGE_TYPES:
        say(f"An entity of type {root.type} has no lineage. Datasets, jobs, columns and runs have.")


def console_tree(root: LineageNode, direction: Direction = "both") -> Tree:
    """Return the lineage as a tree for the terminal: the upstream side, then the downstream side."""
    tree = Tree(_label(root))
    for branch_direction, title, children in (
        ("up", "upstream", root.upstream),
        ("down", "downstream", root.downstream),
    ):
        if direction in {branch_direction, "both"}:
            branch = tree.add(f"[dim]{title}[/dim]" if children else f"[dim]no {title}[/dim]")
            attribute = "upstream" if branch_direction == "up" else "downstream"
            _add_branches(branch, children, attribute)
            _add_hidden(branch, root, attribute)
    return tree


def _add_branches(branch: Tree, nodes: Sequence[LineageNode], attribute: str) -> None:
    for node in nodes:
        child_branch = branch.add(_label(node, attribute))
        for column in node.columns if node.type != "dataJob" else ():  # pairs of a job are listed at its datasets
            child_branch.add(f"[dim]{escape(escape_line(_column_label(column)))}[/dim]")
        _add_branches(child_branch, getattr(node, attribute), attribute)
        _add_hidden(child_branch, node, attribute)


def _add_hidden(branch: Tree, node: LineageNode, attribute: str) -> None:
    """Add a line with the number of neighbours that the limit leaves out."""
    count = getattr(node, f"hidden_{attribute}")
    if count:
        branch.add(f"[dim]{count:,}{' or' if count >= MAX_EXAMINED else ''} more: --limit[/dim]")


def _label(node: LineageNode, side: str = "") -> str:
    parts = [
        f"[bold]{escape(escape_line(node.name))}[/bold]",
        f"[cyan]{escape(escape_line(_kind(node)))}[/cyan]",
        _link_text(node, side),
        _MARK_TEXTS[node.mark],
    ]
    return "  ".join([*filter(None, parts), *(["[red]removed[/red]"] if node.removed else [])])


def _link_text(node: LineageNode, side: str) -> str:
    texts = _LINK_TEXTS.get(side, {})
    names = [texts[name] for name in node.via if name in texts]
    return f"({' and '.join(names)})" if names else ""


def _kind(node: LineageNode) -> str:
    if node.type != "dataset":
        return _KIND_NAMES.get(node.type, node.type)
    return node.urn.partition("urn:li:dataPlatform:")[2].partition(",")[0]


def _column_label(column: ColumnPair) -> str:
    endpoints = [urn.rpartition(",")[2].removesuffix(")") for urn in (column.upstream, column.downstream)]
    return " -> ".join(endpoints) + ("" if column.operation == "NONE" else f"  {column.operation}")
