"""Windows: decides which runs of a long input can be closed."""

from __future__ import annotations

#: A window also ends when its raw events reach this size, so that memory is bounded for events of any size.
MAX_WINDOW_BYTES = 16 * 1024 * 1024
#: A run without a terminal event is closed after this many windows without an event.
MAX_SILENT_WINDOWS = 4


class Window:
    """Counts events and returns the runs to close; ``size`` in events, None for no bound."""

    def __init__(self, size: int | None, *, max_bytes: int = MAX_WINDOW_BYTES) -> None:
        self._size = size
        self._max_bytes = max_bytes
        self._event_count = 0
        self._byte_count = 0
        self._number = 0
        self._open_runs: dict[str, tuple[int, bool]] = {}

    def add_event(self, key: str, is_ended: bool, size: int) -> list[str]:  # noqa: FBT001 - one fact of the event
        """Note an event of run ``key``; return the runs that are due when this event ends a window."""
        if self._size is None:
            return []
        self._open_runs[key] = (self._number, is_ended or self._open_runs.get(key, (0, False))[1])
        return self.take_due_runs() if self.count_event(size) else []

    def count_event(self, size: int) -> bool:
        """Count an event of ``size`` bytes; return whether it ends the window."""
        if self._size is None:
            return False
        self._event_count += 1
        self._byte_count += size
        if self._event_count < self._size and self._byte_count < self._max_bytes:
            return False
        self._event_count = self._byte_count = 0
        return True

    def take_due_runs(self) -> list[str]:
        """Begin the next window; return the runs that are due at the end of this one."""
        due_runs = [
            run
            for run, (number, is_ended) in self._open_runs.items()
            if number < (self._number if is_ended else self._number - MAX_SILENT_WINDOWS)
        ]
        self._number += 1
        for run in due_runs:
            del self._open_runs[run]
        return due_runs
