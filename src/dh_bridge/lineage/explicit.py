"""Explicit lineage: functions that the two ``lineage`` facets, of datasets and of jobs, share.

A *target* is made of *sources*; both are datasets or jobs. DataHub has edges from datasets to jobs, from jobs to datasets
and between jobs, and pairs of columns. Other lineage becomes properties: ``lineage.jobs`` (jobs that are
sources or targets, with their runs), ``lineage.fieldJobs`` (columns that a job makes without a source) and
``lineage.descriptions``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.fine_grained import OF_DATASET
from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.lineage.sources import (
    FieldEntry,
    LineageEndpoint,
    LineageJob,
    LineageSource,
    lineage_endpoint,
    note_dropped_source,
    note_empty_fields,
    note_job,
    note_source_description,
    note_unpaired,
)
from dh_bridge.lineage.targets import lineage_targets
from dh_bridge.lineage.transformations import descriptions_of, is_only_indirect, operation_of
from dh_bridge.model.facts import (
    DATASET,
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    EXPLICIT_LINEAGE,
    FINE_LINEAGE,
    INDIRECT,
    INPUT,
    INPUT_FIELD,
    JOB_PROPERTIES,
    LINEAGE_JOB,
    OUTPUT,
    RUN_PROPERTIES,
    UPSTREAM,
    UPSTREAM_FIELD,
    UPSTREAM_PROPERTY,
    UPSTREAM_RUN,
    UPSTREAM_TOMBSTONE,
    Fact,
    FactKind,
)
from dh_bridge.model.properties import MemberKey, MergedProperty
from dh_bridge.model.run_state import ANY_TASK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.trace import FieldTarget
    from dh_bridge.naming import Name

KEY = "lineage"
NO_SOURCE = "lineage.noSource"
_DROP_REASON = "policy:column_lineage.indirect"


class ExplicitLineageBuilder:
    """Collects the lineage that one facet states of its targets; :meth:`statements` returns it as facts."""

    def __init__(self, ctx: FacetContext) -> None:
        self.ctx = ctx
        self.facts: list[Fact] = []
        self._is_on_job, self._is_on_dataset = lineage_targets(ctx, is_explicit=True)
        self._pairs: dict[str, set[tuple[str | None, str, str]]] = {}
        self._targets: set[str] = set()
        self._sourceless: dict[str, bool] = {}
        self._indirect_columns: dict[str, set[str]] = {}
        self._properties: dict[str, dict[MemberKey, dict[str, Any]]] = {}

    def add_dataset(
        self,
        target: Name,
        inputs: list[LineageSource] | None,
        fields: dict[str, FieldEntry] | None,
        path_prefix: str = "",
    ) -> None:
        """Add the sources of a dataset; ``path_prefix`` is the path of the entry in the facet."""
        ctx, urn = self.ctx, target.endpoint
        assert urn is not None  # noqa: S101 - the caller has looked
        self._targets.add(urn)
        if inputs is not None or fields is not None:  # an entry without lineage does not replace columnLineage
            ctx.explicit_urns |= {urn}
            self.facts.append((urn, EXPLICIT_LINEAGE, "", None))
        if ctx.task_urn and urn not in ctx.outputs:
            self.facts.append((ctx.task_urn, OUTPUT, urn, ctx.version[0]))
        self.add_dataset_name(target)
        if inputs is not None:
            self._sourceless[urn] = self._sourceless.get(urn, True) and not inputs
        for position, source in enumerate(inputs or ()):
            self._add_dataset_source(target, source, f"{path_prefix}inputs[{position}]")
        for name, entry in (fields or {}).items():
            path = f"{path_prefix}fields.{name}.inputs"
            if entry.inputs is not None and not entry.inputs:
                self.add_property_member("fieldJobs", lineage_endpoint(target, name), {})
            for position, source in enumerate(entry.inputs or ()):
                self._add_column_source(target, name, source, f"{path}[{position}]")

    def build_facts(self) -> Iterator[Fact]:
        """Yield all of it; of several entries about one target, the sum."""
        ctx = self.ctx
        yield from self.facts
        for urn, pairs in self._pairs.items():
            if self._is_on_job:
                yield ctx.task_urn, FINE_LINEAGE, urn, frozenset(pairs)
            if self._is_on_dataset:
                yield urn, UPSTREAM_FIELD, (KEY, frozenset(pairs)), None
        for urn in sorted(self._targets):
            is_sourceless = self._sourceless.get(urn, False)
            if is_sourceless and self._is_on_dataset:
                yield urn, UPSTREAM_TOMBSTONE, "", None
            # A repeated facet replaces its earlier content.
            yield urn, DATASET_PROPERTIES, NO_SOURCE, {NO_SOURCE: "true"} if is_sourceless else {}
        for dataset, indirect_columns in self._indirect_columns.items():
            key = ("input", dataset, f"{KEY} {ctx.dataset_urn}")
            yield ctx.task_urn, EDGE_PROPERTIES, key, {INDIRECT: ",".join(sorted(indirect_columns))}
        for name, members in self._properties.items():
            kind, owner = self._property_owner(name)
            values = members if name != "descriptions" else {pair: "; ".join(texts) for pair, texts in members.items()}
            yield owner, kind, f"{KEY}.{name} {ctx.dataset_urn}", MergedProperty(f"{KEY}.{name}", values)

    def _property_owner(self, property_name: str) -> tuple[FactKind, str]:
        """Return the entity of a property: the run for properties about runs; otherwise the job, or the dataset."""
        if property_name == "jobs" and self.ctx.run_urn:
            return RUN_PROPERTIES, self.ctx.run_urn
        return (
            (JOB_PROPERTIES, self.ctx.owner_urn) if self.ctx.owner_urn else (DATASET_PROPERTIES, self.ctx.dataset_urn)
        )

    # -- sources ----------------------------------------------------------------------------------------------------

    def _add_dataset_source(self, target: Name, source: LineageSource, path: str) -> None:
        """Add a source of a whole dataset."""
        if source.is_job:
            self.add_job_source(lineage_endpoint(target), source, path)
            return
        source_name = self.resolve_dataset(source, path)
        if source_name is not None:
            self.add_upstream(target, source_name)
            self.add_target_source(source_name, source, path, target)

    def _add_column_source(self, target: Name, column: str, source: LineageSource, path: str) -> None:
        """Add a source of one column."""
        downstream = lineage_endpoint(target, column)
        operation = operation_of(source.transformations)
        if source.is_job:
            job = self.add_job_source(downstream, source, path, "fieldJobs")
            if job is not None:
                self.add_property_member("fieldJobs", downstream, {job.label: operation or ""})
            return
        source_name = self.resolve_dataset(source, path)
        if source_name is None or source_name.endpoint is None:
            return
        self.add_upstream(target, source_name)
        if self._is_dropped(operation):
            note_unpaired(self.ctx, path, _DROP_REASON)
            return
        upstream = lineage_endpoint(source_name, source.field or None)
        if not source.field:
            operation = f"{operation}+{OF_DATASET}" if operation else OF_DATASET
        if not is_urn(downstream.urn) or not is_urn(upstream.urn):
            note_unpaired(self.ctx, path, "too-large")  # the edge of its table is written
            return
        self._pairs.setdefault(target.endpoint or "", set()).add((operation, downstream.urn, upstream.urn))
        if self.add_description(downstream, upstream, source):
            note_source_description(self.ctx, path, is_column=True)

    def add_upstream(self, target: Name, source: Name) -> None:
        """Add the edge between two datasets: over the job, and as an upstream if lineage is written on the dataset."""
        ctx, urn = self.ctx, source.endpoint
        assert urn is not None  # noqa: S101 - a source has one
        if self._is_on_dataset and urn != target.endpoint:
            self.facts.append((target.endpoint or "", UPSTREAM, (KEY, urn), None))
        if ctx.task_urn and urn not in ctx.inputs:
            self.facts.append((ctx.task_urn, INPUT, urn, ctx.version[0]))
        self.add_dataset_name(source)

    def add_target_source(self, source_name: Name, source: LineageSource, path: str, target: Name | str) -> None:
        """Add the effect of a source on a whole target: its column is an input field of the job, the operation a property of its edge."""
        ctx, urn = self.ctx, source_name.endpoint or ""
        operation = operation_of(source.transformations)
        downstream = LineageEndpoint(target, target) if isinstance(target, str) else lineage_endpoint(target)
        is_dropped = self._is_dropped("INDIRECT" if source.field else operation)
        if is_dropped:
            note_dropped_source(ctx, path, source, _DROP_REASON)
        if self.add_description(downstream, lineage_endpoint(source_name, source.field or None), source):
            note_source_description(ctx, path)
        if is_dropped or (not source.field and operation is None):
            return
        column = source_name.spell_column(source.field) if source.field else ""
        field = schema_field_urn(urn, column)
        if column and not is_urn(field):
            ctx.note_dropped(f"{path}.field", "too-large")
            return
        indirect_column = f"{column or '*'}:{(operation or 'INDIRECT').removeprefix('INDIRECT:')}"
        if not isinstance(target, str) and self._is_on_dataset:
            self.facts.append((target.endpoint or "", UPSTREAM_PROPERTY, (urn, INDIRECT, indirect_column), None))
        if ctx.task_urn:
            self._indirect_columns.setdefault(urn, set()).add(indirect_column)
            if column:
                self.facts.append((ctx.task_urn, INPUT_FIELD, field, None))

    def add_job_source(
        self, target: LineageEndpoint, source: LineageSource, path: str, property_name: str = "jobs"
    ) -> LineageJob | None:
        """Add a job that is a source of ``target``: an edge between jobs, and its run as an upstream of this run.

        ``property_name`` is the property for the rest: ``jobs``, or ``fieldJobs`` if a column is the target.
        """
        ctx = self.ctx
        job = self.resolve_job(source, path)
        if job is None:
            return None
        attributes = {"runId": source.runId}
        if property_name == "jobs":
            attributes["transformations"] = operation_of(source.transformations)
        values = {key: value for key, value in attributes.items() if value}
        if values or not job.is_own:
            self.add_property_member("jobs", target.edge_key(job.endpoint), values)
        has_edge = self.add_job_edge(ctx.task_urn, job)
        if job.run and ctx.run_urn and job.run != ctx.run_urn:
            self.facts.append((ctx.run_urn, UPSTREAM_RUN, job.run, None))
        self.add_description(target, job.endpoint, source)
        if ctx.notes is not None:
            note_job(
                ctx,
                path,
                source,
                job,
                self.property_targets(property_name),
                self.property_targets("jobs"),
                has_edge=has_edge,
            )
        return job

    def property_targets(self, property_name: str) -> list[FieldTarget]:
        """Return the property ``lineage.<name>``, where this event keeps it."""
        kind, _ = self._property_owner(property_name)
        return [kind[f"{KEY}.{property_name}"]]

    # -- small parts ------------------------------------------------------------------------------------------------

    def resolve_dataset(self, source: LineageSource, path: str) -> Name | None:
        """Return the name of a dataset, None when it has none (noted)."""
        if (source.type or "DATASET").upper() != "DATASET":
            self.ctx.note_dropped(path, "malformed")
            return None
        source_name = self.ctx.dataset_name(source.namespace, source.name)
        if source_name.endpoint is None or not source.name:
            self.ctx.note_dropped(path, source_name.skip or "malformed")
            return None
        self.ctx.note_dataset(path, source_name.endpoint)
        note_empty_fields(self.ctx, path, source)
        if source.runId:
            self.ctx.note_dropped(f"{path}.runId", "no-field:a dataset has no run")
        return source_name

    def resolve_job(self, reference: Any, path: str) -> LineageJob | None:
        """Return the job that ``reference`` (a source or an entry) is; None, noted, when there is no such job."""
        ctx = self.ctx
        own_job = ctx.job
        if not reference.namespace and not reference.name:
            if own_job is None:
                ctx.note_dropped(path, "no-field:no job")
                return None
            namespace, name = ctx.event.namespace, ctx.event.name
        elif not reference.namespace or not reference.name:
            ctx.note_dropped(path, "malformed")
            return None
        else:
            namespace, name = reference.namespace, reference.name
        run_urn = ctx.identity.run_urn(namespace, name, reference.runId) if reference.runId else ""
        is_own = own_job is not None and (
            not reference.name or (namespace, name) == (ctx.event.namespace, ctx.event.name)
        )
        job = own_job if is_own else ctx.identity.reference(namespace, name, referrer=own_job)
        is_own = is_own or (job is not None and own_job is not None and job.job_urn == own_job.job_urn)
        return LineageJob(f"{namespace}/{name}", job, run_urn, is_own)

    def add_job_edge(self, task: str, source: LineageJob) -> bool:
        """Add the edge from a job to the dataJob ``task``, if both are dataJobs and not the same; whether they are."""
        if not task or not source.urn or source.urn == task or (source.is_own and task == ANY_TASK):
            return False
        self.facts.append((task, LINEAGE_JOB, source.urn, None))
        return True

    def add_dataset_name(self, name: Name) -> None:
        """State the name of a dataset, unless it is one of the event's inputs and outputs."""
        if (
            name.endpoint is not None
            and name.endpoint not in self.ctx.dataset_urns
            and name.endpoint != self.ctx.dataset_urn
        ):
            self.ctx.mention(name)
            self.facts.append((name.endpoint, DATASET, "", name))

    def add_property_member(self, property_name: str, member: MemberKey, values: dict[str, Any]) -> None:
        """Keep a member of the property ``lineage.<name>``."""
        key = member if isinstance(member, str) else tuple(member)  # an End is no part of a state
        self._properties.setdefault(property_name, {}).setdefault(key, {}).update(values)

    def add_description(self, target: LineageEndpoint, source: LineageEndpoint, lineage_source: LineageSource) -> bool:
        """Add the descriptions of the transformations of a source; return whether there are any."""
        description = descriptions_of(lineage_source.transformations)
        if description:
            self.add_property_member("descriptions", target.edge_key(source), {description: None})
        return bool(description)

    def _is_dropped(self, operation: str | None) -> bool:
        """Whether the settings leave an indirect source out."""
        return self.ctx.options.settings.column_lineage.indirect == "drop" and is_only_indirect(operation)
