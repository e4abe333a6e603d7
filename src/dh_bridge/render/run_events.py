"""dataProcessInstanceRunEvent: one point of a run's timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.airflow import OUTCOMES
from dh_bridge.model.facts import CAN_RETRY, DURATION, OUTCOME, RUN_URL
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
    """Return the page of the run; of a STARTED event that of the ``is_running`` thing, where it has its own."""
    elements = registers.get(RUN_URL)
    if not elements:
        return None
    precedence = min(elements)
    url_precedence = URL_WHILE_RUNNING.get(precedence, precedence) if is_running else precedence
    return str(elements[url_precedence if url_precedence in elements else precedence][1])


def run_event(  # noqa: PLR0913 - the parts of one step
    state: RunState, registers: Registers, job: Job | None, point: Point, attempt: int | None, options: Options
) -> dict[str, Any]:
    """Return the aspect of one point; ``attempt`` is the producer's own number, where a facet gives one."""
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
    event["attempt"] = point.attempt if attempt is None else attempt
    if point.result is not None:
        native = job.platform if job is not None else DEFAULT_PLATFORM
        kind, native = (
            ("UP_FOR_RETRY", f"{native}:FAIL")  # the attempt number is only a guess, but the type shows the failure
            if point.result == "FAIL" and value(registers, CAN_RETRY)
            else _refine_result(_result_kind(point.result, options), native, value(registers, OUTCOME))
        )
        event["result"] = {"type": kind, "nativeResultType": native}
        duration = point.duration
        if duration is None and (seconds := value(registers, DURATION)) is not None:
            duration = int(seconds * 1_000_000)
        if duration is not None:
            event["durationMillis"] = duration // 1000
    return event


def _refine_result(kind: str, native: str, outcome: str | None) -> tuple[str, str]:
    """Return (result, native result), refined by the orchestrator's word; where they contradict the event wins (3.5)."""
    refined_kind = OUTCOMES.get(outcome.partition(":")[2]) if outcome is not None else None
    if outcome is None or refined_kind is None or refined_kind == kind:
        return kind, native
    return (refined_kind, outcome) if kind == "SUCCESS" and refined_kind != "FAILURE" else (kind, outcome)


def _result_kind(event_type: str, options: Options) -> str:
    if event_type == "ABORT":
        return "SKIPPED" if options.settings.runs.abort == "skipped" else "FAILURE"
    return _RESULTS[event_type]
