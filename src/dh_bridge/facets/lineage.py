"""Facets of lineage that is stated explicitly, for a job and for a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, facet, mapped, whole_facet_fact
from dh_bridge.lineage.explicit import KEY, NO_SOURCE, ExplicitLineageBuilder
from dh_bridge.lineage.sources import FieldEntry, LineageJob, LineageSource, lineage_endpoint, target_outcomes
from dh_bridge.lineage.transformations import descriptions_of, operation_of
from dh_bridge.model.facts import (
    DATASET,
    DATASET_PROPERTIES,
    IMPLIED_INPUT,
    INPUT,
    LINEAGE_JOB,
    OUTPUT,
    UPSTREAM_RUN,
    UPSTREAM_TOMBSTONE,
    Facts,
)
from dh_bridge.model.run_state import ANY_TASK

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import FactKind
    from dh_bridge.model.trace import FieldTarget


# -- lineage (job): the explicit sources of the job's targets. https://openlineage.io/docs/spec/facets/job-facets/lineage


class LineageTarget(Facet):
    """A dataset or job that something feeds; a job without a name is the event's own."""

    type: str | None = None
    namespace: str | None = None
    name: str | None = None
    runId: str | None = None
    inputs: list[LineageSource] | None = None
    fields: dict[str, FieldEntry] | None = None


class JobLineageFacet(Facet):
    """The targets."""

    entries: list[LineageTarget] | None = None


_TARGET_OUTCOME = mapped(OUTPUT, DATASET)


@facet(
    "lineage",
    attach="job",
    struct=JobLineageFacet,
    outcomes={
        "entries[].type": _TARGET_OUTCOME,
        "entries[].namespace": _TARGET_OUTCOME,
        "entries[].name": _TARGET_OUTCOME,
        "entries[].runId": mapped(UPSTREAM_RUN),
        **target_outcomes("entries[]."),
    },
)
def lineage_job(facet: JobLineageFacet, ctx: FacetContext) -> Facts:
    """Datasets in the facet become inputs and outputs of the job. Jobs in the facet become edges between jobs.

    For the datasets that it names, columnLineage of the same event is not read. Lineage of another job is written to
    that job's edges; lineage of another run, to that run if it is in the same call.
    """
    builder = ExplicitLineageBuilder(ctx)
    for position, entry in enumerate(facet.entries or ()):
        path = f"entries[{position}]"
        kind = (entry.type or ("DATASET" if entry.name else "JOB")).upper()
        if kind == "DATASET":
            _add_dataset(builder, entry, path)
        elif kind == "JOB":
            _add_job(builder, entry, path)
        else:
            ctx.note_dropped(path, "malformed")
    yield from builder.build_facts()


def _add_dataset(builder: ExplicitLineageBuilder, entry: LineageTarget, path: str) -> None:
    ctx = builder.ctx
    target_name = ctx.dataset_name(entry.namespace, entry.name)
    if target_name.endpoint is None or not entry.name:
        ctx.note_dropped(path, target_name.skip or "malformed")
        return
    ctx.note_dataset(path, target_name.endpoint)
    if entry.runId:
        ctx.note_dropped(f"{path}.runId", "no-field:a dataset has no run")
    builder.add_dataset(target_name, entry.inputs, entry.fields, f"{path}.")


def _add_job(builder: ExplicitLineageBuilder, entry: LineageTarget, path: str) -> None:
    """Add what feeds a job: this run of this job, another run, or another job."""
    ctx = builder.ctx
    target_job = builder.resolve_job(entry, path)
    if target_job is None:
        return
    if not entry.inputs:
        ctx.note_dropped(path, "no-field:no inputs")
        return
    if entry.fields:
        ctx.note_dropped(f"{path}.fields", "no-field:a job has no columns")
    is_own_run = target_job.is_own and target_job.run in ("", ctx.run_urn)
    if is_own_run and target_job.run:
        ctx.note_dropped(f"{path}.runId", "duplicate-of:run.runId")
    edge_targets: set[FactKind] = set()
    for position, source in enumerate(entry.inputs):
        source_path = f"{path}.inputs[{position}]"
        if not is_own_run:
            edge_targets |= _add_foreign_source(builder, target_job, entry, source, source_path)
        elif source.is_job:
            edge_targets |= (
                {LINEAGE_JOB} if builder.add_job_source(target_job.endpoint, source, source_path) is not None else set()
            )
        else:
            edge_targets |= _add_run_input(builder, target_job, source, source_path)
    property_targets = builder.property_targets("jobs")
    for field_name in ("type", "namespace", "name"):
        ctx.note_outcome(f"{path}.{field_name}", *_sorted(edge_targets), *property_targets)
    if entry.runId and not is_own_run:
        ctx.note_outcome(f"{path}.runId", *property_targets)


def _add_run_input(
    builder: ExplicitLineageBuilder, target_job: LineageJob, source: LineageSource, path: str
) -> set[FactKind]:
    """Add a dataset that feeds this run of this job; return which edges that makes."""
    ctx = builder.ctx
    source_name = builder.resolve_dataset(source, path)
    if source_name is None or source_name.endpoint is None:
        return set()
    for field_name in ("type", "namespace", "name"):
        ctx.note_outcome(f"{path}.{field_name}", INPUT)
    if source_name.endpoint not in ctx.inputs:
        builder.facts.append((ctx.task_urn, INPUT, source_name.endpoint, ctx.version[0]))
    builder.add_dataset_name(source_name)
    builder.add_target_source(source_name, source, path, target_job.label)
    return {INPUT}


def _add_foreign_source(
    builder: ExplicitLineageBuilder, target_job: LineageJob, entry: LineageTarget, source: LineageSource, path: str
) -> set[FactKind]:
    """Add the sources of another job, or of another run of this one; this run also stores the whole statement.

    Return which edges that makes.
    """
    ctx = builder.ctx
    task = ctx.task_urn if target_job.is_own else target_job.urn
    edge_targets: set[FactKind] = set()
    if source.is_job:
        source_job = builder.resolve_job(source, path)
        if source_job is None:
            return edge_targets
        upstream = source_job.endpoint
        if builder.add_job_edge(task, source_job):
            edge_targets.add(LINEAGE_JOB)
        if target_job.run and source_job.run not in ("", target_job.run):
            builder.facts.append((target_job.run, UPSTREAM_RUN, source_job.run, None))
    else:
        source_name = builder.resolve_dataset(source, path)
        if source_name is None or source_name.endpoint is None:
            return edge_targets
        upstream = lineage_endpoint(source_name, source.field or None)
        builder.add_dataset_name(source_name)
        for entity in (task, target_job.run):
            if entity and entity != ANY_TASK:
                builder.facts.append((entity, IMPLIED_INPUT, source_name.endpoint, ctx.version[0]))
        if task and task != ANY_TASK:
            edge_targets.add(IMPLIED_INPUT)
    attributes = {
        "transformations": operation_of(source.transformations),
        "description": descriptions_of(source.transformations),
        "runId": source.runId,
        "targetRunId": entry.runId,
    }
    builder.add_property_member(
        "jobs", target_job.endpoint.edge_key(upstream), {key: value for key, value in attributes.items() if value}
    )
    _note_foreign_source(ctx, path, builder.property_targets("jobs"), edge_targets, is_dataset=not source.is_job)
    return edge_targets


def _note_foreign_source(
    ctx: FacetContext, path: str, property_targets: list[FieldTarget], edge_targets: set[FactKind], *, is_dataset: bool
) -> None:
    """Note for the report where the fields of a source of another job or run went; their rows describe this job's."""
    ctx.note_outcome(path, *property_targets)
    for field_name in ("type", "namespace", "name") if edge_targets else ("namespace", "name") if is_dataset else ():
        ctx.note_outcome(
            f"{path}.{field_name}", *(_sorted(edge_targets) or (*property_targets, DATASET_PROPERTIES[field_name]))
        )


def _sorted(edges: set[FactKind]) -> list[FactKind]:
    """Return kinds of edges in an order that does not change from run to run."""
    return sorted(edges, key=lambda kind: kind.name)


# -- lineage (dataset): the explicit sources of this dataset. https://openlineage.io/docs/spec/facets/dataset-facets/lineage


class DatasetLineageFacet(Facet):
    """Sources of the whole dataset (an empty list: it has none), and of each of its columns."""

    inputs: list[LineageSource] | None = None
    fields: dict[str, FieldEntry] | None = None


def _retract(_: dict[str, Any], ctx: FacetContext) -> Facts:
    if ctx.role != "input":
        yield ctx.dataset_urn, UPSTREAM_TOMBSTONE, KEY, None
        yield ctx.dataset_urn, DATASET_PROPERTIES, NO_SOURCE, {}


@facet("lineage", attach="dataset", struct=DatasetLineageFacet, retract=_retract, outcomes=target_outcomes())
def lineage_dataset(facet: DatasetLineageFacet, ctx: FacetContext) -> Facts:
    """Edges between datasets and jobs, and pairs of columns. The facet replaces columnLineage. An empty ``inputs`` removes the upstreams of the dataset.

    A dataset event writes upstreamLineage. The facet of an input becomes one property, as a run reports the lineage of its outputs.
    """
    assert ctx.name is not None  # noqa: S101 - a facet of a dataset is read
    if ctx.role == "input":
        yield whole_facet_fact(ctx)
        return
    builder = ExplicitLineageBuilder(ctx)
    builder.add_dataset(ctx.name, facet.inputs, facet.fields)
    yield from builder.build_facts()
