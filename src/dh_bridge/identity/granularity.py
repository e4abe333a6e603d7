"""Granularity: which job carries the inputs and outputs of an operation.

It is a function of the job's name only, so that START and COMPLETE have the same job.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.urns import data_job_urn
from dh_bridge.identity.normalize import MAX_JOB_BYTES, fit_urn

if TYPE_CHECKING:
    from dh_bridge.model.job import Job

OPERATION, TASK, APPLICATION = "operation", "task", "application"

#: What Airflow's provider calls SQL of the task before it; what hooks ran is ``hll_query`` since 2.21, ``query`` before.
AIRFLOW_QUERY = r"\.(?:hll_|manual_)?query\.\d+"
#: How dbt-ol calls SQL of a node.
DBT_STATEMENT = re.compile(r"(.+)\.sql\.\d+", re.DOTALL).fullmatch
#: platform -> the names of its operations; the group is the task
_OPERATIONS = {
    "airflow": re.compile(rf"(.+){AIRFLOW_QUERY}", re.DOTALL).fullmatch,
    "dbt": DBT_STATEMENT,
}
_APPLICATIONS = frozenset({"spark"})


def task_of(job: Job, *, folds_statements: bool = False) -> str | None:
    """Return the name of the task or node that carries the operation, None when the job is no operation of one.

    ``folds_statements``: nodes of dbt carry their statements, whatever the granularity.
    """
    if job.granularity == OPERATION and not (folds_statements and job.platform == "dbt"):
        return None
    match_operation = _OPERATIONS.get(job.platform)
    match = match_operation(job.name) if match_operation is not None else None
    return None if match is None else str(match[1])


def application_name(job: Job) -> str:
    """Return the name of the application that ran the job: Spark's listener puts it before the first dot."""
    return job.name.partition(".")[0]


def application_of(job: Job) -> Job | None:
    """Return the flow job of the application that ran the job, as DataHub's Spark agent writes it; None for other jobs."""
    if job.granularity != APPLICATION or job.level == "flow" or job.platform not in _APPLICATIONS:
        return None
    job_id, job_urn = fit_urn(job.flow_name, lambda part: data_job_urn(job.flow_urn, part), MAX_JOB_BYTES)
    return msgspec.structs.replace(
        job, level="flow", job_id=job_id, job_urn=job_urn, job_name=job.flow_name, name=job.flow_name
    )
