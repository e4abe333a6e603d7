"""lineage (job): what feeds the job's targets, said explicitly. https://openlineage.io/docs/spec/facets/job-facets/lineage"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, mapped
from dh_bridge.translation.facts import (
    DATASET,
    DATASET_PROPERTIES,
    INPUT,
    LINEAGE_JOB,
    NAMED_INPUT,
    OUTPUT,
    UPSTREAM_RUN,
    Statements,
)
from dh_bridge.translation.lineage.explicit import Reading
from dh_bridge.translation.lineage.sources import (
    FieldEntry,
    Known,
    Source,
    called,
    target_leaves,
)
from dh_bridge.translation.lineage.transformations import descriptions_of, operation_of
from dh_bridge.translation.runstate import ANY_TASK

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Slot
    from dh_bridge.translation.trace import Destination


class Target(Facet):
    """A dataset or job that something feeds; a job without a name is the event's own."""

    type: str | None = None
    namespace: str | None = None
    name: str | None = None
    runId: str | None = None
    inputs: list[Source] | None = None
    fields: dict[str, FieldEntry] | None = None


class LineageOfJob(Facet):
    """The targets."""

    entries: list[Target] | None = None


_TARGET = mapped(OUTPUT, DATASET)


@facet(
    "lineage",
    at="job",
    reads=LineageOfJob,
    leaves={
        "entries[].type": _TARGET,
        "entries[].namespace": _TARGET,
        "entries[].name": _TARGET,
        "entries[].runId": mapped(UPSTREAM_RUN),
        **target_leaves("entries[]."),
    },
)
def lineage_job(facet: LineageOfJob, at: Place) -> Statements:
    """Datasets that it names become outputs and inputs of the job; jobs become edges between jobs.

    For the datasets that it names, columnLineage of the same event is not read. What it says of another job is written to
    that job's edges; what it says of another run, to that run if it is in the same call.
    """
    reading = Reading(at)
    for position, entry in enumerate(facet.entries or ()):
        path = f"entries[{position}]"
        kind = (entry.type or ("DATASET" if entry.name else "JOB")).upper()
        if kind == "DATASET":
            _dataset(reading, entry, path)
        elif kind == "JOB":
            _job(reading, entry, path)
        else:
            at.withheld(path, "malformed")
    yield from reading.statements()


def _dataset(reading: Reading, entry: Target, path: str) -> None:
    at = reading.at
    found = at.endpoint(entry.namespace, entry.name)
    if found.endpoint is None or not entry.name:
        at.withheld(path, found.skip or "malformed")
        return
    at.about(path, found.endpoint)
    if entry.runId:
        at.withheld(f"{path}.runId", "no-home:a dataset has no run")
    reading.dataset(found, entry.inputs, entry.fields, f"{path}.")


def _job(reading: Reading, entry: Target, path: str) -> None:
    """Add what feeds a job: this run of this job, another run, or another job."""
    at = reading.at
    target = reading.known(entry, path)
    if target is None:
        return
    if not entry.inputs:
        at.withheld(path, "no-home:no inputs")
        return
    if entry.fields:
        at.withheld(f"{path}.fields", "no-home:a job has no columns")
    ours = target.own and target.run in ("", at.run)
    if ours and target.run:
        at.withheld(f"{path}.runId", "duplicate-of:run.runId")
    edges: set[Slot] = set()
    for position, source in enumerate(entry.inputs):
        where = f"{path}.inputs[{position}]"
        if not ours:
            edges |= _into_other(reading, target, entry, source, where)
        elif source.is_job:
            edges |= {LINEAGE_JOB} if reading.job_source(target.end, source, where) is not None else set()
        else:
            edges |= _into_this(reading, target, source, where)
    kept = reading.targets("jobs")
    for leaf in ("type", "namespace", "name"):
        at.reached(f"{path}.{leaf}", *_sorted(edges), *kept)
    if entry.runId and not ours:
        at.reached(f"{path}.runId", *kept)


def _into_this(reading: Reading, target: Known, source: Source, path: str) -> set[Slot]:
    """Add a dataset that feeds this run of this job; return which edges that makes."""
    at = reading.at
    found = reading.dataset_source(source, path)
    if found is None or found.endpoint is None:
        return set()
    for leaf in ("type", "namespace", "name"):
        at.reached(f"{path}.{leaf}", INPUT)
    if found.endpoint not in at.inputs:
        reading.found.append((at.task, INPUT, found.endpoint, at.stamp[0]))
    reading.names(found)
    reading.whole(found, source, path, target.label)
    return {INPUT}


def _into_other(reading: Reading, target: Known, entry: Target, source: Source, path: str) -> set[Slot]:
    """Add what feeds another job, or another run of this one; all that is said of it is kept here too.

    Return which edges that makes.
    """
    at = reading.at
    task = at.task if target.own else target.urn
    edges: set[Slot] = set()
    if source.is_job:
        job = reading.known(source, path)
        if job is None:
            return edges
        feeding = job.end
        if reading.edge(task, job):
            edges.add(LINEAGE_JOB)
        if target.run and job.run not in ("", target.run):
            reading.found.append((target.run, UPSTREAM_RUN, job.run, None))
    else:
        found = reading.dataset_source(source, path)
        if found is None or found.endpoint is None:
            return edges
        feeding = called(found, source.field or None)
        reading.names(found)
        for entity in (task, target.run):
            if entity and entity != ANY_TASK:
                reading.found.append((entity, NAMED_INPUT, found.endpoint, at.stamp[0]))
        if task and task != ANY_TASK:
            edges.add(NAMED_INPUT)
    about = {
        "transformations": operation_of(source.transformations),
        "description": descriptions_of(source.transformations),
        "runId": source.runId,
        "targetRunId": entry.runId,
    }
    reading.keep("jobs", target.end.fed_by(feeding), {key: value for key, value in about.items() if value})
    _note_other(at, path, reading.targets("jobs"), edges, of_dataset=not source.is_job)
    return edges


def _note_other(at: Place, path: str, kept: list[Destination], edges: set[Slot], *, of_dataset: bool) -> None:
    """Note for the report where the leaves of a source of another job or run went: their rows tell of this job's."""
    at.reached(path, *kept)
    for leaf in ("type", "namespace", "name") if edges else ("namespace", "name") if of_dataset else ():
        at.reached(f"{path}.{leaf}", *(_sorted(edges) or (*kept, DATASET_PROPERTIES[leaf])))


def _sorted(edges: set[Slot]) -> list[Slot]:
    """Return kinds of edges in an order that does not change from run to run."""
    return sorted(edges, key=lambda kind: kind.name)
