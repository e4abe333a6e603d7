"""Sources and targets of explicit lineage: how they are read, and where their fields go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.urns import schema_field_urn
from dh_bridge.facet_support.facet_spec import Facet, FieldOutcome, as_property, mapped
from dh_bridge.lineage.transformations import Transformation, descriptions_of
from dh_bridge.model.facts import (
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    FINE_LINEAGE,
    INDIRECT,
    INPUT,
    INPUT_FIELD,
    JOB_PROPERTIES,
    LINEAGE_JOB,
    OUTPUT,
    UPSTREAM,
    UPSTREAM_FIELD,
    UPSTREAM_PROPERTY,
    UPSTREAM_RUN,
)

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.identity import Job
    from dh_bridge.model.properties import MemberKey
    from dh_bridge.model.trace import FieldTarget
    from dh_bridge.naming import Name


class LineageSource(Facet):
    """A dataset or job that feeds a target: ``type`` is DATASET or JOB; a job without a name is the event's own."""

    type: str | None = None
    namespace: str | None = None
    name: str | None = None
    field: str | None = None
    runId: str | None = None
    transformations: list[Transformation] | None = None

    @property
    def is_job(self) -> bool:
        """Whether it is a job. The parts of a source without a type decide."""
        return (self.type or ("DATASET" if self.name else "JOB")).upper() == "JOB"


class FieldEntry(Facet):
    """What one column of the target was made of."""

    inputs: list[LineageSource] | None = None


class LineageEndpoint(NamedTuple):
    """Where lineage begins or ends: its label and its URN. The name of a job is both."""

    label: str
    urn: str

    def edge_key(self, source: LineageEndpoint) -> MemberKey:
        """Return the key of the property for the edge from ``source``."""
        return f"{self.label}<-{source.label}", self.urn, source.urn


class LineageJob(NamedTuple):
    """A job that lineage names: as text for people, its identity, its run; ``is_own`` is the event's own job."""

    label: str
    job: Job | None
    run: str
    is_own: bool

    @property
    def urn(self) -> str:
        """The dataJob that edges may point at; "" for a flow (its dataJob may not exist) and if lineage is off."""
        job = self.job
        if job is None or job.level != "job" or job.placeholder or job.skip or job.shared:
            return ""
        return job.job_urn

    @property
    def endpoint(self) -> LineageEndpoint:
        """Its label in properties."""
        return LineageEndpoint(self.label, self.label)


def _property_targets(name: str) -> FieldOutcome:
    return as_property(JOB_PROPERTIES[name], DATASET_PROPERTIES[name])


#: A source of the job, or of anything that it makes, is an input of its run, too.
_EDGE = mapped(UPSTREAM, INPUT)
_INDIRECT = mapped(UPSTREAM_PROPERTY[INDIRECT], EDGE_PROPERTIES[INDIRECT])
_PAIR = mapped(UPSTREAM_FIELD, FINE_LINEAGE)
_FIELD = mapped(UPSTREAM, INPUT_FIELD)
_PAIR_AND_EDGE = mapped(*_PAIR.targets, *_EDGE.targets)
DESCRIPTION_OUTCOME = _property_targets("lineage.descriptions")


def target_outcomes(path_prefix: str = "") -> dict[str, FieldOutcome]:
    """Return the rows of a target's fields: its ``inputs`` and ``fields``; ``path_prefix`` is the path of the target."""
    inputs_path, column_inputs_path = f"{path_prefix}inputs", f"{path_prefix}fields.*.inputs"
    outcomes = {
        inputs_path: as_property(DATASET_PROPERTIES["lineage.noSource"], allows_empty=True),
        column_inputs_path: as_property(*_property_targets("lineage.fieldJobs").targets, allows_empty=True),
    }
    for path, edge, field, transformation in (
        (inputs_path, _EDGE, _FIELD, _INDIRECT),
        (column_inputs_path, _PAIR_AND_EDGE, _PAIR, _PAIR),
    ):
        outcomes.update({f"{path}[].{field_name}": edge for field_name in ("type", "namespace", "name")})
        outcomes[f"{path}[].field"] = field
        outcomes[f"{path}[].runId"] = mapped(UPSTREAM_RUN)
        outcomes.update(
            {
                f"{path}[].transformations[].{field_name}": transformation
                for field_name in ("type", "subtype", "masking")
            }
        )
        outcomes[f"{path}[].transformations[].description"] = DESCRIPTION_OUTCOME
    return outcomes


def lineage_endpoint(dataset: Name, column: str | None = None) -> LineageEndpoint:
    """Return the label of a dataset, or of a column, in properties."""
    urn, name = dataset.endpoint or "", dataset.dataset_name
    if column is None:
        return LineageEndpoint(name, urn)
    return LineageEndpoint(
        f"{name}.{dataset.spell_column(column)}", schema_field_urn(urn, dataset.spell_column(column))
    )


def note_source_description(ctx: FacetContext, path: str, *, is_column: bool = False) -> None:
    """Note for the report that the words about a source, of a column or of a whole target, name it too."""
    table, field = (_PAIR_AND_EDGE, _PAIR) if is_column else (_EDGE, _FIELD)
    for field_name, outcome in (
        (("namespace", table), ("name", table), ("field", field)) if ctx.notes is not None else ()
    ):
        ctx.note_outcome(f"{path}.{field_name}", *outcome.targets, *DESCRIPTION_OUTCOME.targets)


def note_dropped_source(ctx: FacetContext, path: str, source: LineageSource, reason: str) -> None:
    """Note for the report that nothing describes how a dataset is a source; its description has the column in any case."""
    if descriptions_of(source.transformations):
        ctx.note_outcome(f"{path}.field", *DESCRIPTION_OUTCOME.targets)
    else:
        ctx.note_dropped(f"{path}.field", reason)
    for position in range(len(source.transformations or ())):
        for field_name in ("type", "subtype", "masking"):
            ctx.note_dropped(f"{path}.transformations[{position}].{field_name}", reason)


def note_unpaired(ctx: FacetContext, path: str, reason: str) -> None:
    """Note for the report that only the table of a column is written."""
    for field_name in ("type", "namespace", "name"):
        ctx.note_outcome(f"{path}.{field_name}", *_EDGE.targets)
    for field_name in ("field", "transformations"):
        ctx.note_dropped(f"{path}.{field_name}", reason)


def note_job(  # noqa: PLR0913 - what is known of it
    ctx: FacetContext,
    path: str,
    source: LineageSource,
    job: LineageJob,
    property_targets: list[FieldTarget],
    job_targets: list[FieldTarget],
    *,
    has_edge: bool,
) -> None:
    """Note for the report where the fields of a job as a source went; their rows describe datasets.

    ``property_targets`` is the property that contains it, ``job_targets`` the one of whole targets; ``has_edge``: whether there is an edge to the job.
    """
    if property_targets == job_targets and job.is_own:  # this job makes it: an output like any other
        ctx.note_outcome(path, OUTPUT, *property_targets)
    elif property_targets == job_targets and has_edge:
        ctx.note_outcome(path, LINEAGE_JOB, *property_targets)
    else:
        ctx.note_outcome(path, *property_targets, *job_targets)
    if source.field:
        ctx.note_dropped(f"{path}.field", "no-field:a job has no columns")
    note_empty_fields(ctx, path, source)
    for position in range(len(source.transformations or ())):
        ctx.note_outcome(f"{path}.transformations[{position}]", *property_targets)
        ctx.note_outcome(f"{path}.transformations[{position}].description", *DESCRIPTION_OUTCOME.targets)
    if source.runId and job.run and ctx.run_urn and job.run != ctx.run_urn:
        ctx.note_outcome(f"{path}.runId", UPSTREAM_RUN)
    elif source.runId:
        ctx.note_outcome(f"{path}.runId", *job_targets)


def note_empty_fields(ctx: FacetContext, path: str, source: LineageSource) -> None:
    """Note for the report which fields of a source are never written."""
    if ctx.notes is None:
        return
    values = [(f"{path}.{field}", getattr(source, field)) for field in ("type", "namespace", "name", "field", "runId")]
    for position, transformation in enumerate(source.transformations or ()):
        transformation_path = f"{path}.transformations[{position}]"
        values += [
            (f"{transformation_path}.{field}", getattr(transformation, field))
            for field in ("type", "subtype", "masking", "description")
        ]
    for field, value in [*values, (f"{path}.transformations", source.transformations)]:
        if value is None or value in ("", []):
            ctx.note_dropped(field, "empty:null" if value is None else "empty")
