"""``dh-bridge queue``: list, retry, drop, pause, resume; import is in ``queue_import``."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import click

from dh_bridge.cli.console import echo, json_line, say, write, write_table
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import dry_run_option, json_option, ledger_option, with_settings
from dh_bridge.cli.queue_import import import_
from dh_bridge.cli.targets import opened_outbox
from dh_bridge.ledger.sent import Sent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dh_bridge.ledger.new_entity_limit import Newcomers
    from dh_bridge.ledger.outbox import Outbox, Waiting
    from dh_bridge.ledger.outbox_relay import Courier
    from dh_bridge.settings import Settings
    from dh_bridge.storage.database import Database

_SHOWN = 100
"""Dead letters that the table shows one by one; --json has all of them."""


def held(courier: Courier) -> tuple[int, str]:
    """Return how many proposals wait, and the sentence that says so; not those that another process brought and delivers."""
    outbox = courier.outbox
    waits, _ = outbox.count(last=courier.last)
    oldest = outbox.oldest()
    if not waits or oldest is None:
        return 0, ""
    new = _held_back(courier.newcomers)
    if outbox.paused:
        why = "deliveries pause until `dh-bridge queue resume`"
    elif courier.broken is not None:
        why = "; ".join(filter(None, (str(courier.broken), new)))
    else:
        why = new or "the server took them not yet"
    return waits, (
        f"{waits:,} proposals wait in the ledger, the oldest since {_time(oldest)}: {why}."
        f" The next emit with this ledger{' after that' if outbox.paused else ''} sends them; `dh-bridge queue list` shows them."
    )


def _held_back(newcomers: Newcomers) -> str:
    """Say how many new entities are held back and until when; nothing when there are none."""
    number, until = newcomers.held()
    if not number:
        return ""
    when = "" if until is None else f", the next may go at {_time(until)}"
    return f"{number:,} new entities are held back, more than max_new_entities_per_hour ({newcomers.limit}){when}"


@click.group()
@examples("dh-bridge queue list --ledger out/demo.db")
def queue() -> None:
    """Look after what waits in a ledger to be sent."""


queue.add_command(import_)


@queue.command("list")
@ledger_option
@click.option("--dead", is_flag=True, help="Only what was given up.")
@json_option
@with_settings
@examples(
    "dh-bridge queue list --ledger out/demo.db", "dh-bridge queue list --ledger out/demo.db --json > waiting.ndjson"
)
def list_(*, settings: Settings, ledger: Path | None, dead: bool, as_json: bool) -> None:
    """Show what waits and why, and the dead letters with the server's words.

    What waits is counted by type of entity and reason. --json writes each proposal's URN and aspect, one object per line.
    """
    with opened_outbox(ledger, settings, readonly=True) as (_, outbox):
        if as_json:
            kinds = (True,) if dead else (False, True)
            write(json_line(_row(one)) for kind in kinds for one in outbox.each(dead=kind))
            return
        waits, letters = outbox.count()
        echo(
            f"{waits:,} {'waits' if waits == 1 else 'wait'}, {letters:,} given up"
            + (", deliveries pause" if outbox.paused else "")
        )
        if waits and not dead:
            _write_groups(outbox.each())
        if letters:
            _write_letters(outbox.waiting(dead=True, limit=_SHOWN), letters)


@queue.command()
@ledger_option
@click.option("--dead", is_flag=True, help="What was given up, as without it: what waits is sent by itself.")
@dry_run_option
@with_settings
@examples("dh-bridge queue retry --ledger out/demo.db")
def retry(*, settings: Settings, ledger: Path | None, dead: bool, dry_run: bool) -> None:  # noqa: ARG001 - for clearness
    """Let the dead letters wait again, for the next emit to send them."""
    with _changed(ledger, settings, dry_run=dry_run) as (file, outbox):
        sent = Sent(file.connection)
        for one in outbox.each(dead=True):
            sent.remember(one.proposal, one.since)
        echo(f"{outbox.retry():,} wait again")


@queue.command()
@ledger_option
@click.option("--dead", is_flag=True, help="Drop what was given up, not what waits.")
@dry_run_option
@with_settings
@examples("dh-bridge queue drop --dead --ledger out/demo.db")
def drop(*, settings: Settings, ledger: Path | None, dead: bool, dry_run: bool) -> None:
    """Forget what waits.

    What is dropped counts as never sent: it is sent with the next event that tells of its entity.
    """
    with _changed(ledger, settings, dry_run=dry_run) as (file, outbox):
        sent = Sent(file.connection)
        for one in outbox.each(dead=dead):
            sent.forget(one.proposal)
        echo(f"{outbox.drop(dead=dead):,} dropped")


@queue.command()
@ledger_option
@dry_run_option
@with_settings
@examples("dh-bridge queue pause --ledger out/demo.db")
def pause(*, settings: Settings, ledger: Path | None, dry_run: bool) -> None:
    """Hold all deliveries: emit goes on folding events, and what comes of them waits."""
    with _changed(ledger, settings, dry_run=dry_run) as (_, outbox):
        outbox.pause(paused=True)
        echo(f"deliveries pause, {outbox.count()[0]:,} wait")


@queue.command()
@ledger_option
@dry_run_option
@with_settings
@examples("dh-bridge queue resume --ledger out/demo.db")
def resume(*, settings: Settings, ledger: Path | None, dry_run: bool) -> None:
    """Let deliveries go on: the next emit sends what waits."""
    with _changed(ledger, settings, dry_run=dry_run) as (_, outbox):
        outbox.pause(paused=False)
        echo(f"deliveries go on, {outbox.count()[0]:,} wait")


@contextmanager
def _changed(place: Path | None, settings: Settings, *, dry_run: bool) -> Iterator[tuple[Database, Outbox]]:
    """Yield the ledger that is named and its outbox, to be changed in one transaction, which a dry run takes back."""
    with opened_outbox(place, settings) as (file, outbox):
        with file.transaction(keep=not dry_run):
            yield file, outbox
        if dry_run:
            say("a dry run: nothing was changed")


def _write_groups(waiting: Iterator[Waiting]) -> None:
    """Write a table of what waits: one line for each type of entity and reason, the most first."""
    numbers: Counter[tuple[str, str]] = Counter()
    oldest: dict[tuple[str, str], int] = {}
    for one in waiting:
        key = (one.proposal.entity_type, one.reason or "")
        numbers[key] += 1
        oldest.setdefault(key, one.since)
    rows = [(number, kind, _time(oldest[kind, reason]), reason) for (kind, reason), number in numbers.most_common()]
    write_table(("waiting", "of", "since", "reason"), rows)


def _write_letters(letters: list[Waiting], number: int) -> None:
    rows = [(one.proposal.entity_urn, one.proposal.aspect_name, _time(one.since), one.reason) for one in letters]
    write_table(("given up", "aspect", "since", "reason"), rows)
    if number > len(rows):
        echo(f"… and {number - len(rows):,} more (--json)")


def _row(one: Waiting) -> dict[str, object]:
    return {
        "entityUrn": one.proposal.entity_urn,
        "aspectName": one.proposal.aspect_name,
        "changeType": one.proposal.change_type,
        "since": _time(one.since),
        "tries": one.tries,
        "dead": one.dead,
        "reason": one.reason,
    }


def _time(millis: int) -> str:
    return f"{datetime.fromtimestamp(millis / 1000, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
