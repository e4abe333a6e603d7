"""Runs that must be settled together, because what one says changes what another one comes to.

Lineage runs through temporary datasets, dbt skips the tests of a model that failed, operations fold into their task, and one run
is known by two ids. Runs that share a *token* are kin; a family is what tokens hold together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import FOLDED, PARENT, RUN_ALIAS, TEMPORARY
from dh_bridge.translation.fold import value
from dh_bridge.translation.runs.collapse import named_datasets

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

_LARGEST = 5_000
"""Runs of a family that are settled together, at most; what lies beyond is settled by itself."""
#: Runs that name the same dataset are kin only if one of them calls it temporary.
_RELATIVES = """
    SELECT DISTINCT b.run FROM kin a JOIN kin b USING (token) WHERE a.run = ? AND (
        a.token NOT LIKE 'touches %' OR EXISTS (SELECT 1 FROM kin WHERE token = 'through' || substr(a.token, 8)))
"""


def tokens(state: RunState, options: Options) -> Iterator[str]:
    """Yield what holds a run together with others."""
    slots = state.cells.get(state.urn, {})
    parent = value(slots, PARENT)
    for dataset in state.through | {urn for urn, said in state.cells.items() if TEMPORARY in said}:
        yield f"through {dataset}"
    if options.settings.temporary != "keep":  # another run may say of a dataset that it is temporary
        for dataset in named_datasets(state):
            yield f"touches {dataset}"
    if parent is not None and any(word == "FAIL" for _, word in state.events):
        yield f"failed under {parent[0]}"
    if not _named(options):
        return
    yield f"run {state.urn}"
    if parent is not None and FOLDED in slots:
        yield f"run {parent[0]}"
    for alias in slots.get(RUN_ALIAS, ()):
        yield f"run {alias}"


def _named(options: Options) -> bool:
    """Whether runs may be kin by their ids: operations fold into tasks, or a mode knows runs by two ids."""
    settings = options.settings.identity
    folds = settings.granularity != "operation" or any(rule.granularity for rule in settings.rules)
    return folds or settings.mode == "join"


class Kin:
    """Which runs share which tokens."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def note(self, run: int, found: Iterable[str]) -> None:
        """Remember the tokens of a run."""
        self._connection.executemany("INSERT OR IGNORE INTO kin (token, run) VALUES (?, ?)", ((t, run) for t in found))

    def family(self, run: int) -> set[int]:
        """Return the numbers of the runs that are to be settled together with a run, itself among them."""
        family, open_ends = {run}, [run]
        while open_ends and len(family) < _LARGEST:
            rows = self._connection.execute(_RELATIVES, (open_ends.pop(),))
            new = {number for (number,) in rows} - family
            family |= new
            open_ends.extend(new)
        return family
