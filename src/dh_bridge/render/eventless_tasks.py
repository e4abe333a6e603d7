"""Runs of tasks without events, from the end of their DAG's run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.datahub.urns import DATAHUB_ACTOR
from dh_bridge.facet_support.airflow import OUTCOMES
from dh_bridge.model.facts import EVENTLESS_RUN
from dh_bridge.render.fragments import FULL_TABLE, audit_stamp, message_id, millis
from dh_bridge.render.runs import ENTITY, platform_instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.model.fold import Registers
    from dh_bridge.options import Options

_SUBTYPE = "Task Run"


def eventless_run_proposals(urn: str, registers: Registers, options: Options) -> Iterator[Proposal]:
    """Yield the aspects of a silent run: named and placed by the last end of its DAG's run, a point for each end."""
    runs_by_time = registers.get(EVENTLESS_RUN)
    if not runs_by_time:
        return
    job, dag_run_urn, label, airflow_state = runs_by_time[max(runs_by_time)][1]
    properties = {"airflow.taskState": airflow_state, "orchestrator": job.platform}
    yield upsert(
        ENTITY,
        urn,
        "dataProcessInstanceProperties",
        {
            "customProperties": {options.prefix + key: text for key, text in properties.items()},
            "name": label,
            "created": audit_stamp(min(runs_by_time), DATAHUB_ACTOR),
        },
    )
    relationships = {"parentTemplate": job.job_urn, "parentInstance": dag_run_urn, "upstreamInstances": []}
    yield upsert(ENTITY, urn, "dataProcessInstanceRelationships", relationships)
    if options.profile.has_aspect(ENTITY, "dataPlatformInstance"):
        yield upsert(ENTITY, urn, "dataPlatformInstance", platform_instance(job.platform, job.instance))
    if options.profile.has_aspect(ENTITY, "subTypes"):
        yield upsert(ENTITY, urn, "subTypes", {"typeNames": [_SUBTYPE]})
    for time, (_, (job, _, _, airflow_state)) in sorted(runs_by_time.items()):
        kind = OUTCOMES[airflow_state]
        yield upsert(
            ENTITY,
            urn,
            "dataProcessInstanceRunEvent",
            {
                "timestampMillis": millis(time),
                "partitionSpec": FULL_TABLE,
                "messageId": message_id(urn, None, millis(time)),
                "status": "COMPLETE",
                "attempt": 1,
                "result": {"type": kind, "nativeResultType": job.platform},
            },
        )
