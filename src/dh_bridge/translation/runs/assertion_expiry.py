"""Checks that retire, where `assertions.retire` says so: their job has run without them for long.

Whether a check has retired follows from folded facts: when the runs of each job ended that ever made it, and when one of them made
it last. It is retired when all of those jobs have gone on without it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from dh_bridge.translation.assertions.check import said
from dh_bridge.translation.facts import ASSERTION, CHECKED, CHECKED_BY, CHECKS, ENDED
from dh_bridge.translation.fold import Cells, fold, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState

_DAY = 86_400_000_000


def tell_checked(state: RunState, history: History, shared: Cells) -> None:
    """Fold when a run ended, and which checks it made; an open run made them at its last event."""
    job = state.job()
    if job is None or state.kind != "run":
        return
    end = max(history.terminals) if history.terminals else None
    if end is not None:
        run = blake2b(state.urn.encode(), digest_size=8).digest()
        fold(shared, ((job.job_urn, ENDED, "", ((end[0], run),)),), end)
    for slots in list(state.cells.values()):
        for assertion in slots.get(CHECKS, ()):
            seen = ((job.job_urn, CHECKED, assertion, None), (assertion, CHECKED_BY, job.job_urn, None))
            fold(shared, seen, end or history.last)


def retired(urn: str, cells: Callable[[str], Slots], rule: str) -> bool:
    """Whether all jobs that ever made a check have gone on without it; ``cells`` looks entities up."""
    makers = cells(urn).get(CHECKED_BY, {})
    return bool(makers) and all(_missed(cells(job), stamp[0], rule) for job, (stamp, _) in makers.items())


def missed(job: Slots, rule: str) -> Iterator[str]:
    """Yield the checks of a job that it has gone on without."""
    for assertion, (stamp, _) in job.get(CHECKED, {}).items():
        if _missed(job, stamp[0], rule):
            yield assertion


def successors(job: Slots, cells: Callable[[str], Slots], rule: str) -> Iterator[tuple[str, str]]:
    """Yield (check, the retired one that it replaces): one of the same kind and column, whose parameters have changed.

    It can be told where the job makes one such check alone, and neither has a name of its own; of several that retired it is
    the one that was made last.
    """
    gone = {urn for urn in missed(job, rule) if retired(urn, cells, rule)}
    old: dict[Any, tuple[int, str]] = {}
    live: dict[Any, list[str]] = {}
    for urn, (stamp, _) in job.get(CHECKED, {}).items() if gone else ():
        likeness = _likeness(cells(urn))
        if likeness is None:
            continue
        if urn in gone:
            old[likeness] = max(old.get(likeness, (0, "")), (stamp[0], urn))
        else:
            live.setdefault(likeness, []).append(urn)
    for likeness, (_, urn) in old.items():
        if len(found := live.get(likeness, [])) == 1:
            yield found[0], urn


def _likeness(slots: Slots) -> Any:
    """Return what a check and its successor have in common, None for one that has a name: its URN does not change."""
    stated = value(slots, ASSERTION)
    if stated is None or said(stated.check.name) not in (None, stated.check.assertion):
        return None
    return stated.dataset, stated.platform, stated.check.assertion, stated.check.column


def _missed(job: Slots, seen: int, rule: str) -> bool:
    ends: tuple[tuple[int, bytes], ...] = value(job, ENDED) or ()
    kind, _, bound = rule.partition(":")
    if kind == "runs":
        return sum(time > seen for time, _ in ends) >= int(bound)
    return bool(ends) and ends[-1][0] - seen > int(bound.rstrip("d")) * _DAY
