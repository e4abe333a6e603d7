"""Queries without a name of their own, which share one job (``shared`` in mappings/producers).

Trino names a job by its query's id unless it is told otherwise. What an event says of such a job is said of this query alone:
it is kept on the run, where no other query replaces it. The job reads and writes nothing, as a union over all queries would
invent lineage; that of each query stands on the datasets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import (
    INPUT_FIELD,
    JOB_EDGE,
    JOB_PROPERTIES,
    LINEAGE_JOB,
    RUN_NAME,
    RUN_PROPERTIES,
    SQL,
    Statement,
)
from dh_bridge.translation.fold import fold, pour
from dh_bridge.translation.precedence import NAME_QUERY
from dh_bridge.translation.properties import capped
from dh_bridge.translation.runs.queries import sql_properties, sql_text

if TYPE_CHECKING:
    from dh_bridge.translation.runstate import RunState

#: What a job would have of its inputs, beside their edges.
_READ = (INPUT_FIELD, JOB_EDGE, LINEAGE_JOB)


_NONE: frozenset[str] = frozenset()


def nameless(state: RunState) -> frozenset[str]:
    """Return the URNs of the shared jobs of a run."""
    found = [urn for urn, (job, _) in state.jobs.items() if job.shared and not job.skip]
    return frozenset(found) if found else _NONE


def is_nameless(state: RunState) -> bool:
    """Whether all that a run's events name are shared jobs."""
    return bool(state.jobs) and all(job.shared for job, _ in state.jobs.values())


def keep_on_run(state: RunState, shared: frozenset[str]) -> None:
    """Move what the run's events say of ``shared`` jobs to the run; the query's id, or what else the job was called, names it."""
    for urn in sorted(shared) if state.urn else ():
        job, (_, stamp) = state.jobs[urn]
        slots = state.cells.get(urn, {})
        own = state.cells.setdefault(state.urn, {})
        moved = {f"job {key}": cell for key, cell in slots.pop(JOB_PROPERTIES, {}).items()}
        pour(own.setdefault(RUN_PROPERTIES, {}), RUN_PROPERTIES, moved)
        said = {"job.name": capped(job.name)}
        if SQL in slots:
            said |= sql_properties(sql_text(slots[SQL][""])[1])
        statements: list[Statement] = [(state.urn, RUN_PROPERTIES, "job", said)]
        if not any(map(str.isspace, job.name)):  # Flink has no id there but the text
            statements.append((state.urn, RUN_NAME, NAME_QUERY, job.name))
        fold(state.cells, statements, stamp)
        for slot in _READ:
            slots.pop(slot, None)
