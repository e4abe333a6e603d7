"""parent (run): the run that started this one. https://openlineage.io/docs/spec/facets/run-facets/parent_run"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.airflow import nested_object
from dh_bridge.facet_support.facet_spec import Facet, as_property, dropped, facet, mapped, property_fact
from dh_bridge.identity.hints import decode_facet
from dh_bridge.identity.runs import normalize_run_id
from dh_bridge.lineage.triggers import job_edge_owner, parent_edge_source, parent_job
from dh_bridge.model.facts import (
    CANDIDATE_RUN,
    IMPLIED_PARENT_JOB,
    IMPLIED_PARENT_NAME,
    IMPLIED_PARENT_RUN,
    JOB_EDGE,
    JOB_PROPERTIES,
    PARENT,
    PARENT_CANDIDATE,
    RUN_PROPERTIES,
    RUN_TYPE,
    Facts,
)
from dh_bridge.model.precedence import TYPE_INHERITED
from dh_bridge.model.properties import present_property_text, property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class RunReference(Facet):
    """A run reference, with the facets that were forwarded."""

    runId: str = ""
    facets: dict[str, Any] | None = None


class JobReference(Facet):
    """A job reference, with the facets that were forwarded."""

    namespace: str = ""
    name: str = ""
    facets: dict[str, Any] | None = None


class Root(Facet):
    """The outermost run."""

    run: RunReference | None = None
    job: JobReference | None = None


class Parent(Facet):
    """The parent's run and job, and the root's."""

    run: RunReference | None = None
    job: JobReference | None = None
    root: Root | None = None


_ROOT_JOB_OUTCOME = as_property(JOB_PROPERTIES, RUN_PROPERTIES)


@facet(
    "parent",
    "parentRun",
    attach="run",
    struct=Parent,
    outcomes={
        "run.runId": mapped(PARENT),
        "job.namespace": mapped(JOB_PROPERTIES, PARENT),
        "job.name": mapped(JOB_PROPERTIES, PARENT),
        "root.run.runId": as_property(RUN_PROPERTIES["root.runId"]),
        "root.job.namespace": _ROOT_JOB_OUTCOME,
        "root.job.name": _ROOT_JOB_OUTCOME,
        "run.facets": dropped("envelope"),
        "job.facets": dropped("envelope"),
        "root.run.facets": dropped("envelope"),
        "root.job.facets": dropped("envelope"),
        "run.facets.**": as_property(),
        "job.facets.**": as_property(),
        "root.run.facets.**": as_property(),
        "root.job.facets.**": as_property(),
    },
)
def parent(facet: Parent, ctx: FacetContext) -> Facts:
    """The parent run is the parentInstance of the run, and not an upstream. The root run and forwarded facets are properties."""
    run, job = facet.run or RunReference(), facet.job or JobReference()
    if run.runId:
        urn = ctx.identity.run_urn(job.namespace, job.name, run.runId)
        if urn == ctx.run_urn:
            # A run is not its own parent.
            ctx.note_dropped("run", "duplicate-of:run.runId")
            ctx.note_dropped("job", "duplicate-of:job.name")
            run, job = RunReference(), JobReference()
        else:
            yield ctx.run_urn, PARENT, "", (urn, job.namespace, job.name)
            if ctx.notes is not None and urn == ctx.identity.run_urn("", "", run.runId):
                for field_name in ("job.namespace", "job.name"):  # the run id alone identifies the run
                    ctx.note_outcome(field_name, JOB_PROPERTIES)
            if ctx.options.has_implied_parents:
                yield from _implied_parent_facts(urn, run, job, ctx)
    properties = _root_properties(facet.root, ctx) if facet.root is not None else {}
    _add_forwarded_facets("parent.run.facets", run.facets, properties)
    _add_forwarded_facets("parent.job.facets", job.facets, properties)
    if properties:
        yield property_fact(ctx, properties)
    ancestor_jobs = {"parent.job": _job_text("parent.job", job)} if job.name else {}
    if "root.job" in properties:
        ancestor_jobs["root.job"] = properties["root.job"]
    if ctx.owner_urn and ancestor_jobs:
        yield ctx.owner_urn, JOB_PROPERTIES, "parent", ancestor_jobs
    yield from _parent_edge_facts(ctx)
    processing_type = nested_object(job.facets or {}, "jobType").get("processingType")
    if isinstance(processing_type, str) and processing_type and ctx.run_urn:
        yield ctx.run_urn, RUN_TYPE, TYPE_INHERITED, processing_type


def _root_properties(root: Root, ctx: FacetContext) -> dict[str, str]:
    """Return the properties with the outermost run."""
    properties: dict[str, str] = {}
    run, job = root.run or RunReference(), root.job or JobReference()
    if run.runId:
        properties["root.runId"] = present_property_text("root.runId", run.runId)
        properties["root.dpi"] = ctx.identity.run_urn(job.namespace, job.name, run.runId)
    if job.name or job.namespace:
        properties["root.job"] = _job_text("root.job", job)
    _add_forwarded_facets("root.run.facets", run.facets, properties)
    _add_forwarded_facets("root.job.facets", job.facets, properties)
    return properties


def _parent_edge_facts(ctx: FacetContext) -> Facts:
    """The edge from the parent's job, by setting."""
    upstream = parent_edge_source(ctx)
    if upstream is not None and ctx.owner_urn:
        yield job_edge_owner(ctx), JOB_EDGE, upstream, {}


def _implied_parent_facts(urn: str, run: RunReference, job: JobReference, ctx: FacetContext) -> Facts:
    """The parent's run, job and flow from the child's event, with low precedence: the parent's own events have more facts."""
    resolved_job = parent_job(job.namespace, job.name, run.facets or {}, job.facets or {}, ctx)
    unresolved = resolved_job is None
    # a run of a task that DataHub's plugin writes has the plugin's id: under this one it is no run of that task
    if resolved_job is not None and ctx.options.identity.has_foreign_runs(resolved_job):
        resolved_job = None
    template = ctx.identity.template(resolved_job, has_io=False) if resolved_job is not None else None
    yield urn, IMPLIED_PARENT_RUN, (normalize_run_id(run.runId), template or ""), ctx.event.time
    dag_run_id = _dag_run_id(job.name, run.facets or {}, ctx)
    if dag_run_id is not None:
        yield urn, IMPLIED_PARENT_NAME, "", dag_run_id
    if unresolved and job.name:
        for rank, candidate in enumerate(ctx.options.identity.parent_candidates(job.namespace, job.name)):
            yield urn, PARENT_CANDIDATE, candidate, rank
            yield candidate, CANDIDATE_RUN, urn, None
    if resolved_job is not None and template:
        yield resolved_job.flow_urn, IMPLIED_PARENT_JOB, "", resolved_job
        if resolved_job.level == "job":
            yield resolved_job.job_urn, IMPLIED_PARENT_JOB, "", resolved_job


def _dag_run_id(parent_name: str, run_facets: dict[str, Any], ctx: FacetContext) -> str | None:
    """Return Airflow's id of the parent's DAG run, by the forwarded facet or that of a task of the DAG; None for other parents."""
    for airflow_facet in (nested_object(run_facets, "airflow"), decode_facet(ctx.event.run_facets, "airflow")):
        dag_id = nested_object(airflow_facet, "dag").get("dag_id")
        run_id = nested_object(airflow_facet, "dagRun").get("run_id")
        if dag_id == parent_name and isinstance(run_id, str) and run_id:
            return run_id
    return None


def _job_text(key: str, job: JobReference) -> str:
    return present_property_text(key, f"{job.namespace}/{job.name}")


def _add_forwarded_facets(key: str, facets: dict[str, Any] | None, properties: dict[str, str]) -> None:
    value_text = property_text(key, facets) if facets else None
    if value_text is not None:
        properties[key] = value_text
