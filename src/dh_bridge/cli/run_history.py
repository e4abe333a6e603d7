"""The history of a run on the terminal: ``dh-bridge explain --run``."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from dh_bridge.cli.terminal import echo, escape_line, json_line, style_text, write
from dh_bridge.ledger.run_history import read_history
from dh_bridge.options import Options
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from dh_bridge.ledger.run_history import RunHistory, RunHistoryEntry
    from dh_bridge.settings import Settings


def show_run_history(file: str, run: str, settings: Settings, *, as_json: bool) -> None:
    """Write the history of a run to stdout; with ``as_json`` one object for each event, and one for the result."""
    with Database(file, readonly=True) as database:
        run_history = read_history(database.connection, run, Options(settings, is_stateful=True), location=file)
    if as_json:
        write(json_line(_row(time, event)) for time, event in run_history.events)
        write([json_line({"run": run_history.urn, **_run_summary(run_history)})])
        return
    echo(style_text(run_history.urn, bold=True))
    for time, event in run_history.events:
        line = f"{event.type or '-':8}  {event.namespace} {event.name}  {event.producer or ''}"
        echo(f"{_format_time(time)}  {escape_line(line)}".rstrip())
        for urn, aspects in event.sent_aspects.items():
            echo(f"    sent  {urn}: {', '.join(aspects)}")
    sent_count = sum(len(aspects) for _, event in run_history.events for aspects in event.sent_aspects.values())
    summary = ", ".join(f"{name} {value}" for name, value in _run_summary(run_history).items() if value is not None)
    echo(f"{len(run_history.events):,} events, {sent_count:,} aspects sent; {summary}")


def _run_summary(run_history: RunHistory) -> dict[str, Any]:
    """Return the result of the events: times as texts, the duration in seconds."""
    history = run_history.history
    return {
        "status": history.final_type or "RUNNING",
        "attempts": history.attempts,
        "started": _format_time(history.start) if history.has_start else None,
        "ended": _format_time(history.end) if history.end is not None else None,
        "seconds": (history.end - history.start) / 1e6 if history.end is not None and history.has_start else None,
    }


def _row(time: int, event: RunHistoryEntry) -> dict[str, Any]:
    return {
        "time": _format_time(time),
        "type": event.type,
        "job": {"namespace": event.namespace, "name": event.name},
        "producer": event.producer,
        "recorded": _format_time(event.recorded_at * 1000),
        "sent": event.sent_aspects,
    }


def _format_time(micros: int) -> str:
    moment = datetime.fromtimestamp(micros / 1e6, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
