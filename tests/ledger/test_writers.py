"""How much of the past is looked at for `runs.infer_upstream`: as much as it takes, however often a dataset was written."""

from __future__ import annotations

import pytest
from samples import dataset, event
from told import Told

from dh_bridge import Settings
from dh_bridge.ledger import writers
from dh_bridge.ledger.handover import _EXACT_READERS, _READERS

ON = Settings(profile="1.7", runs={"infer_upstream": True})


def key(number):
    return f"018cc251-f400-734d-88b3-{number:012}"


def run(number, *, reads=None, writes=None, app=None):
    """Return the events of a run that reads a table and writes it anew."""
    said = {"parent": {"run": {"runId": key(app)}, "job": {"namespace": "ns", "name": "app"}}} if app else {}
    hour, minute = divmod(number, 60)

    def table(version):
        return [dataset("d.s.hot", facets={"version": {"datasetVersion": version}} if version else {})]

    return [
        event(kind, f"2026-11-20T{hour:02}:{minute:02}:{second:02}Z", run=key(number), job=f"app.j{number % 3}",
              run_facets=said, **{side: table(version)})
        for kind, second, side, version in (("START", 0, "inputs", reads), ("COMPLETE", 30, "outputs", writes))
    ]  # fmt: skip


def upstreams(told, number):
    urn = f"urn:li:dataProcessInstance:{key(number)}"
    return told.catalog.aspect(urn, "dataProcessInstanceRelationships")["upstreamInstances"]


def looked_at(before, events, chosen=ON):
    """Return how many statements it takes to tell ``events`` after ``before``."""
    told, seen = Told(chosen, forgetful=True), []
    told.tell(before)
    told.catalog.connection.set_trace_callback(seen.append)
    told.tell(events)
    told.catalog.connection.set_trace_callback(None)
    return len(seen)


@pytest.mark.parametrize("app", [None, 1000])
@pytest.mark.parametrize("late", [False, True])
def test_one_more_run_costs_as_much_after_many_as_after_few(app, late):
    few, many = ([one for number in range(2, most) for one in run(number, app=app)] for most in (22, 122))
    events = run(1 if late else 200, app=app)
    assert looked_at(many, events) == looked_at(few, events)


def test_the_first_writers_of_a_version_are_found_among_many():
    told = Told(ON)
    told.tell([one for number in range(10, 40) for one in run(number, writes="v")])
    told.tell(run(50, reads="v"))
    others = [number for number in range(10, 40) if number % 3 != 50 % 3]
    assert upstreams(told, 50) == [f"urn:li:dataProcessInstance:{key(number)}" for number in others[:10]]


def test_a_version_of_its_own_job_is_exact_and_no_older_writer_stands_in():
    told = Told(ON)
    told.tell(run(1, writes="w"), run(2, writes="v"), run(3, writes="w"), run(5, reads="v"))
    assert upstreams(told, 5) == []


def test_a_run_above_its_writers_hears_of_an_older_one_that_comes_late():
    """It is inside the newer writers, so these do not stand between the two."""
    story = [*run(8, app=9), *run(7, app=9), *run(9)]
    told = Told(ON, forgetful=True)
    told.tell(*([one] for one in story))
    assert upstreams(told, 9) == []
    told.tell(run(1))
    assert upstreams(told, 9) == [f"urn:li:dataProcessInstance:{key(1)}"]


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (writers._EXACT, "handed_version (dataset=? AND version=? AND wrote=?)"),
        (_EXACT_READERS, "handed_version (dataset=? AND version=? AND wrote=?)"),
        (writers._GOING_ON, "handed_span (dataset=? AND last>?)"),
        (writers._ENDED, "handed_dataset (dataset=? AND wrote=? AND last>? AND last<?)"),
        (writers._NEWER, "handed_dataset (dataset=? AND wrote=? AND last>?)"),
        (_READERS, "handed_dataset (dataset=? AND wrote=? AND last>? AND last<?)"),
    ],
)
def test_each_look_has_its_index(query, index):
    told = Told(ON)
    values = [None] * (3 if "?3" in query else query.count("?"))
    (plan,) = [row[3] for row in told.catalog.connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
    assert plan.endswith(f"INDEX {index}")
