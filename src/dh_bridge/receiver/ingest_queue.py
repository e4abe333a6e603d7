"""The way in: events of requests, folded together into the ledger, one transaction for all that came meanwhile.

Requests that are large, or that took too long, wait in a lane of their own (``lanes.py``): a transaction that takes longer than
FOLD_SECONDS is interrupted when small requests wait, and tried again later.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from threading import Thread
from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.receiver.lanes import EVENTS_PER_BATCH, Brought, Lanes
from dh_bridge.receiver.outage_log import News
from dh_bridge.sinks.base import Closing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dh_bridge.ledger import Ledger
    from dh_bridge.openlineage.events import Event
    from dh_bridge.receiver.metrics import Meters
    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Delivery

log = logging.getLogger("dh_bridge.receiver")

_OURS = "a mistake of dh-bridge, please report it"

FOLD_SECONDS = 1.0
"""CPU seconds that a transaction may take while others wait."""


class _InterruptedError(Exception):
    """A transaction took longer than others could wait; nothing of it is in the ledger."""


class Intake(Closing):
    """Folds events by a thread of its own; ``folded`` is called after each transaction, ``bury`` with what cannot be used.

    ``batch``: events of one transaction, at most.
    """

    def __init__(
        self,
        ledger: Ledger,
        meters: Meters,
        *,
        batch: int,
        folded: Callable[[], None] = lambda: None,
        bury: Callable[[DeadLetter], None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._meters = meters
        self._batch = min(batch, EVENTS_PER_BATCH)
        self._done = folded
        self._bury = bury
        self._news = News("events are taken again")
        self._afterwards = News("what was withheld is delivered again")
        #: why the last events were not taken, None: they were
        self.refuses: str | None = None
        self._slow_events = LogThrottle(log, logging.WARNING)
        self._failures = LogThrottle(log, logging.ERROR)
        self._lanes = Lanes(self._batch)
        self._requests, self._began, self._interrupted = 0, 0.0, False
        ledger.break_off(self._over)
        self._thread = Thread(target=self._run, name="dh_bridge.intake", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether anything is still taken."""
        return self._thread.is_alive()

    def take(self, events: Sequence[Event], patience: float | None = None) -> list[str | None]:
        """Fold ``events``; return of each None once it is in the ledger, or why it cannot be used.

        A SinkError when the ledger cannot be written or is full, or has not come to them after ``patience`` seconds: they may
        be sent again then, as often as one likes. Many events are taken a batch at a time, so that other requests come in between.
        """
        reasons: list[str | None] = []
        size, slow, began = self._batch, False, time.monotonic()
        while len(reasons) < len(events):
            part = events[len(reasons) : len(reasons) + size]
            left = None if patience is None else patience - (time.monotonic() - began)
            try:
                reasons += self._taken(part, left, slow=slow)
            except _InterruptedError:
                size, slow = max(1, len(part) // 2), True
            else:
                began = time.monotonic()
        return reasons

    def _taken(self, events: Sequence[Event], patience: float | None, *, slow: bool) -> list[str | None]:
        brought = Brought(events, Future(), slow)
        self._lanes.put(brought)
        try:
            return brought.answer.result(None if patience is None else max(0.0, patience))
        except TooLate:
            brought.answer.cancel()  # what has not begun is not folded: nobody waits for it, and it is to be sent again
            raise SinkError("the ledger is busy", now="send it again", retryable=True) from None
        finally:
            del brought  # an error leads to this frame, and the answer to the error: a cycle that would hold the events

    def close(self) -> None:
        """Fold what was brought until now, and end."""
        self._lanes.close()
        self._thread.join()
        for throttle in (self._slow_events, self._failures):
            throttle.flush()

    def _run(self) -> None:
        while (requests := self._lanes.take()) is not None:
            self._together(requests)
            del requests  # nothing is held until the next one comes

    def _over(self) -> bool:
        """Whether the transaction has taken too long for those who wait (asked by SQLite)."""
        if self._requests and time.thread_time() - self._began > FOLD_SECONDS:
            self._interrupted = self._requests > 1 or self._lanes.fast_waiting
        return self._interrupted

    def _together(self, requests: list[Brought]) -> None:
        """Fold those of ``requests`` that somebody waits for; no error ends the thread, or all later requests would wait in vain."""
        requests = [one for one in requests if one.answer.set_running_or_notify_cancel()]
        if requests:
            self._folded(requests)

    def _folded(self, requests: list[Brought]) -> None:
        began = time.monotonic()
        try:
            reasons = self._timed(requests)
            for one in requests:
                one.answer.set_result([reasons.get(id(event.raw)) for event in one.events])
        except _InterruptedError:
            if len(requests) > 1:  # the others need not wait for the slow one among them
                for one in requests:
                    self._folded([one])
                return
            self._lanes.rest(time.monotonic() - began, interrupted=True)
            _refuse(requests, _InterruptedError())
            return
        except SinkError as error:
            self.refuses = error.what
            self._news.bad(f"events are sent away: {error}")
            _refuse(requests, error.with_traceback(None))
        except Exception:
            self.refuses = _OURS
            log.exception("%s", _OURS)
            _refuse(requests, SinkError(_OURS, retryable=True))
        else:
            self.refuses = None
            self._news.good()
            self._tell_of_it()
        if len(requests) == 1:
            self._lanes.rest(time.monotonic() - began, interrupted=False)

    def _timed(self, requests: list[Brought]) -> dict[int, str]:
        """Fold the events of ``requests``; an _InterruptedError when that takes too long for those who wait."""
        self._requests, self._began, self._interrupted = len(requests), time.thread_time(), False
        events = [event for one in requests for event in one.events]
        try:
            return self._reasons(events)
        except (SinkError, sqlite3.Error):
            if self._interrupted:
                raise _InterruptedError from None
            raise
        finally:
            self._requests = 0
            if len(events) == 1 and (seconds := time.thread_time() - self._began) > FOLD_SECONDS:
                self._report(events[0], seconds)

    def _report(self, event: Event, seconds: float) -> None:
        """Count and log an event that took longer than its budget."""
        self._meters.add(slow_events=1)
        how = "was interrupted for other senders after" if self._interrupted else "took"
        size = f"{len(event.raw):,} bytes, run {event.run_id[:100]}"
        self._slow_events.log(
            "an event took long in the ledger", f"{event.place}: an event {how} {seconds:.1f} s in the ledger ({size})"
        )

    def _tell_of_it(self) -> None:
        """Call ``folded``; what goes wrong with that is no fault of the events, which are taken."""
        try:
            self._done()
        except SinkError as error:
            self._afterwards.bad(f"what was withheld waits, and is tried again with later events: {error}")
        except Exception:
            log.exception("%s", _OURS)
        else:
            self._afterwards.good()

    def _reasons(self, events: list[Event]) -> dict[int, str]:
        """Fold ``events`` together, or, where that is beyond us, each half by itself; return why some of them cannot be used."""
        try:
            translation, delivery = self._ledger.fold(events)
        except SinkError:
            raise
        except sqlite3.Error as error:  # what is read outside a transaction: the file's fault, and no event's
            raise SinkError(
                f"cannot be read: {error}",
                where="the ledger",
                now="if the file is damaged, start with a new one: events that were not acknowledged are sent again",
                retryable=True,
            ) from error
        except Exception:
            if len(events) == 1:
                log.exception("%s: %s", events[0].place, _OURS)
                self._meters.add(dead_letters=1)
                self._bury(DeadLetter(events[0].place, _OURS, events[0].raw))
                return {id(events[0].raw): _OURS}
            half = len(events) // 2
            return self._reasons(events[:half]) | self._reasons(events[half:])
        self._count(translation, delivery)
        return {id(letter.raw): letter.reason for letter in translation.dead}

    def _count(self, translation: Translation, delivery: Delivery) -> None:
        counts = translation.counts
        self._meters.add(
            events=counts.events,
            dead_letters=counts.dead,
            filtered=counts.filtered.total(),
            proposals=counts.proposals,
            left_out=counts.rejected,
            newer=counts.newer,
            cut=counts.cut,
            delivered=delivery.delivered,
            refused=len(delivery.failed),
        )
        for letter in translation.dead:
            self._bury(letter)
        for ours in translation.rejected:
            self._failures.log(kind_of(ours.text), ours.text)
        for failure in delivery.failed:
            what = f"{failure.proposal.entity_urn} {failure.proposal.aspect_name}: {failure.reason}"
            self._failures.log(kind_of(failure.reason), what)


def _refuse(requests: list[Brought], error: Exception) -> None:
    """Answer with an error those that have no answer yet."""
    for one in requests:
        if not one.answer.done():
            one.answer.set_exception(error)
