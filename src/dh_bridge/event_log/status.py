"""The size of a log, and how much of it is still to be processed."""

from __future__ import annotations

from typing import NamedTuple


class LogStatus(NamedTuple):
    """The size of a log in bytes, the positions of its first and last event, and what follows a position.

    ``unfolded_events`` and ``unfolded_bytes`` (compressed) come after that position; ``oldest`` is when the first of them was
    received, in microseconds, None if there is none.
    """

    total_bytes: int = 0
    first: int = 1
    last: int = 0
    unfolded_events: int = 0
    unfolded_bytes: int = 0
    oldest: int | None = None
