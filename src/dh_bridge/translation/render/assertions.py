"""assertionInfo, and a result for each terminal event of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.translation.assertions import (
    Check,
    assertion_info,
    assertion_platform,
    assertion_result,
    check_partition,
    run_event,
)
from dh_bridge.translation.context import entry_of
from dh_bridge.translation.facts import (
    ASSERTION,
    ASSERTION_PROPERTIES,
    ASSERTION_URL,
    ATTEMPT,
    BATCH,
    CHECKS,
    METRIC,
    PARTITION,
    REPLACES,
    RESULTS,
    RUN_PROPERTIES,
    RUN_URL,
    SCHEMA,
)
from dh_bridge.translation.fold import first_rung, value
from dh_bridge.translation.properties import Joined
from dh_bridge.translation.reading.subsets import part_of
from dh_bridge.translation.render.precedence import combined
from dh_bridge.translation.render.stamps import millis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.assertions.native import ColumnOf
    from dh_bridge.translation.columns import SchemaFields
    from dh_bridge.translation.context import Mark, Part
    from dh_bridge.translation.fold import Cells, Slots
    from dh_bridge.translation.merge import Cell, Stamp
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.reading.checks import Stated
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState

ENTITY = "assertion"
#: Properties of the run that say when and as what it ran; the rest is on the run itself.
CONTEXT = ("nominalTime.", "dbt_run.invocation_id", "great_expectations_meta.")


def assertion_proposals(urn: str, slots: Slots, shared: Cells, options: Options) -> Iterator[Proposal]:
    """Yield what a check is, and whose."""
    stated: Stated | None = value(slots, ASSERTION)
    if stated is None:
        return
    kind = options.settings.assertions.type
    properties = combined(slots, ASSERTION_PROPERTIES, options.prefix)
    if replaced := value(slots, REPLACES):
        properties[f"{options.prefix}replaces"] = replaced
    info = assertion_info(
        stated.check,
        stated.dataset,
        profile=options.profile,
        platform=stated.platform,
        table=options.tables.assertions,
        column_path=stated.name.column if stated.name is not None else None,
        label=stated.label,
        kind=kind,
        column=_columns(shared.get(stated.dataset, {})) if kind == "native" else None,
        properties=properties,
        external_url=value(slots, ASSERTION_URL),
        prefix=options.prefix,
    )
    yield upsert(ENTITY, urn, "assertionInfo", info)
    yield upsert(ENTITY, urn, "dataPlatformInstance", assertion_platform(stated.platform))


def _columns(slots: Slots) -> ColumnOf:
    """Return the look-up of field paths in the dataset's schema, as the runs of this call know it."""
    schema: SchemaFields | None = value(slots, SCHEMA)
    return {field["fieldPath"]: field for field in schema.fields}.get if schema is not None else {}.get


def result_proposals(state: RunState, history: History, options: Options) -> Iterator[Proposal]:
    """Yield a result of each check for each terminal event; at once for dataset events, never for job events (5.3)."""
    stamps = history.terminals if state.kind == "run" else []
    if state.kind == "dataset":  # several in one millisecond may each tell of another part
        stamps = [stamp for stamp, _ in state.events]
    if not stamps:
        return
    for dataset in sorted(state.cells):
        results = state.cells[dataset].get(RESULTS)
        if not results:
            continue
        # one point for each check, millisecond and part: of two events in one, what the later one says
        points: dict[tuple[str, int, str], Proposal] = {}
        for stamp in sorted(stamps):
            for found in _results(dataset, results, stamp, state, options):
                spec = found.value["partitionSpec"]["partition"]
                points[found.entity_urn, found.value["timestampMillis"], spec] = found
        yield from points.values()


def _results(
    dataset: str, results: dict[Any, Cell], stamp: Stamp, state: RunState, options: Options
) -> Iterator[Proposal]:
    run_slots, slots = state.cells.get(state.urn, {}), state.cells[dataset]
    url = first_rung(run_slots, RUN_URL)
    error = (value(run_slots, RUN_PROPERTIES, "errorMessage") or {}).get("errorMessage.message")
    context = runtime_context(state, run_slots)
    time, measured = millis(stamp[0]), _measured(slots)
    for (urn, mark), check, part in _parted(results, slots, stamp):
        stated: Stated = slots[CHECKS][urn][1]
        column = stated.name.column(check.column) if stated.name is not None and check.column else check.column
        result = assertion_result(
            check,
            profile=options.profile,
            platform=stated.platform,
            table=options.tables.assertions,
            errors=options.tables.assertion_errors,
            row_count=_metric(measured, mark, "rowCount"),
            missing_count=_metric(measured, mark, "column", column, "nullCount") if column else None,
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
                mark=state.mark,
                result=result,
                context={**context, "datasets": list(check.others)} if check.others else context,
                batch=value(run_slots, BATCH),
                partition=part.spec() if part is not None else check_partition(check),
            )
            yield upsert(ENTITY, urn, "assertionRunEvent", event)


def _parted(results: dict[Any, Cell], slots: Slots, stamp: Stamp) -> list[tuple[tuple[str, Any], Check, Part | None]]:
    """Return (key, check, part of the dataset) of each result: one for each assertion and part.

    What the event of ``stamp`` itself says of an assertion replaces what other events of the run said of it. A result
    belongs to the part that its entry reads or writes, else to the part that the event of ``stamp`` reads.
    """
    if PARTITION not in slots and all(mark is None for _, mark in results):
        return [(key, results[key][1], None) for key in sorted(results)]
    parts, told = slots.get(PARTITION, {}), part_of(slots, stamp)
    own = {key[0] for key, cell in results.items() if cell[0][:3] == stamp[:3]}
    found: dict[tuple[str, str], tuple[Stamp, tuple[str, Any], Check, Part | None]] = {}
    for key, (said, check) in results.items():
        if said[:3] == stamp[:3] or key[0] not in own:
            part = parts[key[1]][1] if key[1] in parts else told
            name = (key[0], "" if part is None else f"{part.kind} {part.partition}")
            if name not in found or said > found[name][0]:
                found[name] = (said, key, check, part)
    return [found[name][1:] for name in sorted(found)]


def _measured(slots: Slots) -> dict[tuple[str, ...], list[Cell]]:
    """Return what the run measured of the dataset, by path; of several sources the one of lower rank first."""
    found: dict[tuple[str, ...], list[Cell]] = {}
    for key, cell in sorted(slots.get(METRIC, {}).items(), key=lambda one: one[0][0]):
        found.setdefault(key[1:], []).append(cell)
    return found


def _metric(measured: dict[tuple[str, ...], list[Cell]], mark: Mark | None, *path: str) -> int | None:
    """Return what was measured at ``path``; of a part only what was measured of that part."""
    for stamp, number in measured.get(path, ()):
        if mark is None or (stamp[:3], entry_of(stamp)) == (mark[0], mark[2]):
            return int(number)
    return None


def runtime_context(state: RunState, slots: Slots) -> dict[str, str]:
    """Return when and as what a run checked."""
    found: dict[str, str] = {}
    job = state.job()
    if job is not None:
        found["job"] = f"{job.namespace}/{job.name}"
    attempt = first_rung(slots, ATTEMPT)
    if attempt is not None:
        found["attempt"] = str(attempt)
    facets = sorted(slots.get(RUN_PROPERTIES, {}).items(), key=lambda entry: (entry[1][0], entry[0]))
    for _, (_, properties) in facets:
        if type(properties) is not Joined:
            found.update({key.rpartition(".")[2]: text for key, text in properties.items() if key.startswith(CONTEXT)})
    return dict(sorted(found.items()))
