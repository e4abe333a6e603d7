"""dataProcessInstanceRunEvent: one point of a run's timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.aggregate.attempts import is_retried
from dh_bridge.facet_support.airflow import OUTCOMES
from dh_bridge.model.facts import DURATION, OUTCOME, RUN_URL
from dh_bridge.model.fold import value
from dh_bridge.model.job import DEFAULT_PLATFORM
from dh_bridge.model.precedence import URL_WHILE_RUNNING
from dh_bridge.render.fragments import FULL_TABLE, message_id, millis

if TYPE_CHECKING:
    from dh_bridge.aggregate.run_history import Point
    from dh_bridge.identity import Job
    from dh_bridge.model.fold import Registers
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

_RESULTS = {"COMPLETE": "SUCCESS", "FAIL": "FAILURE"}


def page_url(registers: Registers, *, is_running: bool = False) -> str | None:
    """Return the page of the run; for a STARTED event the page of the running process, if it has a separate one."""
    elements = registers.get(RUN_URL)
    if not elements:
        return None
    precedence = min(elements)
    url_precedence = URL_WHILE_RUNNING.get(precedence, precedence) if is_running else precedence
    return str(elements[url_precedence if url_precedence in elements else precedence][1])


def run_event(state: RunState, registers: Registers, job: Job | None, point: Point, options: Options) -> dict[str, Any]:
    """Return the aspect of one point; its native result type is the system (the system's state is a property of the run)."""
    time = millis(point.time)
    event: dict[str, Any] = {
        "timestampMillis": time,
        "partitionSpec": FULL_TABLE,
        "messageId": message_id(state.urn, None, time),
    }
    url = page_url(registers, is_running=point.result is None)
    if url:
        event["externalUrl"] = url
    event["status"] = "STARTED" if point.result is None else "COMPLETE"
    event["attempt"] = point.attempt
    if point.result is not None:
        kind = (
            "UP_FOR_RETRY"
            if point.result == "FAIL" and is_retried(registers, point.attempt, point.time)
            else _refine_result(_result_kind(point.result, options), value(registers, OUTCOME))
        )
        event["result"] = {
            "type": kind,
            "nativeResultType": job.platform if job is not None else DEFAULT_PLATFORM,
        }
        duration = point.duration
        if duration is None and (seconds := value(registers, DURATION)) is not None:
            duration = int(seconds * 1_000_000)
        if duration is not None:
            event["durationMillis"] = duration // 1000
    return event


def _refine_result(kind: str, outcome: str | None) -> str:
    """Return the result, refined by the orchestrator's state; if they contradict, the event wins (3.5)."""
    refined_kind = OUTCOMES.get(outcome.partition(":")[2]) if outcome is not None else None
    return refined_kind if refined_kind not in (None, "FAILURE") and kind == "SUCCESS" else kind


def _result_kind(event_type: str, options: Options) -> str:
    if event_type == "ABORT":
        return "SKIPPED" if options.settings.runs.abort == "skipped" else "FAILURE"
    return _RESULTS[event_type]
