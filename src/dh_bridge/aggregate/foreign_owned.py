"""Aspects that another connector of DataHub owns: in the identity modes with its ids, the bridge does not write them.

Beside DataHub's Airflow plugin and dbt source only missing aspects are written: both sides replace whole aspects, and would
overwrite each other. One id of the plugin covers all tries and mapped indexes of a task, and only events with the facet
``airflow`` have it. Runs that other events name by OpenLineage's id are matched here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.identity.runs import normalize_run_id
from dh_bridge.model.facts import FOREIGN_CHECK, MERGED_OPERATION, PARENT, RUN_ALIAS, UPSTREAM_RUN
from dh_bridge.model.fold import add_facts, merge_elements, value
from dh_bridge.model.job import AIRFLOW, DBT, ENDPOINT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.aggregate.run_history import History
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.identity import Job
    from dh_bridge.model.run_state import RunState
    from dh_bridge.openlineage.events import Event
    from dh_bridge.options import Options
    from dh_bridge.settings.identity import IdentitySettings

_RELATIONSHIPS = "dataProcessInstanceRelationships"
_RUN_ASPECTS = ("dataProcessInstanceProperties", _RELATIONSHIPS, "dataProcessInstanceRunEvent")
_JOB_ASPECTS = ("dataJobInfo", "dataFlowInfo", "dataJobInputOutput", "ownership", "globalTags", "dataTransformLogic")
_EDGES = "dataJobInputOutput"
#: Relationships of a run that DataHub's endpoint does not write
_ENDPOINT_OMISSIONS = (f"{_RELATIONSHIPS}.parentInstance", f"{_RELATIONSHIPS}.upstreamInstances")


def add_alias(event: Event, state: RunState, ctx: FacetContext) -> None:
    """Add facts for the alias of a run that has the id of a connector, and for the check that a connector owns."""
    alias_urn = ctx.options.identity.run_urn(event.namespace, event.name, event.run_id)
    if alias_urn != state.urn:
        add_facts(state.facts, ((state.urn, RUN_ALIAS, alias_urn, normalize_run_id(event.run_id)),), ctx.version)
    check = ctx.identity.check_urn()
    if check is not None:
        add_facts(state.facts, ((state.urn, FOREIGN_CHECK, check, None),), ctx.version)


def merge_aliases(states: list[RunState]) -> list[RunState]:
    """Return the states, one for each run even if it has two ids, with the ids of parents as they are written."""
    aliases = _aliases(states)
    if not aliases:
        return states
    unique_states = []
    for state in states:
        target = aliases.get(state.urn)
        if target is None or target is state:
            unique_states.append(state)
        else:
            _merge_alias(target, state)
    urns = {alias: target.urn for alias, target in aliases.items()}
    for state in unique_states:
        rewrite_run_urns(state, urns)
        run_aliases = state.facts.get(state.urn, {}).get(RUN_ALIAS)
        if run_aliases:  # of several tries, the last one names the run
            state.run_id = max(run_aliases.values())[1]
    return unique_states


def states_by_key(states: Iterable[RunState]) -> dict[str, RunState]:
    """Return closed runs by the keys of their events; a run with two ids has two keys."""
    all_states = list(states)
    return {**_aliases(all_states), **{state.key: state for state in all_states}}


def _aliases(states: list[RunState]) -> dict[str, RunState]:
    """Return runs by their aliases; of two runs with one alias the first by URN."""
    ordered = sorted(states, key=lambda state: state.urn, reverse=True)
    return {alias: state for state in ordered for alias in state.facts.get(state.urn, {}).get(RUN_ALIAS, ())}


def drop_foreign_aspects(
    proposals: Iterator[Proposal], states: list[RunState], histories: list[History], options: Options
) -> Iterator[Proposal]:
    """Return the proposals without foreign-owned aspects and without runs of jobs that a rule skips."""
    if options.identity.has_skip_rules:
        skipped_runs = {
            state.urn for state in states if (job := state.job()) is not None and job.skip and job.foreign_owner is None
        }
        proposals = (proposal for proposal in proposals if proposal.entity_urn not in skipped_runs)
    return (
        proposals
        if options.settings.identity.has_default_ids
        else _drop_connector_aspects(proposals, states, histories, options)
    )


def _drop_connector_aspects(
    proposals: Iterator[Proposal], states: list[RunState], histories: list[History], options: Options
) -> Iterator[Proposal]:
    settings = options.settings.identity
    jobs = {state.urn: job for state in states if state.urn and (job := state.job()) is not None and job.foreign_owner}
    linked_urns = {urn for urn, job in jobs.items() if _is_linked(job, settings)}
    checks = {urn for state in states for urn in foreign_checks(state)}
    flow_end = f",{settings.airflow_plugin.cluster})"
    for proposal in proposals:
        urn, aspect = proposal.entity_urn, proposal.aspect_name
        if urn in linked_urns or (urn in checks and aspect != "assertionRunEvent"):
            continue
        if "datahub-airflow-plugin" in settings.mode and _is_written_by_plugin(urn, flow_end):
            if aspect == _EDGES and settings.airflow_plugin.lineage == "patch":
                yield proposal
            continue
        if aspect == _RELATIONSHIPS and urn in jobs and jobs[urn].foreign_owner == ENDPOINT:
            yield upsert(proposal.entity_type, urn, aspect, _endpoint_relationships(proposal.value))
            continue
        yield proposal
    for state, history in zip(states, histories, strict=True):
        # SQL that is merged into a task has no run there
        if state.urn in linked_urns and history.terminals and MERGED_OPERATION not in state.facts.get(state.urn, {}):
            yield from _link_proposals(state, jobs[state.urn], options)


def foreign_checks(state: RunState) -> Iterable[str]:
    """Return the assertions of the run that a connector owns; the bridge writes their results only."""
    return state.facts.get(state.urn, {}).get(FOREIGN_CHECK, ())


def foreign_owned_aspects(state: RunState, options: Options) -> dict[str, str]:
    """Return the foreign-owned aspects of a run and its jobs, with the reason; none by default."""
    settings = options.settings.identity
    if MERGED_OPERATION in state.facts.get(state.urn, {}):
        return dict.fromkeys(_RUN_ASPECTS + _JOB_ASPECTS, "policy:identity.granularity")
    if any(job.foreign_owner == ENDPOINT for job, _ in state.jobs.values()):
        return dict.fromkeys(_ENDPOINT_OMISSIONS, "policy:identity.mode")
    if settings.shares_entities and any(job.foreign_owner in (AIRFLOW, DBT) for job, _ in state.jobs.values()):
        return dict.fromkeys(_RUN_ASPECTS + _JOB_ASPECTS, "policy:identity.mode")
    return {}


def _is_linked(job: Job, settings: IdentitySettings) -> bool:
    """Return whether the connector writes the runs of the job; then the bridge adds only their parents."""
    if job.foreign_owner == DBT:
        return True
    return job.foreign_owner == AIRFLOW and job.level == "job" and settings.airflow_plugin.runs == "links"


def _is_written_by_plugin(urn: str, flow_end: str) -> bool:
    """Whether the plugin writes the flow or job: it writes all of its cluster."""
    if urn.startswith("urn:li:dataFlow:(airflow,"):
        return urn.endswith(flow_end)
    return urn.startswith("urn:li:dataJob:(urn:li:dataFlow:(airflow,") and f"{flow_end}," in urn


def _endpoint_relationships(relationships: dict[str, Any]) -> dict[str, Any]:
    """Return relationships as DataHub's endpoint writes them: the template, and no other run."""
    template = {key: relationships[key] for key in ("parentTemplate",) if key in relationships}
    return {**template, "upstreamInstances": []}


def _link_proposals(state: RunState, job: Job, options: Options) -> Iterator[Proposal]:
    """Yield the relationships of a run that its connector wrote at the start, with the parent, which the connector does not write."""
    registers = state.facts.get(state.urn, {})
    parent, upstream = value(registers, PARENT), sorted(registers.get(UPSTREAM_RUN, {}))
    template = options.identity.template(job, has_io=True)
    if template is None or (parent is None and not upstream):
        return
    relationships: dict[str, Any] = {"parentTemplate": template}
    if parent is not None:
        relationships["parentInstance"] = parent[0]
    yield upsert("dataProcessInstance", state.urn, _RELATIONSHIPS, {**relationships, "upstreamInstances": upstream})


def _merge_alias(state: RunState, alias_state: RunState) -> None:
    """Merge the facts that events state of a run under another id into its state."""
    for entity, registers in alias_state.facts.items():
        target = state.facts.setdefault(state.urn if entity == alias_state.urn else entity, {})
        for fact_kind, elements in registers.items():
            merge_elements(target.setdefault(fact_kind, {}), fact_kind, elements)
    state.events += alias_state.events
    state.collapsed_urns |= alias_state.collapsed_urns
    state.is_single_event = state.is_single_event or alias_state.is_single_event
    for urn, entry in alias_state.jobs.items():
        state.jobs[urn] = max(state.jobs.get(urn, entry), entry, key=lambda candidate: candidate[1])


def rewrite_run_urns(state: RunState, urns: dict[str, str]) -> None:
    """Replace the ids of the parent and the upstream runs by those that are written."""
    registers = state.facts.get(state.urn, {})
    if PARENT in registers:
        version, (parent, *job) = registers[PARENT][""]
        registers[PARENT][""] = (version, (urns.get(parent, parent), *job))
    if UPSTREAM_RUN in registers:
        registers[UPSTREAM_RUN] = {urns.get(run, run): versioned for run, versioned in registers[UPSTREAM_RUN].items()}
