"""The identity of one event as a row: what ``dh-bridge identity EVENTS --json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.translation.identity.hints import Hints, RunReference, hints
from dh_bridge.translation.identity.job import ENDPOINT
from dh_bridge.translation.identity.subtypes import job_subtype, run_subtype
from dh_bridge.translation.identity.warnings import FLOW_DOT, JOIN_RUN, flow_dot, run_lints

if TYPE_CHECKING:
    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.identity import Identity, Seen
    from dh_bridge.translation.identity.job import Job
    from dh_bridge.translation.identity.warnings import Sightings

_KINDS = {"run": "RunEvent", "job": "JobEvent", "dataset": "DatasetEvent"}


class EventFacts(msgspec.Struct):
    """What identity reads of an event.

    ``kind`` is RunEvent or JobEvent, ``place`` where the event stands, ``job_type`` the jobType facet's word.
    ``has_io``: this or an earlier event of the run has inputs or outputs. ``parent`` is the parent facet's run,
    ``upstream`` the runs of jobDependencies; ``hints`` is all that modes other than the default read besides.
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
    hints: Hints | None = None


def event_facts(event: Event) -> EventFacts:
    """Return what identity reads of a parsed event."""
    said = hints(event)
    return EventFacts(
        kind=_KINDS[event.kind],
        place=event.place,
        namespace=event.namespace,
        name=event.name,
        producer=event.producer,
        event_type=event.type,
        run_id=said.run_id,
        has_io=bool(event.inputs or event.outputs),
        job_type=said.job_type,
        parent=said.parent,
        upstream=list(said.upstream),
        hints=said,
    )


def event_identity(identity: Identity, facts: EventFacts, sightings: Sightings | None = None) -> dict[str, Any]:
    """Return the event's URNs and names, and the rule behind each; what does not exist is None.

    Where it contradicts what an earlier event told of its job or run is a lint, if ``sightings`` knows those.
    """
    names = identity if facts.hints is None else identity.seen(facts.hints)
    job = names.job(facts.namespace, facts.name, facts.producer)
    carrier = names.carrier(job, facts.producer)
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
        "folds_into": carrier.job_urn if carrier is not job else None,
        **_run(names, facts, job),
        "subType": job_subtype(facts.job_type),
        "runSubType": run_subtype(facts.job_type) if facts.run_id is not None else None,
        "env": job.env,
        "dataPlatformInstance": identity.platform_instance(job),
        "rules": list(job.rules),
        "lints": _lints(identity, names, facts, job, sightings),
    }


def _run(names: Identity | Seen, facts: EventFacts, job: Job) -> dict[str, Any]:
    if facts.run_id is None:
        return {"dpi": None, "parentTemplate": None, "parentInstance": None, "upstreamInstances": []}
    own = names.run_urn(facts.namespace, facts.name, facts.run_id)
    # DataHub's endpoint writes no relation between runs.
    related = job.joined != ENDPOINT
    parent = names.run_urn(*facts.parent) if facts.parent and related else None
    upstream = dict.fromkeys(names.run_urn(*run) for run in facts.upstream if related)
    return {
        "dpi": own,
        "parentTemplate": names.template(job, has_io=facts.has_io),
        "parentInstance": parent if parent != own else None,
        "upstreamInstances": [urn for urn in upstream if urn != own],
    }


def _lints(
    identity: Identity, names: Identity | Seen, facts: EventFacts, job: Job, sightings: Sightings | None
) -> list[str]:
    odd, own = list(job.lints), None
    if flow_dot(job, facts.job_type):
        odd.append(FLOW_DOT)
    if facts.run_id is not None:
        own = names.run_urn(facts.namespace, facts.name, facts.run_id)
        odd += run_lints(facts.run_id, own, names.run_urn(*facts.parent) if facts.parent else None)
        if identity.joins_runs(job) and own == identity.run_urn(facts.namespace, facts.name, facts.run_id):
            odd.append(JOIN_RUN)
    return odd if sightings is None or facts.kind == _KINDS["dataset"] else [*odd, *sightings.see(job, own)]
