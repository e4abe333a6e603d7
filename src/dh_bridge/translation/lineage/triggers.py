"""The jobs that started a job, as upstream jobs: with `identity.parent_job_edge`.

By itself a parent is containment, not the flow of data. Edges run between dataJobs of different flows: from an Airflow task to the
application that it submits, and from a task that triggers a DAG to the tasks with which that DAG begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.identity.hints import facet
from dh_bridge.translation.reading.airflow import part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.context import Place
    from dh_bridge.translation.identity import Job


def parent_job(namespace: str, name: str, run: dict[str, Any], job: dict[str, Any], at: Place) -> Job | None:
    """Return the job of a parent, of which facets ``run`` and ``job`` are forwarded; None: nobody can tell."""
    return at.identity.parent(namespace, name, near=at.job, integration=_integration(run, job)) if name else None


def own_task(at: Place) -> str:
    """Return the entity for edges of the event's own job: of a flow the flow itself, as its dataJob may not exist."""
    return at.owner if at.job is not None and (at.job.level == "flow" or at.job.placeholder) else at.task


def started_by(at: Place) -> str | None:
    """Return the dataJob of another flow that the event names as its parent; None without one."""
    if at.job is None or not at.options.settings.identity.parent_job_edge:
        return None
    said = facet(at.event.run_facets, "parent") or facet(at.event.run_facets, "parentRun")
    run, job = part(said, "run"), part(said, "job")
    namespace, name = str(job.get("namespace") or ""), str(job.get("name") or "")
    return _elsewhere(parent_job(namespace, name, part(run, "facets"), part(job, "facets"), at), at.job)


def triggers(at: Place) -> Iterator[str]:
    """Yield the dataJobs of other flows that started the event's job: its parent's, and those that its dependencies name."""
    if at.job is None or not at.options.settings.identity.parent_job_edge:
        return
    parent = started_by(at)
    if parent is not None:
        yield parent
    for one in _upstream(at):
        job = part(one, "job")
        namespace, name = str(job.get("namespace") or ""), str(job.get("name") or "")
        found = _elsewhere(at.identity.reference(namespace, name, near=at.job) if name else None, at.job)
        if found is not None:
            yield found


def _elsewhere(found: Job | None, own: Job) -> str | None:
    """Return the URN of a dataJob that is not of the own flow: there, a parent is containment."""
    if found is None or found.level != "job" or found.placeholder or found.skip or found.flow_urn == own.flow_urn:
        return None
    return found.job_urn


def _upstream(at: Place) -> list[dict[str, Any]]:
    found = facet(at.event.run_facets, "jobDependencies").get("upstream")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _integration(run: dict[str, Any], job: dict[str, Any]) -> str:
    """Return what the forwarded facets say the parent is of, "" when they do not."""
    if "airflow" in run:
        return "airflow"
    said = part(job, "jobType").get("integration") or part(run, "processing_engine").get("name")
    return said if isinstance(said, str) else ""
