"""Who has what from whom above: a run that comes, or says more, after those below it changes them, too (facets.md 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.fold import value
from dh_bridge.translation.handing_down import parent_of
from dh_bridge.translation.heritage import handed_down, inherit
from dh_bridge.translation.slots import PARENT, RUN_ALIAS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.ledger.runs import Runs
    from dh_bridge.translation.render.ladders import Slots
    from dh_bridge.translation.runstate import RunState

_KNOWN = "SELECT parent, handed FROM heritage WHERE run = ?"
_NOTE = "INSERT OR REPLACE INTO heritage (run, parent, handed) VALUES (?, ?, ?)"
_BELOW = "SELECT run FROM heritage WHERE parent = ?"
_ALIKE = "SELECT run FROM kin WHERE token = ?"


class Heritage:
    """Parents of runs, and what runs hand down."""

    def __init__(self, connection: sqlite3.Connection, runs: Runs, *, whole: bool = False) -> None:
        """``whole``: the parents of all runs are asked for, not only of those that lack something."""
        self._connection = connection
        self._runs = runs
        self._whole = whole

    def note(self, number: int, state: RunState) -> bool:
        """Remember the parent of a run and what the run hands down; return whether that is news to those below it."""
        slots = state.cells.get(state.urn, {})
        processing, kind = handed_down(slots)
        parent = value(slots, PARENT)
        before = self._connection.execute(_KNOWN, (number,)).fetchone() or (None, None)
        above, handed = before
        if parent is not None and (self._whole or not (processing and kind)):  # one that has both asks nobody above
            above = parent[0]
        if processing or kind:
            handed = f"{processing} {kind}"
        if (above, handed) == before:
            return False
        self._connection.execute(_NOTE, (number, above, handed))
        return True

    def heirs(self, states: Iterable[RunState]) -> set[str]:
        """Return the keys of all runs below these."""
        found: set[str] = set()
        left = [name for state in states for name in (state.urn, *_aliases(state))]
        while left:
            for key in self._keys(_BELOW, left.pop()):
                if key not in found and (record := self._runs.record(key)) is not None:
                    found.add(key)
                    left += (key, *_aliases(record.state))
        return found

    def elders(self, states: Iterable[RunState]) -> set[str]:
        """Return the keys of all runs above these that are kept."""
        found: set[str] = set()
        for state in states:
            above = parent_of(state)
            while above is not None and (known := self.state(above)) is not None and known.key not in found:
                found.add(known.key)
                above = parent_of(known)
        return found

    def tell(self, state: RunState) -> None:
        """Fold into a settled run what it has from above."""
        if state.urn:
            inherit(state, self._slots)

    def state(self, urn: str) -> RunState | None:
        """Return what is known of a run that another one names, None for one that is not kept."""
        record = self._runs.record(urn)
        if record is not None:
            return record.state
        # a mode may know the run by another id; operations that fold into it are kin of it, too
        others = [self._runs.record(key) for key in sorted(self._keys(_ALIKE, f"run {urn}"))]
        return next((one.state for one in others if one is not None and urn in _aliases(one.state)), None)

    def _keys(self, query: str, said: str) -> list[str]:
        """Return the keys of the runs that a query finds."""
        return [self._runs.key(number) for (number,) in self._connection.execute(query, (said,)).fetchall()]

    def _slots(self, urn: str) -> Slots | None:
        found = self.state(urn)
        return None if found is None else found.cells.get(found.urn, {})


def _aliases(state: RunState) -> Iterable[str]:
    """Return the URNs by which others know a run."""
    return state.cells.get(state.urn, {}).get(RUN_ALIAS, ())
