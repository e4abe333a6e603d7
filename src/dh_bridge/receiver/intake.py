"""The way in: events of requests, folded together into the ledger, one transaction for all that came meanwhile."""

from __future__ import annotations

import logging
import sqlite3
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import SinkError
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.receiver.news import News
from dh_bridge.sinks.base import Closing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dh_bridge.call import Translation
    from dh_bridge.ledger import Ledger
    from dh_bridge.openlineage.events import Event
    from dh_bridge.receiver.meters import Meters
    from dh_bridge.sinks.base import Delivery

log = logging.getLogger("dh_bridge.receiver")

_BYTES = 64 * 1024 * 1024
_OURS = "a mistake of dh-bridge, please report it"


class Brought(NamedTuple):
    """The events of one request, and its answer: of each event None when it is in the ledger, else why it is not."""

    events: Sequence[Event]
    answer: Future[list[str | None]]


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
        self._batch = batch
        self._done = folded
        self._bury = bury
        self._news = News("events are taken again")
        self._afterwards = News("what was withheld is delivered again")
        #: why the last events were not taken, None: they were
        self.refuses: str | None = None
        self._queue: SimpleQueue[Brought | None] = SimpleQueue()
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
        for at in range(0, len(events), self._batch):
            reasons += self._taken(events[at : at + self._batch], patience)
        return reasons

    def _taken(self, events: Sequence[Event], patience: float | None) -> list[str | None]:
        brought = Brought(events, Future())
        self._queue.put(brought)
        try:
            return brought.answer.result(patience)
        except TooLate:
            brought.answer.cancel()  # what has not begun is not folded: nobody waits for it, and it is to be sent again
            raise SinkError("the ledger is busy", now="send it again", retryable=True) from None
        finally:
            del brought  # an error leads to this frame, and the answer to the error: a cycle that would hold the events

    def close(self) -> None:
        """Fold what was brought until now, and end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            requests, last = self._meanwhile(first)
            self._together(requests)
            del first, requests  # nothing is held until the next one comes
            if last:
                return

    def _meanwhile(self, first: Brought) -> tuple[list[Brought], bool]:
        """Return ``first`` and what came since, and whether nothing comes any more."""
        requests, count, size = [first], len(first.events), _size(first)
        while count < self._batch and size < _BYTES:
            try:
                following = self._queue.get_nowait()
            except Empty:
                break
            if following is None:
                return requests, True
            requests.append(following)
            count += len(following.events)
            size += _size(following)
        return requests, False

    def _together(self, requests: list[Brought]) -> None:
        """Fold those of ``requests`` that somebody waits for; no error ends the thread, or all later requests would wait in vain."""
        requests = [one for one in requests if one.answer.set_running_or_notify_cancel()]
        if not requests:
            return
        try:
            reasons = self._reasons([event for one in requests for event in one.events])
            for one in requests:
                one.answer.set_result([reasons.get(id(event.raw)) for event in one.events])
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
            raise SinkError(f"cannot be read: {error}", where="the ledger", retryable=True) from error
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
            log.error("%s", ours.text)
        for failure in delivery.failed:
            log.error("%s %s: %s", failure.proposal.entity_urn, failure.proposal.aspect_name, failure.reason)


def _refuse(requests: list[Brought], error: SinkError) -> None:
    """Answer with an error those that have no answer yet."""
    for one in requests:
        if not one.answer.done():
            one.answer.set_exception(error)


def _size(brought: Brought) -> int:
    return sum([len(event.raw) for event in brought.events])
