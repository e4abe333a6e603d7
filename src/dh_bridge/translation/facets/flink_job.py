"""flink_job (run): the id of the Flink job (OpenLineage integration/flink)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import OPERATION, RUN_NAME, RUN_PROPERTIES, RUN_URL, Statements
from dh_bridge.translation.precedence import NAME_FLINK, OPERATION_STREAM, URL_FLINK, URL_FLINK_RUNNING, page
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "flink_job",
    at="run",
    leaves={
        "jobId": mapped(
            RUN_NAME,
            RUN_PROPERTIES,
            RUN_URL,
        ),
        "**": kept(),
    },
    producer="Flink",
)
def flink_job(opened: Open, at: Place) -> Statements:
    """Job id as the name of the run; its page when the job's namespace is the address of the dashboard; outputs: INSERT."""
    properties = flattened("flink_job", opened.body)
    if properties:
        yield property_statement(at, properties)
    job_id = text_of(opened.body.get("jobId"))
    if job_id:
        yield at.run, RUN_NAME, NAME_FLINK, job_id
        dashboard = page(at.event.namespace)
        if dashboard is not None:
            base = f"{dashboard.rstrip('/')}/#/job"
            running = f"{base}/running/{quote(job_id, safe='')}"
            if at.event.terminal:
                yield at.run, RUN_URL, URL_FLINK, f"{base}/completed/{quote(job_id, safe='')}"
            else:
                yield at.run, RUN_URL, URL_FLINK, running
                yield at.run, RUN_URL, URL_FLINK_RUNNING, running
    for output in at.outputs:
        yield output, OPERATION, OPERATION_STREAM, "INSERT"
