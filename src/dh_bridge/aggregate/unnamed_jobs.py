"""Queries without a name of their own, which share one job (``shared`` in mappings/producers).

Trino names a job by its query's id unless it is told otherwise. What an event says of such a job is said of this query alone:
it is kept on the run, where no other query replaces it. The job reads and writes nothing, as a union over all queries would
invent lineage; that of each query stands on the datasets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.queries import sql_properties, sql_text
from dh_bridge.model.facts import (
    INPUT_FIELD,
    JOB_EDGE,
    JOB_PROPERTIES,
    LINEAGE_JOB,
    RUN_NAME,
    RUN_PROPERTIES,
    SQL,
    Fact,
)
from dh_bridge.model.fold import add_facts, merge_elements
from dh_bridge.model.precedence import NAME_QUERY
from dh_bridge.model.properties import truncate

if TYPE_CHECKING:
    from dh_bridge.model.run_state import RunState

#: What a job would have of its inputs, beside their edges.
_INPUT_KINDS = (INPUT_FIELD, JOB_EDGE, LINEAGE_JOB)


_NO_URNS: frozenset[str] = frozenset()


def unnamed_job_urns(state: RunState) -> frozenset[str]:
    """Return the URNs of the shared jobs of a run."""
    urns = [urn for urn, (job, _) in state.jobs.items() if job.shared and not job.skip]
    return frozenset(urns) if urns else _NO_URNS


def has_only_unnamed_jobs(state: RunState) -> bool:
    """Whether all that a run's events name are shared jobs."""
    return bool(state.jobs) and all(job.shared for job, _ in state.jobs.values())


def move_facts_to_run(state: RunState, job_urns: frozenset[str]) -> None:
    """Move what the run's events say of ``job_urns`` jobs to the run; the query's id, or what else the job was called, names it."""
    for urn in sorted(job_urns) if state.urn else ():
        job, (_, version) = state.jobs[urn]
        registers = state.facts.get(urn, {})
        run_registers = state.facts.setdefault(state.urn, {})
        job_properties = {f"job {key}": versioned for key, versioned in registers.pop(JOB_PROPERTIES, {}).items()}
        merge_elements(run_registers.setdefault(RUN_PROPERTIES, {}), RUN_PROPERTIES, job_properties)
        properties = {"job.name": truncate(job.name)}
        if SQL in registers:
            properties |= sql_properties(sql_text(registers[SQL][""])[1])
        facts: list[Fact] = [(state.urn, RUN_PROPERTIES, "job", properties)]
        if not any(map(str.isspace, job.name)):  # Flink has no id there but the text
            facts.append((state.urn, RUN_NAME, NAME_QUERY, job.name))
        add_facts(state.facts, facts, version)
        for fact_kind in _INPUT_KINDS:
            registers.pop(fact_kind, None)
