"""Pipes that are waited for in turns: a read that waits may have begun right after Ctrl-C was noted, and never hear of it."""

from __future__ import annotations

import io
import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

POLL_SECONDS = 0.5
"""Seconds after which a wait begins anew, and Ctrl-C is heard."""


class InterruptiblePipe(io.RawIOBase):
    """What comes through a file descriptor, which stays open; an OSError where it cannot be read."""

    def __init__(self, descriptor: int) -> None:
        self._file = io.FileIO(descriptor, closefd=False)

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Buffer) -> int | None:
        """Wait until there is something, and fill ``buffer`` with it; 0 at the end."""
        if os.name == "posix":  # elsewhere only sockets can be waited for
            while not select.select([self._file], [], [], POLL_SECONDS)[0]:
                pass
        return self._file.readinto(buffer)
