"""``dh-bridge emit`` while no version of the server is known: events are accepted, and wait in the event log of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.bridge import Bridge, Counts, Translation
from dh_bridge.cli.queue import waiting_events_text
from dh_bridge.cli.summary import read_items
from dh_bridge.cli.terminal import say
from dh_bridge.ledger.accepting_ledger import open_accepting_ledger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dh_bridge.cli.summary import CommandOutcome
    from dh_bridge.errors import SinkError
    from dh_bridge.settings import Settings


def accept_events(
    paths: Sequence[str], ledger_path: Path, settings: Settings, error: SinkError, outcome: CommandOutcome
) -> None:
    """Append the events of ``paths`` to the log of a ledger, and print what waits, and how it is delivered.

    Args:
        paths: files, folders, or ``-``.
        ledger_path: the ledger; it is created if it does not exist.
        settings: all settings.
        error: why the server does not answer.
        outcome: counts events and dead letters.

    Raises:
        SinkError: The ledger or its log cannot be written.
    """
    say(f"{error.fault}. The version of DataHub is not known, so events are queued and not translated.")
    bridge = Bridge(settings)
    with open_accepting_ledger(ledger_path, settings) as ledger:
        try:
            for number, letters in ledger.stream(read_items(paths, bridge)):
                outcome.add(Translation([], letters, [], Counts(events=number, dead=len(letters))))
        finally:
            status = ledger.status()
            outcome.add_waiting_events(
                status.unfolded_events,
                f"{waiting_events_text(status)} of {ledger_path}. The next emit with this ledger sends them when DataHub answers;"
                f" `dh-bridge queue list {ledger_path}` shows their number.",
            )
