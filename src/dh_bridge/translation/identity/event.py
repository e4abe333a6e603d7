"""The identity of one event as a row: what ``dh-bridge identity EVENTS --json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.translation.identity.lints import FLOW_DOT, flow_dot, run_lints
from dh_bridge.translation.identity.subtypes import job_subtype, run_subtype

if TYPE_CHECKING:
    from dh_bridge.translation.identity import Identity
    from dh_bridge.translation.identity.job import Job

RunReference = tuple[str, str, str]
"""Job namespace, job name, run id."""


class EventFacts(msgspec.Struct):
    """What identity reads of an event.

    ``kind`` is RunEvent or JobEvent, ``place`` where the event stands, ``job_type`` the jobType facet's word.
    ``has_io``: this or an earlier event of the run has inputs or outputs. ``parent`` is the parent facet's run,
    ``upstream`` the runs of jobDependencies.
    """

    kind: str
    place: str
    namespace: str
    name: str
    producer: str | None = None
    event_type: str | None = None
    run_id: str | None = None
    has_io: bool = False
    job_type: str | None = None
    parent: RunReference | None = None
    upstream: list[RunReference] = []


def event_identity(identity: Identity, facts: EventFacts) -> dict[str, Any]:
    """Return the event's URNs and names, and the rule behind each; what does not exist is None."""
    job = identity.job(facts.namespace, facts.name, facts.producer)
    has_job = identity.has_job(job, has_io=facts.has_io)
    return {
        "event": facts.place,
        "platform": job.platform,
        "level": job.level,
        "dataFlow": job.flow_urn,
        "dataFlow_written": not (job.placeholder or job.skip),
        "dataJob": job.job_urn if has_job else None,
        "flow_name": job.flow_name,
        "job_name": job.job_name if has_job else None,
        **_run(identity, facts, job),
        "subType": job_subtype(facts.job_type),
        "runSubType": run_subtype(facts.job_type) if facts.run_id is not None else None,
        "env": job.env,
        "dataPlatformInstance": identity.platform_instance(job),
        "rules": list(job.rules),
        "lints": _lints(identity, facts, job),
    }


def _run(identity: Identity, facts: EventFacts, job: Job) -> dict[str, Any]:
    if facts.run_id is None:
        return {"dpi": None, "parentTemplate": None, "parentInstance": None, "upstreamInstances": []}
    own = identity.run_urn(facts.namespace, facts.name, facts.run_id)
    parent = identity.run_urn(*facts.parent) if facts.parent else None
    upstream = dict.fromkeys(identity.run_urn(*run) for run in facts.upstream)
    return {
        "dpi": own,
        "parentTemplate": identity.template(job, has_io=facts.has_io),
        "parentInstance": parent if parent != own else None,
        "upstreamInstances": [urn for urn in upstream if urn != own],
    }


def _lints(identity: Identity, facts: EventFacts, job: Job) -> list[str]:
    odd = list(job.lints)
    if flow_dot(job, facts.job_type):
        odd.append(FLOW_DOT)
    if facts.run_id is not None:
        own = identity.run_urn(facts.namespace, facts.name, facts.run_id)
        odd += run_lints(facts.run_id, own, identity.run_urn(*facts.parent) if facts.parent else None)
    return odd
