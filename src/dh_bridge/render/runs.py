"""dataProcessInstance: properties, relationships, inputs, outputs, run events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.aggregate.ancestry import run_type_of
from dh_bridge.aggregate.application_totals import total_counts_of
from dh_bridge.aggregate.contributions import actor_of, run_user
from dh_bridge.datahub.proposal import Proposal, create, upsert
from dh_bridge.datahub.urns import DATAHUB_ACTOR, platform_instance_urn, platform_urn
from dh_bridge.identity.subtypes import run_subtype
from dh_bridge.model.facts import (
    ATTEMPT,
    FLOW_JOB,
    IMPLIED_PARENT_NAME,
    IMPLIED_PARENT_RUN,
    INPUT,
    JOB,
    OUTPUT,
    PARENT,
    PARENT_CANDIDATE,
    RUN_BY_DATASET,
    RUN_COUNT,
    RUN_NAME,
    RUN_PROPERTIES,
    RUN_TYPE,
    RUN_URL,
    RUN_USER,
    UPSTREAM_RUN,
)
from dh_bridge.model.fold import FactsByEntity, Registers, value
from dh_bridge.model.precedence import TYPE_AIRFLOW_RUN, TYPE_JOB, TYPE_START_REASON, can_name_run
from dh_bridge.model.properties import json_text, truncate
from dh_bridge.openlineage.times import format_iso
from dh_bridge.render.fragments import audit_stamp
from dh_bridge.render.precedence import combine_properties
from dh_bridge.render.run_events import page_url, run_event
from dh_bridge.render.run_io import run_io

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.aggregate.run_history import History
    from dh_bridge.identity import Job
    from dh_bridge.model.merge import Versioned
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

ENTITY = "dataProcessInstance"
_UUID7 = 14


def run_proposals(state: RunState, history: History, options: Options) -> Iterator[Proposal]:
    """Yield the aspects of a run.

    A call without a ledger and without the START knows less of the run than another call may have written. Properties and
    Relationships of such a run are CREATE proposals: they never replace an aspect. For a run of which the ledger has deleted
    the events (``state.whole`` is False) they were written before.
    """
    registers = state.facts.get(state.urn, {})
    job = state.job()
    if state.is_complete is not False:
        write = upsert if state.is_complete or history.has_start or state.is_single_event else create
        yield write(
            ENTITY, state.urn, "dataProcessInstanceProperties", _properties(state, registers, job, history, options)
        )
        relationships = _relationships(registers, job, options, has_io=_has_io(state, job))
        if len(relationships) > 1 or relationships["upstreamInstances"]:
            yield write(ENTITY, state.urn, "dataProcessInstanceRelationships", relationships)
    yield from run_io(state, history, options)
    runner = job or state.runner()
    yield from _companion_proposals(state, registers, runner, options)
    for point in history.points:
        yield upsert(
            ENTITY,
            state.urn,
            "dataProcessInstanceRunEvent",
            run_event(state, registers, runner, point, options),
        )


def implied_parent_proposals(
    urn: str, registers: Registers, shared: FactsByEntity, options: Options
) -> Iterator[Proposal]:
    """Yield the aspects of a run that only its children name: its id and its template, without a run event."""
    parent_facts = registers.get(IMPLIED_PARENT_RUN)
    if not parent_facts:
        return
    run_id, template = _run_id_and_template(parent_facts)
    template = template or _known_candidate(registers, shared)
    first_time = min(first_time for _, first_time in parent_facts.values())
    yield upsert(
        ENTITY,
        urn,
        "dataProcessInstanceProperties",
        {
            "customProperties": {options.prefix + "runId": run_id},
            "name": value(registers, IMPLIED_PARENT_NAME) or run_id,
            "created": audit_stamp(first_time, DATAHUB_ACTOR),
        },
    )
    if template:
        yield upsert(
            ENTITY, urn, "dataProcessInstanceRelationships", {"parentTemplate": template, "upstreamInstances": []}
        )


def _known_candidate(registers: Registers, shared: FactsByEntity) -> str:
    """Return the first job that the run may be one of and whose own events are known; "" for none."""
    candidates = registers.get(PARENT_CANDIDATE, {})
    ordered = sorted(candidates, key=lambda urn: (candidates[urn][1], urn))
    return next((urn for urn in ordered if not {JOB, FLOW_JOB}.isdisjoint(shared.get(urn, {}))), "")


def _run_id_and_template(parent_facts: dict[Any, Versioned]) -> tuple[str, str]:
    """Return the run's id and template ("": a placeholder), from the last child that names the job of its parent."""
    run_id_and_template: tuple[str, str] = max(parent_facts, key=lambda key: (key[1] != "", parent_facts[key][0], key))
    return run_id_and_template


def _companion_proposals(
    state: RunState, registers: Registers, job: Job | None, options: Options
) -> Iterator[Proposal]:
    """Yield dataPlatformInstance and subTypes, where the profile has them on runs."""
    if job is not None and options.profile.has_aspect(ENTITY, "dataPlatformInstance"):
        yield upsert(ENTITY, state.urn, "dataPlatformInstance", platform_instance(job.platform, job.instance))
    subtype = run_subtype(value(registers, RUN_TYPE, TYPE_JOB))
    if subtype and options.profile.has_aspect(ENTITY, "subTypes"):
        yield upsert(ENTITY, state.urn, "subTypes", {"typeNames": [subtype]})


def platform_instance(platform: str, instance: str | None) -> dict[str, Any]:
    """Return the dataPlatformInstance of a flow, job or run: the orchestrator, an instance only if a rule gives one."""
    aspect = {"platform": platform_urn(platform)}
    if instance is not None:
        aspect["instance"] = platform_instance_urn(platform, instance)
    return aspect


# -- properties -----------------------------------------------------------------------------------------------------


def _properties(
    state: RunState, registers: Registers, job: Job | None, history: History, options: Options
) -> dict[str, Any]:
    properties = combine_properties(registers, RUN_PROPERTIES, "") if RUN_PROPERTIES in registers else {}
    properties.update(_run_properties(state, registers, job or state.runner(), history))
    if "airflow.dagRun.data_interval_start" in properties:
        _add_nominal_time(properties)
    names = options.property_names
    # Sorted: the order of a facet's members has no meaning, and equal facts must give equal bytes.
    aspect: dict[str, Any] = {"customProperties": {names[key]: properties[key] for key in sorted(properties)}}
    if RUN_URL in registers and (url := page_url(registers)):
        aspect["externalUrl"] = url
    name = _run_name(registers, job) if RUN_NAME in registers else None
    aspect["name"] = truncate(name or state.run_id)
    if RUN_TYPE in registers and (kind := run_type_of(registers)):
        aspect["type"] = kind
    aspect["created"] = audit_stamp(history.start, actor_of(registers, options))
    if RUN_TYPE in registers and (reason := _start_reason(registers)):
        aspect["created"]["message"] = reason
    return aspect


def _start_reason(registers: Registers) -> str | None:
    """Return the word for why the run was started, as its producer wrote it."""
    reason = value(registers, RUN_TYPE, TYPE_START_REASON) or value(registers, RUN_TYPE, TYPE_AIRFLOW_RUN)
    return truncate(str(reason)) if reason else None


def _add_nominal_time(properties: dict[str, str]) -> None:
    """Add the nominal time if only the data interval of a DAG run has it."""
    if "nominalTime.nominalStartTime" in properties:
        return
    start = properties["airflow.dagRun.data_interval_start"]
    properties["nominalTime.nominalStartTime"] = start
    end = properties.get("airflow.dagRun.data_interval_end")
    if end is not None and end != start:
        properties["nominalTime.nominalEndTime"] = end


def _run_properties(state: RunState, registers: Registers, job: Job | None, history: History) -> dict[str, str]:
    properties = {"runId": state.run_id}
    if state.producer is not None:
        properties["producer"] = truncate(state.producer[1])
    if state.schema_url is not None:
        properties["schemaURL"] = truncate(state.schema_url[1])
    event_type = history.final_type or _last_type(state)
    if event_type:
        properties["eventType"] = event_type
    properties["startTime"] = format_iso(history.start)
    if history.end is not None:
        properties["endTime"] = format_iso(history.end)
        timed_points = [point for point in history.points if point.duration is not None]
        if timed_points:
            properties["durationMillis"] = str((timed_points[-1].duration or 0) // 1000)
    if history.attempts > 1 or ATTEMPT in registers:
        properties["attempt"] = str(history.attempts)
    if job is not None:
        properties["orchestrator"] = job.platform
    if RUN_USER in registers and (user := run_user(registers)):
        properties["user"] = user
    run_id_time = _uuid7_time(state.run_id)
    if run_id_time:
        properties["runIdTime"] = run_id_time
    if RUN_COUNT in registers:
        properties.update((name, str(count)) for name, (_, count) in registers[RUN_COUNT].items())
    if RUN_BY_DATASET in registers:
        properties.update(_properties_by_dataset(registers[RUN_BY_DATASET]))
    if counts := total_counts_of(state):
        properties.update(_statistics_properties(counts))
    return properties


def _last_type(state: RunState) -> str | None:
    """Return the type of the run's last event that has one."""
    if len(state.events) == 1:
        return state.events[0][1]
    return max(((version, kind) for version, kind in state.events if kind), default=(None, None))[1]


def _statistics_properties(counts_by_dataset: dict[tuple[str, str], dict[str, int]]) -> dict[str, str]:
    """Return rows, bytes and files by dataset as one JSON for each direction, and their sums."""
    properties: dict[str, str] = {}
    tables: dict[str, dict[str, dict[str, int]]] = {}
    for (direction, dataset), counts in counts_by_dataset.items():
        tables.setdefault(direction, {})[dataset] = counts
    for direction, table in sorted(tables.items()):
        properties[f"{direction}s.statistics"] = truncate(json_text(table))
        for statistic in ("rowCount", "size", "fileCount"):
            numbers = [counts[statistic] for counts in table.values() if statistic in counts]
            if numbers:
                properties[f"{direction}s.{statistic}"] = str(sum(numbers))
    return properties


def _properties_by_dataset(elements: dict[Any, Versioned]) -> dict[str, str]:
    """Return what facets of inputs and outputs state about the run, as one JSON for each property, by dataset."""
    tables: dict[str, dict[str, Any]] = {}
    for (name, dataset, *part), (_, content) in elements.items():
        table = tables.setdefault(name, {})
        if part:  # one of several that the run names
            table[dataset] = sorted({*table.get(dataset, ()), part[0]})
        else:
            table[dataset] = content
    return {name: truncate(json_text(table)) for name, table in tables.items()}


def _uuid7_time(run_id: str) -> str | None:
    if len(run_id) == 36 and run_id[_UUID7] == "7" and run_id[8::5][:4] == "----":
        try:
            return format_iso(int(run_id[:8] + run_id[9:13], 16) * 1000)
        except ValueError:
            return None
    return None


def _run_name(registers: Registers, job: Job | None) -> str | None:
    """Return the label with the highest precedence; some sources apply to one kind of run only."""
    elements = registers.get(RUN_NAME)
    if not elements:
        return None
    job_type = str(value(registers, RUN_TYPE, TYPE_JOB) or "").upper()
    is_flow = job is None or job.level == "flow"
    for precedence in sorted(elements):
        if can_name_run(precedence, job_type, is_flow=is_flow):
            return str(elements[precedence][1])
    return None


# -- relationships and run events -----------------------------------------------------------------------------------


def _has_io(state: RunState, job: Job | None) -> bool:
    """Whether the run's events of this job have inputs or outputs."""
    registers = state.facts.get(job.job_urn, {}) if job is not None else {}
    return INPUT in registers or OUTPUT in registers


def _relationships(registers: Registers, job: Job | None, options: Options, *, has_io: bool) -> dict[str, Any]:
    relationships: dict[str, Any] = {}
    template = options.identity.template(job, has_io=has_io) if job is not None else None
    if template is None and IMPLIED_PARENT_RUN in registers:
        template = _run_id_and_template(registers[IMPLIED_PARENT_RUN])[1] or None
    if template is not None:
        relationships["parentTemplate"] = template
    parent = value(registers, PARENT)
    if parent is not None:
        relationships["parentInstance"] = parent[0]
    relationships["upstreamInstances"] = sorted(registers.get(UPSTREAM_RUN, {}))
    return relationships
