"""How a run is told: as its OpenLineage events would be, and with statements for what they have no words for."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.errors import EventError
from dh_bridge.json_safe import said_by, sound
from dh_bridge.openlineage.parsing import parse
from dh_bridge.openlineage.times import iso
from dh_bridge.redaction import redacted, redacted_json, redaction
from dh_bridge.sdk.arguments import need_exception
from dh_bridge.sdk.references import RunRef, Table, run_names, run_urn
from dh_bridge.translation.facts import (
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
    Statement,
)
from dh_bridge.translation.fold import fold
from dh_bridge.translation.identity import Job
from dh_bridge.translation.precedence import TYPE_PROCESSING, TYPE_START_REASON
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.render.stamps import FULL_TABLE, message_id
from dh_bridge.translation.translate import Fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

ENTITY = "dataProcessInstance"
POINT = "dataProcessInstanceRunEvent"
KINDS = {
    "scheduled": (TYPE_START_REASON, "AUTOMATIC"),
    "ad_hoc": (TYPE_START_REASON, "MANUAL"),
    "streaming": (TYPE_PROCESSING, "STREAMING"),
}
#: What the caller says outright stands above every rung of the facets' ladders.
_ABOVE = -1
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_WORDS = {None: "START", "SUCCESS": "COMPLETE", "FAILURE": "FAIL", "UP_FOR_RETRY": "FAIL", "SKIPPED": "ABORT"}


class Moment(msgspec.Struct, frozen=True):
    """A start (no ``result``) or an end of a try; ``time`` and ``duration`` in microseconds, ``error`` its facet."""

    time: int
    attempt: int
    result: str | None = None
    duration: int = 0
    error: dict[str, str] | None = None


class Told(msgspec.Struct):
    """All that is known of a run before it begins, and its inputs and outputs by URN."""

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
    inputs: dict[str, Table] = {}
    outputs: dict[str, Table] = {}


def proposals(told: Told, moments: list[Moment], options: Options) -> list[Proposal] | None:
    """Return what the run is after ``moments``, with the point of the last one; None when a filter leaves the job out.

    The earlier moments are told again: what a run is follows from all that happened in it.
    """
    with redaction(options.settings.redaction):
        return _proposals(told, moments, options)


def _proposals(told: Told, moments: list[Moment], options: Options) -> list[Proposal] | None:
    found = Fold(options)
    state = None
    for moment in moments:
        state = found.add(parse(_packed(_event(told, moment), told.urn), told.urn))
    if state is None:
        return None
    _fold_more(told, moments, state, options)
    written = [
        _amended(told, one) for one in found.close() if not (one.entity_urn == told.urn and one.aspect_name == POINT)
    ]
    written += [rejected.proposal for rejected in found.rejected]  # the pipeline refuses them by name
    last = moments[-1]
    if last.result is not None or len(moments) == 1 or moments[-2].time // 1000 != last.time // 1000:
        # one point a millisecond: a try that begins in the one in which another ended leaves that point
        written.append(upsert(ENTITY, told.urn, POINT, _point(told, last)))
    return written


def _event(told: Told, moment: Moment) -> dict[str, Any]:
    facets = dict(told.facets)
    names = run_names(told.parent) if told.parent is not None else None
    if names is not None:
        parent = {"run": {"runId": names[2]}, "job": {"namespace": names[0], "name": names[1]}}
        facets.setdefault("parent", parent)
    if moment.error is not None:
        facets["errorMessage"] = moment.error
    return {
        "eventTime": iso(moment.time), "eventType": _WORDS[moment.result], "producer": told.producer, "schemaURL": _SCHEMA,
        "run": {"runId": told.run_id, "facets": facets},
        "job": {"namespace": told.namespace, "name": told.name, "facets": told.job_facets},
        "inputs": _pairs(told.inputs), "outputs": _pairs(told.outputs),
    }  # fmt: skip


def _packed(event: dict[str, Any], urn: str) -> bytes:
    try:
        return msgspec.json.encode(event)
    except (TypeError, ValueError, RecursionError) as error:  # an object of the caller's, or a lone surrogate
        raise EventError(f"facets that JSON cannot hold: {error}", where=urn) from error


def _pairs(tables: Mapping[str, Table]) -> list[dict[str, str]]:
    return [{"namespace": one.pair[0], "name": one.pair[1]} for one in tables.values() if one.pair is not None]


def error_facet(error: BaseException | str) -> dict[str, str]:
    """Return what is told of an error. Who keeps this in its place holds none of the frames that it came through."""
    if isinstance(error, str):
        return {"message": sound(error), "programmingLanguage": "python"}
    need_exception(error)
    return {
        "message": sound(f"{type(error).__name__}: {said_by(error)}"),
        "programmingLanguage": "python",
        "stackTrace": sound("".join(traceback.format_exception(type(error), error, error.__traceback__))),
    }


def _fold_more(told: Told, moments: list[Moment], state: RunState, options: Options) -> None:
    """Fold in what the events could not say; datasets that are known by their URN alone are among it."""
    said = list(_of_the_run(told, options))
    for moment in moments:
        statements = [*said, (told.urn, ATTEMPT, _ABOVE, moment.attempt)] if moment.attempt > 1 else list(said)
        if not (told.job.placeholder or told.job.skip):
            task = told.job.job_urn
            for slot, tables in ((INPUT, told.inputs), (OUTPUT, told.outputs)):
                statements += [(task, slot, one.urn, moment.time) for one in tables.values() if one.pair is None]
            if told.inputs or told.outputs:
                statements.append((task, JOB, "", told.job))
        fold(state.cells, statements, (moment.time, 0, b"", 0))


def _of_the_run(told: Told, options: Options) -> Iterator[Statement]:
    if told.label is not None:
        yield told.urn, RUN_NAME, _ABOVE, redacted(told.label)
    if told.kind is not None:
        key, word = KINDS[told.kind]
        yield told.urn, RUN_TYPE, key, word
    if (
        told.parent is not None
        and run_names(told.parent) is None
        and (urn := run_urn(told.parent, options)) != told.urn
    ):
        yield told.urn, PARENT, "", (urn, "", "")
    for ref in told.upstream:
        if (urn := run_urn(ref, options)) != told.urn:
            yield told.urn, UPSTREAM_RUN, urn, None
    if told.url is not None:
        yield told.urn, RUN_URL, _ABOVE, redacted(told.url)
    if told.properties:
        yield told.urn, RUN_PROPERTIES, "run", flattened("run", redacted_json(told.properties, "run"))


def _amended(told: Told, proposal: Proposal) -> Proposal:
    relation = proposal.entity_urn == told.urn and proposal.aspect_name == "dataProcessInstanceRelationships"
    if told.template is None or not relation:
        return proposal
    return upsert(ENTITY, told.urn, proposal.aspect_name, {**proposal.value, "parentTemplate": told.template})


def _point(told: Told, moment: Moment) -> dict[str, Any]:
    """Return the run event of a moment."""
    time = moment.time // 1000
    found: dict[str, Any] = {
        "timestampMillis": time,
        "partitionSpec": FULL_TABLE,
        "messageId": message_id(told.urn, None, time),
    }
    if told.url is not None:
        found["externalUrl"] = redacted(told.url)
    found["status"] = "STARTED" if moment.result is None else "COMPLETE"
    found["attempt"] = moment.attempt
    if moment.result is not None:
        found["result"] = {"type": moment.result, "nativeResultType": told.job.platform}
        found["durationMillis"] = moment.duration // 1000
    return found
