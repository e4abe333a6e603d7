"""The last word of identity modes: what is not ours to write where the ids are those of a tool of DataHub.

Beside DataHub's Airflow plugin and dbt source only what they lack is written: both sides write whole aspects, and would
erase each other's. One id of the plugin's stands for all tries and mapped indexes of a task, and only events with the
facet ``airflow`` tell it; runs that others know by OpenLineage's id are matched here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.translation.facts import FOLDED, JOINED_CHECK, PARENT, RUN_ALIAS, UPSTREAM_RUN
from dh_bridge.translation.fold import fold, pour, value
from dh_bridge.translation.identity.job import AIRFLOW, DBT, ENDPOINT
from dh_bridge.translation.identity.runs import bare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.openlineage.events import Event
    from dh_bridge.settings.identity import IdentitySettings
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.identity import Job
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState

_RELATIONSHIPS = "dataProcessInstanceRelationships"
_OF_RUNS = ("dataProcessInstanceProperties", _RELATIONSHIPS, "dataProcessInstanceRunEvent")
_OF_JOBS = ("dataJobInfo", "dataFlowInfo", "dataJobInputOutput", "ownership", "globalTags", "dataTransformLogic")
_EDGES = "dataJobInputOutput"
#: What DataHub's endpoint leaves out of a run's relationships
_NO_RELATIONS = (f"{_RELATIONSHIPS}.parentInstance", f"{_RELATIONSHIPS}.upstreamInstances")


def tell_alias(event: Event, state: RunState, at: Place) -> None:
    """Note under which URN others know a run whose id is a tool's, and the check that a tool names."""
    known = at.options.identity.run_urn(event.namespace, event.name, event.run_id)
    if known != state.urn:
        fold(state.cells, ((state.urn, RUN_ALIAS, known, bare(event.run_id)),), at.stamp)
    check = at.identity.check_urn()
    if check is not None:
        fold(state.cells, ((state.urn, JOINED_CHECK, check, None),), at.stamp)


def matched(states: list[RunState]) -> list[RunState]:
    """Return the states, those of one run under two ids made one, and parents by the ids that are written."""
    aliases = _aliases(states)
    if not aliases:
        return states
    kept = []
    for state in states:
        other = aliases.get(state.urn)
        if other is None or other is state:
            kept.append(state)
        else:
            _absorb(other, state)
    urns = {alias: other.urn for alias, other in aliases.items()}
    for state in kept:
        repoint(state, urns)
        said = state.cells.get(state.urn, {}).get(RUN_ALIAS)
        if said:  # of several tries the last one names the run
            state.run_id = max(said.values())[1]
    return kept


def by_key(states: Iterable[RunState]) -> dict[str, RunState]:
    """Return settled runs by the keys that their events were folded under: one of two ids is there by both."""
    known = list(states)
    return {**_aliases(known), **{state.key: state for state in known}}


def _aliases(states: list[RunState]) -> dict[str, RunState]:
    """Return runs by the URNs under which others know them; of two that claim one it is the first by URN."""
    ordered = sorted(states, key=lambda state: state.urn, reverse=True)
    return {alias: state for state in ordered for alias in state.cells.get(state.urn, {}).get(RUN_ALIAS, ())}


def ours(
    found: Iterator[Proposal], states: list[RunState], histories: list[History], options: Options
) -> Iterator[Proposal]:
    """Return the proposals that are ours to write: not what the mode leaves to other tools, no runs of jobs that a rule skips."""
    if options.identity.skips:
        runs = {state.urn for state in states if (job := state.job()) is not None and job.skip and job.joined is None}
        found = (proposal for proposal in found if proposal.entity_urn not in runs)
    return found if options.settings.identity.mode == "default" else _beside_others(found, states, histories, options)


def _beside_others(
    found: Iterator[Proposal], states: list[RunState], histories: list[History], options: Options
) -> Iterator[Proposal]:
    settings = options.settings.identity
    jobs = {state.urn: job for state in states if state.urn and (job := state.job()) is not None and job.joined}
    linked = {urn for urn, job in jobs.items() if _is_linked(job, settings)}
    checks = {urn for state in states for urn in joined_checks(state)}
    flow_end = f",{settings.join.airflow.cluster})"
    for proposal in found:
        urn, aspect = proposal.entity_urn, proposal.aspect_name
        if urn in linked or (urn in checks and aspect != "assertionRunEvent"):
            continue
        if settings.mode == "join" and "airflow" in settings.join.tools and _is_plugins(urn, flow_end):
            if aspect == _EDGES and settings.join.airflow.lineage == "patch":
                yield proposal
            continue
        if aspect == _RELATIONSHIPS and urn in jobs and jobs[urn].joined == ENDPOINT:
            yield upsert(proposal.entity_type, urn, aspect, _endpoints(proposal.value))
            continue
        yield proposal
    for state, history in zip(states, histories, strict=True):
        # SQL of a task, which folds into it, has no run there.
        if state.urn in linked and history.terminals and FOLDED not in state.cells.get(state.urn, {}):
            yield from _links(state, jobs[state.urn], options)


def joined_checks(state: RunState) -> Iterable[str]:
    """Return the assertions of the run's checks that a tool of DataHub writes; their results alone are ours."""
    return state.cells.get(state.urn, {}).get(JOINED_CHECK, ())


def left(state: RunState, options: Options) -> dict[str, str]:
    """Return aspects of a run and its jobs that the settings leave to others, with the reason; none by default."""
    settings = options.settings.identity
    if FOLDED in state.cells.get(state.urn, {}):
        return dict.fromkeys(_OF_RUNS + _OF_JOBS, "policy:identity.granularity")
    if any(job.joined == ENDPOINT for job, _ in state.jobs.values()):
        return dict.fromkeys(_NO_RELATIONS, "policy:identity.mode")
    if settings.mode == "join" and any(job.joined in (AIRFLOW, DBT) for job, _ in state.jobs.values()):
        return dict.fromkeys(_OF_RUNS + _OF_JOBS, "policy:identity.join")
    return {}


def _is_linked(job: Job, settings: IdentitySettings) -> bool:
    """Whether the tool writes the job's runs, and we add no more than their parents."""
    if job.joined == DBT:
        return True
    return job.joined == AIRFLOW and job.level == "job" and settings.join.airflow.runs == "links"


def _is_plugins(urn: str, flow_end: str) -> bool:
    """Whether the plugin writes the flow or job: all of its cluster."""
    if urn.startswith("urn:li:dataFlow:(airflow,"):
        return urn.endswith(flow_end)
    return urn.startswith("urn:li:dataJob:(urn:li:dataFlow:(airflow,") and f"{flow_end}," in urn


def _endpoints(relationships: dict[str, Any]) -> dict[str, Any]:
    """Return relationships as DataHub's endpoint writes them: the template, and no other run."""
    template = {key: relationships[key] for key in ("parentTemplate",) if key in relationships}
    return {**template, "upstreamInstances": []}


def _links(state: RunState, job: Job, options: Options) -> Iterator[Proposal]:
    """Yield the relationships of a run that its tool wrote at the start: with its parent, which the tool leaves out."""
    slots = state.cells.get(state.urn, {})
    parent, upstream = value(slots, PARENT), sorted(slots.get(UPSTREAM_RUN, {}))
    template = options.identity.template(job, has_io=True)
    if template is None or (parent is None and not upstream):
        return
    found: dict[str, Any] = {"parentTemplate": template}
    if parent is not None:
        found["parentInstance"] = parent[0]
    yield upsert("dataProcessInstance", state.urn, _RELATIONSHIPS, {**found, "upstreamInstances": upstream})


def _absorb(state: RunState, other: RunState) -> None:
    """Fold what events said of a run under another id into its state."""
    for entity, slots in other.cells.items():
        into = state.cells.setdefault(state.urn if entity == other.urn else entity, {})
        for slot, elements in slots.items():
            pour(into.setdefault(slot, {}), slot, elements)
    state.events += other.events
    state.through |= other.through
    state.single = state.single or other.single
    for urn, entry in other.jobs.items():
        state.jobs[urn] = max(state.jobs.get(urn, entry), entry, key=lambda one: one[1])


def repoint(state: RunState, urns: dict[str, str]) -> None:
    """Let a run name its parent and upstream runs by the ids that are written."""
    slots = state.cells.get(state.urn, {})
    if PARENT in slots:
        stamp, (parent, *job) = slots[PARENT][""]
        slots[PARENT][""] = (stamp, (urns.get(parent, parent), *job))
    if UPSTREAM_RUN in slots:
        slots[UPSTREAM_RUN] = {urns.get(run, run): cell for run, cell in slots[UPSTREAM_RUN].items()}
