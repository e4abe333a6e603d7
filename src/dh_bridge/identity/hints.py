"""Fields of an event that modes other than the default read besides names: facets with more information, if present."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.openlineage.events import Event

RunReference = tuple[str, str, str]
"""Job namespace, job name, run id."""

_decode = msgspec.json.Decoder().decode


class AirflowTask(NamedTuple):
    """Fields of Airflow's facet: ids of the DAG and the task, and Airflow's own id of the DAG run."""

    dag_id: str | None = None
    task_id: str | None = None
    dag_run: str | None = None


class DbtNode(NamedTuple):
    """Fields of the facet ``dbt_node``."""

    unique_id: str
    database: str | None = None
    schema: str | None = None
    alias: str | None = None


class Hints(NamedTuple):
    """The names of an event's job and run, and the fields of its facets about them; ``run_id`` is None without a run."""

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
    task: AirflowTask = AirflowTask()
    parent_task: AirflowTask = AirflowTask()
    node: DbtNode | None = None
    invocation: str | None = None


def read_hints(event: Event) -> Hints:
    """Return the hints in ``event``; missing and malformed facets have none."""
    run, job = event.run_facets, event.job_facets
    job_type_facet = decode_facet(job, "jobType")
    parent = decode_facet(run, "parent") or decode_facet(run, "parentRun")
    upstream = decode_facet(run, "jobDependencies").get("upstream")
    references = [parse_reference(value) for value in (upstream if isinstance(upstream, list) else ())]
    return Hints(
        event.namespace,
        event.name,
        event.producer,
        event.run_id if event.kind == "run" else None,
        engine=_text(decode_facet(run, "processing_engine").get("name")),
        job_type=_text(job_type_facet.get("jobType")),
        integration=_text(job_type_facet.get("integration")),
        parent=parse_reference(parent),
        root=parse_reference(parent.get("root")),
        upstream=tuple(run_reference for run_reference in references if run_reference is not None),
        task=parse_task(decode_facet(run, "airflow")),
        parent_task=parse_task(_member(_member(_member(parent, "run"), "facets"), "airflow")),
        node=parse_node(decode_facet(job, "dbt_node")),
        invocation=_text(decode_facet(run, "dbt_run").get("invocation_id")),
    )


def decode_facet(facets: Mapping[str, msgspec.Raw], key: str) -> dict[str, Any]:
    """Return a facet as an object; empty if it is not an object."""
    raw = facets.get(key)
    if raw is None:
        return {}
    try:
        content = _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def parse_reference(run_reference: Any) -> RunReference | None:
    """Return the run that ``{"job": {...}, "run": {...}}`` names, None when it names none."""
    run, job = _member(run_reference, "run"), _member(run_reference, "job")
    if not isinstance(run.get("runId"), str) or not run["runId"]:
        return None
    return str(job.get("namespace") or ""), str(job.get("name") or ""), run["runId"]


def parse_task(airflow_facet: dict[str, Any]) -> AirflowTask:
    """Return the fields of the facet ``airflow``."""
    return AirflowTask(
        _text(_member(airflow_facet, "dag").get("dag_id")),
        _text(_member(airflow_facet, "task").get("task_id")),
        _text(_member(airflow_facet, "dagRun").get("run_id")),
    )


def parse_node(dbt_facet: dict[str, Any]) -> DbtNode | None:
    """Return the fields of the facet ``dbt_node``, None without a unique id."""
    unique_id = _text(dbt_facet.get("unique_id"))
    if unique_id is None:
        return None
    return DbtNode(
        unique_id, _text(dbt_facet.get("database")), _text(dbt_facet.get("schema")), _text(dbt_facet.get("alias"))
    )


def _member(container: Any, key: str) -> dict[str, Any]:
    member = container.get(key) if isinstance(container, dict) else None
    return member if isinstance(member, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
