"""jobDependencies (run): which jobs and runs come before and after.

https://openlineage.io/docs/spec/facets/run-facets/job_dependencies
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import JOB_EDGE, JOB_PROPERTIES, RUN_PROPERTIES, UPSTREAM_RUN, Statements
from dh_bridge.translation.lineage.triggers import own_task
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.properties import worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


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
    """What comes before, what comes after, and when the job runs."""

    upstream: list[Dependency] | None = None
    downstream: list[Dependency] | None = None
    trigger_rule: str | None = None


_RULES = ("dependency_type", "type", "sequence_trigger_rule", "status_trigger_rule")
_UPSTREAM = RUN_PROPERTIES["jobDependencies.upstream"]
_KEPT = kept()


@facet(
    "jobDependencies",
    at="run",
    reads=JobDependencies,
    leaves={
        "upstream[].job.namespace": mapped(JOB_EDGE),
        "upstream[].job.name": mapped(JOB_EDGE),
        "upstream[].run.runId": mapped(UPSTREAM_RUN),
        **{f"upstream[].{rule}": kept(JOB_EDGE["*"]) for rule in _RULES},
        "downstream[].job.namespace": _KEPT,
        "downstream[].job.name": _KEPT,
        "downstream[].run.runId": _KEPT,
        **{f"downstream[].{rule}": _KEPT for rule in _RULES},
        "trigger_rule": kept(RUN_PROPERTIES, JOB_PROPERTIES),
    },
)
def job_dependencies(facet: JobDependencies, at: Place) -> Statements:
    """Upstream jobs as edges, upstream runs as upstreamInstances; flows, and what comes after, as properties of the run.

    Edges end at dataJobs only. What comes after is left to the events of those jobs, which say the same.
    """
    properties: dict[str, str] = {}
    loose: list[dict[str, Any]] = []
    for position, one in enumerate(facet.upstream or ()):
        upstream = _job(one, at)
        if upstream is not None and upstream == at.task:
            at.withheld(f"upstream[{position}]", "no-home:the job itself")
            continue
        if upstream is not None:
            yield own_task(at), JOB_EDGE, upstream, _edge(one)
        if upstream is None or not _has_edges(at):
            loose.append(_plain(one))
            at.reached(f"upstream[{position}]", _UPSTREAM)
        run = _run(one, at)
        if run == at.run:
            at.withheld(f"upstream[{position}].run.runId", "duplicate-of:run.runId")
        elif run is not None:
            yield at.run, UPSTREAM_RUN, run, None
    downstream = [_plain(one) for one in facet.downstream or ()]
    for key, plain in (("upstream", loose), ("downstream", downstream)):
        written = kept_text(f"jobDependencies.{key}", [one for one in plain if one]) if any(plain) else None
        if written is not None:
            properties[f"jobDependencies.{key}"] = written
    if facet.trigger_rule:
        rule = {"jobDependencies.trigger_rule": worded("jobDependencies.trigger_rule", facet.trigger_rule)}
        properties.update(rule)
        if at.owner:
            yield at.owner, JOB_PROPERTIES, "jobDependencies", rule
    if properties:
        yield property_statement(at, properties)


def _has_edges(at: Place) -> bool:
    """Whether the run's own job has a dataJob for edges: a flow-level job has its twin only with inputs or outputs."""
    job = at.job
    return job is not None and at.identity.has_job(job, has_io=bool(at.event.inputs or at.event.outputs))


def _job(one: Dependency, at: Place) -> str | None:
    """Return the dataJob URN of a dependency; None when it is a flow, or nobody can tell."""
    if one.job is None or not one.job.name or at.job is None:
        return None
    job = at.identity.reference(one.job.namespace or "", one.job.name, near=at.job)
    if job is None or job.level == "flow" or job.placeholder or job.skip:
        return None
    return job.job_urn


def _run(one: Dependency, at: Place) -> str | None:
    if one.run is None or not one.run.runId:
        return None
    job = one.job or JobIdentifier()
    return at.identity.run_urn(job.namespace or "", job.name or "", one.run.runId)


def _edge(one: Dependency) -> dict[str, str]:
    return {
        f"jobDependencies.{rule}": written
        for rule, said in _rules(one).items()
        if (written := kept_text(f"jobDependencies.{rule}", said)) is not None
    }


def _rules(one: Dependency) -> dict[str, str]:
    found = {
        "dependency_type": one.dependency_type or one.type,
        "sequence_trigger_rule": one.sequence_trigger_rule,
        "status_trigger_rule": one.status_trigger_rule,
    }
    return {rule: word for rule, word in found.items() if word}


def _plain(one: Dependency) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if one.job is not None:
        found["job"] = {"namespace": one.job.namespace or "", "name": one.job.name or ""}
    if one.run is not None and one.run.runId:
        found["run"] = {"runId": one.run.runId}
    return {**found, **_rules(one)}
