"""``dh-bridge lineage``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.tree import Tree

from dh_bridge.catalog.drawing import to_dot, to_mermaid
from dh_bridge.catalog.lineage import Node, to_json
from dh_bridge.catalog.lineage import lineage as lineage_of
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli.console import json_line, say, visible, write, write_tree
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import catalog_option, json_option, utf_8, with_settings
from dh_bridge.cli.suggestions import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.catalog.lineage import Column, Direction
    from dh_bridge.settings import Settings

_KINDS = {"dataJob": "job", "dataFlow": "flow", "dataProcessInstance": "run", "schemaField": "column"}
_TRACED = {"dataset", "dataJob", "schemaField"}
_DEEPEST = 120
"""Levels of a tree, each of them two of JSON: deeper than 254 the encoder takes none, and other readers give up, too."""

_MARKS = {
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
    if not (dot or mermaid) and depth > _DEEPEST:
        say(f"a tree ends {_DEEPEST} entities away; --dot and --mermaid go on")
        depth = _DEEPEST
    with Catalog(file, readonly=True) as catalog:
        root = lineage_of(catalog, urn, direction=direction, depth=depth, columns=columns)
        known = bool(root.upstream or root.downstream or catalog.aspects(urn))
        if as_json:
            write([json_line(to_json(root))])
        elif dot or mermaid:
            write([(to_dot(root) if dot else to_mermaid(root)).encode()])  # whatever the terminal's code page
        elif known:
            write_tree(lineage_tree(root, direction))
        if not known:
            refuse_unknown(catalog, file, urn)
    if root.type not in _TRACED and not (root.upstream or root.downstream):
        say("it has no lineage of its own: DataHub keeps that of datasets, jobs and columns")


def lineage_tree(root: Node, direction: Direction = "both") -> Tree:
    """Return the lineage as a tree for people: the sources, and what is made of it."""
    tree = Tree(_label(root))
    for wanted, title, children in (("up", "comes from", root.upstream), ("down", "goes to", root.downstream)):
        if direction in {wanted, "both"}:
            branch = tree.add(f"[dim]{title}[/dim]" if children else f"[dim]{title} nothing known[/dim]")
            _grow(branch, children, "upstream" if wanted == "up" else "downstream")
    return tree


def _grow(branch: Tree, nodes: Sequence[Node], side: str) -> None:
    for node in nodes:
        twig = branch.add(_label(node))
        for column in node.columns if node.type != "dataJob" else ():  # a job's pairs stand at the datasets it links
            twig.add(f"[dim]{escape(visible(_column(column)))}[/dim]")
        _grow(twig, getattr(node, side), side)


def _label(node: Node) -> str:
    parts = [
        f"[bold]{escape(visible(node.name))}[/bold]",
        f"[cyan]{escape(visible(_kind(node)))}[/cyan]",
        _MARKS[node.mark],
    ]
    return "  ".join([*filter(None, parts), *(["[red]removed[/red]"] if node.removed else [])])


def _kind(node: Node) -> str:
    if node.type != "dataset":
        return _KINDS.get(node.type, node.type)
    return node.urn.partition("urn:li:dataPlatform:")[2].partition(",")[0]


def _column(column: Column) -> str:
    ends = [end.rpartition(",")[2].removesuffix(")") for end in (column.upstream, column.downstream)]
    return " -> ".join(ends) + ("" if column.operation == "NONE" else f"  {column.operation}")
