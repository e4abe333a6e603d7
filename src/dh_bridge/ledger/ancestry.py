"""Who has what from whom above: a run that comes, or says more, after those below it changes them, too.

Of a run that is let go stays what it hands down, for as long as a run below it is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import PARENT, RUN_ALIAS, RUN_TYPE, UPSTREAM_RUN
from dh_bridge.translation.fold import value
from dh_bridge.translation.merge import BEFORE
from dh_bridge.translation.precedence import TYPE_ABOVE, TYPE_PROCESSING, TYPE_PROCESSING_ABOVE
from dh_bridge.translation.runs.ancestry import handed_down, inherit, parent_of
from dh_bridge.translation.runs.foreign_owned import repoint

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.ledger.runs import Runs
    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.runstate import RunState

_KNOWN = "SELECT parent, handed FROM heritage WHERE run = ?"
_NOTE = "INSERT OR REPLACE INTO heritage (run, parent, handed) VALUES (?, ?, ?)"
_BELOW = "SELECT run FROM heritage WHERE parent = ?"
_ALIKE = "SELECT run FROM kin WHERE token = ?"
_LEAVE = "UPDATE heritage SET handed = ? WHERE run = ?"
#: of a run that was let go
_LEFT = "SELECT parent, handed, heritage.run FROM run JOIN heritage ON heritage.run = run.id WHERE key = ? AND state IS NULL"
_NEEDED = "SELECT 1 FROM heritage WHERE parent = ? LIMIT 1"


class Heritage:
    """Parents of runs, and what runs hand down."""

    def __init__(self, connection: sqlite3.Connection, runs: Runs, *, joined: bool = False) -> None:
        """``joined``: others may know a run by another id than the one that is written.

        The parents of all runs are noted then, not only of those that lack something.
        """
        self._connection = connection
        self._runs = runs
        self._joined = joined

    def note(self, number: int, state: RunState) -> bool:
        """Remember the parent of a run and what the run hands down; return whether that is news to those below it."""
        slots = state.cells.get(state.urn, {})
        processing, kind = handed_down(slots)
        parent = value(slots, PARENT)
        before = self._connection.execute(_KNOWN, (number,)).fetchone() or (None, None)
        above, handed = before
        if parent is not None and (self._joined or not (processing and kind)):  # one that has both asks nobody above
            above = parent[0]
        if processing or kind:
            handed = _written(processing, kind)
        if (above, handed) == before:
            return self._joined and any(not self._is_noted(number, alias) for alias in _aliases(state))
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

    def tell(self, state: RunState) -> None:
        """Fold into a settled run what it has from above."""
        if not state.urn:
            return
        inherit(state, self._slots)
        if self._joined:
            named = {parent_of(state), *state.cells.get(state.urn, {}).get(UPSTREAM_RUN, ())} - {None}
            repoint(state, {urn: known.urn for urn in named if (known := self.alias(urn)) is not None})

    def alias(self, urn: str) -> RunState | None:
        """Return the run that others know by a URN under which it is not written."""
        # operations that fold into a run are kin of it, too
        others = [self._runs.record(key) for key in sorted(self._keys(_ALIKE, f"run {urn}"))]
        return next((one.state for one in others if one is not None and urn in _aliases(one.state)), None)

    def state(self, urn: str) -> RunState | None:
        """Return what is known of a run that another one names, None for one that is not kept."""
        record = self._runs.record(urn)
        if record is not None:
            return record.state
        return self.alias(urn)

    def leave(self, number: int) -> None:
        """Note what a run that is let go hands down with all that it has from above."""
        if self._connection.execute(_BELOW, (self._runs.key(number),)).fetchone() is None:
            return
        state = self._runs.by_number(number).state.copy()
        self.tell(state)
        slots = state.cells.get(state.urn, {})
        processing, kind = handed_down(slots)
        processing = processing or value(slots, RUN_TYPE, TYPE_PROCESSING_ABOVE)
        self._connection.execute(_LEAVE, (_written(processing, kind), number))

    def release(self, urn: str | None) -> None:
        """Forget what runs left that were let go, this one and those above it, unless somebody needs it."""
        while urn is not None and (left := self._left(urn)) is not None:
            above, _, number = left
            if self._connection.execute(_NEEDED, (urn,)).fetchone() is not None:
                return
            self._connection.execute("DELETE FROM heritage WHERE run = ?", (number,))
            urn = above

    def _keys(self, query: str, said: str) -> list[str]:
        """Return the keys of the runs that a query finds."""
        return [self._runs.key(number) for (number,) in self._connection.execute(query, (said,)).fetchall()]

    def _is_noted(self, number: int, alias: str) -> bool:
        return self._connection.execute(f"{_ALIKE} AND run = ?", (f"run {alias}", number)).fetchone() is not None

    def _slots(self, urn: str) -> Slots | None:
        found = self.state(urn)
        if found is not None:
            return found.cells.get(found.urn, {})
        left = self._left(urn)
        return _handed(left[1]) if left is not None and left[1] is not None else None

    def _left(self, urn: str) -> tuple[str | None, str | None, int] | None:
        """Return parent, heritage and number of a run that was let go, None when it left nothing."""
        found: tuple[str | None, str | None, int] | None = self._connection.execute(_LEFT, (urn,)).fetchone()
        return found


def _aliases(state: RunState) -> Iterable[str]:
    """Return the URNs by which others know a run."""
    return state.cells.get(state.urn, {}).get(RUN_ALIAS, ())


def _written(processing: str | None, kind: str | None) -> str:
    return f"{processing} {kind}"


def _handed(text: str) -> Slots:
    """Return the cells of a run that hand down what is written."""
    said = dict(zip((TYPE_PROCESSING, TYPE_ABOVE), text.split(" ", 1), strict=True))
    return {RUN_TYPE: {key: (BEFORE, word) for key, word in said.items() if word != "None"}}
