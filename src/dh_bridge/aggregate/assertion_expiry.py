"""Assertions that expire by `assertions.expire`: the runs of their job no longer evaluate them.

Expiry follows from merged facts: when the runs of each job that ever evaluated the assertion ended, and when one of them
evaluated it last. It has expired if all of those jobs ran on without it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from dh_bridge.assertions.check import meaningful_value
from dh_bridge.model.facts import ASSERTION, CHECK_JOB, CHECKS, JOB_CHECK, LAST_RUN_ENDS
from dh_bridge.model.fold import FactsByEntity, add_facts, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dh_bridge.aggregate.run_history import History
    from dh_bridge.model.fold import Registers
    from dh_bridge.model.run_state import RunState

_DAY = 86_400_000_000


def add_check_runs(state: RunState, history: History, shared: FactsByEntity) -> None:
    """Merge when a run ended and which assertions it evaluated; an open run evaluated them at its last event."""
    job = state.job()
    if job is None or state.kind != "run":
        return
    end = max(history.terminals) if history.terminals else None
    if end is not None:
        run = blake2b(state.urn.encode(), digest_size=8).digest()
        add_facts(shared, ((job.job_urn, LAST_RUN_ENDS, "", ((end[0], run),)),), end)
    for registers in list(state.facts.values()):
        for assertion in registers.get(CHECKS, ()):
            facts = ((job.job_urn, JOB_CHECK, assertion, None), (assertion, CHECK_JOB, job.job_urn, None))
            add_facts(shared, facts, end or history.last_version)


def is_expired(urn: str, registers_of: Callable[[str], Registers], rule: str) -> bool:
    """Whether all jobs that ever evaluated an assertion ran on without it; ``registers_of`` looks entities up."""
    job_versions = registers_of(urn).get(CHECK_JOB, {})
    return bool(job_versions) and all(
        _is_missed(registers_of(job), version[0], rule) for job, (version, _) in job_versions.items()
    )


def missed_checks(job_registers: Registers, rule: str) -> Iterator[str]:
    """Yield the assertions of a job that have expired."""
    for assertion, (version, _) in job_registers.get(JOB_CHECK, {}).items():
        if _is_missed(job_registers, version[0], rule):
            yield assertion


def successors(
    job_registers: Registers, registers_of: Callable[[str], Registers], rule: str
) -> Iterator[tuple[str, str]]:
    """Yield (assertion, the expired one that it replaces): the same kind and column, with other parameters.

    This is known only if the job has one such assertion and neither has a name; of several expired ones, the one that was
    evaluated last.
    """
    expired_urns = {urn for urn in missed_checks(job_registers, rule) if is_expired(urn, registers_of, rule)}
    last_expired: dict[Any, tuple[int, str]] = {}
    active: dict[Any, list[str]] = {}
    for urn, (version, _) in job_registers.get(JOB_CHECK, {}).items() if expired_urns else ():
        likeness = _likeness(registers_of(urn))
        if likeness is None:
            continue
        if urn in expired_urns:
            last_expired[likeness] = max(last_expired.get(likeness, (0, "")), (version[0], urn))
        else:
            active.setdefault(likeness, []).append(urn)
    for likeness, (_, urn) in last_expired.items():
        if len(candidates := active.get(likeness, [])) == 1:
            yield candidates[0], urn


def _likeness(registers: Registers) -> Any:
    """Return the key that an assertion shares with its successor; None for one with a name, because its URN does not change."""
    stated_check = value(registers, ASSERTION)
    if stated_check is None or meaningful_value(stated_check.check.name) not in (None, stated_check.check.assertion):
        return None
    return stated_check.dataset, stated_check.platform, stated_check.check.assertion, stated_check.check.column


def _is_missed(job_registers: Registers, last_made: int, rule: str) -> bool:
    ends: tuple[tuple[int, bytes], ...] = value(job_registers, LAST_RUN_ENDS) or ()
    kind, _, limit = rule.partition(":")
    if kind == "runs":
        return sum(time > last_made for time, _ in ends) >= int(limit)
    return bool(ends) and ends[-1][0] - last_made > int(limit.rstrip("d")) * _DAY
