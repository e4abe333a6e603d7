"""Sources and targets of explicit lineage: how they are read, and where their leaves go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.urns import schema_field_urn
from dh_bridge.translation.facet import Facet, Row, kept, mapped
from dh_bridge.translation.facts import (
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
    UPSTREAM_MARK,
    UPSTREAM_RUN,
)
from dh_bridge.translation.lineage.transformations import Transformation, descriptions_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.identity import Job
    from dh_bridge.translation.naming import Name
    from dh_bridge.translation.properties import Member
    from dh_bridge.translation.trace import Destination


class Source(Facet):
    """A dataset or job that feeds a target: ``type`` is DATASET or JOB; a job without a name is the event's own."""

    type: str | None = None
    namespace: str | None = None
    name: str | None = None
    field: str | None = None
    runId: str | None = None
    transformations: list[Transformation] | None = None

    @property
    def is_job(self) -> bool:
        """Whether it is a job; a source without a type is what its parts say."""
        return (self.type or ("DATASET" if self.name else "JOB")).upper() == "JOB"


class FieldEntry(Facet):
    """What one column of the target was made of."""

    inputs: list[Source] | None = None


class End(NamedTuple):
    """Where lineage begins or ends: what people call it, and its URN; of a job its name stands for both."""

    label: str
    urn: str

    def fed_by(self, source: End) -> Member:
        """Return what a kept property calls the way from ``source``."""
        return f"{self.label}<-{source.label}", self.urn, source.urn


class Known(NamedTuple):
    """A job that lineage names: as text for people, its identity, its run; ``own`` is the event's own job."""

    label: str
    job: Job | None
    run: str
    own: bool

    @property
    def urn(self) -> str:
        """The dataJob that edges may point at; "" for a flow (its twin may not exist) and where no lineage is wanted."""
        job = self.job
        if job is None or job.level != "job" or job.placeholder or job.skip or job.shared:
            return ""
        return job.job_urn

    @property
    def end(self) -> End:
        """What kept properties call it."""
        return End(self.label, self.label)


def _property(name: str) -> Row:
    return kept(JOB_PROPERTIES[name], DATASET_PROPERTIES[name])


#: A source of the job, or of anything that it makes, is an input of its run, too.
_EDGE = mapped(UPSTREAM, INPUT)
_MARK = mapped(UPSTREAM_MARK[INDIRECT], EDGE_PROPERTIES[INDIRECT])
_PAIR = mapped(UPSTREAM_FIELD, FINE_LINEAGE)
_FIELD = mapped(UPSTREAM, INPUT_FIELD)
_PAIRED = mapped(*_PAIR.targets, *_EDGE.targets)
DESCRIBED = _property("lineage.descriptions")


def target_leaves(start: str = "") -> dict[str, Row]:
    """Return the rows of a target's leaves: its ``inputs`` and ``fields``; ``start`` is the path of the target."""
    whole, column = f"{start}inputs", f"{start}fields.*.inputs"
    rows = {
        whole: kept(DATASET_PROPERTIES["lineage.noSource"], empty=True),
        column: kept(*_property("lineage.fieldJobs").targets, empty=True),
    }
    for path, edge, field, word in (
        (whole, _EDGE, _FIELD, _MARK),
        (column, _PAIRED, _PAIR, _PAIR),
    ):
        rows.update({f"{path}[].{leaf}": edge for leaf in ("type", "namespace", "name")})
        rows[f"{path}[].field"] = field
        rows[f"{path}[].runId"] = mapped(UPSTREAM_RUN)
        rows.update({f"{path}[].transformations[].{leaf}": word for leaf in ("type", "subtype", "masking")})
        rows[f"{path}[].transformations[].description"] = DESCRIBED
    return rows


def called(dataset: Name, column: str | None = None) -> End:
    """Return what a dataset, or a column of it, is called in kept properties."""
    urn, name = dataset.endpoint or "", dataset.dataset_name
    if column is None:
        return End(name, urn)
    return End(f"{name}.{dataset.column(column)}", schema_field_urn(urn, dataset.column(column)))


def note_described(at: Place, path: str, *, column: bool = False) -> None:
    """Note for the report that the words about a source, of a column or of a whole target, name it too."""
    table, field = (_PAIRED, _PAIR) if column else (_EDGE, _FIELD)
    for leaf, row in (("namespace", table), ("name", table), ("field", field)) if at.notes is not None else ():
        at.reached(f"{path}.{leaf}", *row.targets, *DESCRIBED.targets)


def note_dropped(at: Place, path: str, source: Source, reason: str) -> None:
    """Note for the report that nothing is told of how a dataset is a source; the words about it name its column all the same."""
    if descriptions_of(source.transformations):
        at.reached(f"{path}.field", *DESCRIBED.targets)
    else:
        at.withheld(f"{path}.field", reason)
    for position in range(len(source.transformations or ())):
        for leaf in ("type", "subtype", "masking"):
            at.withheld(f"{path}.transformations[{position}].{leaf}", reason)


def note_unpaired(at: Place, path: str, reason: str) -> None:
    """Note for the report that of the source of a column only the table is told."""
    for leaf in ("type", "namespace", "name"):
        at.reached(f"{path}.{leaf}", *_EDGE.targets)
    for leaf in ("field", "transformations"):
        at.withheld(f"{path}.{leaf}", reason)


def note_job(  # noqa: PLR0913 - what is known of it
    at: Place, path: str, source: Source, job: Known, kept: list[Destination], jobs: list[Destination], *, edge: bool
) -> None:
    """Note for the report where the leaves of a job as a source went: their rows tell of datasets.

    ``kept`` is the property that keeps it, ``jobs`` the one of whole targets; ``edge``: whether an edge tells of the job.
    """
    if kept == jobs and job.own:  # this job makes it: an output like any other
        at.reached(path, OUTPUT, *kept)
    elif kept == jobs and edge:
        at.reached(path, LINEAGE_JOB, *kept)
    else:
        at.reached(path, *kept, *jobs)
    if source.field:
        at.withheld(f"{path}.field", "no-home:a job has no columns")
    note_nothing(at, path, source)
    for position in range(len(source.transformations or ())):
        at.reached(f"{path}.transformations[{position}]", *kept)
        at.reached(f"{path}.transformations[{position}].description", *DESCRIBED.targets)
    if source.runId and job.run and at.run and job.run != at.run:
        at.reached(f"{path}.runId", UPSTREAM_RUN)
    elif source.runId:
        at.reached(f"{path}.runId", *jobs)


def note_nothing(at: Place, path: str, source: Source) -> None:
    """Note for the report which leaves of a source say nothing, whatever becomes of the others."""
    if at.notes is None:
        return
    said = [(f"{path}.{leaf}", getattr(source, leaf)) for leaf in ("type", "namespace", "name", "field", "runId")]
    for position, one in enumerate(source.transformations or ()):
        where = f"{path}.transformations[{position}]"
        said += [(f"{where}.{leaf}", getattr(one, leaf)) for leaf in ("type", "subtype", "masking", "description")]
    for leaf, value in [*said, (f"{path}.transformations", source.transformations)]:
        if value is None or value in ("", []):
            at.withheld(leaf, "no-home:null says nothing" if value is None else "no-home:empty")
