"""flink_job (run): the id of the Flink job (OpenLineage integration/flink)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.slots import RUN_NAME, RUN_URL, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place

#: rungs of facets.md 3.2 and 3.4
_NAME_RUNG = 5
_URL_RUNG = 7


@facet(
    "flink_job",
    at="run",
    leaves={
        "jobId": mapped("dataProcessInstanceProperties.name", "dataProcessInstanceProperties.customProperties"),
        "**": kept(),
    },
    producer="Flink",
)
def flink_job(opened: Open, at: Place) -> Statements:
    """Job id as the name of the run; its page when the job's namespace is the address of the dashboard."""
    properties = flattened("flink_job", opened.body)
    if properties:
        yield property_statement(at, properties)
    job_id = opened.body.get("jobId")
    if isinstance(job_id, str) and job_id:
        yield at.run, RUN_NAME, _NAME_RUNG, job_id
        namespace = at.event.namespace
        if namespace.startswith(("http://", "https://")):
            state = "completed" if at.event.terminal else "running"
            yield at.run, RUN_URL, _URL_RUNG, f"{namespace.rstrip('/')}/#/job/{state}/{job_id}"
