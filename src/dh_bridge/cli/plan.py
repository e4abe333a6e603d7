"""``dh-bridge plan``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.console import echo, json_line, say, write, write_table
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import events_argument, json_option, ledger_option, profile_option, with_settings
from dh_bridge.cli.summary import Outcome, events_of
from dh_bridge.cli.targets import opened_place, say_unread, version_of
from dh_bridge.delivery import around
from dh_bridge.ledger import Nowhere, opened, trial
from dh_bridge.review.plan import COUNTS
from dh_bridge.review.plan import plan as planned
from dh_bridge.review.state import State

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

    from dh_bridge.bridge import Translation
    from dh_bridge.settings import Settings

_SHOWN = ("near", "foreign", "removed", "refused")
_MOST = 20


def _limits(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> list[tuple[str, int]]:
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
    "--against", "target", required=True, metavar="PLACE", help="rest:URL, rest:, catalog:FILE, or a file of URNs."
)
@click.option(
    "--fail-on", "limits", multiple=True, callback=_limits, metavar="COUNT>N", help="Exit code 1 for more, e.g. new>0."
)
@ledger_option
@json_option
@profile_option
@with_settings
@examples(
    "dh-bridge emit examples/events --to catalog:shop.db && dh-bridge plan examples/events --against catalog:shop.db",
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
    """Tell what EVENTS would change at PLACE; nothing is written.

    Entities found and new, near misses (datasets that are there under another case, instance, environment, tier, quoting,
    platform or host) with the rule that would make them one, aspects whose last writer is somebody else, edges of lineage
    that come and go. --json tells all of it, each aspect that changes included; without it the lists end after 20 rows.

    With --ledger it is what `emit --ledger` would send now, beside what waits in it: runs go on where they stood, and edges of ours
    leave. It is tried on a copy. A catalogue is the ledger of what was emitted to it: name its file.
    """
    with (
        Outcome() as outcome,
        opened_place(target, settings) as (place, known, chosen),
        State(place, version=version_of(target, chosen)) as state,
    ):
        written = around(state, settings, ledger=(ledger or settings.ledger.file) is not None)
        for translation in _translated(events, chosen, ledger or settings.ledger.file):
            outcome.add(translation)
            written.emit(translation.proposals)
        counts, rows = planned(state, pipeline=settings.pipeline_name, known=known)
        if as_json:
            write(map(json_line, rows))
        else:
            _show(counts, rows)
        say_unread(state.unread)
        over = [name for name, most in limits if counts[name] > most]
        for name in over:
            say(f"{name}: {counts[name]:,} is more than was allowed")
        if over:
            raise click.exceptions.Exit(EXIT_EVENTS)
        outcome.leave()


def _translated(events: tuple[str, ...], settings: Settings, ledger: Path | None) -> Iterator[Translation]:
    """Yield what the events come to, for itself or beside what a ledger knows."""
    bridge = Bridge(settings)
    items = events_of(events, bridge)
    with trial(ledger) as copy, opened(copy, Nowhere(), settings) as found:
        if found is None:
            yield from bridge.stream(items)
        else:
            for translation, _ in found.stream(items):
                yield translation


def _show(counts: Counter[str], rows: list[dict[str, Any]]) -> None:
    write_table(("count", "number"), [(name, f"{counts[name]:,}") for name in COUNTS])
    for kind in _SHOWN:
        found = [row for row in rows if row["kind"] == kind]
        if found:
            columns = [column for column in found[0] if column != "kind"]
            echo()
            write_table([kind, *columns[1:]], [[row[column] for column in columns] for row in found[:_MOST]])
            if len(found) > _MOST:
                echo(f"… and {len(found) - _MOST:,} more (--json)")
