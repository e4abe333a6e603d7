"""Related runs: runs whose facts are resolved together, because one changes the result of another.

Lineage runs through temporary datasets, dbt skips the tests of a failed model, operations are merged into their task, and a run
may have two ids. Runs that share a *token* are related; a family is all runs that are connected by tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.collapse import lineage_datasets
from dh_bridge.model.facts import MERGED_OPERATION, PARENT, RUN_ALIAS, TEMPORARY
from dh_bridge.model.fold import value

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

_MAX_GROUP_SIZE = 5_000
"""Maximum number of related runs that are resolved together; each further run is resolved alone."""
#: Runs that name the same dataset are related only if one of them declares it temporary.
_SELECT_RELATED = """
    SELECT DISTINCT b.run FROM run_token a JOIN run_token b USING (token) WHERE a.run = ? AND (
        a.token NOT LIKE 'touches %' OR EXISTS (SELECT 1 FROM run_token WHERE token = 'through' || substr(a.token, 8)))
"""


def tokens_of(state: RunState, options: Options) -> Iterator[str]:
    """Yield the tokens that connect a run with others."""
    registers = state.facts.get(state.urn, {})
    parent = value(registers, PARENT)
    for dataset in state.collapsed_urns | {
        urn for urn, dataset_registers in state.facts.items() if TEMPORARY in dataset_registers
    }:
        yield f"through {dataset}"
    if options.settings.temporary.dataset_type != "keep":  # another run may declare a dataset temporary
        for dataset in lineage_datasets(state):
            yield f"touches {dataset}"
    if parent is not None and any(event_type == "FAIL" for _, event_type in state.events):
        yield f"failed under {parent[0]}"
    if not _are_related_by_id(options):
        return
    yield f"run {state.urn}"
    if parent is not None and MERGED_OPERATION in registers:
        yield f"run {parent[0]}"
    for alias in registers.get(RUN_ALIAS, ()):
        yield f"run {alias}"


def _are_related_by_id(options: Options) -> bool:
    """Whether runs may be related by their ids: operations are merged into tasks, or a mode gives runs two ids."""
    settings = options.settings.identity
    merges_operations = settings.granularity != "operation" or any(rule.granularity for rule in settings.rules)
    return merges_operations or settings.shares_entities


class RelatedRuns:
    """The tokens of runs."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add_tokens(self, run_id: int, run_tokens: Iterable[str]) -> None:
        """Store the tokens of a run."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO run_token (token, run) VALUES (?, ?)", ((token, run_id) for token in run_tokens)
        )

    def related_ids(self, run_id: int) -> set[int]:
        """Return the numbers of all runs that are related to a run, with its own."""
        group, pending = {run_id}, [run_id]
        while pending and len(group) < _MAX_GROUP_SIZE:
            rows = self._connection.execute(_SELECT_RELATED, (pending.pop(),))
            new_ids = {number for (number,) in rows} - group
            group |= new_ids
            pending.extend(new_ids)
        return group
