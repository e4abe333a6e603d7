"""One event into the state of its run: names first, then inputs and outputs, then facet by facet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dh_bridge.aggregate.attempts import drop_unused_attempts
from dh_bridge.aggregate.event_zones import add_zone_facts
from dh_bridge.aggregate.foreign_owned import add_alias
from dh_bridge.aggregate.operations import OPERATION_OWNER
from dh_bridge.aggregate.run_history import THINNING_INTERVAL, thin_periodically
from dh_bridge.facet_support.checks import is_check_only_input
from dh_bridge.facet_support.context import (
    DATASET_WEIGHT,
    OUTPUT_WEIGHT,
    RUN_WEIGHT,
    AttachPoint,
    FacetContext,
    Role,
)
from dh_bridge.facet_support.dataset_names import DatasetNames
from dh_bridge.facet_support.dbt_statements import fold_statement
from dh_bridge.facet_support.generic import MAX_UNKNOWN_FACETS, sort_known_first, unknown_facet_facts
from dh_bridge.facet_support.parts import part_facts
from dh_bridge.facets import find_misplaced_facet, registry
from dh_bridge.identity.runs import normalize_run_id
from dh_bridge.model.facts import (
    DATASET,
    DATASET_PROPERTIES,
    DOMAIN,
    FLOW_JOB,
    INPUT,
    JOB,
    JOB_PROPERTIES,
    MERGED_OPERATION,
    OUTPUT,
    RUN_PROPERTIES,
    TEMPORARY,
    Fact,
)
from dh_bridge.model.fold import add_facts
from dh_bridge.model.merge import Digest, Version
from dh_bridge.model.properties import truncate
from dh_bridge.model.run_state import ANY_OWNER, ANY_TASK, RunState, state_without_run
from dh_bridge.model.trace import record_facts
from dh_bridge.naming.datasets import (
    is_temporary,
    resolve_query_dataset,
)
from dh_bridge.openlineage.events import EVENT_TYPE_RANKS, Dataset, Event

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import msgspec

    from dh_bridge.model.trace import Trace
    from dh_bridge.naming import Name
    from dh_bridge.openlineage.events import Facets
    from dh_bridge.options import Options

    FacetGroups = Sequence[Facets]

#: The group of a dataset facet in the specification wins over the other group.
_FACET_GROUPS = (("facets", 2), ("inputFacets", 1), ("outputFacets", 1))
#: Checks are a facet of inputs by the specification; dbt writes them into both bags, and values only here.
_CHECKS, _CHECKS_WEIGHT = "dataQualityAssertions", 2
#: Explicit lineage is read before columnLineage, which it replaces in its event.
_LINEAGE_KEY = "lineage"


class FactExtractor:
    """Walks events into run states, by the options of one configuration."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.filters = options.filters.copy_without_counts()
        self._dataset_names = DatasetNames(options, self.filters)
        self._registry = registry()

    def extract(self, event: Event, runs: dict[str, RunState], trace: Trace | None = None) -> RunState | None:
        """Add the facts of ``extract`` to its run's state in ``runs``; None if a filter drops the event.

        ``trace`` collects the data for the report.
        """
        self.options.masking.mask_event(event)
        refusal = None if self.filters.is_empty else self.filters.rule_for_event(event)
        if refusal is not None:
            if trace is not None:
                trace.notes.append(("$", f"filtered:{refusal}"))
            return None
        sent_event, event = event, fold_statement(event, self.options.identity, trace)
        version: Version = (event.time, EVENT_TYPE_RANKS.get(event.type or "", 0), Digest(event.raw), 0)
        ctx = FacetContext(event, self.options, version)
        ctx.is_statement = event is not sent_event
        ctx.notes, ctx.traced = (None, None) if trace is None else (trace.notes, trace.facts)
        state = self._run_state(event, runs, ctx)
        ctx.apply_dataset_rules(event)
        if self.filters.can_affect_datasets:
            ctx.resolve_name = partial(self._dataset_names.mentioned_name, state, ctx.naming)
        if event.kind != "dataset":
            self._extract_job(event, state, ctx)
            if ctx.job is not None and ctx.job.platform == "dbt":
                ctx.resolve_name = partial(resolve_query_dataset, ctx.resolve_name, ctx.aliases)
        state.events.append((version, event.type))
        if len(state.events) >= THINNING_INTERVAL:
            state.events = thin_periodically(state.events, self.options.settings.runs.heartbeat)
            drop_unused_attempts(state)
        if producer := event.producer:
            state.producer = _latest(state.producer, (version, producer))
        if schema_url := event.schema_url:
            state.schema_url = _latest(state.schema_url, (version, schema_url))
        entries = ctx.entries = self._dataset_names.event_datasets(event, ctx)
        run_facets, job_facets = event.run_facets, event.job_facets
        if event.kind != "dataset" and (_LINEAGE_KEY in job_facets or _LINEAGE_KEY in run_facets):
            run_facets, job_facets = self._extract_job_lineage(event, version, state, ctx)
        for position, (dataset, name, role, path) in enumerate(entries):
            self._extract_dataset(dataset, name, role, path, position, state, ctx)
        ctx.dataset_urn, ctx.name, ctx.columns = "", None, None
        if event.kind == "run" and run_facets:
            # A test of the run that merges with a check of a dataset is the fuller of the two.
            self._extract_facets(run_facets, "run", "$.run.facets", (*version[:3], RUN_WEIGHT), state, ctx)
        if event.kind != "dataset" and job_facets:
            self._extract_facets(job_facets, "job", "$.job.facets", version, state, ctx)
        state.collapsed_urns |= ctx.temporary_urns
        sent_event.notes = event.notes
        return state

    def _run_state(self, event: Event, runs: dict[str, RunState], ctx: FacetContext) -> RunState:
        if event.kind != "run":
            subject = None if event.dataset is None else self.options.subject_of(event.dataset)
            return state_without_run(event, subject, runs, ctx.version)
        urn = ctx.run_urn = ctx.identity.run_urn(event.namespace, event.name, event.run_id)
        if (state := runs.get(urn)) is None:
            state = runs[urn] = RunState(urn, normalize_run_id(event.run_id), "run")
        if event.offset_minutes != 0 and self.options.infers_zones:
            add_zone_facts(event, ctx.version, state)
        if ctx.identity is not self.options.identity:
            add_alias(event, state, ctx)
        return state

    def _extract_job(self, event: Event, state: RunState, ctx: FacetContext) -> None:
        named_job = ctx.identity.job(event.namespace, event.name, ctx.sender)
        job = ctx.job = ctx.identity.carrier(named_job, ctx.sender)
        state.add_job(job, ctx.version, is_terminal=event.is_terminal)
        producer = self.options.identity.producer(ctx.sender)
        state.is_single_event = state.is_single_event or (producer is not None and producer.single_event)
        ctx.assertion_platform, ctx.assertion_label = self.options.identity.assertion_source(event, job.platform)
        if job.placeholder or job.skip:
            ctx.owner_urn, ctx.task_urn = ANY_OWNER, ANY_TASK
            return
        ctx.owner_urn = job.owner_urn
        ctx.task_urn = job.job_urn
        facts: list[Fact] = [(job.flow_urn, JOB, "", job)]
        if job is not named_job:  # facts about the operation belong to no job that is written
            ctx.owner_urn = OPERATION_OWNER
            facts += [(ctx.run_urn, MERGED_OPERATION, "", event.name)] if ctx.run_urn else []
        elif job.level == "flow":
            facts.append((job.flow_urn, FLOW_JOB, "", job))
        if named_job.name != event.name and ctx.run_urn:  # a part of the name changes with every run
            facts.append((ctx.run_urn, RUN_PROPERTIES, "job", {"job.name": truncate(event.name)}))
        if self.options.identity.has_job(job, has_io=False):  # the dataJob of a flow-level job is resolved with its run
            facts.append((job.job_urn, JOB, "", job))
        domain = (
            self.options.identity.domain(event.namespace, event.name, event.producer)
            if self.options.identity.has_dataset_rules
            else None
        )
        if domain is not None:
            has_job = job.level == "job" or event.inputs or event.outputs
            facts += [(urn, DOMAIN, domain, None) for urn in (job.flow_urn, *((job.job_urn,) if has_job else ()))]
        if event.kind == "job" and (properties := _sender_properties(event)):
            facts.append((ctx.owner_urn, JOB_PROPERTIES, "", properties))
        add_facts(state.facts, facts, ctx.version)

    # -- datasets ---------------------------------------------------------------------------------------------------

    def _extract_job_lineage(
        self, event: Event, version: Version, state: RunState, ctx: FacetContext
    ) -> tuple[Facets, Facets]:
        """Read the job's ``lineage`` before the datasets; return the facets of run and job that are left."""
        remaining: list[Facets] = []
        attach: AttachPoint
        for attach, facets in (("run", event.run_facets), ("job", event.job_facets)):
            if _LINEAGE_KEY in facets:
                self._extract_facets(
                    {_LINEAGE_KEY: facets[_LINEAGE_KEY]}, attach, f"$.{attach}.facets", version, state, ctx
                )
                ctx.version = version
            remaining.append({key: raw for key, raw in facets.items() if key != _LINEAGE_KEY})
        return remaining[0], remaining[1]

    def _extract_dataset(  # noqa: PLR0913 - the parts of one step
        self, dataset: Dataset, name: Name, role: Role, path: str, position: int, state: RunState, ctx: FacetContext
    ) -> None:
        endpoint = name.endpoint
        if endpoint is None:
            return
        ctx.dataset_urn, ctx.name, ctx.role, ctx.columns = endpoint, name, role, None
        weight = (OUTPUT_WEIGHT if role == "output" else 0) + (position + 1) * DATASET_WEIGHT
        time, rank, digest, _ = ctx.version
        is_collapsed = (self.filters.lists_temporary or bool(name.notes)) and self._dataset_names.is_temporary(
            dataset.namespace, dataset.name, name
        )
        policy = self.options.temporary_policy
        if policy != "keep" and not is_temporary(dataset):
            policy = "keep"
        is_dropped = is_collapsed or policy == "collapse"
        facts: list[Fact] = [] if is_dropped else [(endpoint, DATASET, "", name)]
        if policy != "keep":
            facts.append((endpoint, TEMPORARY, "", policy))
        facts += [(endpoint, DOMAIN, domain, None) for domain in ctx.dataset_domains]
        if role == "dataset":
            facts += (
                [(endpoint, DATASET_PROPERTIES, "", properties)]
                if (properties := _sender_properties(ctx.event))
                else []
            )
        elif role == "output" or not is_check_only_input(dataset, endpoint, path, ctx):
            facts.append((ctx.task_urn, INPUT if role == "input" else OUTPUT, endpoint, time))
        facts += part_facts(name, path, (time, rank, digest, weight), ctx) if name.notes and not is_dropped else ()
        add_facts(state.facts, facts, (time, rank, digest, weight))
        if is_collapsed:
            state.collapsed_urns |= {endpoint}
            self.filters.count("temporary")
        if is_dropped:
            ctx.path = path
            ctx.note_dropped("", "policy:temporary")
            return
        facet_groups: FacetGroups = (dataset.facets, dataset.input_facets, dataset.output_facets)
        if not any(facet_groups):
            return
        ctx.facet_keys = frozenset().union(*facet_groups)
        if _LINEAGE_KEY in ctx.facet_keys:
            facet_groups = self._extract_dataset_lineage(facet_groups, path, (time, rank, digest, weight), state, ctx)
        for (group, weight_offset), facets in zip(_FACET_GROUPS, facet_groups, strict=True):
            if facets:
                ctx.facet_group = group
                version = (time, rank, digest, weight + weight_offset)
                if "schema" in facets and "columnLineage" in facets:
                    facets = {"schema": facets["schema"], **facets}  # noqa: PLW2901 - lineage asks for the columns
                self._extract_facets(facets, "dataset", f"{path}.{group}", version, state, ctx)

    def _extract_dataset_lineage(
        self, facet_groups: FacetGroups, path: str, version: Version, state: RunState, ctx: FacetContext
    ) -> FacetGroups:
        """Read the dataset's ``lineage`` from either group; return the remaining facets."""
        for (group, weight_offset), facets in zip(_FACET_GROUPS, facet_groups, strict=True):
            if _LINEAGE_KEY in facets:
                ctx.facet_group = group
                weighted_version = (*version[:3], version[3] + weight_offset)
                self._extract_facets(
                    {_LINEAGE_KEY: facets[_LINEAGE_KEY]}, "dataset", f"{path}.{group}", weighted_version, state, ctx
                )
        return [{key: raw for key, raw in facets.items() if key != _LINEAGE_KEY} for facets in facet_groups]

    # -- facets -----------------------------------------------------------------------------------------------------

    def _extract_facets(  # noqa: PLR0913 - the parts of one step
        self,
        facets: dict[str, msgspec.Raw],
        attach: AttachPoint,
        path: str,
        version: Version,
        state: RunState,
        ctx: FacetContext,
    ) -> None:
        specs = self._registry[attach]
        cells, unknown_count = state.facts, 0
        for key, raw in facets.items() if len(facets) <= MAX_UNKNOWN_FACETS else sort_known_first(facets, specs):
            ctx.attach, ctx.key, ctx.path, ctx.version = attach, key, f"{path}.{key}", version
            refusal = None if self.filters.is_empty else self.filters.rule_for_facet(key)
            if refusal is not None:
                ctx.note_dropped("", f"filtered:{refusal}")
                continue
            spec = specs.get(key)
            if spec is None and attach != "dataset":
                spec = find_misplaced_facet(attach, key, ctx.event)
            if spec is not None and spec.attach == "run" and not ctx.run_urn:
                ctx.note_dropped("", "no-field:no run")
                continue
            if key == _CHECKS and ctx.facet_group == "inputFacets":
                ctx.version = (*version[:3], version[3] + _CHECKS_WEIGHT)
            try:
                if spec is None:
                    unknown_count += 1
                    if unknown_count <= MAX_UNKNOWN_FACETS:
                        facts = unknown_facet_facts(raw, ctx)
                        add_facts(cells, facts if ctx.traced is None else self._record_facts(facts, ctx), version)
                    else:
                        ctx.note_dropped("", "too-large")
                else:
                    ctx.attach = spec.attach
                    facts = spec.extract_facts(raw, ctx)
                    add_facts(cells, facts if ctx.traced is None else self._record_facts(facts, ctx), ctx.version)
            except RecursionError:  # JSON nested hundreds deep; one unusable facet is not the end of the event (0.6.2)
                ctx.note_dropped("", "malformed")

    @staticmethod
    def _record_facts(facts: Iterator[Fact], ctx: FacetContext) -> Iterator[Fact]:
        """Return the facts of a facet, recorded for the report."""
        assert ctx.traced is not None  # noqa: S101 - the caller has looked
        return record_facts(facts, ctx.traced.setdefault(ctx.path, []))


def _latest(old: tuple[Version, str] | None, new: tuple[Version, str]) -> tuple[Version, str]:
    return new if old is None else max(old, new)


def _sender_properties(event: Event) -> dict[str, str]:
    """Return the facts about the sender of a job or dataset event; those of a run are on the run."""
    pairs = ("producer", event.producer), ("schemaURL", event.schema_url)
    return {key: truncate(text) for key, text in pairs if text}
