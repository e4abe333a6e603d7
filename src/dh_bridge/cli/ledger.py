"""``dh-bridge ledger``: backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import ledger_path, with_settings
from dh_bridge.cli.terminal import echo, say
from dh_bridge.ledger.backup import back_up
from dh_bridge.ledger.backup import restore as restore_ledger
from dh_bridge.ledger.ledger_log import log_folder

if TYPE_CHECKING:
    from dh_bridge.settings import Settings

_backup_path = click.Path(dir_okay=False, path_type=Path)


@click.group()
@examples("dh-bridge ledger backup out/demo.db out/demo-2026-11-22.db")
def ledger() -> None:
    """Back up and restore a ledger or catalogue.

    LEDGER is its file. The event log is the folder LEDGER.log.
    """


@ledger.command()
@click.argument("ledger", type=ledger_path)
@click.argument("file", metavar="FILE", type=_backup_path)
@with_settings
@examples("dh-bridge ledger backup out/demo.db out/demo-2026-11-23.db")
def backup(*, settings: Settings, ledger: Path, file: Path) -> None:  # noqa: ARG001 - as all commands
    """Copy LEDGER to FILE, and its event log to FILE.log, while other processes write to them.

    FILE must not exist. It is a ledger itself: `replay`, `queue list` and `get` read it.
    """
    size = back_up(ledger, file)
    log_text = f", {log_folder(file)} with {size.log_bytes / 1e6:,.1f} MB" if size.log_bytes else ""
    echo(f"{file} written with {size.ledger_bytes / 1e6:,.1f} MB{log_text}")


@ledger.command()
@click.argument("file", metavar="FILE", type=_backup_path)
@click.argument("ledger", type=ledger_path)
@with_settings
@examples(
    "dh-bridge ledger backup out/demo.db out/demo-2026-11-24.db && dh-bridge ledger restore out/demo-2026-11-24.db out/restored.db"
)
def restore(*, settings: Settings, file: Path, ledger: Path) -> None:
    """Restore LEDGER from the backup FILE. Stop the processes that use LEDGER before.

    LEDGER must not exist. If the folder LEDGER.log still exists, it stays: it has the events since the backup, and the next
    `serve` or `emit` processes them. Otherwise the log of the backup is copied. FILE may also be a snapshot, LEDGER.log/POSITION.states.

    Deliveries are paused, so that no old value replaces a newer one. Send the events since the backup again if LEDGER.log lacks
    them, and then run `dh-bridge queue resume LEDGER`. A catalogue needs no `queue resume`.
    """
    restored = restore_ledger(file, ledger, settings)
    echo(f"{ledger} restored")
    if restored.pending_events:
        say(f"{restored.pending_events:,} events of its log are not processed yet: `serve` and `emit` process them")
    if restored.is_paused:
        say(
            "Deliveries are paused. When all events since the backup are processed, run"
            f" `dh-bridge queue resume {ledger}`."
        )
