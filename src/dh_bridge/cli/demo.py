"""``dh-bridge demo``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dh_bridge.bridge import Bridge
from dh_bridge.bundled import EXAMPLES
from dh_bridge.catalog.lineage import lineage_tree
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli.examples import examples
from dh_bridge.cli.lineage import console_tree
from dh_bridge.cli.lookup import shell_quote
from dh_bridge.cli.options import catalog_path, events_path, with_settings
from dh_bridge.cli.summary import CommandOutcome, read_items
from dh_bridge.cli.terminal import echo, write_tree
from dh_bridge.errors import SinkError
from dh_bridge.sinks.catalog import CatalogSink

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.catalog.lineage import LineageNode
    from dh_bridge.settings import Settings


@click.command()
@click.argument("events", nargs=-1, metavar="[EVENTS...]", type=events_path)
@click.option(
    "--to",
    "file",
    default="catalog:out/demo.db",
    show_default=True,
    metavar="TARGET",
    type=catalog_path,
    help="The catalogue to write: catalog:FILE.",
)
@click.option("--dry-run", is_flag=True, help="Show the result, and write no file.")
@with_settings
@examples("dh-bridge demo")
def demo(*, settings: Settings, events: tuple[str, ...], file: str, dry_run: bool) -> None:
    """Translate the example events into a catalogue, and show counts and lineage.

    Without EVENTS, the example events of the package are used. No server and no settings are needed.
    """
    if not dry_run:
        _make_folder(Path(file).parent)
    bridge = Bridge(settings)
    with CommandOutcome() as outcome, Catalog(":memory:" if dry_run else file) as catalog:
        sink = CatalogSink(catalog)
        for translation in bridge.stream(read_items(events or (str(EXAMPLES),), bridge), report=True):
            outcome.add(translation)
            outcome.add_delivery(sink.emit(translation.proposals))
        for line in outcome.summary():
            echo(line)
        root = find_most_derived(catalog)
    if root is not None:
        echo("\nThe lineage of one of the datasets:\n")
        write_tree(console_tree(root, "up"))
        if not dry_run:
            name = shlex.quote(file)
            echo("\nLook further:")
            echo(f"  dh-bridge lineage {name} {shell_quote(root.urn)} --columns")
            echo(f"  dh-bridge runs {name} --failed")
            echo(f"  dh-bridge assertions {name} --failed")
            echo(f"  dh-bridge console {name}")
    outcome.exit_command()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SinkError(
            f"cannot be created: {error.strerror}", location=str(folder), remedy="pass another file with --to"
        ) from error


def find_most_derived(catalog: Catalog) -> LineageNode | None:
    """Return the upstream lineage of the dataset that comes from the most entities; None when no dataset comes from any."""
    roots = [lineage_tree(catalog, urn, direction="up") for urn in catalog.entities("dataset")]
    candidate = max(roots, key=lambda root: sum(1 for _ in _iter_upstreams(root)), default=None)
    return candidate if candidate is not None and candidate.upstream else None


def _iter_upstreams(node: LineageNode) -> Iterator[LineageNode]:
    for child in node.upstream:
        yield child
        yield from _iter_upstreams(child)
