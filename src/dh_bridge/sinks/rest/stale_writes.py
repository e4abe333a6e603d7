"""Writes that come late: what a server writes only after we gave up waiting for it may bring back what is old.

With ``rest.conditional_writes`` each proposal says: write me only if nobody has written this aspect after a moment that lies half a
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

is_stale_write_error = re.compile(r"Item last modified \d+ > \d+").search
"""Says whether the server's words are those of its refusal."""


class WriteDeadline:
    """The moment by the server's clock, of which we know what its answers tell; ``timeout`` in seconds."""

    def __init__(self, timeout: float, *, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._max_delay = timeout / 2
        self._min_offset, self._max_offset = float("-inf"), float("inf")

    def observe_date(self, date: str | None, sent_at: float, received_at: float) -> None:
        """Learn how far the server's clock may be from ours: ``date`` is a whole second between ``sent_at`` and ``received_at``."""
        try:
            server_time = parsedate_to_datetime(date or "").timestamp()
        except (ValueError, TypeError, OverflowError):
            return
        min_offset, max_offset = server_time - received_at, server_time + 1 - sent_at
        self._min_offset, self._max_offset = max(self._min_offset, min_offset), min(self._max_offset, max_offset)
        if self._min_offset > self._max_offset:  # a clock was set
            self._min_offset, self._max_offset = min_offset, max_offset

    def header(self, seconds_left: float = math.inf) -> bytes:
        """Return the field of a proposal that is sent now; ``seconds_left``: seconds after which we give up, where less than the timeout."""
        offset = (
            0.0 if self._min_offset <= 0.0 <= self._max_offset else self._min_offset
        )  # rather early: too late would protect nothing
        moment = datetime.fromtimestamp(self.clock() + offset + min(self._max_delay, seconds_left / 2), timezone.utc)
        text = moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
        return b',"headers":{"If-Unmodified-Since":"%sZ"}' % text.encode()
