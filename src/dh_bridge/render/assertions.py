"""assertionInfo, and a result for each terminal event of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.assertions import (
    Check,
    assertion_info,
    assertion_platform,
    assertion_result,
    check_partition,
    run_event,
)
from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.facet_support.context import entry_number
from dh_bridge.facet_support.subsets import single_partition_spec
from dh_bridge.model.facts import (
    ASSERTION,
    ASSERTION_PROPERTIES,
    ASSERTION_URL,
    ATTEMPT,
    BATCH,
    CHECKS,
    METRIC,
    PARTITION,
    REPLACED_CHECK,
    RESULTS,
    RUN_PROPERTIES,
    RUN_URL,
    SCHEMA,
)
from dh_bridge.model.fold import first_by_precedence, value
from dh_bridge.model.properties import MergedProperty
from dh_bridge.render.fragments import millis
from dh_bridge.render.precedence import combine_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.aggregate.run_history import History
    from dh_bridge.assertions.native import ColumnLookup
    from dh_bridge.columns import SchemaFields
    from dh_bridge.facet_support.checks import StatedCheck
    from dh_bridge.facet_support.context import EntryId, PartitionSpec
    from dh_bridge.model.fold import FactsByEntity, Registers
    from dh_bridge.model.merge import Version, Versioned
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

ENTITY = "assertion"
#: Properties of the run about its time and attempt; the others are on the run itself.
CONTEXT_PREFIXES = ("nominalTime.", "dbt_run.invocation_id", "great_expectations_meta.")


def assertion_proposals(urn: str, registers: Registers, shared: FactsByEntity, options: Options) -> Iterator[Proposal]:
    """Yield the definition and the platform of an assertion."""
    stated_check: StatedCheck | None = value(registers, ASSERTION)
    if stated_check is None:
        return
    kind = options.settings.assertions.type
    properties = combine_properties(registers, ASSERTION_PROPERTIES, options.prefix)
    if replaced_urn := value(registers, REPLACED_CHECK):
        properties[f"{options.prefix}replaces"] = replaced_urn
    info = assertion_info(
        stated_check.check,
        stated_check.dataset,
        profile=options.profile,
        platform=stated_check.platform,
        table=options.tables.assertions,
        column_path=stated_check.name.spell_column if stated_check.name is not None else None,
        label=stated_check.label,
        kind=kind,
        find_column=_column_lookup(shared.get(stated_check.dataset, {})) if kind == "native" else None,
        properties=properties,
        external_url=value(registers, ASSERTION_URL),
        prefix=options.prefix,
    )
    yield upsert(ENTITY, urn, "assertionInfo", info)
    yield upsert(ENTITY, urn, "dataPlatformInstance", assertion_platform(stated_check.platform))


def _column_lookup(registers: Registers) -> ColumnLookup:
    """Return the look-up of field paths in the dataset's schema, from the runs of this call."""
    schema: SchemaFields | None = value(registers, SCHEMA)
    return {field["fieldPath"]: field for field in schema.fields}.get if schema is not None else {}.get


def result_proposals(state: RunState, history: History, options: Options) -> Iterator[Proposal]:
    """Yield a result of each check for each terminal event; at once for dataset events, never for job events (5.3)."""
    versions = history.terminals if state.kind == "run" else []
    if state.kind == "dataset":  # several in one millisecond may be about different parts
        versions = [version for version, _ in state.events]
    if not versions:
        return
    attempts: dict[int, int] = {}
    if ATTEMPT in state.facts.get(state.urn, ()):
        attempts = {point.time: point.attempt for point in history.points}
    for dataset in sorted(state.facts):
        results = state.facts[dataset].get(RESULTS)
        if not results:
            continue
        # one point for each assertion, millisecond and part: of two events, the values of the later one
        points: dict[tuple[str, int, str], Proposal] = {}
        for version in sorted(versions):
            for proposal in _event_results(dataset, results, version, state, options, attempts.get(version[0])):
                partition = proposal.value["partitionSpec"]["partition"]
                points[proposal.entity_urn, proposal.value["timestampMillis"], partition] = proposal
        yield from points.values()


def _event_results(  # noqa: PLR0913 - the parts of one step
    dataset: str,
    results: dict[Any, Versioned],
    version: Version,
    state: RunState,
    options: Options,
    attempt: int | None,
) -> Iterator[Proposal]:
    run_registers, registers = state.facts.get(state.urn, {}), state.facts[dataset]
    url = first_by_precedence(run_registers, RUN_URL)
    error = (value(run_registers, RUN_PROPERTIES, "errorMessage") or {}).get("errorMessage.message")
    context = runtime_context(state, run_registers, attempt)
    time, metrics = millis(version[0]), _metrics_by_path(registers)
    for (urn, entry_id), check, partition in _results_by_partition(results, registers, version):
        stated_check: StatedCheck = registers[CHECKS][urn][1]
        column = (
            stated_check.name.spell_column(check.column)
            if stated_check.name is not None and check.column
            else check.column
        )
        result = assertion_result(
            check,
            profile=options.profile,
            platform=stated_check.platform,
            table=options.tables.assertions,
            errors=options.tables.assertion_errors,
            row_count=_metric(metrics, entry_id, "rowCount"),
            missing_count=_metric(metrics, entry_id, "column", column, "nullCount") if column else None,
            external_url=url,
            warn_as=options.settings.assertions.warn_as,
            error=error,
            kind=options.settings.assertions.type,
        )
        if result is not None:
            event = run_event(
                urn,
                dataset,
                time=time,
                run_id=state.run_id or None,
                run_key=state.guid,
                result=result,
                context={**context, "datasets": list(check.other_datasets)} if check.other_datasets else context,
                batch=value(run_registers, BATCH),
                partition=partition.to_json() if partition is not None else check_partition(check),
            )
            yield upsert(ENTITY, urn, "assertionRunEvent", event)


def _results_by_partition(
    results: dict[Any, Versioned], registers: Registers, version: Version
) -> list[tuple[tuple[str, Any], Check, PartitionSpec | None]]:
    """Return (key, check, part of the dataset) of each result: one for each assertion and part.

    Facts of the event with ``version`` replace those of other events of the run. A result belongs to the part that its entry
    reads or writes, else to the part that the event with ``version`` reads.
    """
    if PARTITION not in registers and all(entry_id is None for _, entry_id in results):
        return [(key, results[key][1], None) for key in sorted(results)]
    partitions, event_partition = registers.get(PARTITION, {}), single_partition_spec(registers, version)
    event_urns = {key[0] for key, versioned in results.items() if versioned[0][:3] == version[:3]}
    latest: dict[tuple[str, str], tuple[Version, tuple[str, Any], Check, PartitionSpec | None]] = {}
    for key, (result_version, check) in results.items():
        if result_version[:3] == version[:3] or key[0] not in event_urns:
            partition = partitions[key[1]][1] if key[1] in partitions else event_partition
            result_key = (key[0], "" if partition is None else f"{partition.kind} {partition.partition}")
            if result_key not in latest or result_version > latest[result_key][0]:
                latest[result_key] = (result_version, key, check, partition)
    return [latest[result_key][1:] for result_key in sorted(latest)]


def _metrics_by_path(registers: Registers) -> dict[tuple[str, ...], list[Versioned]]:
    """Return the measurements of the dataset in the run, by path; the source of lower rank first."""
    metrics: dict[tuple[str, ...], list[Versioned]] = {}
    for key, versioned in sorted(registers.get(METRIC, {}).items(), key=lambda item: item[0][0]):
        metrics.setdefault(key[1:], []).append(versioned)
    return metrics


def _metric(metrics: dict[tuple[str, ...], list[Versioned]], entry_id: EntryId | None, *path: str) -> int | None:
    """Return the measured value at ``path``; for a part, only a value of that part."""
    for version, number in metrics.get(path, ()):
        if entry_id is None or (version[:3], entry_number(version)) == (entry_id[0], entry_id[2]):
            return int(number)
    return None


def runtime_context(state: RunState, registers: Registers, attempt: int | None = None) -> dict[str, str]:
    """Return when and as what a run checked; ``attempt`` is the one that its events state."""
    context: dict[str, str] = {}
    job = state.job()
    if job is not None:
        context["job"] = f"{job.namespace}/{job.name}"
    if attempt is not None:
        context["attempt"] = str(attempt)
    facets = sorted(registers.get(RUN_PROPERTIES, {}).items(), key=lambda entry: (entry[1][0], entry[0]))
    for _, (_, properties) in facets:
        if type(properties) is not MergedProperty:
            context.update(
                {key.rpartition(".")[2]: text for key, text in properties.items() if key.startswith(CONTEXT_PREFIXES)}
            )
    return dict(sorted(context.items()))
