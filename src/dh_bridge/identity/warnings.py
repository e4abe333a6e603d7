"""Warnings about jobs and runs: hints for people, without effect on identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dh_bridge.identity.runs import VOID_IDS, normalize_run_id

if TYPE_CHECKING:
    from dh_bridge.model.job import Job

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

NAME_CUT = "name-cut"
FLOW_DOT = "flow-dot"
RUN_NIL = "run-nil"
RUN_SELF_PARENT = "run-self-parent"
TWO_PLATFORMS = "two-platforms"
RUN_TWO_JOBS = "run-two-jobs"
COMPAT_REFUSED = "compat-refused"
JOIN_RUN = "join-run"

LINTS = {
    NAME_CUT: "the name is too long for DataHub: it is cut, and a hash is added",
    FLOW_DOT: "the job is marked as a flow, but its name has a dot: add a rule to identity.rules that matches the flow's name",
    RUN_NIL: "the run id is the nil or max UUID: the job's name is added to distinguish runs",
    RUN_SELF_PARENT: "the run names itself as its parent: the parent is ignored",
    TWO_PLATFORMS: "producers of two platforms sent the same job: it became two jobs; a rule in identity.rules can merge them",
    COMPAT_REFUSED: "DataHub's endpoint would reject the event: it is named as in the default mode",
    JOIN_RUN: "the event does not contain DataHub's id of the run: the run keeps its own id",
    RUN_TWO_JOBS: "two jobs use the same run id: they share the run",
}
"""Every lint with its meaning."""

_FLOW_TYPES = frozenset({"DAG", "APPLICATION"})


def is_dotted_flow(job: Job, job_type: str | None) -> bool:
    """Whether the job's type says flow, but the dots of its name made it a job of another flow."""
    if job.level != "job" or not job_type:
        return False
    flow_type = job_type.upper()
    return flow_type in _FLOW_TYPES or (flow_type == "JOB" and job.platform == "dbt")


def run_lints(run_id: str | None, run_urn: str | None, parent_urn: str | None) -> tuple[str, ...]:
    """Return warnings about a run's ids."""
    lints = []
    if run_id and normalize_run_id(run_id) in VOID_IDS:
        lints.append(RUN_NIL)
    if parent_urn and parent_urn == run_urn:
        lints.append(RUN_SELF_PARENT)
    return tuple(lints)


class Sightings:
    """The names of earlier jobs and runs, to detect contradictions; beyond ``limit`` the oldest are removed."""

    def __init__(self, limit: int = 50_000) -> None:
        self._limit = limit
        self._platforms: dict[tuple[str, str], str] = {}
        self._jobs: dict[str, tuple[str, str]] = {}

    def see(self, job: Job, run_urn: str | None = None) -> tuple[str, ...]:
        """Record a job, and the run that an event names with it; return the resulting warnings."""
        if job.placeholder:
            return ()
        key = (job.namespace, job.name)
        lints = []
        if _first_value(self._platforms, key, job.platform, self._limit) != job.platform:
            lints.append(TWO_PLATFORMS)
        if run_urn is not None and _first_value(self._jobs, run_urn, key, self._limit) != key:
            lints.append(RUN_TWO_JOBS)
        return tuple(lints)


def _first_value(values: dict[_Key, _Value], key: _Key, value: _Value, limit: int) -> _Value:
    first = values.setdefault(key, value)
    if len(values) > limit:
        del values[next(iter(values))]
    return first
