"""Delivery under a deadline: a callback may keep its task waiting for some seconds, and not for longer."""

from __future__ import annotations

import time
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.creates import LEFT_OUT
from dh_bridge.delivery import hurried_settings, need_ledger, open_destination
from dh_bridge.errors import SinkError
from dh_bridge.retry_buffer import Backoff, RetryBuffer
from dh_bridge.sinks.abilities import left_out, set_deadline
from dh_bridge.sinks.base import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.session import Translation
    from dh_bridge.settings import Settings

_FIRST_PAUSE = 0.25
"""Seconds before something is sent again; each pause is twice as long as the one before."""


class Sent(NamedTuple):
    """How many proposals arrived, and what went wrong with the others, in words."""

    delivered: int
    problems: list[str]


def send(events: list[dict[str, Any]], settings: Settings, deadline: float) -> Sent:
    """Translate and deliver until ``deadline`` (of the monotonic clock); the caller waits no longer than that.

    What can be sent again is sent again while time is left, after the pause that the server asks for; a pause that does not fit
    into that time ends it at once. A BridgeError says that nothing, or not everything, arrived in time. The work is done beside
    the caller, as no socket keeps its time to the second: what is late is left behind.
    """
    return within(deadline, lambda: _delivered(events, settings, deadline))


def within(deadline: float, work: Callable[[], Sent]) -> Sent:
    """Return what ``work`` returns, or raise what it raises; a SinkError when it is not done by ``deadline``."""
    found: list[Sent] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised again, where somebody waits for it
            raised.append(error)

    thread = Thread(target=run, name="dh_bridge.airflow", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if raised:
        raise raised.pop()
    if not found:
        raise _late()
    return found[0]


def _late() -> SinkError:
    return SinkError("no answer in time", where="airflow.timeout", now="is the server up?", retryable=True)


def _delivered(events: list[dict[str, Any]], settings: Settings, deadline: float) -> Sent:
    backoff = Backoff(_FIRST_PAUSE)
    while True:
        try:
            return _tried(events, settings, deadline)
        except SinkError as error:
            wait = backoff.next(asked=error.after)
            if not error.retryable or time.monotonic() + wait >= deadline:
                raise
        time.sleep(wait)


def _tried(events: list[dict[str, Any]], settings: Settings, deadline: float) -> Sent:
    need_ledger(settings.airflow.to, settings)
    destination = open_destination(
        settings.airflow.to, hurried_settings(settings, max(0.1, deadline - time.monotonic()))
    )
    with destination.sink as sink:
        set_deadline(sink, deadline)  # one emit may take many requests
        translation = Bridge(destination.settings).translate(events)
        buffer, backoff = RetryBuffer(translation.proposals), Backoff(_FIRST_PAUSE)
        delivered, refused = 0, list[Failure]()
        while buffer:
            if time.monotonic() >= deadline:  # nobody waits for us any more: what came late is not written late, too
                raise _late()
            done = buffer.send(sink)
            delivered += done.delivered
            refused += done.permanent
            if buffer and time.monotonic() + (pause := backoff.next()) >= deadline:
                refused += done.retryable
                break
            if buffer:
                time.sleep(pause)
    rules = [LEFT_OUT] if LEFT_OUT in left_out(destination.sink) else []
    problems = [f"{one.proposal.entity_urn} {one.proposal.aspect_name}: {one.reason}" for one in refused]
    return Sent(delivered, _mistakes(translation) + problems + [f"left out by {rule}" for rule in rules])


def _mistakes(translation: Translation) -> list[str]:
    return [letter.reason for letter in translation.dead] + [ours.text for ours in translation.rejected]
