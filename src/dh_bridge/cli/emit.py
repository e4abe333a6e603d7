"""``dh-bridge emit``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.accept_events import accept_events
from dh_bridge.cli.confirm import WriteConfirmation
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import (
    datahub_version_option,
    dead_letters_option,
    events_argument,
    fail_on_option,
    new_ledger_option,
    report_option,
    utf_8,
    with_settings,
)
from dh_bridge.cli.path_conflicts import require_separate_files
from dh_bridge.cli.queue import waiting_summary
from dh_bridge.cli.summary import CommandOutcome, read_items
from dh_bridge.cli.targets import say_connecting
from dh_bridge.cli.terminal import note, say
from dh_bridge.delivery import DeliveryTarget, open_target, require_ledger
from dh_bridge.errors import SinkError
from dh_bridge.ledger import Ledger, LedgerNotes, NullSink, open_ledger, read_notes, trial_copy
from dh_bridge.sinks.abilities import dropped_counts
from dh_bridge.sinks.base import address_of, local_path, target_kind

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
    "--format",
    "file_format",
    type=click.Choice(["ndjson", "json"]),
    help="Format of a file whose name does not end in .ndjson or .json.",
)
@click.option("--dry-run", is_flag=True, help="Translate and count, but write nothing. The ledger is read.")
@new_ledger_option
@click.option("--full", is_flag=True, help="Also send proposals that were sent before.")
@click.option(
    "--run-id",
    metavar="ID",
    type=utf_8,
    help="Id that DataHub stores with each aspect; `datahub ingest rollback --run-id` undoes the run.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation, even if more than 1,000 entities are new.")
@click.option("--max-rate", metavar="N", help="At most N proposals per second (rest:).")
@datahub_version_option
@report_option
@dead_letters_option
@fail_on_option
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

    \b
    TARGET is one of:
      rest:URL       DataHub's metadata service, such as rest:http://localhost:8080.
      rest:          The same; server and token of DATAHUB_GMS_URL and _TOKEN, or ~/.datahubenv.
      kafka:BROKERS  DataHub's topic; the schema registry is KAFKA_SCHEMAREGISTRY_URL.
      catalog:FILE   An SQLite file that runs, list, search, lineage and get read.
      file:PATH      .ndjson is appended to; .json is replaced (an array for `datahub ingest`).

    With a ledger, events of a run may arrive in any order, in any number of calls and more than once, and only changes are sent.
    If the server is down, events and proposals are queued beside the ledger. A catalogue is its own ledger.
    """  # noqa: D301 - click reads the escape
    ledger_path = ledger or settings.ledger.file
    require_separate_files(
        events, {"--report": report, "--dead-letters": dead, "--ledger": ledger_path, "--to": local_path(target)}
    )
    with CommandOutcome(report=report, dead_letters=dead, fail_on=fail_on) as outcome:
        try:
            if ledger_path is None and not dry_run:
                require_ledger(target, settings)
            target_notes = read_notes(ledger_path, target)
            say_connecting(target, settings)
            options = {"file_format": file_format, "run_id": run_id, "dry_run": dry_run}
            delivery_target = _open_or_accept(events, target, settings, ledger_path, target_notes, outcome, **options)
            if delivery_target is None:
                return
            with (
                delivery_target.sink,
                _trial_ledger(target, ledger_path) if dry_run else nullcontext(ledger_path) as ledger_path,
            ):
                _announce(target, delivery_target, None if full else target_notes, dry_run=dry_run)
                confirmation = _write_confirmation(target, delivery_target, skip_question=dry_run or yes)
                with _open_ledger(
                    ledger_path, delivery_target, outcome, confirmation, full=full, dry_run=dry_run
                ) as active_ledger:
                    _deliver(events, delivery_target, outcome, active_ledger, None if dry_run else confirmation)
        except SinkError as error:
            outcome.abort(error)
        _finish(outcome)


def _open_or_accept(  # noqa: PLR0913 - as the command
    events: Sequence[str],
    target: str,
    settings: Settings,
    ledger_path: Path | None,
    target_notes: LedgerNotes,
    outcome: CommandOutcome,
    **options: Any,
) -> DeliveryTarget | None:
    """Open the target; if it does not answer, and there is a ledger, accept the events, write the summary, and return None."""
    has_ledger = ledger_path is not None or target_kind(target).has_own_ledger
    try:
        return open_target(target, settings, target_notes=target_notes, ledger=has_ledger, **options)
    except SinkError as error:
        if ledger_path is None or options["dry_run"] or not error.retryable:
            raise
        accept_events(events, ledger_path, settings, error, outcome)
    _finish(outcome)
    return None


def _finish(outcome: CommandOutcome) -> None:
    """Write the summary, unless the delivery failed before the first event, and leave the command with its exit code."""
    if outcome.has_content:
        for line in outcome.summary():
            note(line)
    outcome.exit_command()


def _trial_ledger(target: str, ledger_path: Path | None) -> AbstractContextManager[Path | None]:
    """Return what gives a copy of the ledger to a dry run; a catalogue is its own ledger."""
    return trial_copy(Path(address_of(target)) if target_kind(target).has_own_ledger else ledger_path)


def _open_ledger(  # noqa: PLR0913 - one argument for each flag
    ledger_path: Path | None,
    delivery_target: DeliveryTarget,
    outcome: CommandOutcome,
    confirmation: WriteConfirmation,
    *,
    full: bool,
    dry_run: bool,
) -> AbstractContextManager[Ledger | None]:
    """Open the ledger of the destination; a dry run sends nothing from it."""
    return open_ledger(
        ledger_path,
        NullSink() if dry_run else delivery_target.sink,
        delivery_target.settings,
        version=delivery_target.version,
        full=full,
        report=outcome.has_report,
        approve_batch=confirmation,
        delivery_id=delivery_target.options.run_id,
        target=delivery_target.address,
    )


def _announce(target: str, delivery_target: DeliveryTarget, target_notes: LedgerNotes | None, *, dry_run: bool) -> None:
    """Print the target, the mode and the run id, and a warning if the ledger belongs to another target."""
    action = "nothing is written" if dry_run else "writing"
    note(f"{action} to {delivery_target.describe(target, ', '.join(delivery_target.settings.identity.mode))}")
    if target_notes is not None and (target_warning := target_notes.target_warning(delivery_target.address)):
        say(target_warning)


def _write_confirmation(target: str, delivery_target: DeliveryTarget, *, skip_question: bool) -> WriteConfirmation:
    """Return the confirmation before the first write. It asks nothing for files, which have no new entities."""
    is_asking = not skip_question and target_kind(target).limits_new_entities
    return WriteConfirmation(delivery_target.sink, is_asking=is_asking)


def _deliver(
    events: Sequence[str],
    delivery_target: DeliveryTarget,
    outcome: CommandOutcome,
    ledger: Ledger | None,
    confirmation: WriteConfirmation | None,
) -> None:
    """Translate the events and deliver each translation; without a ``confirmation`` nothing is written."""
    bridge = Bridge(delivery_target.settings)
    if outcome.has_report:  # the report contains what the target writes
        bridge.options.can_create = delivery_target.can_create
    items = read_items(events, bridge)
    if ledger is not None:
        _deliver_with_ledger(ledger, items, outcome, is_writing=confirmation is not None)
    else:
        for translation in bridge.stream(items, report=outcome.has_report):
            outcome.add(translation)
            if confirmation is not None:
                confirmation(translation)
                with outcome.in_flight(len(translation.proposals)):
                    outcome.add_delivery(delivery_target.sink.emit(translation.proposals))
    outcome.counts.filtered.update(dropped_counts(delivery_target.sink))


def _deliver_with_ledger(
    ledger: Ledger, items: Iterable[Event | DeadLetter], outcome: CommandOutcome, *, is_writing: bool
) -> None:
    """Add the events to a ledger and deliver the changes; a dry run (not ``is_writing``) reports no delivery."""
    try:
        for translation, delivery in ledger.stream(items):
            outcome.add(translation)
            if is_writing:
                outcome.add_delivery(delivery)
    finally:
        if is_writing:
            outcome.add_waiting(*waiting_summary(ledger.relay))
    counts = outcome.counts
    if counts.events and not (counts.proposals or counts.filtered):
        note("No changes: all events were already processed.")
