"""One event into the state of its run: names first, then inputs and outputs, then facet by facet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dh_bridge.openlineage.events import RANKS, Dataset, Event
from dh_bridge.translation.context import DATASET_WEIGHT, OUTPUT_WEIGHT, RUN_WEIGHT, Attach, Entry, Place, Role
from dh_bridge.translation.facets import misplaced, registry
from dh_bridge.translation.facts import (
    DATASET,
    DATASET_PROPERTIES,
    FOLDED,
    INPUT,
    JOB,
    JOB_PROPERTIES,
    OUTPUT,
    OWN_JOB,
    TEMPORARY,
    Statement,
)
from dh_bridge.translation.fold import fold
from dh_bridge.translation.identity.runs import bare
from dh_bridge.translation.merge import Digest, Stamp
from dh_bridge.translation.naming.datasets import dataset_name, in_query, numbered, phantom, skipped, temporary
from dh_bridge.translation.properties import capped
from dh_bridge.translation.reading.checks import own_check
from dh_bridge.translation.reading.generic import MOST_UNKNOWN, known_first, unknown
from dh_bridge.translation.runs.foreign_owned import tell_alias
from dh_bridge.translation.runs.history import MANY, let_go_of_many
from dh_bridge.translation.runs.operations import OPERATION_OWNER
from dh_bridge.translation.runstate import ANY_OWNER, ANY_TASK, RunState, state_without_run
from dh_bridge.translation.trace import traced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import msgspec

    from dh_bridge.openlineage.events import Facets
    from dh_bridge.translation.naming import Name
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.trace import Trace

    Bags = Sequence[Facets]

#: The spec's own bag of a dataset facet wins over the other.
_BAGS = (("facets", 2), ("inputFacets", 1), ("outputFacets", 1))
#: Checks are a facet of inputs by the specification; dbt writes them into both bags, and values only here.
_CHECKS, _ABOVE_BOTH = "dataQualityAssertions", 2
#: Explicit lineage is read before columnLineage, which it replaces in its event.
_EXPLICIT = "lineage"


class Walk:
    """Walks events into run states, by the options of one configuration."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.filters = options.filters.anew()
        self._registry = registry()

    def event(self, event: Event, runs: dict[str, RunState], trace: Trace | None = None) -> RunState | None:
        """Fold ``event`` into its run's state in ``runs``; None when a filter leaves it out.

        ``trace`` collects what the report needs of it.
        """
        self.options.masking.event(event)
        refusal = None if self.filters.idle else self.filters.event(event)
        if refusal is not None:
            if trace is not None:
                trace.notes.append(("$", f"filtered:{refusal}"))
            return None
        stamp: Stamp = (event.time, RANKS.get(event.type or "", 0), Digest(event.raw), 0)
        at = Place(event, self.options, stamp)
        at.notes, at.traced = (None, None) if trace is None else (trace.notes, trace.facts)
        state = self._state(event, runs, at)
        if self.filters.of_datasets:
            at.resolve = partial(self._mentioned, state)
        if event.kind != "dataset":
            self._job(event, state, at)
            if at.job is not None and at.job.platform == "dbt":
                at.resolve = partial(in_query, at.resolve, at.aliases)
        state.events.append((stamp, event.type))
        if len(state.events) >= MANY:
            state.events = let_go_of_many(state.events, self.options.settings.runs.heartbeat)
        if producer := event.producer:
            state.producer = _later(state.producer, (stamp, producer))
        if schema_url := event.schema_url:
            state.schema_url = _later(state.schema_url, (stamp, schema_url))
        entries = at.entries = self._entries(event, at)
        run_facets, job_facets = event.run_facets, event.job_facets
        if event.kind != "dataset" and (_EXPLICIT in job_facets or _EXPLICIT in run_facets):
            run_facets, job_facets = self._explicit(event, stamp, state, at)
        for position, (dataset, name, role, where) in enumerate(entries):
            self._dataset(dataset, name, role, where, position, state, at)
        at.dataset, at.name, at.columns = "", None, None
        if event.kind == "run" and run_facets:
            # A test of the run that merges with a check of a dataset is the fuller of the two.
            self._bag(run_facets, "run", "$.run.facets", (*stamp[:3], RUN_WEIGHT), state, at)
        if event.kind != "dataset" and job_facets:
            self._bag(job_facets, "job", "$.job.facets", stamp, state, at)
        return state

    def _state(self, event: Event, runs: dict[str, RunState], at: Place) -> RunState:
        if event.kind != "run":
            about = None if event.dataset is None else self.options.about(event.dataset)
            return state_without_run(event, about, runs, at.stamp)
        urn = at.run = at.identity.run_urn(event.namespace, event.name, event.run_id)
        if (found := runs.get(urn)) is None:
            found = runs[urn] = RunState(urn, bare(event.run_id), "run")
        if at.identity is not self.options.identity:
            tell_alias(event, found, at)
        return found

    def _job(self, event: Event, state: RunState, at: Place) -> None:
        named = at.identity.job(event.namespace, event.name, event.producer)
        job = at.job = at.identity.carrier(named, event.producer)
        state.saw(job, at.stamp, terminal=event.terminal)
        producer = self.options.identity.producer(event.producer)
        state.single = state.single or (producer is not None and producer.single_event)
        at.assertion_platform, at.assertion_label = self.options.identity.checks(event, job.platform)
        if job.placeholder or job.skip:
            at.owner, at.task = ANY_OWNER, ANY_TASK
            return
        at.owner = job.owner_urn
        at.task = job.job_urn
        statements: list[Statement] = [(job.flow_urn, JOB, "", job)]
        if job is not named:  # what is said of the operation is said of no job that is written
            at.owner = OPERATION_OWNER
            statements += [(at.run, FOLDED, "", event.name)] if at.run else []
        elif job.level == "flow":
            statements.append((job.flow_urn, OWN_JOB, "", job))
        if self.options.identity.has_job(job, has_io=False):  # a flow-level job's twin is settled with its run
            statements.append((job.job_urn, JOB, "", job))
        if event.kind == "job" and (said := _said(event)):
            statements.append((at.owner, JOB_PROPERTIES, "", said))
        fold(state.cells, statements, at.stamp)

    # -- datasets ---------------------------------------------------------------------------------------------------

    def _entries(self, event: Event, at: Place) -> list[Entry]:
        if event.dataset is not None:
            entries = list(self._named([event.dataset], "dataset", "$.dataset", at))
        else:
            entries = [
                *self._named(event.inputs, "input", "$.inputs", at),
                *self._named(event.outputs, "output", "$.outputs", at),
            ]
        if not at.assertion_platform:
            producer = self.options.identity.producer(event.producer)
            at.assertion_platform = producer.platform if producer is not None else "unknown"
            at.assertion_label = (producer.assertion_label if producer is not None else None) or "check"
        return entries

    def _explicit(self, event: Event, stamp: Stamp, state: RunState, at: Place) -> tuple[Facets, Facets]:
        """Read the job's ``lineage`` before the datasets; return the facets of run and job that are left."""
        left: list[Facets] = []
        attach: Attach
        for attach, facets in (("run", event.run_facets), ("job", event.job_facets)):
            if _EXPLICIT in facets:
                self._bag({_EXPLICIT: facets[_EXPLICIT]}, attach, f"$.{attach}.facets", stamp, state, at)
                at.stamp = stamp
            left.append({key: raw for key, raw in facets.items() if key != _EXPLICIT})
        return left[0], left[1]

    def _named(self, datasets: Iterable[Dataset], role: Role, where: str, at: Place) -> Iterator[Entry]:
        for position, dataset in numbered(datasets, self.options.naming):
            path = where if role == "dataset" else f"{where}[{position}]"
            refusal = None if self.filters.idle else self.filters.dataset(dataset)
            if refusal is not None:
                at.where = path
                at.withheld("", f"filtered:{refusal}")
                # its columns are not to come in by a facet of another dataset
                at.aliases[dataset.namespace, dataset.name] = skipped(
                    self.options.naming(dataset.namespace, dataset.name), f"filtered:{refusal}"
                )
                continue
            name = dataset_name(dataset, self.options.naming, keep_ephemeral=self.options.keep_ephemeral)
            if role == "output" and at.job is not None and at.job.platform == "dbt" and phantom(dataset, at.event):
                name = skipped(name, "phantom")
            at.aliases[dataset.namespace, dataset.name] = name
            if name.skip is not None:
                at.where = path
                at.withheld("", name.skip)
                if name.skip.startswith("filtered"):
                    self.filters.count(name.skip.partition(":")[2].strip())
                continue
            if at.notes is not None:
                at.where = path
                at.about("", name.endpoint)
            yield dataset, name, role, path

    def _mentioned(self, state: RunState, namespace: str, name: str) -> Name:
        """Return the name of a dataset that only a facet mentions: filters hold for it too."""
        found = self.options.naming(namespace, name)
        refusal = self.filters.mention(namespace, name)
        if refusal is not None:
            return skipped(found, f"filtered:{refusal}")
        if found.endpoint is not None and self.options.settings.filters.runs_through(namespace, name):
            state.through |= {found.endpoint}
        return found

    def _dataset(  # noqa: PLR0913 - the parts of one step
        self, dataset: Dataset, name: Name, role: Role, where: str, position: int, state: RunState, at: Place
    ) -> None:
        endpoint = name.endpoint
        if endpoint is None:
            return
        at.dataset, at.name, at.role, at.columns = endpoint, name, role, None
        weight = (OUTPUT_WEIGHT if role == "output" else 0) + (position + 1) * DATASET_WEIGHT
        time, rank, digest, _ = at.stamp
        through, marked = not self.filters.idle and self.filters.through(dataset), self.options.temporary
        if marked != "keep" and not temporary(dataset):
            marked = "keep"
        passed = through or marked == "collapse"
        statements: list[Statement] = [] if passed else [(endpoint, DATASET, "", name)]
        if marked != "keep":
            statements.append((endpoint, TEMPORARY, "", marked))
        if role == "dataset":
            statements += [(endpoint, DATASET_PROPERTIES, "", said)] if (said := _said(at.event)) else []
        elif role == "output" or not own_check(dataset, endpoint, where, at):
            statements.append((at.task, INPUT if role == "input" else OUTPUT, endpoint, time))
        fold(state.cells, statements, (time, rank, digest, weight))
        if through:
            state.through |= {endpoint}
        if passed:
            at.where = where
            at.withheld("", "filtered:through" if through else "policy:temporary")
            return
        bags: Bags = (dataset.facets, dataset.input_facets, dataset.output_facets)
        if not any(bags):
            return
        at.keys = frozenset().union(*bags)
        if _EXPLICIT in at.keys:
            bags = self._explicit_first(bags, where, (time, rank, digest, weight), state, at)
        for (bag, above), facets in zip(_BAGS, bags, strict=True):
            if facets:
                at.bag = bag
                stamp = (time, rank, digest, weight + above)
                if "schema" in facets and "columnLineage" in facets:
                    facets = {"schema": facets["schema"], **facets}  # noqa: PLW2901 - lineage asks for the columns
                self._bag(facets, "dataset", f"{where}.{bag}", stamp, state, at)

    def _explicit_first(self, bags: Bags, where: str, stamp: Stamp, state: RunState, at: Place) -> Bags:
        """Read the dataset's ``lineage``, whatever bag it is in; return the facets that are left."""
        for (bag, above), facets in zip(_BAGS, bags, strict=True):
            if _EXPLICIT in facets:
                at.bag = bag
                weighed = (*stamp[:3], stamp[3] + above)
                self._bag({_EXPLICIT: facets[_EXPLICIT]}, "dataset", f"{where}.{bag}", weighed, state, at)
        return [{key: raw for key, raw in facets.items() if key != _EXPLICIT} for facets in bags]

    # -- facets -----------------------------------------------------------------------------------------------------

    def _bag(  # noqa: PLR0913 - the parts of one step
        self, facets: dict[str, msgspec.Raw], attach: Attach, where: str, stamp: Stamp, state: RunState, at: Place
    ) -> None:
        specs = self._registry[attach]
        cells, strange = state.cells, 0
        for key, raw in facets.items() if len(facets) <= MOST_UNKNOWN else known_first(facets, specs):
            at.attach, at.key, at.where, at.stamp = attach, key, f"{where}.{key}", stamp
            refusal = None if self.filters.idle else self.filters.facet(key)
            if refusal is not None:
                at.withheld("", f"filtered:{refusal}")
                continue
            spec = specs.get(key)
            if spec is None and attach != "dataset":
                spec = misplaced(attach, key, at.event)
            if spec is not None and spec.at == "run" and not at.run:
                at.withheld("", "no-home:no run")
                continue
            if key == _CHECKS and at.bag == "inputFacets":
                at.stamp = (*stamp[:3], stamp[3] + _ABOVE_BOTH)
            try:
                if spec is None:
                    strange += 1
                    if strange <= MOST_UNKNOWN:
                        facts = unknown(raw, at)
                        fold(cells, facts if at.traced is None else self._traced(facts, at), stamp)
                    else:
                        at.withheld("", "too-large")
                else:
                    at.attach = spec.at
                    facts = spec.statements(raw, at)
                    fold(cells, facts if at.traced is None else self._traced(facts, at), at.stamp)
            except RecursionError:  # JSON nested hundreds deep; one unusable facet is not the end of the event (0.6.2)
                at.withheld("", "malformed")

    @staticmethod
    def _traced(facts: Iterator[Statement], at: Place) -> Iterator[Statement]:
        """Return the facts of a facet, recorded for the report."""
        assert at.traced is not None  # noqa: S101 - the caller has looked
        return traced(facts, at.traced.setdefault(at.where, []))


def _later(old: tuple[Stamp, str] | None, new: tuple[Stamp, str]) -> tuple[Stamp, str]:
    return new if old is None else max(old, new)


def _said(event: Event) -> dict[str, str]:
    """Return what a job or dataset event says of its sender; a run's own is on the run."""
    said = ("producer", event.producer), ("schemaURL", event.schema_url)
    return {key: capped(text) for key, text in said if text}
