"""``dh-bridge verify``."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.console import echo, json_line, say, write, write_table
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import events_path, json_option, ledger_option, profile_option, utf_8, with_settings
from dh_bridge.cli.summary import Outcome, events_of
from dh_bridge.cli.targets import existing, opened_place, say_unread, version_of
from dh_bridge.delivery import around
from dh_bridge.ledger.rerender import Recall
from dh_bridge.review.state import State
from dh_bridge.review.verdicts import verdict
from dh_bridge.sinks.base import find_kind
from dh_bridge.translation.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dh_bridge.datahub.proposal import Proposal
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
@click.argument("events", nargs=-1, metavar="[EVENTS...]", type=events_path)
@click.option("--against", "target", required=True, metavar="PLACE", help="rest:URL, rest: or catalog:FILE.")
@click.option("--sample", callback=_share, default="100%", metavar="SHARE", help="Part of the entities, such as 1%.")
@click.option(
    "--run",
    "delivery",
    metavar="ID",
    type=utf_8,
    help="Only what this delivery (emit's run id) sent; needs the ledger.",
)
@ledger_option
@json_option
@profile_option
@with_settings
@examples(
    "dh-bridge emit examples/events --to catalog:shop.db && dh-bridge verify examples/events --against catalog:shop.db",
)
def verify(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    events: tuple[str, ...],
    target: str,
    sample: float,
    delivery: str | None,
    ledger: Path | None,
    as_json: bool,
) -> None:
    """Check that what EVENTS say is there at PLACE: nothing missing, trimmed or overwritten.

    Without EVENTS it is what the ledger has sent, all of it or that of one delivery (--run).

    Servers leave out what they do not know and answer that all is well: this reads back. An aspect is held when writing it
    again would change nothing; what others added beside it is no fault. Points in time are not read. Exit code 1 when
    anything is not held, or would be refused; each such aspect is a line: what is gone or says something else, and who wrote
    it last.
    """
    teller = None if events else ledger or settings.ledger.file
    if events and delivery is not None:
        raise click.UsageError("EVENTS or --run: of a delivery the ledger knows what it sent")
    if not events and teller is None:
        raise click.UsageError("name EVENTS, or the --ledger that has sent what came of them")
    with (
        Outcome() as outcome,
        opened_place(target, settings) as (place, known, chosen),
        State(place, version=version_of(target, chosen)) as state,
    ):
        if known is not None and find_kind(target) is None:
            raise click.UsageError("a file of URNs holds no aspects: use rest:URL or catalog:FILE")
        said = _told(events, chosen, outcome) if teller is None else _sent(teller, delivery, chosen, sample)
        written = around(state, settings, ledger=teller is not None)
        for proposals in said:
            written.emit([one for one in proposals if _drawn(one.entity_urn, sample)])
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
                echo(f"… and {len(rows) - _MOST:,} more (--json)")
        _say_refused(state.refused)
        say_unread(state.unread)
        say(
            ", ".join(f"{number:,} {word}" for word, number in counts.items())
            + f"; {state.points:,} points were not read"
        )
        if not counts.total() and sample < 1:
            say("nothing was compared: no entity is in so small a sample")
        if rows or state.refused:
            raise click.exceptions.Exit(EXIT_EVENTS)
        outcome.leave()


def _told(events: tuple[str, ...], settings: Settings, outcome: Outcome) -> Iterator[list[Proposal]]:
    """Yield what the events come to."""
    bridge = Bridge(settings)
    for translation in bridge.stream(events_of(events, bridge)):
        outcome.add(translation)
        yield translation.proposals


def _sent(ledger: Path, delivery: str | None, settings: Settings, sample: float) -> Iterator[list[Proposal]]:
    """Yield what a ledger would write today of what it has sent."""
    with existing(ledger) as file:
        recall = Recall(file, Options(settings, stateful=True), delivery)
        yield from recall.proposals(lambda urn: _drawn(urn, sample))
        if recall.gone:
            say(f"not compared, as the ledger has let go of what it knew of them: {recall.gone:,} aspects")


def _rows(state: State, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield what is not held, and count everything."""
    for change in state.changes():
        found = verdict(change)
        counts[found.word] += 1
        if found.word != "held":
            row = {"verdict": found.word, "urn": change.urn, "aspect": change.aspect}
            yield {**row, "paths": found.paths, "writer": found.writer}


def _say_refused(reasons: list[str]) -> None:
    """Tell what cannot be there: the place would refuse it again."""
    for reason in reasons[:_MOST]:
        say(f"refused: {reason}")
    if len(reasons) > _MOST:
        say(f"… and {len(reasons) - _MOST:,} more are refused")


def _drawn(urn: str, share: float) -> bool:
    """Say whether an entity belongs to the sample: the same ones each time."""
    return share >= 1 or int.from_bytes(hashlib.sha256(urn.encode()).digest()[:4], "big") < share * 2**32
