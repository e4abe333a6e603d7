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

_NOTE = "INSERT OR IGNORE INTO kin (token, run) VALUES (?, ?)"
_FORGET = "DELETE FROM kin WHERE run = ? AND token GLOB ? AND token != ?"
_WITH = "SELECT run FROM kin WHERE token = ?"


class Heritage:
    """Parents, and what they hand down, as tokens of runs that make nobody kin: ``under`` and ``hands down``."""

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
        news = False
        if parent is not None and (self._whole or not (processing and kind)):  # one that has both asks nobody above
            news = self._noted(number, "under", parent[0])
        if processing or kind:
            news = self._noted(number, "hands down", f"{processing} {kind}") or news
        return news

    def heirs(self, states: Iterable[RunState]) -> set[str]:
        """Return the keys of all runs below these."""
        found: set[str] = set()
        left = [name for state in states for name in (state.urn, *state.cells.get(state.urn, {}).get(RUN_ALIAS, ()))]
        while left:
            new = set(self._with(f"under {left.pop()}")) - found
            found |= new
            left.extend(new)
        return found

    def elders(self, states: Iterable[RunState]) -> set[str]:
        """Return the keys of all runs above these that are kept."""
        found: set[str] = set()
        for state in states:
            above = parent_of(state)
            while above is not None and above not in found and (known := self.state(above)) is not None:
                found.add(known.key)
                above = parent_of(known)
        return found

    def tell(self, state: RunState) -> None:
        """Fold into a settled run what it has from above."""
        if state.urn:
            inherit(state, self._slots)

    def _noted(self, number: int, word: str, said: str) -> bool:
        token = f"{word} {said}"
        if not self._connection.execute(_NOTE, (token, number)).rowcount:
            return False
        self._connection.execute(_FORGET, (number, f"{word} *", token))
        return True

    def state(self, urn: str) -> RunState | None:
        """Return what is known of a run that another one names, None for one that is not kept."""
        record = self._runs.record(urn)
        if record is None:  # a mode may know the run by another id
            record = next((self._runs.record(key) for key in self._with(f"run {urn}") if key != urn), None)
        return None if record is None else record.state

    def _with(self, token: str) -> list[str]:
        """Return the keys of the runs that have a token."""
        return [self._runs.key(number) for (number,) in self._connection.execute(_WITH, (token,)).fetchall()]

    def _slots(self, urn: str) -> Slots | None:
        found = self.state(urn)
        return None if found is None else found.cells.get(found.urn, {})
