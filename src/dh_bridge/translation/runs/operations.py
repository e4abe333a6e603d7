"""Operations that fold into a task or an application: what their runs read and wrote goes to the run above.

Only to a run that is open in the same call; else the operation's own run is written, with the task or application as its
template, so that nothing is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.openlineage.events import TERMINAL
from dh_bridge.translation.facts import DATASET, FOLDED, INPUT, OUTPUT, PARENT, STATISTIC
from dh_bridge.translation.fold import pour, value
from dh_bridge.translation.identity.granularity import APPLICATION
from dh_bridge.translation.runs.contributions import io_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.translation.merge import Cell, Stamp
    from dh_bridge.translation.runstate import RunState

OPERATION_OWNER = "?operation"
"""Entity for what facets say of a folded operation's job: it is not written."""

_ORDER = {"COMPLETE": 0, "ABORT": 1, "FAIL": 2}


def carried(states: list[RunState]) -> frozenset[str]:
    """Hand inputs, outputs, statistics and failures of folded operations to the runs above; return the runs that did so.

    Counts are summed, as each operation counts its own rows.
    """
    folded = {state.urn: state for state in states if _operation(state) is not None}
    if not folded:
        return frozenset()
    by_urn = {state.urn: state for state in states if state.urn}
    sums: dict[str, dict[tuple[str, tuple[str, str, str]], Cell]] = {}
    ends: dict[str, dict[str, tuple[Stamp, str]]] = {}
    done = set()
    for urn, state in sorted(folded.items()):
        above = _above(state, by_urn)
        if above is None:
            continue
        done.add(urn)
        _hand(state, above, sums.setdefault(above.urn, {}))
        _end(state, ends.setdefault(above.urn, {}))
    for urn, counted in sums.items():
        for (entity, key), (stamp, count) in counted.items():
            own = by_urn[urn].cells.setdefault(entity, {}).setdefault(STATISTIC, {})
            own[key] = (stamp, count + (own[key][1] if key in own else 0))
    for urn, named in ends.items():
        if any(kind == "FAIL" for _, kind in named.values()):
            by_urn[urn].failed = True
    return frozenset(done)


def without_runs(found: Iterator[Proposal], runs: frozenset[str]) -> Iterator[Proposal]:
    """Return the proposals without those of the runs whose facts others carry."""
    return found if not runs else (proposal for proposal in found if proposal.entity_urn not in runs)


def _operation(state: RunState) -> str | None:
    """Return the operation's name, None when the run is none of a folded operation."""
    found = value(state.cells.get(state.urn, {}), FOLDED)
    return found if isinstance(found, str) else None


def _above(state: RunState, by_urn: dict[str, RunState]) -> RunState | None:
    """Return the run of the task or application that the operation belongs to, if it is at hand."""
    seen = {state.urn}
    while True:
        parent = value(state.cells.get(state.urn, {}), PARENT)
        above = by_urn.get(parent[0]) if parent is not None else None
        if above is None or above.urn in seen:
            return None
        if _operation(above) is None:
            return above
        seen.add(above.urn)
        state = above


def _hand(state: RunState, above: RunState, sums: dict[tuple[str, tuple[str, str, str]], Cell]) -> None:
    if state.listed or above.listed:  # what a snapshot leaves out was written, and so was what it is silent of
        above.listed = frozenset({*_listed(above), *_listed(state)})
    for entity, slots in state.cells.items():
        for slot in (INPUT, OUTPUT):
            if slot in slots:
                pour(above.cells.setdefault(entity, {}).setdefault(slot, {}), slot, slots[slot])
        for key, (stamp, count) in slots.get(STATISTIC, {}).items():
            old = sums.get((entity, key))
            sums[entity, key] = (stamp, count) if old is None else (max(stamp, old[0]), count + old[1])
    named = {urn for urn, slots in above.cells.items() if DATASET in slots}  # that is written all the same
    above.through |= state.through - named


def _listed(state: RunState) -> Iterable[str]:
    return state.listed or io_of(state, OUTPUT)


def _end(state: RunState, named: dict[str, tuple[Stamp, str]]) -> None:
    """Note how the last run of each operation ended: FAIL beats what else a run says."""
    job = state.job()
    ends = [(stamp, kind) for stamp, kind in state.events if kind in TERMINAL]
    if job is None or job.granularity != APPLICATION or not ends:
        return
    end = max(stamp for stamp, _ in ends), max((kind or "" for _, kind in ends), key=lambda kind: _ORDER[kind])
    name = _operation(state) or ""
    named[name] = max(named.get(name, end), end)
