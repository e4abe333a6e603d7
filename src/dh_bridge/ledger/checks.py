"""Checks that look different by what changed of others: of the jobs that make them, of the schema of their dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import CHECK, CHECKED, CHECKED_BY, ENDED, REPLACES
from dh_bridge.translation.merge import BEFORE
from dh_bridge.translation.render.assertions import ENTITY
from dh_bridge.translation.runs.assertion_expiry import missed, retired, successors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.ledger.shared import Shared
    from dh_bridge.translation.fold import Cells
    from dh_bridge.translation.options import Options

_CHECK = f"urn:li:{ENTITY}:"


class Checks:
    """What a batch means for checks, beside what it tells of them."""

    def __init__(self, shared: Shared, options: Options) -> None:
        self._shared = shared
        self._native = options.settings.assertions.type == "native"
        self._rule = options.settings.assertions.retire
        self._removable = options.profile.has(ENTITY, "status")

    def news(self) -> tuple[list[str], Cells]:
        """Return the checks that have retired, which are removed, and the cells of all that are to be rendered for others' sake."""
        found = set(self._described()) if self._native else set()
        if self._rule == "off":
            return [], self._cells(found)
        found.update(self._back())
        retiring = self._retiring(found)
        return retiring, {**self._cells(found.union(retiring)), **self._successors(found)}

    def _cells(self, urns: set[str]) -> Cells:
        return {urn: cells for urn in urns if (cells := self._shared.cells(urn))}

    def _described(self) -> Iterator[str]:
        """Yield the checks of datasets whose columns may have changed, since they show what those are."""
        for urn in self._shared.changed:
            yield from self._shared.cells(urn).get(CHECK, ())

    def _back(self) -> Iterator[str]:
        """Yield the checks of jobs that had fewer runs than it seemed: one that had retired may be back."""
        for job, slot in self._shared.taken_back:
            if slot is ENDED:
                yield from self._shared.cells(job).get(CHECKED, ())

    def _retiring(self, looked_at: set[str]) -> list[str]:
        """Return the checks, of those and of what the batch changed, that their jobs have gone on without."""
        if not self._removable:
            return []
        rule, cells, changed = self._rule, self._shared.cells, self._shared.changed
        found = {urn for urn in changed if urn.startswith(_CHECK)} | looked_at
        for urn in changed:
            found.update(missed(cells(urn), rule))
        return sorted(urn for urn in found if retired(urn, cells, rule))

    def _successors(self, looked_at: set[str]) -> Cells:
        """Return the cells of the checks, of the jobs that make those and what the batch changed, that replace retired ones."""
        rule, cells, changed = self._rule, self._shared.cells, self._shared.changed
        makers = {job for urn in changed | looked_at for job in cells(urn).get(CHECKED_BY, ())}
        found: Cells = {}
        for job in sorted(makers | changed):
            for urn, old in successors(cells(job), cells, rule):
                found[urn] = {**cells(urn), REPLACES: {"": (BEFORE, old)}}
        return found
