"""``dh-bridge emit``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.confirm import Gate
from dh_bridge.cli.console import say
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import (
    dead_option,
    events_argument,
    fail_option,
    profile_option,
    remember_option,
    report_option,
    utf_8,
    with_settings,
)
from dh_bridge.cli.path_conflicts import need_apart
from dh_bridge.cli.queue import held
from dh_bridge.cli.summary import Outcome, events_of
from dh_bridge.delivery import Destination, need_ledger, open_destination
from dh_bridge.errors import SinkError
from dh_bridge.ledger import Ledger, Nowhere, noted, opened, trial
from dh_bridge.sinks.abilities import left_out
from dh_bridge.sinks.base import address, local_path, target_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from dh_bridge.openlineage.events import DeadLetter, Event
    from dh_bridge.settings import Settings


@click.command()
@events_argument
@click.option(
    "--to",
    "target",
    required=True,
    metavar="TARGET",
    help="rest:URL, rest: (DATAHUB_GMS_URL), kafka:BROKERS, catalog:FILE, file:PATH.",
)
@click.option(
    "--format", "file_format", type=click.Choice(["ndjson", "json"]), help="Format of a file whose ending tells none."
)
@click.option("--dry-run", is_flag=True, help="Translate and count, but write nothing; a ledger is looked into.")
@remember_option
@click.option("--full", is_flag=True, help="Send what the ledger says was sent before, too.")
@click.option(
    "--run-id", metavar="ID", type=utf_8, help="Id that DataHub keeps with what is written, to roll it back by."
)
@click.option("--yes", is_flag=True, help="Ask nothing, however many entities are new (ask_new_entities).")
@click.option("--max-rate", metavar="N", help="Proposals a second, at most (rest:).")
@profile_option
@report_option
@dead_option
@fail_option
@with_settings
@examples(
    "dh-bridge emit examples/events --to catalog:shop.db", "dh-bridge emit examples/events --to file:proposals.json"
)
def emit(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    events: tuple[str, ...],
    target: str,
    file_format: str | None,
    dry_run: bool,
    ledger: Path | None,
    full: bool,
    run_id: str | None,
    yes: bool,
    report: str | None,
    dead: str | None,
    fail_on: str,
) -> None:
    """Translate EVENTS and deliver the proposals to DataHub, a catalogue or a file.

    rest:URL is DataHub's metadata service, such as rest:http://localhost:8080; rest: alone takes the server and the token that
    DATAHUB_GMS_URL and DATAHUB_GMS_TOKEN or ~/.datahubenv name. kafka:BROKERS, such as kafka:localhost:9092, is the topic that
    DataHub reads; its envelope comes from the schema registry (KAFKA_SCHEMAREGISTRY_URL or kafka.registry.url). A catalogue is
    one SQLite file that lineage, get and runs look into. A .ndjson file holds what translate writes, and is added
    to; a .json file, written anew, what DataHub's own `datahub ingest` reads with its file source. The summary goes to stderr.

    A catalogue remembers every run, and with --ledger so does any other target: events of a run may then come in any order, in
    any number of calls, as often as they like, and only what changed is sent. What a server does not take now waits in the ledger.
    """
    place = ledger or settings.ledger.file
    need_apart(events, {"--report": report, "--dead-letters": dead, "--ledger": place, "--to": local_path(target)})
    with Outcome(report=report, dead=dead, fail_on=fail_on) as outcome:
        try:
            if place is None and not dry_run:
                need_ledger(target, settings)
            known = noted(place, target)
            destination = open_destination(
                target,
                settings,
                file_format=file_format,
                run_id=run_id,
                dry_run=dry_run,
                known=known,
                ledger=place is not None or target_kind(target).own_ledger,
            )
            with destination.sink, _tried(target, place) if dry_run else nullcontext(place) as place:
                _announce(target, destination, dry_run=dry_run)
                if not full and (elsewhere := known.elsewhere(destination.place)):
                    say(elsewhere)
                gate = _gate(target, destination, unasked=dry_run or yes)
                with _ledger(place, destination, outcome, gate, full=full, dry_run=dry_run) as found:
                    _deliver(events, destination, outcome, found, None if dry_run else gate)
        except SinkError as error:
            outcome.break_off(error)
        for line in outcome.summary():
            say(line)
        outcome.leave()


def _tried(target: str, place: Path | None) -> AbstractContextManager[Path | None]:
    """Return what gives a copy of the ledger to a dry run; a catalogue is its own ledger."""
    return trial(Path(address(target)) if target_kind(target).own_ledger else place)


def _ledger(  # noqa: PLR0913 - what the flags say
    place: Path | None, destination: Destination, outcome: Outcome, gate: Gate, *, full: bool, dry_run: bool
) -> AbstractContextManager[Ledger | None]:
    """Open the ledger of the destination; a dry run sends nothing from it."""
    return opened(
        place,
        Nowhere() if dry_run else destination.sink,
        destination.settings,
        version=destination.version,
        full=full,
        report=outcome.reports,
        gate=gate,
        delivery=destination.options.run_id,
        target=destination.place,
    )


def _announce(target: str, destination: Destination, *, dry_run: bool) -> None:
    """Say where to, as what and under which id, before anything is written."""
    what = "nothing is written" if dry_run else "writing"
    say(f"{what} to {destination.described(target, destination.settings.identity.mode)}")


def _gate(target: str, destination: Destination, *, unasked: bool) -> Gate:
    """Return what tells and asks before the first write; a file is no place where entities are new."""
    asks = not unasked and target_kind(target).asks_before_new_entities
    return Gate(destination.sink, destination.settings.ask_new_entities if asks else None)


def _deliver(
    events: Sequence[str], destination: Destination, outcome: Outcome, ledger: Ledger | None, gate: Gate | None
) -> None:
    """Translate the events and deliver what comes of them, a translation at a time; without a ``gate`` nothing is written."""
    bridge = Bridge(destination.settings)
    if outcome.reports:  # which says what the target writes
        bridge.options.creates = destination.creates
    items = events_of(events, bridge)
    if ledger is not None:
        _deliver_by(ledger, items, outcome, writes=gate is not None)
    else:
        for translation in bridge.stream(items, report=outcome.reports):
            outcome.add(translation)
            if gate is not None:
                gate(translation)
                with outcome.waiting(len(translation.proposals)):
                    outcome.deliver(destination.sink.emit(translation.proposals))
    outcome.counts.filtered.update(left_out(destination.sink))


def _deliver_by(ledger: Ledger, items: Iterable[Event | DeadLetter], outcome: Outcome, *, writes: bool) -> None:
    """Let a ledger fold the events and deliver what is new; a dry run (not ``writes``) tells of no delivery."""
    try:
        for translation, delivery in ledger.stream(items):
            outcome.add(translation)
            if writes:
                outcome.deliver(delivery)
    finally:
        if writes:
            outcome.hold(*held(ledger.courier))
    counts = outcome.counts
    if counts.events and not (counts.proposals or counts.filtered):
        say("nothing is new: what these events say was told before")
