"""Runs of tasks that send no events: what the end of their DAG's run tells of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.translation.facts import SILENT_RUN
from dh_bridge.translation.reading.airflow import OUTCOMES
from dh_bridge.translation.render.runs import ENTITY, platform_instance
from dh_bridge.translation.render.stamps import FULL_TABLE, audit_stamp, message_id, millis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.options import Options

_SUBTYPE = "Task Run"


def silent_proposals(urn: str, slots: Slots, options: Options) -> Iterator[Proposal]:
    """Yield the aspects of a silent run: named and placed by the last end of its DAG's run, a point for each end."""
    told = slots.get(SILENT_RUN)
    if not told:
        return
    job, above, label, word = told[max(told)][1]
    properties = {"airflow.taskState": word, "orchestrator": job.platform}
    yield upsert(
        ENTITY,
        urn,
        "dataProcessInstanceProperties",
        {
            "customProperties": {options.prefix + key: text for key, text in properties.items()},
            "name": label,
            "created": audit_stamp(min(told), options.actor),
        },
    )
    relationships = {"parentTemplate": job.job_urn, "parentInstance": above, "upstreamInstances": []}
    yield upsert(ENTITY, urn, "dataProcessInstanceRelationships", relationships)
    if options.profile.has(ENTITY, "dataPlatformInstance"):
        yield upsert(ENTITY, urn, "dataPlatformInstance", platform_instance(job.platform, job.instance))
    if options.profile.has(ENTITY, "subTypes"):
        yield upsert(ENTITY, urn, "subTypes", {"typeNames": [_SUBTYPE]})
    for time, (_, (job, _, _, word)) in sorted(told.items()):
        kind = OUTCOMES[word]
        native = job.platform if kind in ("SUCCESS", "FAILURE") else f"{job.platform}:{word}"
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
                "result": {"type": kind, "nativeResultType": native},
            },
        )
