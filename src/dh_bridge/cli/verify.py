"""``dh-bridge verify``."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import events_argument, json_option, profile_option, with_settings
from dh_bridge.cli.outcome import Outcome, events_of
from dh_bridge.cli.places import allowed, opened_place
from dh_bridge.cli.screen import json_line, say, write, write_table
from dh_bridge.review.state import State
from dh_bridge.review.verdicts import verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.settings import Settings

_MOST = 20


def _share(_context: click.Context, _parameter: click.Parameter, text: str) -> float:
    """Read ``1%`` or ``0.01``."""
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise click.BadParameter(f"{text!r} is no share: write 1% or 0.01")
    return share


@click.command()
@events_argument
@click.option("--against", "target", required=True, metavar="PLACE", help="rest:URL, rest: or catalog:FILE.")
@click.option("--sample", callback=_share, default="100%", metavar="SHARE", help="Part of the entities, such as 1%.")
@json_option
@profile_option
@with_settings
@examples(
    "dh-bridge emit examples/events --to catalog:shop.db && dh-bridge verify examples/events --against catalog:shop.db"
)
def verify(*, settings: Settings, events: tuple[str, ...], target: str, sample: float, as_json: bool) -> None:
    """Check that what EVENTS say is there at PLACE: nothing missing, trimmed or overwritten.

    Servers leave out what they do not know and answer that all is well: this reads back. An aspect is held when writing it
    again would change nothing; what others added beside it is no fault. Points in time are not read. Exit code 1 when
    anything is not held; each such aspect is a line: what is gone or says something else, and who wrote it last.
    """
    with Outcome() as outcome, opened_place(target, settings) as (place, known, chosen), State(place) as state:
        if known is not None and not target.startswith("catalog:"):
            raise click.UsageError("a file of URNs holds no aspects: use rest:URL or catalog:FILE")
        bridge = Bridge(chosen)
        for translation in bridge.stream(events_of(events, bridge)):
            outcome.add(translation)
            drawn = [one for one in translation.proposals if _drawn(one.entity_urn, sample)]
            state.add(allowed(drawn, settings))
        counts: Counter[str] = Counter(dict.fromkeys(("held", "missing", "trimmed", "overwritten"), 0))
        rows = list(_rows(state, counts))
        if as_json:
            write(map(json_line, rows))
        elif rows:
            write_table(
                ("what", "urn", "aspect", "where", "last writer"),
                [
                    (row["verdict"], row["urn"], row["aspect"], ", ".join(row["paths"][:3]), row["writer"])
                    for row in rows[:_MOST]
                ],
            )
            if len(rows) > _MOST:
                click.echo(f"… and {len(rows) - _MOST:,} more (--json)")
        say(
            ", ".join(f"{number:,} {word}" for word, number in counts.items())
            + f"; {state.points:,} points were not read"
        )
        if rows:
            raise click.exceptions.Exit(EXIT_EVENTS)
        outcome.leave()


def _rows(state: State, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield what is not held, and count everything."""
    for change in state.changes():
        found = verdict(change)
        counts[found.word] += 1
        if found.word != "held":
            row = {"verdict": found.word, "urn": change.urn, "aspect": change.aspect}
            yield {**row, "paths": found.paths, "writer": found.writer}


def _drawn(urn: str, share: float) -> bool:
    """Say whether an entity belongs to the sample: the same ones each time."""
    return share >= 1 or int.from_bytes(hashlib.sha256(urn.encode()).digest()[:4], "big") < share * 2**32
