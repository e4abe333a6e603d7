"""``dh-bridge plan``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import datahub_version_option, events_argument, json_option, ledger_option, with_settings
from dh_bridge.cli.summary import CommandOutcome, read_items
from dh_bridge.cli.targets import open_readable, reader_version, say_unreadable
from dh_bridge.cli.terminal import echo, json_line, say, write, write_table
from dh_bridge.delivery import wrap_sink
from dh_bridge.ledger import NullSink, open_ledger, trial_copy
from dh_bridge.review.plan import COUNTS
from dh_bridge.review.plan import build_plan as planned
from dh_bridge.review.state import ReviewState

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from dh_bridge.bridge import Translation
    from dh_bridge.settings import Settings

_SHOWN_KINDS = ("near", "foreign", "removed", "refused")
_MAX_SHOWN_ROWS = 20
_CATALOG_PREFIX = "catalog:"


def _parse_limits(
    _context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]
) -> list[tuple[str, int]]:
    """Read ``new>0``."""
    limits = []
    for text in texts:
        match = re.fullmatch(rf"({'|'.join(COUNTS)})>(\d+)", text.replace(" ", ""))
        if match is None:
            raise click.BadParameter(f"{text!r}: write COUNT>NUMBER, with one of {', '.join(COUNTS)}")
        limits.append((match[1], int(match[2])))
    return limits


@click.command()
@events_argument
@click.option(
    "--to", "target", required=True, metavar="TARGET", help="rest:URL, rest:, catalog:FILE, or a file of URNs."
)
@click.option(
    "--fail-on",
    "limits",
    multiple=True,
    callback=_parse_limits,
    metavar="COUNT>N",
    help="Exit code 1 for more, e.g. new>0.",
)
@ledger_option
@json_option
@datahub_version_option
@with_settings
@examples(
    "dh-bridge emit examples/events --to catalog:shop.db && dh-bridge plan examples/events --to catalog:shop.db",
)
def plan(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    events: tuple[str, ...],
    target: str,
    limits: list[tuple[str, int]],
    ledger: Path | None,
    as_json: bool,
) -> None:
    """Show what EVENTS would change at TARGET. Nothing is written.

    The result has entities that exist and that are new; near misses: datasets that exist under another case, instance, environment,
    tier, quoting, platform or host; aspects whose last writer is another; and lineage
    edges that are added or removed. Lists end after 20 rows. --json writes all rows, with each aspect that changes.

    With --ledger, the result is what `emit --ledger` would send now, with the proposals that wait in the ledger. A copy of the
    ledger is used. A catalogue is the ledger of its events, so its earlier events are part of the result.
    """
    with (
        CommandOutcome() as outcome,
        open_readable(target, settings) as (readable, listed_urns, target_settings),
        ReviewState(readable, version=reader_version(target, target_settings)) as state,
    ):
        sink = wrap_sink(state, settings, ledger=(ledger or settings.ledger.file) is not None)
        ledger = ledger or settings.ledger.file
        translations = (
            _iter_translations(events, target_settings, Path(target.removeprefix(_CATALOG_PREFIX)), full=True)
            if ledger is None and target.startswith(_CATALOG_PREFIX)
            else _iter_translations(events, target_settings, ledger)
        )
        for translation in translations:
            outcome.add(translation)
            sink.emit(translation.proposals)
        counts, rows = planned(state, pipeline=settings.pipeline_name, existing_urns=listed_urns)
        if as_json:
            write(map(json_line, rows))
        else:
            _write_tables(counts, rows)
        say_unreadable(state.unreadable_urns)
        exceeded_counts = [name for name, limit in limits if counts[name] > limit]
        for name in exceeded_counts:
            say(f"{name}: {counts[name]:,} is more than was allowed")
        if exceeded_counts:
            raise click.exceptions.Exit(EXIT_EVENTS)
        outcome.exit_command()


def _iter_translations(
    events: tuple[str, ...], settings: Settings, ledger: Path | None, *, full: bool = False
) -> Iterator[Translation]:
    """Yield the proposals of the events, alone or merged with a ledger (``full``: also those that were sent before)."""
    bridge = Bridge(settings)
    items = read_items(events, bridge)
    with trial_copy(ledger) as ledger_copy, open_ledger(ledger_copy, NullSink(), settings, full=full) as active_ledger:
        if active_ledger is None:
            yield from bridge.stream(items)
        else:
            for translation, _ in active_ledger.stream(items):
                yield translation


def _write_tables(counts: Counter[str], rows: list[dict[str, Any]]) -> None:
    write_table(("count", "number"), [(name, f"{counts[name]:,}") for name in COUNTS])
    for kind in _SHOWN_KINDS:
        kind_rows = [row for row in rows if row["kind"] == kind]
        if kind_rows:
            columns = [column for column in kind_rows[0] if column != "kind"]
            echo()
            write_table(
                [kind, *columns[1:]], [[row[column] for column in columns] for row in kind_rows[:_MAX_SHOWN_ROWS]]
            )
            if len(kind_rows) > _MAX_SHOWN_ROWS:
                echo(f"… and {len(kind_rows) - _MAX_SHOWN_ROWS:,} more (--json)")
