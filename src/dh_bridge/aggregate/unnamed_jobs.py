"""Queries without a name of their own, which share one job (``shared`` in mappings/producers).

By default, Trino uses the query id as the name of the job. Facts about such a job are about this query alone: they are stored
on the run, where no other query replaces them. The job has no inputs and outputs, because a union over all queries would be
wrong lineage; the lineage of each query is on the datasets.
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

#: Facts of a job about its inputs, other than edges.
_INPUT_KINDS = (INPUT_FIELD, JOB_EDGE, LINEAGE_JOB)


_NO_URNS: frozenset[str] = frozenset()


def unnamed_job_urns(state: RunState) -> frozenset[str]:
    """Return the URNs of the shared jobs of a run."""
    urns = [urn for urn, (job, _) in state.jobs.items() if job.shared and not job.skip]
    return frozenset(urns) if urns else _NO_URNS


def has_only_unnamed_jobs(state: RunState) -> bool:
    """Whether all jobs that a run's events name are shared."""
    return bool(state.jobs) and all(job.shared for job, _ in state.jobs.values())


def move_facts_to_run(state: RunState, job_urns: frozenset[str]) -> None:
    """Move the facts of the run's events about ``job_urns`` to the run; the query id, or another name of the job, names it."""
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
        if not any(map(str.isspace, job.name)):  # Flink's id there is only the text
            facts.append((state.urn, RUN_NAME, NAME_QUERY, job.name))
        add_facts(state.facts, facts, version)
        for fact_kind in _INPUT_KINDS:
            registers.pop(fact_kind, None)
