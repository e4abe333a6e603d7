"""What modes other than the default read of an event besides its names: facets that tell more, where they are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.openlineage.events import Event

RunReference = tuple[str, str, str]
"""Job namespace, job name, run id."""

_decode = msgspec.json.Decoder().decode


class Task(NamedTuple):
    """What Airflow's facet says: ids of the DAG and the task, and Airflow's own id of the DAG run."""

    dag_id: str | None = None
    task_id: str | None = None
    dag_run: str | None = None


class Node(NamedTuple):
    """What the facet ``dbt_node`` says of a dbt node."""

    unique_id: str
    database: str | None = None
    schema: str | None = None
    alias: str | None = None


class Hints(NamedTuple):
    """The names of an event's job and run, and what its facets say of them; ``run_id`` is None without a run."""

    namespace: str
    name: str
    producer: str | None = None
    run_id: str | None = None
    engine: str | None = None
    job_type: str | None = None
    integration: str | None = None
    parent: RunReference | None = None
    root: RunReference | None = None
    upstream: tuple[RunReference, ...] = ()
    task: Task = Task()
    parent_task: Task = Task()
    node: Node | None = None
    invocation: str | None = None


def hints(event: Event) -> Hints:
    """Return what ``event`` tells; a facet that is missing or malformed tells nothing."""
    run, job = event.run_facets, event.job_facets
    kind = facet(job, "jobType")
    parent = facet(run, "parent") or facet(run, "parentRun")
    upstream = facet(run, "jobDependencies").get("upstream")
    references = [reference(one) for one in (upstream if isinstance(upstream, list) else ())]
    return Hints(
        event.namespace,
        event.name,
        event.producer,
        event.run_id if event.kind == "run" else None,
        engine=_text(facet(run, "processing_engine").get("name")),
        job_type=_text(kind.get("jobType")),
        integration=_text(kind.get("integration")),
        parent=reference(parent),
        root=reference(parent.get("root")),
        upstream=tuple(found for found in references if found is not None),
        task=task(facet(run, "airflow")),
        parent_task=task(_member(_member(_member(parent, "run"), "facets"), "airflow")),
        node=node(facet(job, "dbt_node")),
        invocation=_text(facet(run, "dbt_run").get("invocation_id")),
    )


def facet(facets: Mapping[str, msgspec.Raw], key: str) -> dict[str, Any]:
    """Return a facet as an object, empty when it is none."""
    raw = facets.get(key)
    if raw is None:
        return {}
    try:
        found = _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def reference(part: Any) -> RunReference | None:
    """Return the run that ``{"job": {...}, "run": {...}}`` names, None when it names none."""
    run, job = _member(part, "run"), _member(part, "job")
    if not isinstance(run.get("runId"), str) or not run["runId"]:
        return None
    return str(job.get("namespace") or ""), str(job.get("name") or ""), run["runId"]


def task(body: dict[str, Any]) -> Task:
    """Return what the facet ``airflow`` says."""
    return Task(
        _text(_member(body, "dag").get("dag_id")),
        _text(_member(body, "task").get("task_id")),
        _text(_member(body, "dagRun").get("run_id")),
    )


def node(body: dict[str, Any]) -> Node | None:
    """Return what the facet ``dbt_node`` says, None without a unique id."""
    unique_id = _text(body.get("unique_id"))
    if unique_id is None:
        return None
    return Node(unique_id, _text(body.get("database")), _text(body.get("schema")), _text(body.get("alias")))


def _member(body: Any, key: str) -> dict[str, Any]:
    found = body.get(key) if isinstance(body, dict) else None
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
