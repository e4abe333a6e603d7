"""Runs close by one sequence of steps, wherever their state lives."""

from __future__ import annotations

import re

from support.ledger_batches import read
from support.sample_events import ROOT, dataset, event

from dh_bridge.closing import close_runs, render_runs, resolve_own_facts
from dh_bridge.extract import FactExtractor
from dh_bridge.options import Options
from dh_bridge.settings import Settings

SOURCE = ROOT / "src" / "dh_bridge"
STEPS = re.compile(r"\b(resolve_run|resolve_between_runs|merge_operations|merge_aliases|drop_runs)\(")
OWNERS = {"closing.py", "cross_run.py", "operations.py", "foreign_owned.py"}


class Store:
    """A store that notes what it is asked for."""

    def __init__(self):
        self.calls = []

    def exchange(self, states):
        self.calls.append(("exchange", [state.run_id for state in states]))
        return states

    def contribute(self, closed):
        self.calls.append(("contribute", [run.state.run_id for run in closed]))


def test_closing_steps_are_used_only_by_their_owners():
    users = {path.name for path in SOURCE.rglob("*.py") if STEPS.search(path.read_text(encoding="utf-8"))}
    assert users == OWNERS


def test_runs_exchange_facts_before_they_contribute():
    walk, runs, store = FactExtractor(Options(Settings(datahub_version="1.7"))), {}, Store()
    for item in read([event("START"), event(outputs=[dataset("d.s.t")])]):
        walk.extract(item, runs)
    (state,) = runs.values()
    closed, folded = close_runs(resolve_own_facts([state]), store, walk.options)
    assert store.calls == [("exchange", [state.run_id]), ("contribute", [state.run_id])]
    assert ([run.state for run in closed], folded) == ([state], frozenset())
    assert {proposal.entity_urn for proposal in render_runs(closed, {}, walk.options)} == {state.urn}
