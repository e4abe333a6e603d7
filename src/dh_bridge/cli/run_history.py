"""The story of a run on the screen: ``dh-bridge explain --run``."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from dh_bridge.cli.console import echo, json_line, styled, visible, write
from dh_bridge.ledger.run_history import story
from dh_bridge.storage.database import Database
from dh_bridge.translation.options import Options

if TYPE_CHECKING:
    from dh_bridge.ledger.run_history import Story, Told
    from dh_bridge.settings import Settings


def tell(file: str, run: str, settings: Settings, *, as_json: bool) -> None:
    """Write the story of a run to stdout; with ``as_json`` an object for each event, and one for what they come to."""
    with Database(file, readonly=True) as opened:
        found = story(opened.connection, run, Options(settings, stateful=True), where=file)
    if as_json:
        write(json_line(_row(time, told)) for time, told in found.events)
        write([json_line({"run": found.urn, **_end(found)})])
        return
    echo(styled(found.urn, bold=True))
    for time, told in found.events:
        what = f"{told.type or '-':8}  {told.namespace} {told.name}  {told.producer or ''}"
        echo(f"{_time(time)}  {visible(what)}".rstrip())
        for urn, aspects in told.sent.items():
            echo(f"    sent  {urn}: {', '.join(aspects)}")
    sent = sum(len(aspects) for _, told in found.events for aspects in told.sent.values())
    said = ", ".join(f"{name} {value}" for name, value in _end(found).items() if value is not None)
    echo(f"{len(found.events):,} events, {sent:,} aspects sent; {said}")


def _end(found: Story) -> dict[str, Any]:
    """Return what the events come to, times as texts, the duration in seconds."""
    history = found.history
    return {
        "status": history.winner or "RUNNING",
        "attempts": history.attempts,
        "started": _time(history.start) if history.started else None,
        "ended": _time(history.end) if history.end is not None else None,
        "seconds": (history.end - history.start) / 1e6 if history.end is not None and history.started else None,
    }


def _row(time: int, told: Told) -> dict[str, Any]:
    return {
        "time": _time(time),
        "type": told.type,
        "job": {"namespace": told.namespace, "name": told.name},
        "producer": told.producer,
        "told": _time(told.now * 1000),
        "sent": told.sent,
    }


def _time(micros: int) -> str:
    when = datetime.fromtimestamp(micros / 1e6, timezone.utc)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
