"""Stage two: what the state of one run contributes to what many runs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.urns import corpuser_urn, is_urn
from dh_bridge.translation.facts import (
    ASSERTION,
    ASSERTION_URL,
    CHECK,
    CHECKS,
    CONTENT_MODE,
    DATASET,
    EDGE_PROPERTIES,
    FOLDED,
    INDIRECT,
    INPUT,
    INPUT_EDGE,
    JOB,
    JOB_FIELD,
    LIFECYCLE,
    NAMED_INPUT,
    OUTPUT,
    OUTPUT_EDGE,
    RUN_USER,
    SQL,
    SQL_TEXT,
    STATISTIC,
    STATUS,
    Slot,
    Statement,
)
from dh_bridge.translation.fold import Cells, first_rung, fold, merge, pour, value
from dh_bridge.translation.merge import BEFORE
from dh_bridge.translation.precedence import PAGE_CODE
from dh_bridge.translation.reading.people import with_domain
from dh_bridge.translation.runs.assertion_expiry import tell_checked
from dh_bridge.translation.runs.edge_expiry import forget_columns, tell_seen
from dh_bridge.translation.runs.eventless_tasks import tell_silent
from dh_bridge.translation.runs.queries import sql_text, tell_queries
from dh_bridge.translation.runs.unnamed_jobs import keep_on_run, nameless
from dh_bridge.translation.runs.upstreams import pour_upstreams
from dh_bridge.translation.runstate import ANY_OWNER, ANY_TASK, RunState

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.merge import Cell, Stamp
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runs.history import History

_OF_JOBS = frozenset({SQL, INPUT, OUTPUT, NAMED_INPUT})
_EDGES = ((INPUT, INPUT_EDGE, "input"), (OUTPUT, OUTPUT_EDGE, "output"), (NAMED_INPUT, INPUT_EDGE, ""))
_SNAPSHOT = "COMPLETE_SNAPSHOT"


def settle_placeholders(state: RunState) -> None:
    """Give what placeholder events said to every job that a named event of the run names."""
    owner, task = state.cells.pop(ANY_OWNER, None), state.cells.get(ANY_TASK)
    if owner is None and task is None:
        return
    if FOLDED in state.cells.get(state.urn, {}):
        owner = None  # what is said of an operation is said of no job that is written
    named = [job for job, _ in state.jobs.values() if not job.placeholder and not job.skip]
    for job in named:
        for slots, urn in ((owner, job.owner_urn), (task, job.job_urn)):
            for slot, elements in (slots or {}).items():
                pour(state.cells.setdefault(urn, {}).setdefault(slot, {}), slot, elements)
    if named:
        state.cells.pop(ANY_TASK, None)


def settle_twins(state: RunState, tasks: Collection[str] | None = None) -> None:
    """Let the twin dataJob of a flow-level job exist where the run's events of that job have inputs or outputs.

    ``tasks``: the URNs of those that had some; None: what is left of them counts.
    """
    for job, (_, stamp) in state.jobs.values():
        slots = state.cells.get(job.job_urn, {})
        has_io = (INPUT in slots or OUTPUT in slots) if tasks is None else job.job_urn in tasks
        if job.level == "flow" and not job.placeholder and not job.skip and has_io:
            fold(state.cells, ((job.job_urn, JOB, "", job),), stamp)


def settle_snapshots(state: RunState) -> None:
    """Reduce inputs and outputs to those of the last event that lists any, where the run sends snapshots."""
    if value(state.cells.get(state.urn, {}), CONTENT_MODE) != _SNAPSHOT:
        return
    state.listed = frozenset(io_of(state, OUTPUT))
    had = set()
    for urn, slots in state.cells.items():
        gone = {side: _leave_last(slots, slot) for side, slot in (("input", INPUT), ("output", OUTPUT))}
        if any(gone.values()):  # lineage between columns follows the datasets
            forget_columns(slots, gone)
            lasting = frozenset().union(*gone.values()) - state.through
            if any(DATASET in state.cells.get(dataset, ()) for dataset in lasting):
                had.add(urn)
    settle_twins(state, had)


def _leave_last(slots: Slots, slot: Slot) -> frozenset[str]:
    """Reduce one side to what the last event lists that lists any; return what is left out."""
    elements = slots.get(slot)
    if not elements:
        return frozenset()
    last = max(stamp[:3] for stamp, _ in elements.values())
    slots[slot] = {urn: cell for urn, cell in elements.items() if cell[0][:3] == last}
    return frozenset(elements.keys() - slots[slot].keys())


def contribute(state: RunState, history: History, shared: Cells, options: Options) -> None:
    """Fold what ``state`` says of jobs, flows, datasets and assertions into ``shared``, which is its own cells if it is alone."""
    settle_twins(state)
    if options.queries:
        tell_queries(state, history, actor_of(state.cells.get(state.urn, {}), options), options)
    many = nameless(state)
    if many:
        keep_on_run(state, many)
    if shared is not state.cells:
        merge(shared, state.cells)
    counts = history.completed or state.kind == "dataset"
    for urn, slots in list(state.cells.items()):
        if counts and LIFECYCLE in slots:
            pour(shared.setdefault(urn, {}).setdefault(STATUS, {}), STATUS, slots[LIFECYCLE])
        if CHECKS in slots:
            _pour_checks(slots[CHECKS], state, shared, options)
        if not _OF_JOBS.isdisjoint(slots) and urn not in many:
            _pour_job(urn, slots, state, history, shared, options)
    if options.settings.assertions.retire != "off":
        tell_checked(state, history, shared)
    if options.settings.airflow.silent_tasks == "runs":
        tell_silent(state, shared, options)
    pour_upstreams(state, many, shared, options)


def _pour_job(  # noqa: PLR0913 - the parts of one step
    urn: str, slots: Slots, state: RunState, history: History, shared: Cells, options: Options
) -> None:
    """Fold the statement of a job, and its edges."""
    if SQL in slots:
        stamp, text = sql_text(slots[SQL][""])
        fold(shared, ((urn, SQL_TEXT, "", text),), stamp)
    if urn != ANY_TASK and (INPUT in slots or OUTPUT in slots or NAMED_INPUT in slots):
        last = max(history.terminals) if history.terminals else (history.last if not state.urn else None)
        _pour_edges(urn, state, last, shared, actor_of(state.cells.get(state.urn, {}), options))
        if options.settings.edges != "accumulate":
            tell_seen(urn, state, history, shared)


def _pour_checks(checks: dict[Any, Cell], state: RunState, shared: Cells, options: Options) -> None:
    """Fold what the checks of a dataset are, and where their code is."""
    page = _page_of_code(state)
    native = options.settings.assertions.type == "native"
    for assertion, (stamp, entry) in checks.items():
        fold(shared, ((assertion, ASSERTION, "", entry),), stamp)
        if native:
            fold(shared, ((entry.dataset, CHECK, assertion, None),), stamp)
        if page is not None:
            fold(shared, ((assertion, ASSERTION_URL, "", page[1]),), page[0])


def _page_of_code(state: RunState) -> Cell | None:
    """Return the URL of the code of the run's job (sourceCodeLocation): it is that of its checks, too."""
    job = state.job()
    if job is None:
        return None
    return state.cells.get(job.owner_urn, {}).get(JOB_FIELD, {}).get(("externalUrl", PAGE_CODE))


def run_user(slots: Slots) -> str | None:
    """Return the name of who ran it, None when no facet tells; ``slots`` are the run's own."""
    user = first_rung(slots, RUN_USER)
    return user if isinstance(user, str) and is_urn(corpuser_urn(user)) else None


def actor_of(slots: Slots, options: Options) -> str:
    """Return the URN for audit stamps of the run."""
    user = run_user(slots)
    if not user:
        return options.actor
    return corpuser_urn(with_domain(user, options.settings.owners.email_domain))


def _pour_edges(task: str, state: RunState, last: Stamp | None, shared: Cells, actor: str) -> None:
    """Fold the edges of one job: first and, for a run that ended (``last``), last time, properties."""
    slots = state.cells[task]
    described = edge_properties(task, state) if last is not None else {}
    plain: list[Statement] = []
    told: list[Statement] = []
    for slot, target, direction in _EDGES:
        if slot not in slots:
            continue
        for dataset, (stamp, first) in slots[slot].items():
            if dataset in state.unlinked:
                continue
            modified = (stamp[0], actor) if last is not None else (0, "")
            properties = described.get((direction, dataset))
            edge = ((first, actor), modified, properties or {})
            (told if properties else plain).append((task, target, dataset, edge))
    fold(shared, plain, BEFORE)
    if told and last is not None:
        fold(shared, told, last)


def edge_properties(task: str, state: RunState) -> dict[tuple[str, str], dict[str, str]]:
    """Return what a job of the run says of its inputs and outputs, by (direction, dataset)."""
    slots = state.cells[task]
    found: dict[tuple[str, str], dict[str, str]] = {}
    for slot in (EDGE_PROPERTIES, STATISTIC):
        elements = slots.get(slot)
        if not elements:
            continue
        for (direction, dataset, leaf), (_, properties) in sorted(
            elements.items(), key=lambda entry: (entry[1][0], entry[0])
        ):
            own = found.setdefault((direction, dataset), {})
            if slot is STATISTIC:
                own[f"{direction}Statistics.{leaf}"] = str(properties)
            elif INDIRECT in properties and INDIRECT in own:  # of another output of the run
                marks = {*own[INDIRECT].split(","), *properties[INDIRECT].split(",")}
                own[INDIRECT] = ",".join(sorted(marks))
            else:
                own.update(properties)
    return found


def counts_of(state: RunState) -> dict[tuple[str, str], dict[str, int]]:
    """Return the statistics of the run by (direction, dataset): the largest that any of its jobs said."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for said in [slots[STATISTIC] for slots in state.cells.values() if STATISTIC in slots]:
        for (direction, dataset, leaf), (_, count) in said.items():
            counts = found.setdefault((direction, dataset), {})
            counts[leaf] = max(count, counts.get(leaf, 0))
    return found


def outputs_of(state: RunState) -> set[str]:
    """Return the datasets that the run writes or, by an older snapshot, wrote, or that a dataset event is about."""
    found = {*(state.listed - state.through)}
    for urn, slots in state.cells.items():
        if OUTPUT in slots:
            found.update(slots[OUTPUT])
        if state.kind == "dataset" and DATASET in slots:
            found.add(urn)
    return found


def io_of(state: RunState, slot: Slot) -> dict[str, Cell]:
    """Return the datasets that the run itself reads or writes: the union over its jobs."""
    found: dict[str, Cell] = {}
    for slots in state.cells.values():
        elements = slots.get(slot)
        if elements:
            if not found:
                found = dict(elements)
            else:
                pour(found, slot, elements)
    return found
