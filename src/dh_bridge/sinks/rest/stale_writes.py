"""Writes that come late: what a server writes only after we gave up waiting for it may bring back what is old.

With ``rest.refuse_late`` each proposal says: write me only if nobody has written this aspect after a moment that lies half a
timeout ahead. Who gave up after the timeout and wrote something newer is past that moment. DataHub compares
``If-Unmodified-Since`` with the time at which it received the last write of the aspect (its ConditionalWriteValidator, since
0.14: https://github.com/datahub-project/datahub/pull/10868), inside the transaction that writes.
"""

from __future__ import annotations

import math
import re
import time
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

came_late = re.compile(r"Item last modified \d+ > \d+").search
"""Says whether the server's words are those of its refusal."""


class Deadline:
    """The moment by the server's clock, of which we know what its answers tell; ``timeout`` in seconds."""

    def __init__(self, timeout: float, *, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._ahead = timeout / 2
        self._least, self._most = float("-inf"), float("inf")

    def heard(self, date: str | None, sent: float, received: float) -> None:
        """Learn how far the server's clock may be from ours: ``date`` is a whole second between ``sent`` and ``received``."""
        try:
            said = parsedate_to_datetime(date or "").timestamp()
        except (ValueError, TypeError, OverflowError):
            return
        least, most = said - received, said + 1 - sent
        self._least, self._most = max(self._least, least), min(self._most, most)
        if self._least > self._most:  # a clock was set
            self._least, self._most = least, most

    def header(self, left: float = math.inf) -> bytes:
        """Return the field of a proposal that is sent now; ``left``: seconds after which we give up, where less than the timeout."""
        off = 0.0 if self._least <= 0.0 <= self._most else self._least  # rather early: too late would protect nothing
        moment = datetime.fromtimestamp(self.clock() + off + min(self._ahead, left / 2), timezone.utc)
        text = moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
        return b',"headers":{"If-Unmodified-Since":"%sZ"}' % text.encode()
