"""``dh-bridge lineage``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.tree import Tree

from dh_bridge.catalog.drawing import to_dot, to_mermaid
from dh_bridge.catalog.lineage import LineageNode, to_json
from dh_bridge.catalog.lineage import lineage_tree as lineage_of
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli.console import escape_line, json_line, say, write, write_tree
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import catalog_option, json_option, utf_8, with_settings
from dh_bridge.cli.suggestions import exit_unknown_urn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.catalog.lineage import ColumnPair, Direction
    from dh_bridge.settings import Settings

_KIND_NAMES = {"dataJob": "job", "dataFlow": "flow", "dataProcessInstance": "run", "schemaField": "column"}
_LINEAGE_TYPES = {"dataset", "dataJob", "schemaField"}
_MAX_TREE_DEPTH = 120
"""Levels of a tree, each of them two of JSON: deeper than 254 the encoder takes none, and other readers give up, too."""

_MARK_TEXTS = {
    "cycle": "(a cycle: it stands above)",
    "again": "(followed elsewhere)",
    "deeper": "(goes on: --depth)",
    "": "",
}


@click.command()
@click.argument("urn", type=utf_8)
@catalog_option
@click.option("--up", is_flag=True, help="Only what URN comes from.")
@click.option("--down", is_flag=True, help="Only what comes from URN.")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Entities to follow, jobs too; 120 at most, but in pictures.",
)
@click.option("--columns", is_flag=True, help="Also which column comes from which.")
@json_option
@click.option("--dot", is_flag=True, help="A Graphviz picture.")
@click.option("--mermaid", is_flag=True, help="A Mermaid picture.")
@with_settings
@examples(
    "dh-bridge lineage 'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.mart.daily_revenue,PROD)' --catalog out/demo.db",
    "dh-bridge lineage 'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.mart.daily_revenue,PROD)' --catalog out/demo.db --up --columns",
    "dh-bridge lineage 'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.mart.daily_revenue,PROD)' --catalog out/demo.db --dot > lineage.dot",
)
def lineage(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,  # noqa: ARG001 - every command takes -c
    urn: str,
    file: str,
    up: bool,
    down: bool,
    depth: int,
    columns: bool,
    as_json: bool,
    dot: bool,
    mermaid: bool,
) -> None:
    """Show what URN comes from and what comes from it.

    URN is that of a dataset, job or column. What one run read and wrote is no lineage in DataHub: `get` shows it.
    """
    if as_json + dot + mermaid > 1:
        raise click.UsageError("one of --json, --dot and --mermaid")
    direction: Direction = "both" if up == down else "up" if up else "down"
    if not (dot or mermaid) and depth > _MAX_TREE_DEPTH:
        say(f"a tree ends {_MAX_TREE_DEPTH} entities away; --dot and --mermaid go on")
        depth = _MAX_TREE_DEPTH
    with Catalog(file, readonly=True) as catalog:
        root = lineage_of(catalog, urn, direction=direction, depth=depth, columns=columns)
        is_known = bool(root.upstream or root.downstream or catalog.aspects(urn))
        if as_json:
            write([json_line(to_json(root))])
        elif dot or mermaid:
            write([(to_dot(root) if dot else to_mermaid(root)).encode()])  # whatever the terminal's code page
        elif is_known:
            write_tree(console_tree(root, direction))
        if not is_known:
            exit_unknown_urn(catalog, file, urn)
    if root.type not in _LINEAGE_TYPES and not (root.upstream or root.downstream):
        say("it has no lineage of its own: DataHub keeps that of datasets, jobs and columns")


def console_tree(root: LineageNode, direction: Direction = "both") -> Tree:
    """Return the lineage as a tree for people: the sources, and what is made of it."""
    tree = Tree(_label(root))
    for branch_direction, title, children in (
        ("up", "comes from", root.upstream),
        ("down", "goes to", root.downstream),
    ):
        if direction in {branch_direction, "both"}:
            branch = tree.add(f"[dim]{title}[/dim]" if children else f"[dim]{title} nothing known[/dim]")
            _add_branches(branch, children, "upstream" if branch_direction == "up" else "downstream")
    return tree


def _add_branches(branch: Tree, nodes: Sequence[LineageNode], attribute: str) -> None:
    for node in nodes:
        child_branch = branch.add(_label(node))
        for column in node.columns if node.type != "dataJob" else ():  # a job's pairs stand at the datasets it links
            child_branch.add(f"[dim]{escape(escape_line(_column_label(column)))}[/dim]")
        _add_branches(child_branch, getattr(node, attribute), attribute)


def _label(node: LineageNode) -> str:
    parts = [
        f"[bold]{escape(escape_line(node.name))}[/bold]",
        f"[cyan]{escape(escape_line(_kind(node)))}[/cyan]",
        _MARK_TEXTS[node.mark],
    ]
    return "  ".join([*filter(None, parts), *(["[red]removed[/red]"] if node.removed else [])])


def _kind(node: LineageNode) -> str:
    if node.type != "dataset":
        return _KIND_NAMES.get(node.type, node.type)
    return node.urn.partition("urn:li:dataPlatform:")[2].partition(",")[0]


def _column_label(column: ColumnPair) -> str:
    endpoints = [urn.rpartition(",")[2].removesuffix(")") for urn in (column.upstream, column.downstream)]
    return " -> ".join(endpoints) + ("" if column.operation == "NONE" else f"  {column.operation}")
