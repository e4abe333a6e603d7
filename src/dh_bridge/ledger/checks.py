"""Assertions that a batch changes indirectly: because of the jobs that make them, or the schema of their dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.assertion_expiry import is_expired, missed_checks, successors
from dh_bridge.model.facts import CHECK, CHECK_JOB, JOB_CHECK, LAST_RUN_ENDS, REPLACED_CHECK
from dh_bridge.model.merge import MIN_VERSION
from dh_bridge.render.assertions import ENTITY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.ledger.shared import SharedEntityStore
    from dh_bridge.model.fold import FactsByEntity
    from dh_bridge.options import Options

_CHECK_URN_PREFIX = f"urn:li:{ENTITY}:"


class AffectedChecks:
    """The indirect effects of a batch on assertions."""

    def __init__(self, shared: SharedEntityStore, options: Options) -> None:
        self._shared = shared
        self._is_native = options.settings.assertions.type == "native"
        self._expiry_rule = options.settings.assertions.expire
        self._can_remove = options.profile.has_aspect(ENTITY, "status")

    def select_checks(self) -> tuple[list[str], FactsByEntity]:
        """Return the expired assertions, which are removed.

        And the facts of all assertions to render because of other entities.
        """
        affected_urns = set(self._checks_of_changed_datasets()) if self._is_native else set()
        if self._expiry_rule == "off":
            return [], self._registers_by_urn(affected_urns)
        affected_urns.update(self._restored_checks())
        expired_urns = self._expired_checks(affected_urns)
        return expired_urns, {
            **self._registers_by_urn(affected_urns.union(expired_urns)),
            **self._successor_registers(affected_urns),
        }

    def _registers_by_urn(self, urns: set[str]) -> FactsByEntity:
        return {urn: registers for urn in urns if (registers := self._shared.registers_of(urn))}

    def _checks_of_changed_datasets(self) -> Iterator[str]:
        """Yield the assertions of datasets whose columns may have changed, since assertions show the types of columns."""
        for urn in self._shared.changed_urns:
            yield from self._shared.registers_of(urn).get(CHECK, ())

    def _restored_checks(self) -> Iterator[str]:
        """Yield the assertions of jobs that lost a run: an expired assertion may be valid again."""
        for job_urn, fact_kind in self._shared.withdrawn_kinds:
            if fact_kind is LAST_RUN_ENDS:
                yield from self._shared.registers_of(job_urn).get(JOB_CHECK, ())

    def _expired_checks(self, candidate_urns: set[str]) -> list[str]:
        """Return the expired ones of these assertions and of those that the batch changed."""
        if not self._can_remove:
            return []
        rule, registers_of, changed_urns = self._expiry_rule, self._shared.registers_of, self._shared.changed_urns
        check_urns = {urn for urn in changed_urns if urn.startswith(_CHECK_URN_PREFIX)} | candidate_urns
        for urn in changed_urns:
            check_urns.update(missed_checks(registers_of(urn), rule))
        return sorted(urn for urn in check_urns if is_expired(urn, registers_of, rule))

    def _successor_registers(self, candidate_urns: set[str]) -> FactsByEntity:
        """Return the facts of the assertions that replace expired ones, for the jobs of these assertions and of the batch."""
        rule, registers_of, changed_urns = self._expiry_rule, self._shared.registers_of, self._shared.changed_urns
        job_urns = {job for urn in changed_urns | candidate_urns for job in registers_of(urn).get(CHECK_JOB, ())}
        registers_by_urn: FactsByEntity = {}
        for job in sorted(job_urns | changed_urns):
            for urn, expired_urn in successors(registers_of(job), registers_of, rule):
                registers_by_urn[urn] = {**registers_of(urn), REPLACED_CHECK: {"": (MIN_VERSION, expired_urn)}}
        return registers_by_urn
