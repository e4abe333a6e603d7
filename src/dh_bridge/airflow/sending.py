"""Delivery under a deadline: a callback may keep its task waiting for some seconds, and not for longer."""

from __future__ import annotations

import time
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.creates import LEFT_OUT
from dh_bridge.delivery import open_target, require_ledger, settings_with_deadline
from dh_bridge.errors import SinkError
from dh_bridge.retry_buffer import Backoff, RetryBuffer
from dh_bridge.sinks.abilities import dropped_counts, set_deadline
from dh_bridge.sinks.base import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.session import Translation
    from dh_bridge.settings import Settings

_FIRST_PAUSE_SECONDS = 0.25
"""Seconds before something is sent again; each pause is twice as long as the one before."""


class CallbackDelivery(NamedTuple):
    """How many proposals arrived, and what went wrong with the others, in words."""

    delivered_count: int
    problems: list[str]


def send(events: list[dict[str, Any]], settings: Settings, deadline: float) -> CallbackDelivery:
    """Translate and deliver until ``deadline`` (of the monotonic clock); the caller does not wait longer.

    Failed proposals are sent again while time is left, after the pause that the server asks for. If the pause is longer than the
    remaining time, the delivery ends at once. A BridgeError states that nothing, or not everything, arrived in time. The work runs
    in a thread, because timeouts of sockets are not exact: late work is abandoned.
    """
    return run_until(deadline, lambda: _deliver_with_retries(events, settings, deadline))


def run_until(deadline: float, work: Callable[[], CallbackDelivery]) -> CallbackDelivery:
    """Return the result of ``work``, or raise its error; raise a SinkError if it is not done by ``deadline``."""
    results: list[CallbackDelivery] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)

    thread = Thread(target=run, name="dh_bridge.airflow", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if errors:
        raise errors.pop()
    if not results:
        raise _timeout_error()
    return results[0]


def _timeout_error() -> SinkError:
    return SinkError(
        "no response within the timeout",
        location="airflow.timeout",
        remedy="check that the server is up",
        retryable=True,
    )


def _deliver_with_retries(events: list[dict[str, Any]], settings: Settings, deadline: float) -> CallbackDelivery:
    backoff = Backoff(_FIRST_PAUSE_SECONDS)
    while True:
        try:
            return _deliver_once(events, settings, deadline)
        except SinkError as error:
            wait = backoff.next(min_seconds=error.retry_after)
            if not error.retryable or time.monotonic() + wait >= deadline:
                raise
        time.sleep(wait)


def _deliver_once(events: list[dict[str, Any]], settings: Settings, deadline: float) -> CallbackDelivery:
    require_ledger(settings.airflow.to, settings)
    target = open_target(settings.airflow.to, settings_with_deadline(settings, max(0.1, deadline - time.monotonic())))
    with target.sink as sink:
        set_deadline(sink, deadline)  # one emit may take many requests
        translation = Bridge(target.settings).translate(events)
        buffer, backoff = RetryBuffer(translation.proposals), Backoff(_FIRST_PAUSE_SECONDS)
        delivered_count, failures = 0, list[Failure]()
        while buffer:
            if time.monotonic() >= deadline:  # the caller does not wait any more, so nothing is written late
                raise _timeout_error()
            outcome = buffer.send(sink)
            delivered_count += outcome.delivered_count
            failures += outcome.permanent
            if buffer and time.monotonic() + (pause := backoff.next()) >= deadline:
                failures += outcome.retryable
                break
            if buffer:
                time.sleep(pause)
    rules = [LEFT_OUT] if LEFT_OUT in dropped_counts(target.sink) else []
    problems = [
        f"{failure.proposal.entity_urn} {failure.proposal.aspect_name}: {failure.reason}" for failure in failures
    ]
    return CallbackDelivery(
        delivered_count, _translation_problems(translation) + problems + [f"not sent: {rule}" for rule in rules]
    )


def _translation_problems(translation: Translation) -> list[str]:
    return [letter.reason for letter in translation.dead] + [rejection.message for rejection in translation.rejected]
