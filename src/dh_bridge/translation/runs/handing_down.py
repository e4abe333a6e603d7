"""Upstream runs by data: the run that wrote what another one then read, with `runs.infer_upstream`.

A run reads at its START. Of the runs that wrote the dataset by then, the last one is the upstream: a batch at its COMPLETE, a stream
as long as it names the dataset. A version that both sides name is exact, and beats all times. It is a guess, hence off by default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.fold import fold, value
from dh_bridge.translation.laws import BEFORE
from dh_bridge.translation.rungs import TYPE_STREAMING
from dh_bridge.translation.runs.contributions import io_of
from dh_bridge.translation.runs.writers import Read, Write, Writers
from dh_bridge.translation.slots import INPUT, OUTPUT, PARENT, RUN_BY_DATASET, RUN_COUNT, UPSTREAM_RUN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from dh_bridge.settings import RunSettings
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState

COUNTER = "upstream.inferred"
MOST_TIED = 10
"""Runs that hand one dataset down to a reader, at most."""
_MOST_RUNS = 100
_DAY, _SECOND = 86_400_000_000, 1_000_000


def writes_of(state: RunState, history: History) -> Iterator[Write]:
    """Yield what a settled run wrote; a batch that did not complete wrote nothing."""
    endless = state.hinted(TYPE_STREAMING)
    job = state.job()
    if not state.urn or (job is not None and job.skip) or (not endless and history.winner != "COMPLETE"):
        return
    end = max((stamp[0] for stamp, word in state.events if word == "COMPLETE"), default=0)
    for dataset, (stamp, first) in io_of(state, OUTPUT).items():
        when = (first, stamp[0]) if endless else (end, end)
        yield Write(dataset, state.urn, _job(state), *when, _version(state, "outputs", dataset))


def reads_of(state: RunState, history: History) -> Iterator[Read]:
    """Yield what a settled run read, whenever it named it."""
    for dataset in io_of(state, INPUT) if state.urn else ():
        yield Read(dataset, state.urn, _job(state), history.start, _version(state, "inputs", dataset))


def hand_down(states: list[RunState], histories: list[History], options: Options, carried: Collection[str]) -> None:
    """Add to each run of a call the runs that it takes over from; of those that others carry nobody does."""
    settings = options.settings.runs
    absent = carried if options.settings.identity.fold_runs == "drop" else ()
    written: dict[str, list[Write]] = {}
    read: dict[str, list[Read]] = {}
    parents: dict[str, str | None] = {}
    for state, history in zip(states, histories, strict=True):
        parents[state.urn] = parent_of(state)
        for write in writes_of(state, history) if state.urn not in absent else ():
            written.setdefault(write.dataset, []).append(write)
        for one in reads_of(state, history):
            read.setdefault(one.dataset, []).append(one)
    chosen: dict[str, list[list[str]]] = {}
    for dataset in written.keys() & read.keys():
        writers = Writers(written[dataset], settings.upstream_skew_seconds * _SECOND, MOST_TIED)
        for one in sorted(read[dataset], key=lambda one: one.time):
            writes = writers.of(one, _silent(one, settings), _apart(one.run, parents.get))
            chosen.setdefault(one.run, []).append(winners(one, writes, parents.get, settings))
    for state in states:
        tell_upstream(state, chosen.get(state.urn, ()))


def winners(
    read: Read, writes: Iterable[Write], above: Callable[[str], str | None], settings: RunSettings
) -> list[str]:
    """Return the URNs of the runs that handed a dataset down to its reader: one, or those of one moment, sorted.

    ``above`` gives the URN of a run's parent. A job that feeds itself has no older writer instead: that would be wrong.
    """
    apart = _apart(read.run, above)
    left = [write for write in writes if apart(write.run)]
    exact = [write for write in left if read.version is not None and write.version == read.version]
    if exact:
        last = exact
    else:
        limit = read.time + settings.upstream_skew_seconds * _SECOND
        oldest = limit - settings.upstream_window_days * _DAY
        times = [(min(write.last, max(write.first, read.time)), write) for write in left if write.first <= limit]
        found = [(time, write) for time, write in times if oldest <= time <= limit]
        newest = max((time for time, _ in found), default=0)
        last = [write for time, write in found if time == newest]
    silent = _silent(read, settings)
    return sorted(write.run for write in last if silent is None or write.job != silent)[:MOST_TIED]


def _apart(run: str, above: Callable[[str], str | None]) -> Callable[[str], bool]:
    """Return what tells whether another run is neither inside of a run nor the other way round.

    An application repeats what its jobs read and wrote.
    """
    inside = {run, *ancestors(run, above)}
    return lambda other: other not in inside and run not in ancestors(other, above)


def _silent(read: Read, settings: RunSettings) -> str | None:
    """Return the job that hands nothing down to a reader: its own, where that is known."""
    return None if settings.upstream_self_edges or not read.job else read.job


def tell_upstream(state: RunState, chosen: Iterable[list[str]]) -> None:
    """Fold upstream runs into a settled run, after those that its events name."""
    if not state.urn:
        return
    named = state.cells.get(state.urn, {}).get(UPSTREAM_RUN, {})
    inferred = sorted({run for runs in chosen for run in runs} - named.keys())[: max(_MOST_RUNS - len(named), 0)]
    if inferred:
        statements: list[tuple[str, Any, Any, Any]] = [(state.urn, UPSTREAM_RUN, run, None) for run in inferred]
        fold(state.cells, [*statements, (state.urn, RUN_COUNT, COUNTER, len(inferred))], BEFORE)


def parent_of(state: RunState) -> str | None:
    """Return the URN of a run's parent."""
    parent = value(state.cells.get(state.urn, {}), PARENT)
    return None if parent is None else str(parent[0])


def ancestors(run: str, above: Callable[[str], str | None]) -> set[str]:
    """Return the URNs of all runs above a run."""
    found: set[str] = set()
    parent = above(run)
    while parent is not None and parent not in found:
        found.add(parent)
        parent = above(parent)
    return found


def _job(state: RunState) -> str:
    job = state.job()
    return job.job_urn if job is not None else ""


def _version(state: RunState, direction: str, dataset: str) -> str | None:
    found = value(state.cells.get(state.urn, {}), RUN_BY_DATASET, (f"{direction}.version", dataset))
    return None if found is None else str(found)
