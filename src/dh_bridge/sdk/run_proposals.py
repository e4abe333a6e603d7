"""The proposals of a run: from the OpenLineage events that it would have sent, and facts that such events do not have."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.errors import EventError
from dh_bridge.identity import Job
from dh_bridge.json_safe import error_text, to_utf8_text
from dh_bridge.model.facts import (
    ATTEMPT,
    INPUT,
    JOB,
    OUTPUT,
    PARENT,
    RUN_NAME,
    RUN_PROPERTIES,
    RUN_TYPE,
    RUN_URL,
    UPSTREAM_RUN,
    Fact,
)
from dh_bridge.model.fold import add_facts
from dh_bridge.model.precedence import TYPE_PROCESSING, TYPE_START_REASON
from dh_bridge.model.properties import flatten
from dh_bridge.openlineage.events import EVENT_TYPE_RANKS
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.openlineage.times import format_iso
from dh_bridge.pipeline import RunAggregator
from dh_bridge.redaction import redact, redact_json, redaction_mode
from dh_bridge.render.fragments import FULL_TABLE, message_id
from dh_bridge.sdk.arguments import require_exception
from dh_bridge.sdk.references import ResolvedDataset, RunRef, run_names, run_urn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

ENTITY = "dataProcessInstance"
RUN_EVENT_ASPECT = "dataProcessInstanceRunEvent"
KINDS = {
    "scheduled": (TYPE_START_REASON, "AUTOMATIC"),
    "ad_hoc": (TYPE_START_REASON, "MANUAL"),
    "streaming": (TYPE_PROCESSING, "STREAMING"),
}
#: Values that the caller passes explicitly have priority over those of facets.
_CALLER_PRECEDENCE = -1
_SCHEMA_URL = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_EVENT_TYPES = {None: "START", "SUCCESS": "COMPLETE", "FAILURE": "FAIL", "UP_FOR_RETRY": "FAIL", "SKIPPED": "ABORT"}


class RunMoment(msgspec.Struct, frozen=True):
    """A start (no ``result``) or an end of a try; ``time`` and ``duration`` in microseconds, ``error`` its facet."""

    time: int
    attempt: int
    result: str | None = None
    duration: int = 0
    error: dict[str, str] | None = None


class RunDescription(msgspec.Struct):
    """All attributes of a run before it starts, and its inputs and outputs by URN."""

    namespace: str
    name: str
    run_id: str
    urn: str
    job: Job
    producer: str
    label: str | None = None
    kind: str | None = None
    parent: RunRef | None = None
    upstream: tuple[RunRef, ...] = ()
    url: str | None = None
    template: str | None = None
    properties: dict[str, Any] = {}
    facets: dict[str, Any] = {}
    job_facets: dict[str, Any] = {}
    inputs: dict[str, ResolvedDataset] = {}
    outputs: dict[str, ResolvedDataset] = {}
    #: (direction, URN) -> facets of the dataset by the group of the event that they belong to
    dataset_facets: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}


def build_proposals(description: RunDescription, moments: list[RunMoment], options: Options) -> list[Proposal] | None:
    """Return the proposals of a run after ``moments``, with the point of the last one; None if a filter drops the job.

    The earlier moments are translated again: the state of a run follows from all of them.
    """
    with redaction_mode(options.settings.redaction):
        return _build_proposals(description, moments, options)


def _build_proposals(description: RunDescription, moments: list[RunMoment], options: Options) -> list[Proposal] | None:
    aggregator = RunAggregator(options)
    state = None
    for moment in moments:
        state = aggregator.add(
            parse_event(_encode_event(_build_event(description, moment), description.urn), description.urn)
        )
    if state is None:
        return None
    _add_facts(description, moments, state, options)
    run_proposals = [
        _with_template(description, proposal)
        for proposal in aggregator.close()
        if not (proposal.entity_urn == description.urn and proposal.aspect_name == RUN_EVENT_ASPECT)
    ]
    run_proposals += [rejected.proposal for rejected in aggregator.rejected]  # the pipeline rejects them by name
    last_moment = moments[-1]
    if last_moment.result is not None or len(moments) == 1 or moments[-2].time // 1000 != last_moment.time // 1000:
        # one point per millisecond: a try that starts in the millisecond of the last end replaces its point
        run_proposals.append(upsert(ENTITY, description.urn, RUN_EVENT_ASPECT, _run_event(description, last_moment)))
    return run_proposals


def _build_event(description: RunDescription, moment: RunMoment) -> dict[str, Any]:
    facets = dict(description.facets)
    names = run_names(description.parent) if description.parent is not None else None
    if names is not None:
        parent = {"run": {"runId": names[2]}, "job": {"namespace": names[0], "name": names[1]}}
        facets.setdefault("parent", parent)
    if moment.error is not None:
        facets["errorMessage"] = moment.error
    return {
        "eventTime": format_iso(moment.time), "eventType": _EVENT_TYPES[moment.result], "producer": description.producer, "schemaURL": _SCHEMA_URL,
        "run": {"runId": description.run_id, "facets": facets},
        "job": {"namespace": description.namespace, "name": description.name, "facets": description.job_facets},
        "inputs": _event_datasets("input", description.inputs, description),
        "outputs": _event_datasets("output", description.outputs, description),
    }  # fmt: skip


def _encode_event(event: dict[str, Any], urn: str) -> bytes:
    try:
        return msgspec.json.encode(event)
    except (TypeError, ValueError, RecursionError) as error:  # an object of the caller, or a lone surrogate
        raise EventError(f"cannot encode the facets as JSON: {error}", location=urn) from error


def _event_datasets(
    direction: str, datasets: Mapping[str, ResolvedDataset], description: RunDescription
) -> list[dict[str, Any]]:
    return [
        {
            "namespace": dataset.pair[0],
            "name": dataset.pair[1],
            **description.dataset_facets.get((direction, urn), {}),
        }
        for urn, dataset in datasets.items()
        if dataset.pair is not None
    ]


def error_facet(error: BaseException | str) -> dict[str, str]:
    """Return the facet of an error. It does not refer to the frames of the exception."""
    if isinstance(error, str):
        return {"message": to_utf8_text(error), "programmingLanguage": "python"}
    require_exception(error)
    return {
        "message": to_utf8_text(f"{type(error).__name__}: {error_text(error)}"),
        "programmingLanguage": "python",
        "stackTrace": to_utf8_text("".join(traceback.format_exception(type(error), error, error.__traceback__))),
    }


def _add_facts(description: RunDescription, moments: list[RunMoment], state: RunState, options: Options) -> None:
    """Add facts that the events do not have, such as datasets that are known by their URN only."""
    run_facts = list(_run_facts(description, options))
    for moment in moments:
        facts = list(run_facts)
        if moments[-1].attempt > 1:
            rank = EVENT_TYPE_RANKS[_EVENT_TYPES[moment.result]]
            facts.append((description.urn, ATTEMPT, (_CALLER_PRECEDENCE, moment.time, rank), moment.attempt))
        if not (description.job.placeholder or description.job.skip):
            job_urn = description.job.job_urn
            for fact_kind, datasets in ((INPUT, description.inputs), (OUTPUT, description.outputs)):
                facts += [
                    (job_urn, fact_kind, dataset.urn, moment.time)
                    for dataset in datasets.values()
                    if dataset.pair is None
                ]
            if description.inputs or description.outputs:
                facts.append((job_urn, JOB, "", description.job))
        add_facts(state.facts, facts, (moment.time, 0, b"", 0))


def _run_facts(description: RunDescription, options: Options) -> Iterator[Fact]:
    if description.label is not None:
        yield description.urn, RUN_NAME, _CALLER_PRECEDENCE, redact(description.label)
    if description.kind is not None:
        key, value = KINDS[description.kind]
        yield description.urn, RUN_TYPE, key, value
    if (
        description.parent is not None
        and run_names(description.parent) is None
        and (urn := run_urn(description.parent, options)) != description.urn
    ):
        yield description.urn, PARENT, "", (urn, "", "")
    for ref in description.upstream:
        if (urn := run_urn(ref, options)) != description.urn:
            yield description.urn, UPSTREAM_RUN, urn, None
    if description.url is not None:
        yield description.urn, RUN_URL, _CALLER_PRECEDENCE, redact(description.url)
    if description.properties:
        yield description.urn, RUN_PROPERTIES, "run", flatten("run", redact_json(description.properties, "run"))


def _with_template(description: RunDescription, proposal: Proposal) -> Proposal:
    is_relationships = (
        proposal.entity_urn == description.urn and proposal.aspect_name == "dataProcessInstanceRelationships"
    )
    if description.template is None or not is_relationships:
        return proposal
    return upsert(
        ENTITY, description.urn, proposal.aspect_name, {**proposal.value, "parentTemplate": description.template}
    )


def _run_event(description: RunDescription, moment: RunMoment) -> dict[str, Any]:
    """Return the run event of a moment."""
    time = moment.time // 1000
    point: dict[str, Any] = {
        "timestampMillis": time,
        "partitionSpec": FULL_TABLE,
        "messageId": message_id(description.urn, None, time),
    }
    if description.url is not None:
        point["externalUrl"] = redact(description.url)
    point["status"] = "STARTED" if moment.result is None else "COMPLETE"
    point["attempt"] = moment.attempt
    if moment.result is not None:
        point["result"] = {"type": moment.result, "nativeResultType": description.job.platform}
        point["durationMillis"] = moment.duration // 1000
    return point
