"""jobDependencies (run): which jobs and runs come before and after.

https://openlineage.io/docs/spec/facets/run-facets/job_dependencies
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.lineage.triggers import job_edge_owner
from dh_bridge.model.facts import JOB_EDGE, JOB_PROPERTIES, RUN_PROPERTIES, UPSTREAM_RUN, Facts
from dh_bridge.model.properties import present_property_text, property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class JobIdentifier(Facet):
    """A job."""

    namespace: str | None = None
    name: str | None = None


class RunIdentifier(Facet):
    """A run."""

    runId: str | None = None


class Dependency(Facet):
    """A job, perhaps its run, and under which conditions; ``type`` is how some write ``dependency_type``."""

    job: JobIdentifier | None = None
    run: RunIdentifier | None = None
    dependency_type: str | None = None
    type: str | None = None
    sequence_trigger_rule: str | None = None
    status_trigger_rule: str | None = None


class JobDependencies(Facet):
    """The upstream and downstream jobs, and the schedule of the job."""

    upstream: list[Dependency] | None = None
    downstream: list[Dependency] | None = None
    trigger_rule: str | None = None


_RULE_FIELDS = ("dependency_type", "type", "sequence_trigger_rule", "status_trigger_rule")
_UPSTREAM = RUN_PROPERTIES["jobDependencies.upstream"]
_PROPERTY_OUTCOME = as_property()


@facet(
    "jobDependencies",
    attach="run",
    struct=JobDependencies,
    outcomes={
        "upstream[].job.namespace": mapped(JOB_EDGE),
        "upstream[].job.name": mapped(JOB_EDGE),
        "upstream[].run.runId": mapped(UPSTREAM_RUN),
        **{f"upstream[].{rule}": as_property(JOB_EDGE["*"]) for rule in _RULE_FIELDS},
        "downstream[].job.namespace": _PROPERTY_OUTCOME,
        "downstream[].job.name": _PROPERTY_OUTCOME,
        "downstream[].run.runId": _PROPERTY_OUTCOME,
        **{f"downstream[].{rule}": _PROPERTY_OUTCOME for rule in _RULE_FIELDS},
        "trigger_rule": as_property(RUN_PROPERTIES, JOB_PROPERTIES),
    },
)
def job_dependencies(facet: JobDependencies, ctx: FacetContext) -> Facts:
    """Upstream jobs are edges between jobs, upstream runs are upstreamInstances. Flows and downstream jobs are properties of the run.

    Edges end at dataJobs only. Downstream jobs get no edge here: their own events contain the same dependency.
    """
    properties: dict[str, str] = {}
    unlinked: list[dict[str, Any]] = []
    for position, dependency in enumerate(facet.upstream or ()):
        upstream = _job_urn(dependency, ctx)
        if upstream is not None and upstream == ctx.task_urn:
            ctx.note_dropped(f"upstream[{position}]", "no-field:the job itself")
            continue
        if upstream is not None:
            yield job_edge_owner(ctx), JOB_EDGE, upstream, _edge_properties(dependency)
        if upstream is None or not _has_edges(ctx):
            unlinked.append(_as_dict(dependency))
            ctx.note_outcome(f"upstream[{position}]", _UPSTREAM)
        run_urn = _run_urn(dependency, ctx)
        if run_urn == ctx.run_urn:
            ctx.note_dropped(f"upstream[{position}].run.runId", "duplicate-of:run.runId")
        elif run_urn is not None:
            yield ctx.run_urn, UPSTREAM_RUN, run_urn, None
    downstream = [_as_dict(dependency) for dependency in facet.downstream or ()]
    for key, entries in (("upstream", unlinked), ("downstream", downstream)):
        value_text = (
            property_text(f"jobDependencies.{key}", [dependency for dependency in entries if dependency])
            if any(entries)
            else None
        )
        if value_text is not None:
            properties[f"jobDependencies.{key}"] = value_text
    if facet.trigger_rule:
        rule = {
            "jobDependencies.trigger_rule": present_property_text("jobDependencies.trigger_rule", facet.trigger_rule)
        }
        properties.update(rule)
        if ctx.owner_urn:
            yield ctx.owner_urn, JOB_PROPERTIES, "jobDependencies", rule
    if properties:
        yield property_fact(ctx, properties)


def _has_edges(ctx: FacetContext) -> bool:
    """Whether the run's own job has a dataJob for edges: a flow-level job has a flow job only with inputs or outputs."""
    job = ctx.job
    return job is not None and ctx.identity.has_job(job, has_io=bool(ctx.event.inputs or ctx.event.outputs))


def _job_urn(dependency: Dependency, ctx: FacetContext) -> str | None:
    """Return the dataJob URN of a dependency; None if it is a flow, or unknown."""
    if dependency.job is None or not dependency.job.name or ctx.job is None:
        return None
    job = ctx.identity.reference(dependency.job.namespace or "", dependency.job.name, referrer=ctx.job)
    if job is None or job.level == "flow" or job.placeholder or job.skip:
        return None
    return job.job_urn


def _run_urn(dependency: Dependency, ctx: FacetContext) -> str | None:
    if dependency.run is None or not dependency.run.runId:
        return None
    job = dependency.job or JobIdentifier()
    return ctx.identity.run_urn(job.namespace or "", job.name or "", dependency.run.runId)


def _edge_properties(dependency: Dependency) -> dict[str, str]:
    return {
        f"jobDependencies.{rule}": value_text
        for rule, value in _rules(dependency).items()
        if (value_text := property_text(f"jobDependencies.{rule}", value)) is not None
    }


def _rules(dependency: Dependency) -> dict[str, str]:
    rules = {
        "dependency_type": dependency.dependency_type or dependency.type,
        "sequence_trigger_rule": dependency.sequence_trigger_rule,
        "status_trigger_rule": dependency.status_trigger_rule,
    }
    return {rule: value for rule, value in rules.items() if value}


def _as_dict(dependency: Dependency) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if dependency.job is not None:
        entry["job"] = {"namespace": dependency.job.namespace or "", "name": dependency.job.name or ""}
    if dependency.run is not None and dependency.run.runId:
        entry["run"] = {"runId": dependency.run.runId}
    return {**entry, **_rules(dependency)}
