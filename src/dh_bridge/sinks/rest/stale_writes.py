"""Late writes: a request that the server writes after our timeout may restore an old value.

With ``rest.conditional_writes`` each proposal has a condition: write only if this aspect was not written after a time that is
half a timeout ahead. If the client gave up after the timeout and wrote a newer value, that time has passed. DataHub compares
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
"""Return whether the server's message is that of this rejection."""


class WriteDeadline:
    """The time of the condition on the server's clock, estimated from its responses; ``timeout`` in seconds."""

    def __init__(self, timeout: float, *, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._max_delay = timeout / 2
        self._min_offset, self._max_offset = float("-inf"), float("inf")

    def observe_date(self, date: str | None, sent_at: float, received_at: float) -> None:
        """Update the estimate of the server's clock: ``date`` is a whole second between ``sent_at`` and ``received_at``."""
        try:
            server_time = parsedate_to_datetime(date or "").timestamp()
        except (ValueError, TypeError, OverflowError):
            return
        min_offset, max_offset = server_time - received_at, server_time + 1 - sent_at
        self._min_offset, self._max_offset = max(self._min_offset, min_offset), min(self._max_offset, max_offset)
        if self._min_offset > self._max_offset:  # a clock was set
            self._min_offset, self._max_offset = min_offset, max_offset

    def header(self, seconds_left: float = math.inf) -> bytes:
        """Return the field of a proposal that is sent now; ``seconds_left``.

        Seconds until the deadline, if less than the timeout.
        """
        offset = (
            0.0 if self._min_offset <= 0.0 <= self._max_offset else self._min_offset
        )  # rather early: a late time would protect nothing
        moment = datetime.fromtimestamp(self.clock() + offset + min(self._max_delay, seconds_left / 2), timezone.utc)
        text = moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
        return b',"headers":{"If-Unmodified-Since":"%sZ"}' % text.encode()
