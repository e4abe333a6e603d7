"""Runs close by one sequence of steps, wherever their state lives."""

from __future__ import annotations

import re

from samples import ROOT, dataset, event
from told import read

from dh_bridge.settings import Settings
from dh_bridge.translation.closing import close_runs, render_runs, settle_own
from dh_bridge.translation.extract import Walk
from dh_bridge.translation.options import Options

SOURCE = ROOT / "src" / "dh_bridge"
STEPS = re.compile(r"\b(settle_alone|settle_among|carried|matched|without_runs)\(")
OWNERS = {"closing.py", "settling.py", "operations.py", "foreign_owned.py"}


class Store:
    """A store that notes what it is asked for."""

    def __init__(self):
        self.calls = []

    def exchange(self, states):
        self.calls.append(("exchange", [state.run_id for state in states]))
        return states

    def contribute(self, closed):
        self.calls.append(("contribute", [run.state.run_id for run in closed]))


def test_no_other_module_takes_the_steps_of_closing():
    users = {path.name for path in SOURCE.rglob("*.py") if STEPS.search(path.read_text(encoding="utf-8"))}
    assert users == OWNERS


def test_runs_exchange_facts_before_they_contribute():
    walk, runs, store = Walk(Options(Settings(profile="1.7"))), {}, Store()
    for item in read([event("START"), event(outputs=[dataset("d.s.t")])]):
        walk.event(item, runs)
    (state,) = runs.values()
    closed, folded = close_runs(settle_own([state]), store, walk.options)
    assert store.calls == [("exchange", [state.run_id]), ("contribute", [state.run_id])]
    assert ([run.state for run in closed], folded) == ([state], frozenset())
    assert {proposal.entity_urn for proposal in render_runs(closed, {}, walk.options)} == {state.urn}
