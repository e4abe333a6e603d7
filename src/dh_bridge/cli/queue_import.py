"""``dh-bridge queue import``."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import dry_run_option, ledger_argument, with_settings
from dh_bridge.cli.targets import open_outbox
from dh_bridge.cli.terminal import json_line, say, write
from dh_bridge.datahub.generic_aspect import plain_operations
from dh_bridge.datahub.proposal import Payload, Proposal
from dh_bridge.delivery import plain_values
from dh_bridge.ledger.sent import SentFingerprints
from dh_bridge.settings.kafka import registry_url
from dh_bridge.sinks.base import address_of, find_kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dh_bridge.ledger.outbox import Outbox
    from dh_bridge.settings import Settings
    from dh_bridge.storage.database import Database


@click.command("import")
@click.argument("source", metavar="kafka:BROKERS")
@click.option("--run-id", metavar="ID", help="Only proposals of this run.")
@click.option("--everyone", is_flag=True, help="Also proposals of other pipelines than the setting pipeline_name.")
@click.option("--group", metavar="NAME", help="Kafka consumer group: continue at its offsets, and commit them.")
@ledger_argument
@dry_run_option
@with_settings
@examples("dh-bridge queue import kafka:localhost:9092 > refused.ndjson")
def import_(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    source: str,
    run_id: str | None,
    everyone: bool,
    group: str | None,
    ledger: Path | None,
    dry_run: bool,
) -> None:
    """Import the proposals that DataHub read from Kafka and rejected; write each to stdout as one line of JSON.

    Kafka accepts every message. DataHub reports later, in the topic kafka.failed_topic, what it could not write. Each line has the
    server's error, the run, and the proposal as it was sent. If there is any, the exit code is 1.

    If LEDGER is the ledger that sent them, they become its dead letters, unless a newer proposal was sent. `dh-bridge queue list
    LEDGER --dead` shows them with the server's error. After `dh-bridge queue retry LEDGER`, the next emit sends them again.
    """
    from dh_bridge.sinks.kafka.refusals import FailedProposalReader  # noqa: PLC0415 - an optional extra

    kind = find_kind(source)
    if kind is None or not kind.rejects_later:
        raise click.UsageError("Only Kafka rejects proposals later. Pass kafka:BROKERS.")
    kafka_options = registry_url(plain_values(settings.kafka), os.environ)
    refused_count = foreign_count = 0
    if dry_run and group is not None:
        raise click.UsageError("--dry-run reads without a --group, which would remember where it stopped")
    with (
        _open_dead_letters(ledger, settings, keep=not dry_run) as dead_letters,
        FailedProposalReader(address_of(source), kafka_options, group=group) as refusals,
    ):
        for row in refusals.rows():
            is_own = everyone or row.get("pipelineName") in (settings.pipeline_name, None)
            if not is_own or run_id not in (None, row.get("runId")):
                foreign_count += 1
                continue
            refused_count += 1
            write([json_line(row)])
            if dead_letters is not None:
                dead_letters.add(row)
    say(f"{refused_count:,} refused" + (f", {foreign_count:,} of others left out" if foreign_count else ""))
    if dead_letters is not None:
        say(
            f"{dead_letters.buried_count:,} are dead letters of the ledger now, {refused_count - dead_letters.buried_count:,} are outdated or known"
        )
    if refused_count:
        raise click.exceptions.Exit(EXIT_EVENTS)


class _DeadLetterWriter:
    """Adds rejections to the dead letters of a ledger, each in a transaction and only once; ``keep`` selects them."""

    def __init__(self, file: Database, outbox: Outbox, *, keep: bool) -> None:
        self.buried_count = 0
        self._commits = keep
        self._file = file
        self._outbox = outbox
        self._sent = SentFingerprints(file.connection)

    def add(self, row: dict[str, Any]) -> None:
        """Bury a refusal if the ledger sent nothing newer since, and forget that it was sent."""
        proposal = _parse_proposal(row.get("proposal"))
        if proposal is None or not self._sent.is_last_sent(proposal):
            return
        with self._file.transaction(commit=self._commits):
            self._sent.mark_unsent(proposal)
            self._outbox.add_dead_letter(proposal, row["reason"], int(time.time() * 1000))
        self.buried_count += 1


@contextmanager
def _open_dead_letters(ledger: Path | None, settings: Settings, *, keep: bool) -> Iterator[_DeadLetterWriter | None]:
    """Yield the function that adds rejections to the named ledger, None without a ledger."""
    if ledger is None and settings.ledger.file is None:
        yield None
        return
    with open_outbox(ledger, settings) as (file, outbox):
        yield _DeadLetterWriter(file, outbox, keep=keep)


def _parse_proposal(document: dict[str, Any] | None) -> Proposal | None:
    """Return the proposal that was sent, None for messages of other programs."""
    try:
        proposal = msgspec.convert(document, Proposal)
    except msgspec.ValidationError:
        return None
    if proposal.change_type == "PATCH":
        proposal = msgspec.structs.replace(
            proposal, aspect=Payload(plain_operations(proposal.aspect_name, proposal.value))
        )
    return proposal if isinstance(proposal.value, list if proposal.change_type == "PATCH" else dict) else None
