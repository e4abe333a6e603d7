"""Explicit lineage: what the two ``lineage`` facets, of datasets and of jobs, share.

A *target* is what something is made of *sources*; both are datasets or jobs. DataHub has edges from datasets to jobs, from
jobs to datasets and between jobs, and pairs of columns; what fits none of them is kept: ``lineage.jobs`` (jobs that are
sources or targets, with their runs), ``lineage.fieldJobs`` (columns that a job makes by itself) and
``lineage.descriptions``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.fine_grained import OF_DATASET
from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.translation.facts import (
    DATASET,
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    EXPLICIT,
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
    UPSTREAM_GONE,
    UPSTREAM_MARK,
    UPSTREAM_RUN,
    Slot,
    Statement,
)
from dh_bridge.translation.lineage.sources import (
    End,
    FieldEntry,
    Known,
    Source,
    called,
    note_described,
    note_dropped,
    note_job,
    note_nothing,
    note_unpaired,
)
from dh_bridge.translation.lineage.targets import homes
from dh_bridge.translation.lineage.transformations import descriptions_of, only_indirect, operation_of
from dh_bridge.translation.properties import Joined, Member
from dh_bridge.translation.runstate import ANY_TASK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.context import Place
    from dh_bridge.translation.naming import Name
    from dh_bridge.translation.trace import Destination

KEY = "lineage"
NO_SOURCE = "lineage.noSource"
_DROPPED = "policy:column_lineage.indirect"


class Reading:
    """Collects what one facet says of its targets; :meth:`statements` gives it back as statements."""

    def __init__(self, at: Place) -> None:
        self.at = at
        self.found: list[Statement] = []
        self._on_job, self._on_dataset = homes(at, explicit=True)
        self._pairs: dict[str, set[tuple[str | None, str, str]]] = {}
        self._targets: set[str] = set()
        self._sourceless: dict[str, bool] = {}
        self._marks: dict[str, set[str]] = {}
        self._kept: dict[str, dict[Member, dict[str, Any]]] = {}

    def dataset(
        self, target: Name, inputs: list[Source] | None, fields: dict[str, FieldEntry] | None, where: str = ""
    ) -> None:
        """Add what a dataset was made of; ``where`` is the path of the entry that says so."""
        at, urn = self.at, target.endpoint
        assert urn is not None  # noqa: S101 - the caller has looked
        self._targets.add(urn)
        if inputs is not None or fields is not None:  # one that says nothing silences nothing
            at.explicit |= {urn}
            self.found.append((urn, EXPLICIT, "", None))
        if at.task and urn not in at.outputs:
            self.found.append((at.task, OUTPUT, urn, at.stamp[0]))
        self.names(target)
        if inputs is not None:
            self._sourceless[urn] = self._sourceless.get(urn, True) and not inputs
        for position, source in enumerate(inputs or ()):
            self._entity(target, source, f"{where}inputs[{position}]")
        for name, entry in (fields or {}).items():
            path = f"{where}fields.{name}.inputs"
            if entry.inputs is not None and not entry.inputs:
                self.keep("fieldJobs", called(target, name), {})
            for position, source in enumerate(entry.inputs or ()):
                self._column(target, name, source, f"{path}[{position}]")

    def statements(self) -> Iterator[Statement]:
        """Yield all of it; of several entries about one target, the sum."""
        at = self.at
        yield from self.found
        for urn, pairs in self._pairs.items():
            if self._on_job:
                yield at.task, FINE_LINEAGE, urn, frozenset(pairs)
            if self._on_dataset:
                yield urn, UPSTREAM_FIELD, (KEY, frozenset(pairs)), None
        for urn in sorted(self._targets):
            sourceless = self._sourceless.get(urn, False)
            if sourceless and self._on_dataset:
                yield urn, UPSTREAM_GONE, "", None
            # Said anew, the facet replaces what it said before.
            yield urn, DATASET_PROPERTIES, NO_SOURCE, {NO_SOURCE: "true"} if sourceless else {}
        for dataset, marks in self._marks.items():
            key = ("input", dataset, f"{KEY} {at.dataset}")
            yield at.task, EDGE_PROPERTIES, key, {INDIRECT: ",".join(sorted(marks))}
        for name, members in self._kept.items():
            slot, owner = self._home(name)
            said = members if name != "descriptions" else {pair: "; ".join(words) for pair, words in members.items()}
            yield owner, slot, f"{KEY}.{name} {at.dataset}", Joined(f"{KEY}.{name}", said)

    def _home(self, name: str) -> tuple[Slot, str]:
        """Return where a property is kept: what is about runs on the run, the rest on the job, or the dataset."""
        if name == "jobs" and self.at.run:
            return RUN_PROPERTIES, self.at.run
        return (JOB_PROPERTIES, self.at.owner) if self.at.owner else (DATASET_PROPERTIES, self.at.dataset)

    # -- sources ----------------------------------------------------------------------------------------------------

    def _entity(self, target: Name, source: Source, path: str) -> None:
        """Add a source of a whole dataset."""
        if source.is_job:
            self.job_source(called(target), source, path)
            return
        found = self.dataset_source(source, path)
        if found is not None:
            self.upstream(target, found)
            self.whole(found, source, path, target)

    def _column(self, target: Name, name: str, source: Source, path: str) -> None:
        """Add a source of one column."""
        fed = called(target, name)
        operation = operation_of(source.transformations)
        if source.is_job:
            job = self.job_source(fed, source, path, "fieldJobs")
            if job is not None:
                self.keep("fieldJobs", fed, {job.label: operation or ""})
            return
        found = self.dataset_source(source, path)
        if found is None or found.endpoint is None:
            return
        self.upstream(target, found)
        if self._drops(operation):
            note_unpaired(self.at, path, _DROPPED)
            return
        feeding = called(found, source.field or None)
        if not source.field:
            operation = f"{operation}+{OF_DATASET}" if operation else OF_DATASET
        if not is_urn(fed.urn) or not is_urn(feeding.urn):
            note_unpaired(self.at, path, "too-large")  # its table's edge is kept
            return
        self._pairs.setdefault(target.endpoint or "", set()).add((operation, fed.urn, feeding.urn))
        if self.describe(fed, feeding, source):
            note_described(self.at, path, column=True)

    def upstream(self, target: Name, source: Name) -> None:
        """Add the edge between two datasets: over the job, and as an upstream where it stands on the dataset."""
        at, urn = self.at, source.endpoint
        assert urn is not None  # noqa: S101 - a source has one
        if self._on_dataset and urn != target.endpoint:
            self.found.append((target.endpoint or "", UPSTREAM, (KEY, urn), None))
        if at.task and urn not in at.inputs:
            self.found.append((at.task, INPUT, urn, at.stamp[0]))
        self.names(source)

    def whole(self, found: Name, source: Source, path: str, target: Name | str) -> None:
        """Add what a source did to a whole target: its column is an input field of the job, the words a mark on its edge."""
        at, urn = self.at, found.endpoint or ""
        operation = operation_of(source.transformations)
        fed = End(target, target) if isinstance(target, str) else called(target)
        dropped = self._drops("INDIRECT" if source.field else operation)
        if dropped:
            note_dropped(at, path, source, _DROPPED)
        if self.describe(fed, called(found, source.field or None), source):
            note_described(at, path)
        if dropped or (not source.field and operation is None):
            return
        column = found.column(source.field) if source.field else ""
        field = schema_field_urn(urn, column)
        if column and not is_urn(field):
            at.withheld(f"{path}.field", "too-large")
            return
        mark = f"{column or '*'}:{(operation or 'INDIRECT').removeprefix('INDIRECT:')}"
        if not isinstance(target, str) and self._on_dataset:
            self.found.append((target.endpoint or "", UPSTREAM_MARK, (urn, INDIRECT, mark), None))
        if at.task:
            self._marks.setdefault(urn, set()).add(mark)
            if column:
                self.found.append((at.task, INPUT_FIELD, field, None))

    def job_source(self, target: End, source: Source, path: str, name: str = "jobs") -> Known | None:
        """Add a job that feeds ``target``: an edge between jobs, its run as an upstream of this one.

        ``name`` is the property that keeps what no edge says: ``jobs``, or ``fieldJobs`` where a column is the target.
        """
        at = self.at
        job = self.known(source, path)
        if job is None:
            return None
        about = {"runId": source.runId}
        if name == "jobs":
            about["transformations"] = operation_of(source.transformations)
        said = {key: value for key, value in about.items() if value}
        if said or not job.own:
            self.keep("jobs", target.fed_by(job.end), said)
        edge = self.edge(at.task, job)
        if job.run and at.run and job.run != at.run:
            self.found.append((at.run, UPSTREAM_RUN, job.run, None))
        self.describe(target, job.end, source)
        if at.notes is not None:
            note_job(at, path, source, job, self.targets(name), self.targets("jobs"), edge=edge)
        return job

    def targets(self, name: str) -> list[Destination]:
        """Return the property ``lineage.<name>``, where this event keeps it."""
        slot, _ = self._home(name)
        return [slot[f"{KEY}.{name}"]]

    # -- small parts ------------------------------------------------------------------------------------------------

    def dataset_source(self, source: Source, path: str) -> Name | None:
        """Return the name of a dataset, None when it has none (noted)."""
        if (source.type or "DATASET").upper() != "DATASET":
            self.at.withheld(path, "malformed")
            return None
        found = self.at.endpoint(source.namespace, source.name)
        if found.endpoint is None or not source.name:
            self.at.withheld(path, found.skip or "malformed")
            return None
        self.at.about(path, found.endpoint)
        note_nothing(self.at, path, source)
        if source.runId:
            self.at.withheld(f"{path}.runId", "no-home:a dataset has no run")
        return found

    def known(self, named: Any, path: str) -> Known | None:
        """Return the job that ``named`` (a source or an entry) is; None, noted, when there is no such job."""
        at = self.at
        own = at.job
        if not named.namespace and not named.name:
            if own is None:
                at.withheld(path, "no-home:no job")
                return None
            namespace, name = at.event.namespace, at.event.name
        elif not named.namespace or not named.name:
            at.withheld(path, "malformed")
            return None
        else:
            namespace, name = named.namespace, named.name
        run = at.identity.run_urn(namespace, name, named.runId) if named.runId else ""
        is_own = own is not None and (not named.name or (namespace, name) == (at.event.namespace, at.event.name))
        job = own if is_own else at.identity.reference(namespace, name, near=own)
        is_own = is_own or (job is not None and own is not None and job.job_urn == own.job_urn)
        return Known(f"{namespace}/{name}", job, run, is_own)

    def edge(self, task: str, source: Known) -> bool:
        """Add the edge from a job to the dataJob ``task``, if both are dataJobs and not the same; whether they are."""
        if not task or not source.urn or source.urn == task or (source.own and task == ANY_TASK):
            return False
        self.found.append((task, LINEAGE_JOB, source.urn, None))
        return True

    def names(self, name: Name) -> None:
        """State what a dataset is called, unless the event's own inputs and outputs do."""
        if name.endpoint is not None and name.endpoint not in self.at.mentioned and name.endpoint != self.at.dataset:
            self.found.append((name.endpoint, DATASET, "", name))

    def keep(self, name: str, member: Member, said: dict[str, Any]) -> None:
        """Keep a member of the property ``lineage.<name>``."""
        plain = member if isinstance(member, str) else tuple(member)  # an End is no part of a state
        self._kept.setdefault(name, {}).setdefault(plain, {}).update(said)

    def describe(self, target: End, source: End, said: Source) -> bool:
        """Keep what the transformations of a source say in words; whether they say any."""
        described = descriptions_of(said.transformations)
        if described:
            self.keep("descriptions", target.fed_by(source), {described: None})
        return bool(described)

    def _drops(self, operation: str | None) -> bool:
        """Whether the settings leave an indirect source out."""
        return self.at.options.settings.column_lineage.indirect == "drop" and only_indirect(operation)
