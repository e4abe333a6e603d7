"""assertionInfo, and a result for each terminal event of the run (facets.md 2; ruling 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.translation.assertions import (
    Check,
    assertion_info,
    assertion_platform,
    assertion_result,
    check_partition,
    run_event,
)
from dh_bridge.translation.fold import first_rung, value
from dh_bridge.translation.render.stamps import millis
from dh_bridge.translation.slots import (
    ASSERTION,
    ATTEMPT,
    BATCH,
    CHECKS,
    METRIC,
    RESULTS,
    RUN_PROPERTIES,
    RUN_URL,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.checks import Stated
    from dh_bridge.translation.history import History
    from dh_bridge.translation.laws import Cell
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.render.ladders import Slots
    from dh_bridge.translation.runstate import RunState

ENTITY = "assertion"
#: Properties of the run that say when and as what it ran (facets.md 2.8); the rest is on the run itself.
_CONTEXT = ("nominalTime.", "dbt_run.invocation_id", "great_expectations_meta.")


def assertion_proposals(urn: str, slots: Slots, options: Options) -> Iterator[Proposal]:
    """Yield what a check is, and whose."""
    stated: Stated | None = value(slots, ASSERTION)
    if stated is None:
        return
    info = assertion_info(
        stated.check,
        stated.dataset,
        profile=options.profile,
        platform=stated.platform,
        column_path=stated.name.column if stated.name is not None else None,
        label=stated.label,
        prefix=options.prefix,
    )
    yield upsert(ENTITY, urn, "assertionInfo", info)
    yield upsert(ENTITY, urn, "dataPlatformInstance", assertion_platform(stated.platform))


def result_proposals(state: RunState, history: History, options: Options) -> Iterator[Proposal]:
    """Yield a result of each check for each terminal event; at once for dataset events, never for job events (5.3)."""
    stamps = [history.last] if state.kind == "dataset" else history.terminals if state.kind == "run" else []
    if not stamps:
        return
    times = dict.fromkeys(millis(stamp[0]) for stamp in stamps)  # one point a millisecond (ruling 2)
    for dataset in sorted(state.cells):
        results = state.cells[dataset].get(RESULTS)
        if results:
            for time in times:
                yield from _results(dataset, results, time, state, options)


def _results(
    dataset: str, results: dict[str, Cell], time: int, state: RunState, options: Options
) -> Iterator[Proposal]:
    run_slots, slots = state.cells.get(state.urn, {}), state.cells[dataset]
    url = first_rung(run_slots, RUN_URL)
    context = _context(state, run_slots)
    for urn in sorted(results):
        check: Check = results[urn][1]
        stated: Stated = slots[CHECKS][urn][1]
        column = stated.name.column(check.column) if stated.name is not None and check.column else check.column
        result = assertion_result(
            check,
            profile=options.profile,
            platform=stated.platform,
            row_count=_metric(slots, "rowCount"),
            missing_count=_metric(slots, "column", column, "nullCount") if column else None,
            external_url=url,
        )
        if result is not None:
            event = run_event(
                urn,
                dataset,
                time=time,
                run_id=state.run_id or None,
                result=result,
                context=context,
                batch=value(run_slots, BATCH),
                partition=check_partition(check),
            )
            yield upsert(ENTITY, urn, "assertionRunEvent", event)


def _metric(slots: Slots, *path: str) -> int | None:
    found = [
        cell[1] for key, cell in sorted(slots.get(METRIC, {}).items(), key=lambda one: one[0][0]) if key[1:] == path
    ]
    return int(found[0]) if found else None


def _context(state: RunState, slots: Slots) -> dict[str, str]:
    found: dict[str, str] = {}
    job = state.job()
    if job is not None:
        found["job"] = f"{job.namespace}/{job.name}"
    attempt = first_rung(slots, ATTEMPT)
    if attempt is not None:
        found["attempt"] = str(attempt)
    facets = sorted(slots.get(RUN_PROPERTIES, {}).items(), key=lambda entry: (entry[1][0], entry[0]))
    for _, (_, properties) in facets:
        found.update({key.rpartition(".")[2]: text for key, text in properties.items() if key.startswith(_CONTEXT)})
    return dict(sorted(found.items()))
