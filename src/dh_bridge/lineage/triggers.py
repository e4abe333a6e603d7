"""The jobs that started a job, as upstream jobs: with `identity.parent_job_edge`.

By itself a parent is containment, not the flow of data. Edges run between dataJobs of different flows: from an Airflow task to the
application that it submits, and from a task that triggers a DAG to the tasks with which that DAG begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.airflow import nested_object
from dh_bridge.identity.hints import decode_facet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.identity import Job


def parent_job(namespace: str, name: str, run: dict[str, Any], job: dict[str, Any], ctx: FacetContext) -> Job | None:
    """Return the job of a parent, of which facets ``run`` and ``job`` are forwarded; None if it is unknown."""
    return ctx.identity.parent(namespace, name, referrer=ctx.job, integration=_integration(run, job)) if name else None


def job_edge_owner(ctx: FacetContext) -> str:
    """Return the entity for edges of the event's job: the flow of a flow-level job, because its dataJob may not exist."""
    return ctx.owner_urn if ctx.job is not None and (ctx.job.level == "flow" or ctx.job.placeholder) else ctx.task_urn


def parent_edge_source(ctx: FacetContext) -> str | None:
    """Return the dataJob of another flow that the event names as its parent; None without one."""
    if ctx.job is None or not ctx.options.settings.identity.parent_job_edge:
        return None
    parent_facet = decode_facet(ctx.event.run_facets, "parent") or decode_facet(ctx.event.run_facets, "parentRun")
    run, job = nested_object(parent_facet, "run"), nested_object(parent_facet, "job")
    namespace, name = str(job.get("namespace") or ""), str(job.get("name") or "")
    return _other_flow_job_urn(
        parent_job(namespace, name, nested_object(run, "facets"), nested_object(job, "facets"), ctx), ctx.job
    )


def trigger_jobs(ctx: FacetContext) -> Iterator[str]:
    """Yield the dataJobs of other flows that started the event's job: its parent's, and those that its dependencies name."""
    if ctx.job is None or not ctx.options.settings.identity.parent_job_edge:
        return
    parent = parent_edge_source(ctx)
    if parent is not None:
        yield parent
    for dependency in _upstream_dependencies(ctx):
        job = nested_object(dependency, "job")
        namespace, name = str(job.get("namespace") or ""), str(job.get("name") or "")
        upstream_urn = _other_flow_job_urn(
            ctx.identity.reference(namespace, name, referrer=ctx.job) if name else None, ctx.job
        )
        if upstream_urn is not None:
            yield upstream_urn


def _other_flow_job_urn(job: Job | None, own_job: Job) -> str | None:
    """Return the URN of a dataJob that is not of the own flow: there, a parent is containment."""
    if job is None or job.level != "job" or job.placeholder or job.skip or job.flow_urn == own_job.flow_urn:
        return None
    return job.job_urn


def _upstream_dependencies(ctx: FacetContext) -> list[dict[str, Any]]:
    dependencies = decode_facet(ctx.event.run_facets, "jobDependencies").get("upstream")
    return (
        [dependency for dependency in dependencies if isinstance(dependency, dict)]
        if isinstance(dependencies, list)
        else []
    )


def _integration(run: dict[str, Any], job: dict[str, Any]) -> str:
    """Return the integration of the parent from the forwarded facets, "" if they do not state it."""
    if "airflow" in run:
        return "airflow"
    integration = nested_object(job, "jobType").get("integration") or nested_object(run, "processing_engine").get(
        "name"
    )
    return integration if isinstance(integration, str) else ""
