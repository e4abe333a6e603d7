"""The facts that the state of one run contributes to shared entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.aggregate.assertion_expiry import add_check_runs
from dh_bridge.aggregate.edge_expiry import add_edge_uses, drop_columns
from dh_bridge.aggregate.eventless_tasks import add_eventless_runs
from dh_bridge.aggregate.queries import add_queries, single_query_of, sql_text
from dh_bridge.aggregate.unnamed_jobs import move_facts_to_run, unnamed_job_urns
from dh_bridge.datahub.urns import DATAHUB_ACTOR, corpuser_urn, is_urn
from dh_bridge.model.facts import (
    ASSERTION,
    ASSERTION_URL,
    CHECK,
    CHECKS,
    CONTENT_MODE,
    DATASET,
    EDGE_PROPERTIES,
    EXPLICIT_LINEAGE,
    IMPLIED_INPUT,
    INDIRECT,
    INPUT,
    INPUT_EDGE,
    JOB,
    JOB_FIELD,
    LIFECYCLE,
    MERGED_OPERATION,
    OUTPUT,
    OUTPUT_EDGE,
    RUN_USER,
    SQL,
    SQL_TEXT,
    STATISTIC,
    STATUS,
    UPSTREAM,
    Fact,
    FactKind,
)
from dh_bridge.model.fold import FactsByEntity, add_facts, first_by_precedence, merge_elements, merge_facts, value
from dh_bridge.model.merge import MIN_VERSION
from dh_bridge.model.precedence import PAGE_CODE
from dh_bridge.model.run_state import ANY_OWNER, ANY_TASK, RunState
from dh_bridge.value_maps.owner_types import apply_domain

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.aggregate.run_history import History
    from dh_bridge.model.fold import Registers
    from dh_bridge.model.merge import Version, Versioned
    from dh_bridge.options import Options


_JOB_KINDS = frozenset({SQL, INPUT, OUTPUT, IMPLIED_INPUT})
_EDGES = ((INPUT, INPUT_EDGE, "input"), (OUTPUT, OUTPUT_EDGE, "output"), (IMPLIED_INPUT, INPUT_EDGE, ""))
_SNAPSHOT = "COMPLETE_SNAPSHOT"


def resolve_placeholders(state: RunState) -> None:
    """Assign the facts of placeholder events to each job that another event of the run names."""
    owner_registers, task_registers = state.facts.pop(ANY_OWNER, None), state.facts.get(ANY_TASK)
    if owner_registers is None and task_registers is None:
        return
    if MERGED_OPERATION in state.facts.get(state.urn, {}):
        owner_registers = None  # the facts of an operation belong to no job that is written
    jobs = [job for job, _ in state.jobs.values() if not job.placeholder and not job.skip]
    for job in jobs:
        for registers, urn in ((owner_registers, job.owner_urn), (task_registers, job.job_urn)):
            for fact_kind, elements in (registers or {}).items():
                merge_elements(state.facts.setdefault(urn, {}).setdefault(fact_kind, {}), fact_kind, elements)
    if jobs:
        state.facts.pop(ANY_TASK, None)


def add_flow_jobs(state: RunState, task_urns: Collection[str] | None = None) -> None:
    """Add the flow job of a flow-level job if the events of the run have inputs or outputs of that job.

    ``task_urns``: the URNs of the jobs that had some; None: those that still have some.
    """
    for job, (_, version) in state.jobs.values():
        registers = state.facts.get(job.job_urn, {})
        has_io = (INPUT in registers or OUTPUT in registers) if task_urns is None else job.job_urn in task_urns
        if job.level == "flow" and not job.placeholder and not job.skip and has_io:
            add_facts(state.facts, ((job.job_urn, JOB, "", job),), version)


def resolve_snapshots(state: RunState) -> None:
    """If the run sends snapshots, reduce inputs and outputs to those of the last event that lists any."""
    if value(state.facts.get(state.urn, {}), CONTENT_MODE) != _SNAPSHOT:
        return
    state.snapshot_outputs = frozenset(io_of(state, OUTPUT))
    task_urns = set()
    for urn, registers in state.facts.items():
        removed = {
            direction: _keep_last_snapshot(registers, fact_kind)
            for direction, fact_kind in (("input", INPUT), ("output", OUTPUT))
        }
        if any(removed.values()):  # lineage between columns follows the datasets
            drop_columns(registers, removed)
            removed_urns = frozenset().union(*removed.values()) - state.collapsed_urns
            if any(DATASET in state.facts.get(dataset, ()) for dataset in removed_urns):
                task_urns.add(urn)
    add_flow_jobs(state, task_urns)


def _keep_last_snapshot(registers: Registers, fact_kind: FactKind) -> frozenset[str]:
    """Reduce one side to the datasets of the last event with datasets; return the others."""
    elements = registers.get(fact_kind)
    if not elements:
        return frozenset()
    last_version = max(version[:3] for version, _ in elements.values())
    registers[fact_kind] = {urn: versioned for urn, versioned in elements.items() if versioned[0][:3] == last_version}
    return frozenset(elements.keys() - registers[fact_kind].keys())


def contribute(state: RunState, history: History, shared: FactsByEntity, options: Options) -> None:
    """Merge the facts of ``state`` about jobs, flows, datasets and assertions into ``shared`` (its own facts if it is the only run)."""
    add_flow_jobs(state)
    if options.has_queries:
        add_queries(state, history, actor_of(state.facts.get(state.urn, {}), options), options)
    unnamed_urns = unnamed_job_urns(state)
    if unnamed_urns:
        move_facts_to_run(state, unnamed_urns)
    if shared is not state.facts:
        merge_facts(shared, state.facts)
    is_effective = history.has_completed or state.kind == "dataset"
    for urn, registers in list(state.facts.items()):
        if is_effective and LIFECYCLE in registers:
            merge_elements(shared.setdefault(urn, {}).setdefault(STATUS, {}), STATUS, registers[LIFECYCLE])
        if CHECKS in registers:
            _add_check_facts(registers[CHECKS], state, shared, options)
        if not _JOB_KINDS.isdisjoint(registers) and urn not in unnamed_urns:
            _add_job_facts(urn, registers, state, history, shared, options)
    if options.settings.assertions.expire != "off":
        add_check_runs(state, history, shared)
    if options.settings.airflow.tasks_without_events == "runs":
        add_eventless_runs(state, shared, options)
    add_upstreams(state, unnamed_urns, shared, options)


def _add_job_facts(  # noqa: PLR0913 - the parts of one step
    urn: str, registers: Registers, state: RunState, history: History, shared: FactsByEntity, options: Options
) -> None:
    """Merge the facts of a job, and its edges."""
    if SQL in registers:
        version, text = sql_text(registers[SQL][""])
        add_facts(shared, ((urn, SQL_TEXT, "", text),), version)
    if urn != ANY_TASK and (INPUT in registers or OUTPUT in registers or IMPLIED_INPUT in registers):
        end_version = max(history.terminals) if history.terminals else (history.last_version if not state.urn else None)
        _add_edge_facts(urn, state, end_version, shared, actor_of(state.facts.get(state.urn, {}), options))
        if options.settings.edges != "accumulate":
            add_edge_uses(urn, state, history, shared)


def _add_check_facts(checks: dict[Any, Versioned], state: RunState, shared: FactsByEntity, options: Options) -> None:
    """Merge the definitions of the checks of a dataset, and the URL of their code."""
    code_page = _code_page(state)
    is_native = options.settings.assertions.type == "native"
    for assertion, (version, stated_check) in checks.items():
        add_facts(shared, ((assertion, ASSERTION, "", stated_check),), version)
        if is_native:
            add_facts(shared, ((stated_check.dataset, CHECK, assertion, None),), version)
        if code_page is not None:
            add_facts(shared, ((assertion, ASSERTION_URL, "", code_page[1]),), code_page[0])


def _code_page(state: RunState) -> Versioned | None:
    """Return the URL of the code of the run's job (sourceCodeLocation): it is that of its checks, too."""
    job = state.job()
    if job is None:
        return None
    return state.facts.get(job.owner_urn, {}).get(JOB_FIELD, {}).get(("externalUrl", PAGE_CODE))


def run_user(registers: Registers) -> str | None:
    """Return the name of the user of a run, None if no facet has it; ``registers`` are those of the run."""
    user = first_by_precedence(registers, RUN_USER)
    return user if isinstance(user, str) and is_urn(corpuser_urn(user)) else None


def actor_of(registers: Registers, options: Options) -> str:
    """Return the URN for audit stamps of the run."""
    user = run_user(registers) if RUN_USER in registers else None
    if not user:
        return DATAHUB_ACTOR
    return corpuser_urn(apply_domain(user, options.settings.owners.email_domain))


def _add_edge_facts(task: str, state: RunState, end_version: Version | None, shared: FactsByEntity, actor: str) -> None:
    """Merge the edges of one job: the first use, for a run that ended (``end_version``) the last use, and properties."""
    registers = state.facts[task]
    properties_by_edge = edge_properties(task, state) if end_version is not None else {}
    plain_facts: list[Fact] = []
    facts_with_properties: list[Fact] = []
    for fact_kind, target, direction in _EDGES:
        if fact_kind not in registers:
            continue
        for dataset, (version, first_time) in registers[fact_kind].items():
            if dataset in state.unlinked_urns:
                continue
            modified = (version[0], actor) if end_version is not None else (0, "")
            properties = properties_by_edge.get((direction, dataset))
            edge = ((first_time, actor), modified, properties or {})
            (facts_with_properties if properties else plain_facts).append((task, target, dataset, edge))
    add_facts(shared, plain_facts, MIN_VERSION)
    if facts_with_properties and end_version is not None:
        add_facts(shared, facts_with_properties, end_version)


def edge_properties(task: str, state: RunState) -> dict[tuple[str, str], dict[str, str]]:
    """Return the properties of the inputs and outputs of a job of the run, by (direction, dataset)."""
    registers = state.facts[task]
    properties_by_edge: dict[tuple[str, str], dict[str, str]] = {}
    for fact_kind in (EDGE_PROPERTIES, STATISTIC):
        elements = registers.get(fact_kind)
        if not elements:
            continue
        for (direction, dataset, field_name), (_, properties) in sorted(
            elements.items(), key=lambda entry: (entry[1][0], entry[0])
        ):
            edge = properties_by_edge.setdefault((direction, dataset), {})
            if fact_kind is STATISTIC:
                edge[f"{direction}Statistics.{field_name}"] = str(properties)
            elif INDIRECT in properties and INDIRECT in edge:  # of another output of the run
                columns = {*edge[INDIRECT].split(","), *properties[INDIRECT].split(",")}
                edge[INDIRECT] = ",".join(sorted(columns))
            else:
                edge.update(properties)
    return properties_by_edge


def counts_of(state: RunState) -> dict[tuple[str, str], dict[str, int]]:
    """Return the statistics of the run by (direction, dataset): the maximum of its jobs."""
    counts_by_dataset: dict[tuple[str, str], dict[str, int]] = {}
    for statistics in [registers[STATISTIC] for registers in state.facts.values() if STATISTIC in registers]:
        for (direction, dataset, statistic), (_, count) in statistics.items():
            counts = counts_by_dataset.setdefault((direction, dataset), {})
            counts[statistic] = max(count, counts.get(statistic, 0))
    return counts_by_dataset


def outputs_of(state: RunState) -> set[str]:
    """Return the datasets that the run writes or wrote by an older snapshot, or that a dataset event is about."""
    urns = {*(state.snapshot_outputs - state.collapsed_urns)}
    for urn, registers in state.facts.items():
        if OUTPUT in registers:
            urns.update(registers[OUTPUT])
        if state.kind == "dataset" and DATASET in registers:
            urns.add(urn)
    return urns


def io_of(state: RunState, fact_kind: FactKind) -> dict[str, Versioned]:
    """Return the datasets that the run itself reads or writes: the union over its jobs. Do not change the result."""
    elements_by_job = [registers[fact_kind] for registers in state.facts.values() if fact_kind in registers]
    if len(elements_by_job) == 1:
        return elements_by_job[0]
    datasets: dict[str, Versioned] = {}
    for elements in elements_by_job:
        merge_elements(datasets, fact_kind, elements)
    return datasets


def add_upstreams(state: RunState, unnamed_urns: frozenset[str], shared: FactsByEntity, options: Options) -> None:
    """Add inputs x outputs of the run's jobs to the outputs' upstreams if the settings ask for it.

    For ``unnamed_urns``, always.

    Only for outputs without a ``lineage`` facet or column lineage of the run. The only output of a query whose job has no edges
    depends on all inputs, whether its columns come from them or they only filter. The facts of a run are complete only at its
    end, so this is not done for single events.
    """
    for_all_jobs = options.settings.column_lineage.target in ("dataset", "both")
    edgeless_tasks = unnamed_urns | {ANY_TASK} if state.kind == "job" else unnamed_urns
    if not for_all_jobs and edgeless_tasks.isdisjoint(state.facts):
        return
    explicit_urns = {urn for urn, registers in state.facts.items() if EXPLICIT_LINEAGE in registers}
    described_urns = explicit_urns.union([urn for urn, registers in state.facts.items() if UPSTREAM in registers])
    for task, registers in list(state.facts.items()):
        if not for_all_jobs and task not in edgeless_tasks:
            continue
        inputs, outputs = registers.get(INPUT, {}), registers.get(OUTPUT, {})
        excluded_urns = explicit_urns if task in edgeless_tasks and len(outputs) == 1 else described_urns
        for output, (version, _) in outputs.items():
            if output in excluded_urns or output in state.unlinked_urns:
                continue
            for source, (input_version, _) in inputs.items():
                # a MERGE reads its target: an edge of the job, but no upstream
                if source != output and source not in state.unlinked_urns:
                    query = single_query_of(state, output)
                    add_facts(shared, ((output, UPSTREAM, ("", source), query),), max(version, input_version))
