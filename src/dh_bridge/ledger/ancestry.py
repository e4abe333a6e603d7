"""Attributes that child runs inherit from their ancestors. If an ancestor arrives or changes late, its descendants are rendered again.

The inheritable attributes of an evicted run stay as long as one of its children is in the ledger.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dh_bridge.aggregate.ancestry import inherit_types, inheritable_types, parent_urn_of
from dh_bridge.aggregate.attempts import can_be_final, final_failures, inherit_final_failures
from dh_bridge.aggregate.foreign_owned import rewrite_run_urns
from dh_bridge.model.facts import PARENT, RUN_ALIAS, RUN_TYPE, UPSTREAM_RUN
from dh_bridge.model.fold import value
from dh_bridge.model.merge import MIN_VERSION
from dh_bridge.model.precedence import TYPE_OF_ANCESTOR, TYPE_PROCESSING, TYPE_PROCESSING_OF_ANCESTOR

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.ledger.runs import RunStore
    from dh_bridge.model.fold import Registers
    from dh_bridge.model.run_state import RunState

_SELECT_ANCESTRY = "SELECT parent, inheritable FROM run_ancestry WHERE run = ?"
_WRITE_ANCESTRY = "INSERT OR REPLACE INTO run_ancestry (run, parent, inheritable) VALUES (?, ?, ?)"
_SELECT_CHILDREN = "SELECT run FROM run_ancestry WHERE parent = ?"
_SELECT_BY_TOKEN = "SELECT run FROM run_token WHERE token = ?"  # noqa: S105 - no secret
_UPDATE_INHERITABLE = "UPDATE run_ancestry SET inheritable = ? WHERE run = ?"
#: of an evicted run
_SELECT_EVICTED = "SELECT parent, inheritable, run_ancestry.run FROM run JOIN run_ancestry ON run_ancestry.run = run.id WHERE key = ? AND state IS NULL"
_SELECT_ANY_CHILD = "SELECT 1 FROM run_ancestry WHERE parent = ? LIMIT 1"


class RunAncestry:
    """Parents of runs, and the attributes that their children inherit."""

    def __init__(self, connection: sqlite3.Connection, runs: RunStore, *, has_aliases: bool = False) -> None:
        """``has_aliases``: a run may have another id in other events than the one that is written.

        Then the parents of all runs are stored, not only of those that lack an attribute.
        """
        self._connection = connection
        self._runs = runs
        self._has_aliases = has_aliases

    def record_run(self, number: int, state: RunState) -> bool:
        """Store the parent of a run and its inheritable attributes; return whether its descendants are affected."""
        registers = state.facts.get(state.urn, {})
        processing, run_type = inheritable_types(registers)
        failures = final_failures(state)
        parent = value(registers, PARENT)
        stored_row = self._connection.execute(_SELECT_ANCESTRY, (number,)).fetchone() or (None, None)
        parent_urn, inheritable = stored_row
        if parent is not None and (
            self._has_aliases or not (processing and run_type) or can_be_final(state)
        ):  # a run that has both attributes inherits neither
            parent_urn = parent[0]
        if processing or run_type or failures:
            inheritable = _format_inheritable(processing, run_type, failures)
        if (parent_urn, inheritable) == stored_row:
            return self._has_aliases and any(not self._is_alias_stored(number, alias) for alias in _aliases_of(state))
        self._connection.execute(_WRITE_ANCESTRY, (number, parent_urn, inheritable))
        return True

    def descendants(self, states: Iterable[RunState]) -> set[str]:
        """Return the keys of all runs below these."""
        descendant_keys: set[str] = set()
        pending_keys = [name for state in states for name in (state.urn, *_aliases_of(state))]
        while pending_keys:
            for key in self._run_keys(_SELECT_CHILDREN, pending_keys.pop()):
                if key not in descendant_keys and (record := self._runs.record(key)) is not None:
                    descendant_keys.add(key)
                    pending_keys += (key, *_aliases_of(record.state))
        return descendant_keys

    def apply_ancestors(self, state: RunState) -> None:
        """Add the inherited attributes to a run whose facts are resolved."""
        if not state.urn:
            return
        inherit_types(state, self._ancestor_registers)
        if can_be_final(state):
            self._inherit_failures(state)
        if self._has_aliases:
            run_urns = {parent_urn_of(state), *state.facts.get(state.urn, {}).get(UPSTREAM_RUN, ())} - {None}
            rewrite_run_urns(
                state, {urn: aliased_run.urn for urn in run_urns if (aliased_run := self.run_by_alias(urn)) is not None}
            )

    def run_by_alias(self, urn: str) -> RunState | None:
        """Return the run whose alias is a URN; it is written under another one."""
        # operations that are merged into a run have its token, too
        records = [self._runs.record(key) for key in sorted(self._run_keys(_SELECT_BY_TOKEN, f"run {urn}"))]
        return next(
            (record.state for record in records if record is not None and urn in _aliases_of(record.state)), None
        )

    def find_state(self, urn: str) -> RunState | None:
        """Return the state of a run that another one names, None if it is not in the ledger."""
        record = self._runs.record(urn)
        if record is not None:
            return record.state
        return self.run_by_alias(urn)

    def save_inheritable(self, number: int) -> None:
        """Store the inheritable attributes of a run before it is evicted, with those that it inherited."""
        if self._connection.execute(_SELECT_CHILDREN, (self._runs.key_of(number),)).fetchone() is None:
            return
        state = self._runs.record_by_id(number).state.copy()
        self.apply_ancestors(state)
        registers = state.facts.get(state.urn, {})
        processing, run_type = inheritable_types(registers)
        processing = processing or value(registers, RUN_TYPE, TYPE_PROCESSING_OF_ANCESTOR)
        inheritable = _format_inheritable(processing, run_type, final_failures(state))
        self._connection.execute(_UPDATE_INHERITABLE, (inheritable, number))

    def delete_unused(self, urn: str | None) -> None:
        """Delete the rows of an evicted run and of its evicted ancestors, as far as no child needs them."""
        while urn is not None and (evicted_row := self._evicted_row(urn)) is not None:
            parent_urn, _, number = evicted_row
            if self._connection.execute(_SELECT_ANY_CHILD, (urn,)).fetchone() is not None:
                return
            self._connection.execute("DELETE FROM run_ancestry WHERE run = ?", (number,))
            urn = parent_urn

    def _run_keys(self, query: str, parameter: str) -> list[str]:
        """Return the keys of the runs that a query finds."""
        return [self._runs.key_of(number) for (number,) in self._connection.execute(query, (parameter,)).fetchall()]

    def _is_alias_stored(self, number: int, alias: str) -> bool:
        return (
            self._connection.execute(f"{_SELECT_BY_TOKEN} AND run = ?", (f"run {alias}", number)).fetchone() is not None
        )

    def _inherit_failures(self, state: RunState) -> None:
        """Add what the DAG run of a failed try states of it."""
        parent_urn = parent_urn_of(state)
        if parent_urn is None or parent_urn == state.urn:
            return
        dag_run = self.find_state(parent_urn)
        if dag_run is not None:
            inherit_final_failures(state, final_failures(dag_run))
        elif (evicted_row := self._evicted_row(parent_urn)) is not None and evicted_row[1] is not None:
            inherit_final_failures(state, _parse_failures(evicted_row[1]))

    def _ancestor_registers(self, urn: str) -> Registers | None:
        state = self.find_state(urn)
        if state is not None:
            return state.facts.get(state.urn, {})
        evicted_row = self._evicted_row(urn)
        return _parse_inheritable(evicted_row[1]) if evicted_row is not None and evicted_row[1] is not None else None

    def _evicted_row(self, urn: str) -> tuple[str | None, str | None, int] | None:
        """Return the parent, the inheritable attributes and the number of an evicted run; None without a row."""
        row: tuple[str | None, str | None, int] | None = self._connection.execute(_SELECT_EVICTED, (urn,)).fetchone()
        return row


def _aliases_of(state: RunState) -> Iterable[str]:
    """Return the aliases of a run: URNs by which other events name it."""
    return state.facts.get(state.urn, {}).get(RUN_ALIAS, ())


def _format_inheritable(processing: str | None, run_type: str | None, failures: dict[str, int]) -> str:
    """Return the stored form: two words, and up to which time failed tries of tasks stay failed as JSON, if there are any."""
    types = f"{processing} {run_type}"
    return f"{types} {json.dumps(failures, sort_keys=True)}" if failures else types


def _parse_inheritable(text: str) -> Registers:
    """Return stored attributes as registers of a run."""
    values = dict(zip((TYPE_PROCESSING, TYPE_OF_ANCESTOR), text.split(" ", 2)[:2], strict=True))
    return {RUN_TYPE: {key: (MIN_VERSION, type_name) for key, type_name in values.items() if type_name != "None"}}


def _parse_failures(text: str) -> dict[str, int]:
    """Return the stored times of failed tries (see `final_failures`)."""
    failures: dict[str, int] = json.loads(text.split(" ", 2)[2]) if text.count(" ") > 1 else {}
    return failures
