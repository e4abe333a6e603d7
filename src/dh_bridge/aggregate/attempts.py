"""Attempts of runs: the numbers that events state, and whether a failed try of Airflow is tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.model.facts import ATTEMPT, CAN_RETRY, FINAL_FAILURE, PARENT
from dh_bridge.model.fold import Registers, add_facts, value
from dh_bridge.model.merge import MIN_VERSION
from dh_bridge.openlineage.events import TERMINAL_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dh_bridge.model.merge import Version
    from dh_bridge.model.run_state import RunState

AIRFLOW = "airflow"
#: A time after all events.
ALWAYS = 1 << 62
_NO_NUMBERS: Mapping[tuple[int, int], int] = {}


def stated_attempts(registers: Registers) -> Mapping[tuple[int, int], int]:
    """Return the attempts that events of a run state, by (time, rank of the type); the lower precedence wins."""
    elements = registers.get(ATTEMPT)
    if not elements:
        return _NO_NUMBERS
    return {key[1:]: elements[key][1] for key in sorted(elements, reverse=True)}


def drop_unused_attempts(state: RunState) -> None:
    """Drop the numbers of events that are not stored any more (see `run_history.thin_events`)."""
    elements = state.facts.get(state.urn, {}).get(ATTEMPT)
    if elements and len(elements) > len(state.events):
        stored = {version[:2] for version, _ in state.events}
        for key in [key for key in elements if key[1:] not in stored]:
            del elements[key]


def is_retried(registers: Registers, attempt: int, time: int) -> bool:
    """Return whether the try that failed at ``time`` (microseconds) is tried again, as far as the events show."""
    if value(registers, CAN_RETRY, str(attempt)) is not True:
        return False
    final_time = value(registers, FINAL_FAILURE)
    return final_time is None or final_time < time


def can_be_final(state: RunState) -> bool:
    """Return whether the run has a failed try that is tried again unless its DAG run ends."""
    retries = state.facts.get(state.urn, {}).get(CAN_RETRY)
    if not retries or all(can_retry is not True for _, can_retry in retries.values()):
        return False
    return any(event_type == "FAIL" for _, event_type in state.events)


def final_failures(state: RunState) -> dict[str, int]:
    """Return the time up to which failed tries below a DAG run are final, by task URN; "": for all its tasks.

    A DAG run that ended is final. If it runs again, only the tries before its last end are final.
    """
    registers = state.facts.get(state.urn, {})
    failures = {task: time for task, (_, time) in registers.get(FINAL_FAILURE, {}).items()}
    job = state.job()
    if job is not None and job.platform == AIRFLOW and job.level == "flow":
        ends = [version for version, event_type in state.events if event_type in TERMINAL_TYPES]
        if ends:
            failures[""] = max(failures.get("", 0), _final_time(state.events, max(ends)))
    return failures


def _final_time(events: Iterable[tuple[Version, str | None]], last_end: Version) -> int:
    runs_again = any(version > last_end and event_type in ("START", "RUNNING") for version, event_type in events)
    return int(last_end[0]) if runs_again else ALWAYS


def inherit_final_failures(state: RunState, failures: Mapping[str, int]) -> None:
    """Add to a run what its DAG run states of failed tries."""
    times = [failures.get("", 0), *(failures.get(job.job_urn, 0) for job, _ in state.jobs.values())]
    if any(times):
        add_facts(state.facts, ((state.urn, FINAL_FAILURE, "", max(times)),), MIN_VERSION)


def resolve_retries(states: list[RunState]) -> None:
    """Add the facts of the DAG runs among ``states`` to failed tries."""
    by_urn = {state.urn: state for state in states if state.urn}
    for state in states:
        parent = value(state.facts.get(state.urn, {}), PARENT) if can_be_final(state) else None
        if parent is not None and (dag_run := by_urn.get(parent[0])) is not None and dag_run is not state:
            inherit_final_failures(state, final_failures(dag_run))
