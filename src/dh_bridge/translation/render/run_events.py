"""dataProcessInstanceRunEvent: one point of a run's timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facts import DURATION, OUTCOME, RUN_URL, TRIES_LEFT
from dh_bridge.translation.fold import value
from dh_bridge.translation.precedence import URL_WHILE_RUNNING
from dh_bridge.translation.reading.airflow import OUTCOMES
from dh_bridge.translation.render.stamps import FULL_TABLE, message_id, millis

if TYPE_CHECKING:
    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.identity import Job
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runs.history import Point
    from dh_bridge.translation.runstate import RunState

_RESULTS = {"COMPLETE": "SUCCESS", "FAIL": "FAILURE"}


def page_of(slots: Slots, *, running: bool = False) -> str | None:
    """Return the page of the run; of a STARTED event that of the ``running`` thing, where it has its own."""
    elements = slots.get(RUN_URL)
    if not elements:
        return None
    rung = min(elements)
    other = URL_WHILE_RUNNING.get(rung, rung) if running else rung
    return str(elements[other if other in elements else rung][1])


def run_event(  # noqa: PLR0913 - the parts of one step
    state: RunState, slots: Slots, job: Job | None, point: Point, attempt: int | None, options: Options
) -> dict[str, Any]:
    """Return the aspect of one point; ``attempt`` is the producer's own number, where a facet gives one."""
    time = millis(point.time)
    found: dict[str, Any] = {
        "timestampMillis": time,
        "partitionSpec": FULL_TABLE,
        "messageId": message_id(state.urn, None, time),
    }
    url = page_of(slots, running=point.result is None)
    if url:
        found["externalUrl"] = url
    found["status"] = "STARTED" if point.result is None else "COMPLETE"
    found["attempt"] = point.attempt if attempt is None else attempt
    if point.result is not None:
        native = job.platform if job is not None else options.settings.identity.default_platform
        kind, native = (
            ("UP_FOR_RETRY", f"{native}:FAIL")  # a guess from the number of tries: the word says that it failed
            if point.result == "FAIL" and value(slots, TRIES_LEFT)
            else _refined(_result(point.result, options), native, value(slots, OUTCOME))
        )
        found["result"] = {"type": kind, "nativeResultType": native}
        duration = point.duration
        if duration is None and (seconds := value(slots, DURATION)) is not None:
            duration = int(seconds * 1_000_000)
        if duration is not None:
            found["durationMillis"] = duration // 1000
    return found


def _refined(kind: str, native: str, outcome: str | None) -> tuple[str, str]:
    """Return (result, native result), refined by the orchestrator's word; where they contradict the event wins (3.5)."""
    told = OUTCOMES.get(outcome.partition(":")[2]) if outcome is not None else None
    if outcome is None or told is None or told == kind:
        return kind, native
    return (told, outcome) if kind == "SUCCESS" and told != "FAILURE" else (kind, outcome)


def _result(word: str, options: Options) -> str:
    if word == "ABORT":
        return "SKIPPED" if options.settings.runs.abort == "skipped" else "FAILURE"
    return _RESULTS[word]
