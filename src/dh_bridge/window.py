"""Which runs may be closed while a long input goes on."""

from __future__ import annotations

#: A window also ends when its raw events are this large, so that memory stays flat whatever the events' size.
BYTES = 16 * 1024 * 1024
#: A run without a terminal event is closed after this many windows of silence.
PATIENCE = 4


class Window:
    """Counts events and says which runs are due; ``size`` in events, None for no bound."""

    def __init__(self, size: int | None, *, most_bytes: int = BYTES) -> None:
        self._size = size
        self._most_bytes = most_bytes
        self._seen = 0
        self._bytes = 0
        self._number = 0
        self._open: dict[str, tuple[int, bool]] = {}

    def saw(self, key: str, ended: bool, size: int) -> list[str]:  # noqa: FBT001 - one fact of the event
        """Note an event of run ``key``; return the runs that are due when this event ends a window."""
        if self._size is None:
            return []
        self._open[key] = (self._number, ended or self._open.get(key, (0, False))[1])
        return self.due() if self.full(size) else []

    def full(self, size: int) -> bool:
        """Count an event of ``size`` bytes; return whether it ends the window."""
        if self._size is None:
            return False
        self._seen += 1
        self._bytes += size
        if self._seen < self._size and self._bytes < self._most_bytes:
            return False
        self._seen = self._bytes = 0
        return True

    def due(self) -> list[str]:
        """Begin the next window; return the runs that are due at the end of this one."""
        due = [
            run
            for run, (number, over) in self._open.items()
            if number < (self._number if over else self._number - PATIENCE)
        ]
        self._number += 1
        for run in due:
            del self._open[run]
        return due
