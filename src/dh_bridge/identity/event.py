"""The identity of one event as a row: what ``dh-bridge identity EVENTS --json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.identity.hints import Hints, RunReference, read_hints
from dh_bridge.identity.subtypes import job_subtype, run_subtype
from dh_bridge.identity.warnings import FLOW_DOT, JOIN_RUN, is_dotted_flow, run_lints
from dh_bridge.model.job import ENDPOINT

if TYPE_CHECKING:
    from dh_bridge.identity import EventIdentity, Identity
    from dh_bridge.identity.warnings import Sightings
    from dh_bridge.model.job import Job
    from dh_bridge.openlineage.events import Event

_KINDS = {"run": "RunEvent", "job": "JobEvent", "dataset": "DatasetEvent"}


class IdentityInput(msgspec.Struct):
    """The fields of an event that identity reads.

    ``kind`` is RunEvent or JobEvent; ``location`` is the event's location; ``job_type`` is the type in the jobType facet.
    ``has_io``: this or an earlier event of the run has inputs or outputs. ``parent`` is the run of the parent facet,
    ``upstream`` the runs of jobDependencies; ``hints`` are the fields that only modes other than the default read.
    """

    kind: str
    location: str
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


def identity_input(event: Event) -> IdentityInput:
    """Return what identity reads of a parsed event."""
    event_hints = read_hints(event)
    return IdentityInput(
        kind=_KINDS[event.kind],
        location=event.location,
        namespace=event.namespace,
        name=event.name,
        producer=event.producer,
        event_type=event.type,
        run_id=event_hints.run_id,
        has_io=bool(event.inputs or event.outputs),
        job_type=event_hints.job_type,
        parent=event_hints.parent,
        upstream=list(event_hints.upstream),
        hints=event_hints,
    )


def event_identity(identity: Identity, facts: IdentityInput, sightings: Sightings | None = None) -> dict[str, Any]:
    """Return the event's URNs and names, and the rule for each; an absent entity is None.

    If ``sightings`` has earlier events, contradictions to them about the job or run are warnings.
    """
    names = identity if facts.hints is None else identity.for_hints(facts.hints)
    sender = identity.sender(facts.producer, facts.hints.integration if facts.hints is not None else None)
    job = names.job(facts.namespace, facts.name, sender)
    carrier = names.carrier(job, sender)
    has_job = identity.has_job(job, has_io=facts.has_io)
    return {
        "event": facts.location,
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


def _run(names: Identity | EventIdentity, facts: IdentityInput, job: Job) -> dict[str, Any]:
    if facts.run_id is None:
        return {"dpi": None, "parentTemplate": None, "parentInstance": None, "upstreamInstances": []}
    run_urn = names.run_urn(facts.namespace, facts.name, facts.run_id)
    # DataHub's endpoint writes no relation between runs.
    has_relations = job.foreign_owner != ENDPOINT
    parent = names.run_urn(*facts.parent) if facts.parent and has_relations else None
    upstream = dict.fromkeys(names.run_urn(*run) for run in facts.upstream if has_relations)
    return {
        "dpi": run_urn,
        "parentTemplate": names.template(job, has_io=facts.has_io),
        "parentInstance": parent if parent != run_urn else None,
        "upstreamInstances": [urn for urn in upstream if urn != run_urn],
    }


def _lints(
    identity: Identity, names: Identity | EventIdentity, facts: IdentityInput, job: Job, sightings: Sightings | None
) -> list[str]:
    lints, run_urn = list(job.lints), None
    if is_dotted_flow(job, facts.job_type):
        lints.append(FLOW_DOT)
    if facts.run_id is not None:
        run_urn = names.run_urn(facts.namespace, facts.name, facts.run_id)
        lints += run_lints(facts.run_id, run_urn, names.run_urn(*facts.parent) if facts.parent else None)
        if identity.has_foreign_runs(job) and run_urn == identity.run_urn(facts.namespace, facts.name, facts.run_id):
            lints.append(JOIN_RUN)
    return lints if sightings is None or facts.kind == _KINDS["dataset"] else [*lints, *sightings.see(job, run_urn)]
