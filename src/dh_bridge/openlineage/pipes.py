"""Reads pipes with a timeout: a blocking read that begins just after Ctrl-C would never notice it."""

from __future__ import annotations

import io
import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

POLL_SECONDS = 0.5
"""Seconds after which a read is repeated, and Ctrl-C is handled."""


class InterruptiblePipe(io.RawIOBase):
    """The input of a file descriptor, which is not closed; an OSError if it cannot be read."""

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
