"""``dh-bridge verify``."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import datahub_version_option, events_path, json_option, ledger_option, utf_8, with_settings
from dh_bridge.cli.summary import CommandOutcome, read_items
from dh_bridge.cli.targets import open_existing, open_readable, reader_version, say_unreadable
from dh_bridge.cli.terminal import echo, json_line, say, write, write_table
from dh_bridge.delivery import wrap_sink
from dh_bridge.ledger.rerender import Rerenderer
from dh_bridge.options import Options
from dh_bridge.review.state import ReviewState
from dh_bridge.review.verdicts import judge_change
from dh_bridge.sinks.base import find_kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.settings import Settings

_MAX_SHOWN_ROWS = 20


def _parse_fraction(_context: click.Context, _parameter: click.Parameter, text: str) -> float:
    """Read ``1%`` or ``0.01``."""
    try:
        fraction = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        fraction = 0.0
    if not 0 < fraction <= 1:
        raise click.BadParameter(f"{text!r} is not a share: write 1% or 0.01")
    return fraction


@click.command()
@click.argument("events", nargs=-1, metavar="[EVENTS...]", type=events_path)
@click.option("--to", "target", required=True, metavar="TARGET", help="rest:URL, rest: or catalog:FILE.")
@click.option(
    "--sample", callback=_parse_fraction, default="100%", metavar="SHARE", help="Part of the entities, such as 1%."
)
@click.option(
    "--run",
    "delivery",
    metavar="ID",
    type=utf_8,
    help="Only what this delivery (emit's run id) sent; needs the ledger.",
)
@ledger_option
@json_option
@datahub_version_option
@with_settings
@examples(
    "dh-bridge emit examples/events --to catalog:shop.db && dh-bridge verify examples/events --to catalog:shop.db",
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
    """Check that TARGET has the metadata of EVENTS: nothing missing, trimmed or overwritten.

    Servers drop what they do not know without an error, so this command reads the metadata back. An aspect is held if writing it
    again would change nothing; additions of others are no fault. Points in time are not read. Without EVENTS, everything that the
    ledger sent is compared, or one delivery (--run).

    Each aspect that is not held has a line: what is missing or different, and its last writer. The exit code is 1 if there is such
    an aspect, or if the server would reject one.
    """
    ledger_path = None if events else ledger or settings.ledger.file
    if events and delivery is not None:
        raise click.UsageError("EVENTS and --run exclude each other: the ledger stores what each delivery sent")
    if not events and ledger_path is None:
        raise click.UsageError("pass EVENTS, or --ledger to compare what it sent")
    with (
        CommandOutcome() as outcome,
        open_readable(target, settings) as (readable, listed_urns, target_settings),
        ReviewState(readable, version=reader_version(target, target_settings)) as state,
    ):
        if listed_urns is not None and find_kind(target) is None:
            raise click.UsageError("a file of URNs holds no aspects: use rest:URL or catalog:FILE")
        proposal_batches = (
            _translated_proposals(events, target_settings, outcome)
            if ledger_path is None
            else _ledger_proposals(ledger_path, delivery, target_settings, sample)
        )
        sink = wrap_sink(state, settings, ledger=ledger_path is not None)
        for proposals in proposal_batches:
            sink.emit([proposal for proposal in proposals if _is_sampled(proposal.entity_urn, sample)])
        counts: Counter[str] = Counter(dict.fromkeys(("held", "missing", "trimmed", "overwritten"), 0))
        rows = list(_finding_rows(state, counts))
        _write_rows(rows, as_json=as_json)
        _say_refused(state.refusals)
        say_unreadable(state.unreadable_urns)
        say(
            ", ".join(f"{number:,} {status}" for status, number in counts.items())
            + f"; {state.point_count:,} points were not read"
        )
        if not counts.total() and sample < 1:
            say("nothing was compared: no entity is in so small a sample")
        if rows or state.refusals:
            raise click.exceptions.Exit(EXIT_EVENTS)
        outcome.exit_command()


def _write_rows(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print the aspects that differ: as JSON lines, or as a table that is cut after ``_MAX_SHOWN_ROWS``."""
    if as_json:
        write(map(json_line, rows))
    elif rows:
        write_table(
            ("what", "urn", "aspect", "where", "last writer"),
            [
                (row["verdict"], row["urn"], row["aspect"], ", ".join(row["paths"][:3]), row["writer"])
                for row in rows[:_MAX_SHOWN_ROWS]
            ],
        )
        if len(rows) > _MAX_SHOWN_ROWS:
            echo(f"… and {len(rows) - _MAX_SHOWN_ROWS:,} more (--json)")


def _translated_proposals(
    events: tuple[str, ...], settings: Settings, outcome: CommandOutcome
) -> Iterator[list[Proposal]]:
    """Yield the proposals of the events, one list for each translation."""
    bridge = Bridge(settings)
    for translation in bridge.stream(read_items(events, bridge)):
        outcome.add(translation)
        yield translation.proposals


def _ledger_proposals(
    ledger: Path, delivery: str | None, settings: Settings, sample: float
) -> Iterator[list[Proposal]]:
    """Yield the proposals that a ledger would write today for all entities that it has sent."""
    with open_existing(ledger) as file:
        rerenderer = Rerenderer(file, Options(settings, is_stateful=True), delivery)
        yield from rerenderer.proposals(lambda urn: _is_sampled(urn, sample))
        if rerenderer.missing_count:
            say(
                f"{rerenderer.missing_count:,} aspects are not compared: their runs were evicted from the ledger (ledger.retention_days)"
            )


def _finding_rows(state: ReviewState, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the aspects that are not held, and count all."""
    for change in state.changes():
        result = judge_change(change)
        counts[result.status] += 1
        if result.status != "held":
            row = {"verdict": result.status, "urn": change.urn, "aspect": change.aspect}
            yield {**row, "paths": result.paths, "writer": result.writer}


def _say_refused(reasons: list[str]) -> None:
    """Print the proposals that cannot be present, because the target would reject them again."""
    for reason in reasons[:_MAX_SHOWN_ROWS]:
        say(f"refused: {reason}")
    if len(reasons) > _MAX_SHOWN_ROWS:
        say(f"… and {len(reasons) - _MAX_SHOWN_ROWS:,} more are refused")


def _is_sampled(urn: str, fraction: float) -> bool:
    """Return whether an entity belongs to the sample; the sample is the same each time."""
    return fraction >= 1 or int.from_bytes(hashlib.sha256(urn.encode()).digest()[:4], "big") < fraction * 2**32
