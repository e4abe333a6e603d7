"""dataProcessInstance: properties, relationships, inputs, outputs, run events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, create, upsert
from dh_bridge.datahub.urns import platform_instance_urn, platform_urn
from dh_bridge.openlineage.times import iso
from dh_bridge.translation.facts import (
    ATTEMPT,
    INPUT,
    OUTPUT,
    PARENT,
    RUN_BY_DATASET,
    RUN_COUNT,
    RUN_NAME,
    RUN_PROPERTIES,
    RUN_TYPE,
    STUB_RUN,
    UPSTREAM_RUN,
)
from dh_bridge.translation.fold import Slots, first_rung, value
from dh_bridge.translation.identity.subtypes import run_subtype
from dh_bridge.translation.precedence import TYPE_AIRFLOW_RUN, TYPE_JOB, TYPE_START_REASON, names
from dh_bridge.translation.properties import capped, text
from dh_bridge.translation.render.precedence import combined
from dh_bridge.translation.render.run_events import page_of, run_event
from dh_bridge.translation.render.run_io import run_io
from dh_bridge.translation.render.stamps import audit_stamp
from dh_bridge.translation.runs.ancestry import type_of
from dh_bridge.translation.runs.contributions import actor_of, counts_of, run_user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.identity import Job
    from dh_bridge.translation.merge import Cell
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState

ENTITY = "dataProcessInstance"
_UUID7 = 14


def run_proposals(state: RunState, history: History, options: Options) -> Iterator[Proposal]:
    """Yield the aspects of a run.

    A call without a ledger and without the START knows less of the run than another call may have written. Properties and
    Relationships of such a run are CREATE proposals: they never replace an aspect. For a run of which the ledger has deleted
    the events (``state.whole`` is False) they were written before.
    """
    slots = state.cells.get(state.urn, {})
    job = state.job()
    if state.whole is not False:
        write = upsert if state.whole or history.started or state.single else create
        yield write(
            ENTITY, state.urn, "dataProcessInstanceProperties", _properties(state, slots, job, history, options)
        )
        relationships = _relationships(slots, job, options, has_io=_has_io(state, job))
        if len(relationships) > 1 or relationships["upstreamInstances"]:
            yield write(ENTITY, state.urn, "dataProcessInstanceRelationships", relationships)
    yield from run_io(state, history, options)
    runner = job or state.runner()
    yield from _companions(state, slots, runner, options)
    attempt = first_rung(slots, ATTEMPT)
    for point in history.points:
        yield upsert(
            ENTITY, state.urn, "dataProcessInstanceRunEvent", run_event(state, slots, runner, point, attempt, options)
        )


def stub_proposals(urn: str, slots: Slots, options: Options) -> Iterator[Proposal]:
    """Yield what a run is that only its children have named: its id, its template, no run event."""
    told = slots.get(STUB_RUN)
    if not told:
        return
    run_id, template = _told(told)
    first = min(first for _, first in told.values())
    yield upsert(
        ENTITY,
        urn,
        "dataProcessInstanceProperties",
        {
            "customProperties": {options.prefix + "runId": run_id},
            "name": run_id,
            "created": audit_stamp(first, options.actor),
        },
    )
    if template:
        yield upsert(
            ENTITY, urn, "dataProcessInstanceRelationships", {"parentTemplate": template, "upstreamInstances": []}
        )


def _told(stubs: dict[Any, Cell]) -> tuple[str, str]:
    """Return the run's id and template ("": a placeholder) as the last child says that has a name for its parent's job."""
    found: tuple[str, str] = max(stubs, key=lambda key: (key[1] != "", stubs[key][0], key))
    return found


def _companions(state: RunState, slots: Slots, job: Job | None, options: Options) -> Iterator[Proposal]:
    """Yield dataPlatformInstance and subTypes, where the profile has them on runs."""
    if job is not None and options.profile.has(ENTITY, "dataPlatformInstance"):
        yield upsert(ENTITY, state.urn, "dataPlatformInstance", platform_instance(job.platform, job.instance))
    subtype = run_subtype(value(slots, RUN_TYPE, TYPE_JOB))
    if subtype and options.profile.has(ENTITY, "subTypes"):
        yield upsert(ENTITY, state.urn, "subTypes", {"typeNames": [subtype]})


def platform_instance(platform: str, instance: str | None) -> dict[str, Any]:
    """Return the dataPlatformInstance of a flow, job or run: the orchestrator, an instance only if a rule gives one."""
    found = {"platform": platform_urn(platform)}
    if instance is not None:
        found["instance"] = platform_instance_urn(platform, instance)
    return found


# -- properties -----------------------------------------------------------------------------------------------------


def _properties(state: RunState, slots: Slots, job: Job | None, history: History, options: Options) -> dict[str, Any]:
    properties = combined(slots, RUN_PROPERTIES, "")
    properties.update(_own_properties(state, slots, job or state.runner(), history))
    _fill_nominal(properties)
    names = options.names
    # Sorted: the order of a facet's members says nothing, and the same facts are to give the same bytes.
    found: dict[str, Any] = {"customProperties": {names[key]: properties[key] for key in sorted(properties)}}
    url = page_of(slots)
    if url:
        found["externalUrl"] = url
    found["name"] = capped(_name(slots, job) or state.run_id)
    kind = type_of(slots)
    if kind:
        found["type"] = kind
    found["created"] = audit_stamp(history.start, actor_of(slots, options))
    reason = _start_reason(slots)
    if reason:
        found["created"]["message"] = reason
    return found


def _start_reason(slots: Slots) -> str | None:
    """Return the word for why the run was started, as its producer wrote it."""
    if RUN_TYPE not in slots:
        return None
    word = value(slots, RUN_TYPE, TYPE_START_REASON) or value(slots, RUN_TYPE, TYPE_AIRFLOW_RUN)
    return capped(str(word)) if word else None


def _fill_nominal(properties: dict[str, str]) -> None:
    """Add the nominal time where only the data interval of a DAG run tells it."""
    start = properties.get("airflow.dagRun.data_interval_start")
    if start is None or "nominalTime.nominalStartTime" in properties:
        return
    properties["nominalTime.nominalStartTime"] = start
    end = properties.get("airflow.dagRun.data_interval_end")
    if end is not None and end != start:
        properties["nominalTime.nominalEndTime"] = end


def _own_properties(state: RunState, slots: Slots, job: Job | None, history: History) -> dict[str, str]:
    found = {"runId": state.run_id}
    if state.producer is not None:
        found["producer"] = capped(state.producer[1])
    if state.schema_url is not None:
        found["schemaURL"] = capped(state.schema_url[1])
    last = history.winner or _last_type(state)
    if last:
        found["eventType"] = last
    found["startTime"] = iso(history.start)
    if history.end is not None:
        found["endTime"] = iso(history.end)
        final = [point for point in history.points if point.duration is not None]
        if final:
            found["durationMillis"] = str((final[-1].duration or 0) // 1000)
    attempt = first_rung(slots, ATTEMPT) or (history.attempts if history.attempts > 1 else None)
    if attempt is not None:
        found["attempt"] = str(attempt)
    if job is not None:
        found["orchestrator"] = job.platform
    user = run_user(slots)
    if user:
        found["user"] = user
    embedded = _uuid7_time(state.run_id)
    if embedded:
        found["runIdTime"] = embedded
    if RUN_COUNT in slots:
        found.update((name, str(count)) for name, (_, count) in slots[RUN_COUNT].items())
    if RUN_BY_DATASET in slots:
        found.update(_by_dataset(slots[RUN_BY_DATASET]))
    if counted := counts_of(state):
        found.update(_statistics(counted))
    return found


def _last_type(state: RunState) -> str | None:
    """Return the type of the run's last event that has one."""
    if len(state.events) == 1:
        return state.events[0][1]
    return max(((stamp, kind) for stamp, kind in state.events if kind), default=(None, None))[1]


def _statistics(counted: dict[tuple[str, str], dict[str, int]]) -> dict[str, str]:
    """Return rows, bytes and files by dataset as one JSON for each direction, and their sums."""
    found: dict[str, str] = {}
    tables: dict[str, dict[str, dict[str, int]]] = {}
    for (direction, dataset), counts in counted.items():
        tables.setdefault(direction, {})[dataset] = counts
    for direction, table in sorted(tables.items()):
        found[f"{direction}s.statistics"] = capped(text(table))
        for leaf in ("rowCount", "size", "fileCount"):
            said = [counts[leaf] for counts in table.values() if leaf in counts]
            if said:
                found[f"{direction}s.{leaf}"] = str(sum(said))
    return found


def _by_dataset(cells: dict[Any, Cell]) -> dict[str, str]:
    """Return what facets of inputs and outputs say of the run, as one JSON for each property, by dataset."""
    tables: dict[str, dict[str, Any]] = {}
    for (name, dataset), (_, said) in cells.items():
        tables.setdefault(name, {})[dataset] = said
    return {name: capped(text(table)) for name, table in tables.items()}


def _uuid7_time(run_id: str) -> str | None:
    if len(run_id) == 36 and run_id[_UUID7] == "7" and run_id[8::5][:4] == "----":
        try:
            return iso(int(run_id[:8] + run_id[9:13], 16) * 1000)
        except ValueError:
            return None
    return None


def _name(slots: Slots, job: Job | None) -> str | None:
    """Return the label on the lowest rung; some rungs name one kind of run only."""
    elements = slots.get(RUN_NAME)
    if not elements:
        return None
    job_type = str(value(slots, RUN_TYPE, TYPE_JOB) or "").upper()
    flow = job is None or job.level == "flow"
    for rung in sorted(elements):
        if names(rung, job_type, flow=flow):
            return str(elements[rung][1])
    return None


# -- relationships and run events -----------------------------------------------------------------------------------


def _has_io(state: RunState, job: Job | None) -> bool:
    """Whether the run's events of this job have inputs or outputs."""
    slots = state.cells.get(job.job_urn, {}) if job is not None else {}
    return INPUT in slots or OUTPUT in slots


def _relationships(slots: Slots, job: Job | None, options: Options, *, has_io: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    template = options.identity.template(job, has_io=has_io) if job is not None else None
    if template is None and STUB_RUN in slots:
        template = _told(slots[STUB_RUN])[1] or None
    if template is not None:
        found["parentTemplate"] = template
    parent = value(slots, PARENT)
    if parent is not None:
        found["parentInstance"] = parent[0]
    found["upstreamInstances"] = sorted(slots.get(UPSTREAM_RUN, {}))
    return found
