"""The way in: events of requests, folded together into the ledger, one transaction for all that came meanwhile.

Requests that are likely to take long wait in a lane of their own (``lanes.py``). While a transaction takes long, small requests are
acknowledged from the inbox (``inbox.py``), and are folded afterwards.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from concurrent.futures import Future, wait
from math import inf
from threading import Lock, Thread
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
    from dh_bridge.receiver.inbox import Inbox
    from dh_bridge.receiver.metrics import Meters
    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Delivery

log = logging.getLogger("dh_bridge.receiver")

_OURS = "a mistake of dh-bridge, please report it"

FOLD_SECONDS = 1.0
"""CPU seconds that an event may take in the ledger before it is reported."""
INBOX_SECONDS = 0.1
"""Seconds that a small request waits for the transaction of a large one before it is acknowledged from the inbox."""
SMALL_SECONDS = 1.0
"""The same for a transaction of small requests, which are likely to be in the ledger soon."""


class Intake(Closing):
    """Folds events by a thread of its own; ``folded`` is called after each transaction, ``bury`` with what cannot be used.

    ``batch``: events of one transaction, at most. ``inbox``: takes small requests while a transaction takes long; what an earlier
    process has left in it is folded first.
    """

    def __init__(  # noqa: PLR0913 - its parts
        self,
        ledger: Ledger,
        meters: Meters,
        *,
        batch: int,
        inbox: Inbox | None = None,
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
        self._inbox = inbox
        self._lock = Lock()
        #: time of the monotonic clock from which small requests do not wait for the transaction that runs
        self._deadline = inf
        self._take_over()
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
        while len(reasons) < len(events):
            reasons += self._taken(events[len(reasons) : len(reasons) + self._batch], patience)
        return reasons

    def _taken(self, events: Sequence[Event], patience: float | None) -> list[str | None]:
        brought = Brought(events, Future())
        self._lanes.put(brought)
        end = inf if patience is None else time.monotonic() + patience
        answer = brought.answer
        try:
            while not wait([answer], max(0.0, min(INBOX_SECONDS, end - time.monotonic()))).done:
                if self._is_stored(brought):
                    return [None] * len(events)
                if time.monotonic() >= end:
                    answer.cancel()  # what has not begun is not folded: nobody waits for it, and it is to be sent again
                    raise SinkError("the ledger is busy", now="send it again", retryable=True)
            return answer.result()
        finally:
            # an error leads to this frame, and the answer to the error: a cycle that would hold the events
            del brought, answer

    def _is_stored(self, brought: Brought) -> bool:
        """Write a small request that waits for a long transaction, or behind others that did, into the inbox."""
        inbox = self._inbox
        if inbox is None or not brought.small or not (inbox or time.monotonic() > self._deadline):
            return False
        row = inbox.add(brought.events)
        if row is None:
            return False
        with self._lock:
            if not brought.answer.done():
                brought.row = row
                self._meters.add(inbox_events=len(brought.events))
                return True
        inbox.remove([row])
        return False

    def _take_over(self) -> None:
        """Fold what an earlier process has acknowledged, and has not folded."""
        for row, events, letters in self._inbox.pending() if self._inbox is not None else ():
            for letter in letters:
                self._bury(letter)
            if events:
                self._lanes.put(Brought(events, Future(), row))
            elif self._inbox is not None:
                self._inbox.remove([row])

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

    def _together(self, requests: list[Brought]) -> None:
        """Fold those of ``requests`` that somebody waits for; no error ends the thread, or all later requests would wait in vain."""
        requests = [one for one in requests if one.answer.set_running_or_notify_cancel()]
        if requests:
            self._folded(requests)

    def _folded(self, requests: list[Brought]) -> None:
        began = time.monotonic()
        self._deadline = began + (SMALL_SECONDS if all(one.small for one in requests) else INBOX_SECONDS)
        try:
            reasons = self._timed([event for one in requests for event in one.events])
            self._acknowledge(requests, reasons)
        except SinkError as error:
            self.refuses = error.what
            self._news.bad(f"events are sent away: {error}")
            self._lanes.put_back(self._refuse(requests, error.with_traceback(None)))
        except Exception:
            self.refuses = _OURS
            log.exception("%s", _OURS)
            self._refuse(requests, SinkError(_OURS, retryable=True))  # at the next start, the inbox is tried again
        else:
            self.refuses = None
            self._news.good()
            self._tell_of_it()
        finally:
            self._deadline = inf
        self._lanes.rest(time.monotonic() - began)

    def _acknowledge(self, requests: list[Brought], reasons: dict[int, str]) -> None:
        """Answer requests whose events are in the ledger."""
        with self._lock:
            for one in requests:
                one.answer.set_result([reasons.get(id(event.raw)) for event in one.events])
            rows = [one.row for one in requests if one.row is not None]
        if self._inbox is not None:
            self._inbox.remove(rows)

    def _refuse(self, requests: list[Brought], error: Exception) -> list[Brought]:
        """Answer with an error those that have no answer yet; return the others, which are acknowledged, to be tried again."""
        with self._lock:
            acknowledged = [one for one in requests if one.row is not None]
            for one in requests:
                if not one.answer.done():
                    one.answer.set_exception(error)
        return [Brought(one.events, Future(), one.row) for one in acknowledged]

    def _timed(self, events: list[Event]) -> dict[int, str]:
        """Fold ``events``; report an event that takes longer than its budget."""
        began = time.thread_time()
        try:
            return self._reasons(events)
        finally:
            if (seconds := time.thread_time() - began) > FOLD_SECONDS:
                self._report(events, seconds)

    def _report(self, events: list[Event], seconds: float) -> None:
        """Count and log an event that took longer than its budget; of several, the largest is named."""
        self._meters.add(slow_events=1)
        event = max(events, key=lambda one: len(one.raw))
        size = f"{len(event.raw):,} bytes, run {event.run_id[:100]}"
        text = (
            f"{event.place}: an event took {seconds:.1f} s in the ledger ({size})"
            if len(events) == 1
            else f"{event.place}: {len(events):,} events took {seconds:.1f} s in the ledger; the largest has {size}"
        )
        self._slow_events.log("an event took long in the ledger", text)

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
