"""``dh-bridge queue``: list, retry, drop, pause, resume; import is in ``queue_import``."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import click

from dh_bridge.cli.dead_events import dead_event_row, write_dead_events
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import dry_run_option, json_option, ledger_argument, with_settings
from dh_bridge.cli.queue_import import import_
from dh_bridge.cli.targets import open_outbox
from dh_bridge.cli.terminal import echo, json_line, say, write, write_table
from dh_bridge.ledger.backup import finish_restore
from dh_bridge.ledger.ledger_log import log_status
from dh_bridge.ledger.log_failures import LogFailures
from dh_bridge.ledger.sent import SentFingerprints

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dh_bridge.event_log import LogStatus
    from dh_bridge.ledger.new_entity_limit import NewEntityLimit
    from dh_bridge.ledger.outbox import Outbox, QueuedProposal
    from dh_bridge.ledger.outbox_relay import OutboxRelay
    from dh_bridge.settings import Settings
    from dh_bridge.storage.database import Database

_MAX_SHOWN_LETTERS = 100
"""Dead letters that the table lists; --json lists all."""


def waiting_summary(relay: OutboxRelay) -> tuple[int, str]:
    """Return the number of waiting proposals and a sentence about them, without those that another process delivers."""
    outbox = relay.outbox
    waiting_count, _ = outbox.count(max_id=relay.last_own_id)
    oldest = outbox.oldest_time()
    if not waiting_count or oldest is None:
        return 0, ""
    held_back_text = _held_back_text(relay.new_entities)
    if outbox.is_paused:
        reason = "deliveries are paused until `dh-bridge queue resume`"
    elif relay.last_error is not None:
        reason = "; ".join(filter(None, (str(relay.last_error), held_back_text)))
    else:
        reason = held_back_text or "the server has not accepted them yet"
    return waiting_count, (
        f"{waiting_count:,} proposals wait in the ledger, the oldest since {_format_time(oldest)}: {reason}."
        f" The next emit with this ledger{' after that' if outbox.is_paused else ''} sends them; `dh-bridge queue list` shows them."
    )


def waiting_events_text(status: LogStatus) -> str:
    """Return a text about the events of a log that are not processed, without its end."""
    since = "" if status.oldest is None else f", the oldest since {_format_time(status.oldest // 1000)}"
    return f"{status.unfolded_events:,} events wait in the event log{since}"


def _held_back_text(entity_limit: NewEntityLimit) -> str:
    """Return how many new entities exceed the limit and until when, or an empty text."""
    number, next_time = entity_limit.held_status()
    if not number:
        return ""
    suffix = "" if next_time is None else f", the next one is sent from {_format_time(next_time)} on"
    return f"{number:,} new entities exceed max_new_entities_per_hour ({entity_limit.limit}){suffix}"


@click.group()
@examples("dh-bridge queue list out/demo.db")
def queue() -> None:
    """Show and manage the proposals that wait in a ledger.

    LEDGER is the file of the ledger. The default is the setting `ledger.file`.
    """


queue.add_command(import_)


@queue.command("list")
@ledger_argument
@click.option("--dead", is_flag=True, help="Only dead letters: proposals that the server rejected.")
@json_option
@with_settings
@examples("dh-bridge queue list out/demo.db", "dh-bridge queue list out/demo.db --json > waiting.ndjson")
def list_(*, settings: Settings, ledger: Path | None, dead: bool, as_json: bool) -> None:
    """Show the proposals that wait and the dead letters, with the reasons.

    Dead events are events of the event log that cannot be processed. They have their position in the log.
    Waiting proposals are counted by entity type and reason. --json writes the URN and aspect of each, one object per line.
    """
    with open_outbox(ledger, settings, readonly=True) as (file, outbox):
        if as_json:
            kinds = (True,) if dead else (False, True)
            write(json_line(_row(entry)) for kind in kinds for entry in outbox.iter_queued(is_dead=kind))
            write(map(json_line, map(dead_event_row, LogFailures(file.connection).iter_failures(is_dead=True))))
            return
        waiting_count, dead_count = outbox.count()
        dead_events = list(LogFailures(file.connection).iter_failures(is_dead=True))
        echo(
            f"{waiting_count:,} proposals wait, {dead_count:,} dead letters"
            + (f", {len(dead_events):,} dead events" if dead_events else "")
            + (", deliveries are paused" if outbox.is_paused else "")
        )
        if not dead and (status := log_status(file)).unfolded_events:
            echo(f"{waiting_events_text(status)}. The next emit with this ledger processes them.")
        if waiting_count and not dead:
            _write_groups(outbox.iter_queued())
        if dead_count:
            _write_letters(outbox.list_queued(is_dead=True, limit=_MAX_SHOWN_LETTERS), dead_count)
        if dead_events:
            write_dead_events(dead_events)


@queue.command()
@ledger_argument
@click.option("--dead", is_flag=True, help="Dead letters; the default. Waiting proposals are retried by themselves.")
@dry_run_option
@with_settings
@examples("dh-bridge queue retry out/demo.db")
def retry(*, settings: Settings, ledger: Path | None, dead: bool, dry_run: bool) -> None:  # noqa: ARG001 - for clearness
    """Queue dead letters again. The next emit sends them."""
    with _edit_outbox(ledger, settings, dry_run=dry_run) as (file, outbox):
        sent_aspects = SentFingerprints(file.connection)
        for entry in outbox.iter_queued(is_dead=True):
            sent_aspects.mark_sent(entry.proposal, entry.queued_at)
        echo(f"{outbox.retry_dead():,} dead letters are queued again")


@queue.command()
@ledger_argument
@click.option("--dead", is_flag=True, help="Drop dead letters instead of waiting proposals.")
@dry_run_option
@with_settings
@examples("dh-bridge queue drop out/demo.db --dead")
def drop(*, settings: Settings, ledger: Path | None, dead: bool, dry_run: bool) -> None:
    """Delete waiting proposals.

    A deleted proposal counts as never sent: it is sent with the next event of its entity.
    """
    with _edit_outbox(ledger, settings, dry_run=dry_run) as (file, outbox):
        sent_aspects = SentFingerprints(file.connection)
        for entry in outbox.iter_queued(is_dead=dead):
            sent_aspects.mark_unsent(entry.proposal)
        echo(f"{outbox.delete(is_dead=dead):,} {'dead letters' if dead else 'proposals'} deleted")
        if dead and (event_count := LogFailures(file.connection).delete_dead()):
            echo(f"{event_count:,} dead events deleted from this list; they stay in the event log")


@queue.command()
@ledger_argument
@dry_run_option
@with_settings
@examples("dh-bridge queue pause out/demo.db")
def pause(*, settings: Settings, ledger: Path | None, dry_run: bool) -> None:
    """Pause deliveries: emit still processes events, and its proposals wait."""
    with _edit_outbox(ledger, settings, dry_run=dry_run) as (_, outbox):
        outbox.set_paused(is_paused=True)
        echo(f"Deliveries are paused. {outbox.count()[0]:,} proposals wait.")


@queue.command()
@ledger_argument
@dry_run_option
@with_settings
@examples("dh-bridge queue resume out/demo.db")
def resume(*, settings: Settings, ledger: Path | None, dry_run: bool) -> None:
    """Resume deliveries: the next emit sends the waiting proposals.

    If the ledger was restored, its entities are rendered again, and the differences to what was sent are delivered.
    """
    with _edit_outbox(ledger, settings, dry_run=dry_run) as (file, outbox):
        outbox.set_paused(is_paused=False)
        finish_restore(file, settings)
        echo(f"Deliveries are resumed. {outbox.count()[0]:,} proposals wait.")


@contextmanager
def _edit_outbox(path: Path | None, settings: Settings, *, dry_run: bool) -> Iterator[tuple[Database, Outbox]]:
    """Yield the ledger and its outbox for changes in one transaction, which a dry run rolls back."""
    with open_outbox(path, settings) as (file, outbox):
        with file.transaction(commit=not dry_run):
            yield file, outbox
        if dry_run:
            say("Dry run: nothing was changed.")


def _write_groups(entries: Iterator[QueuedProposal]) -> None:
    """Write a table of the waiting proposals: one line for each entity type and reason, the largest number first."""
    counts: Counter[tuple[str, str]] = Counter()
    oldest: dict[tuple[str, str], int] = {}
    for entry in entries:
        key = (entry.proposal.entity_type, entry.reason or "")
        counts[key] += 1
        oldest.setdefault(key, entry.queued_at)
    rows = [
        (number, kind, _format_time(oldest[kind, reason]), reason) for (kind, reason), number in counts.most_common()
    ]
    write_table(("waiting", "of", "since", "reason"), rows)


def _write_letters(letters: list[QueuedProposal], total: int) -> None:
    rows = [
        (entry.proposal.entity_urn, entry.proposal.aspect_name, _format_time(entry.queued_at), entry.reason)
        for entry in letters
    ]
    write_table(("dead letter", "aspect", "since", "reason"), rows)
    if total > len(rows):
        echo(f"… and {total - len(rows):,} more (--json)")


def _row(entry: QueuedProposal) -> dict[str, object]:
    return {
        "entityUrn": entry.proposal.entity_urn,
        "aspectName": entry.proposal.aspect_name,
        "changeType": entry.proposal.change_type,
        "since": _format_time(entry.queued_at),
        "tries": entry.tries,
        "dead": entry.is_dead,
        "reason": entry.reason,
    }


def _format_time(millis: int) -> str:
    return f"{datetime.fromtimestamp(millis / 1000, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
