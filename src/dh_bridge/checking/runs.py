"""Runs that have a START, but neither COMPLETE, FAIL nor ABORT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.checking.finding import MAX_EXAMPLES, Finding, count_text, one_line
from dh_bridge.checking.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.openlineage.events import Event

SILENT_HOURS = 6
"""Hours without an event after which a run counts as one without an end. A run at the end of the sample may still run."""
_MICROSECONDS_PER_HOUR = 3_600_000_000


class _RunTimes(msgspec.Struct):
    job: str = ""
    last_time: int = 0
    has_end: bool = False


class RunChecker:
    """Collects the last event of runs; bounded by ``limit`` runs."""

    def __init__(self, limit: int) -> None:
        self._runs: Sample[_RunTimes] = Sample(limit, _RunTimes)
        self._last_time = 0

    def see(self, event: Event) -> None:
        """Add one event of a run."""
        self._last_time = max(self._last_time, event.time)
        run = self._runs.note_of(event.run_id)
        if run is not None:
            run.has_end = run.has_end or event.is_terminal
            run.job = "" if run.has_end else max(run.job, f"{event.namespace} {event.name}")  # only open runs are shown
            run.last_time = max(run.last_time, event.time)

    def findings(self) -> Iterator[Finding]:
        """Yield one finding about all runs without an end."""
        limit = self._last_time - SILENT_HOURS * _MICROSECONDS_PER_HOUR
        open_runs = [
            (run.last_time, f"{run_id} of {one_line(run.job)}")
            for run_id, run in self._runs.items()
            if not run.has_end and run.last_time < limit
        ]
        if open_runs:
            text = f"{count_text(len(open_runs), 'run')} without COMPLETE, FAIL or ABORT, and without an event in the last {SILENT_HOURS} hours of the sample"
            examples = tuple(text for _, text in sorted(open_runs)[:MAX_EXAMPLES])
            yield Finding("run-without-end", text, len(open_runs), examples=examples)
