"""Open runs whose end was lost are deleted as well, later than those that ended; those with new events stay."""

from __future__ import annotations

import pytest
from support.ledger_batches import NOW, LedgerCase, read, settings
from support.sample_events import dataset, event

DAY = 86_400
RUN, OTHER = "018cc251-f400-734d-88b3-1e3d63fe6210", "018cc251-f400-734d-88b3-000000000001"
URN = f"urn:li:dataProcessInstance:{RUN}"
STREAM = {"jobType": {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}}


class Days:
    """A ledger, and a day on which it gets events."""

    def __init__(self, **stated):
        self.day = 0
        self.ledger_case = LedgerCase(
            settings(ledger=settings().ledger.model_copy(update=stated)), clock=lambda: NOW + self.day * DAY
        )

    def process(self, day, *events):
        """Tell events on a day, or of something else."""
        self.day = day
        return self.ledger_case.process(
            list(events) or [at("START", 1, run=f"{day:08}-f400-734d-88b3-000000000009", job="app.else")]
        )

    def state(self, run=RUN):
        """Return whether a run is kept; None when nobody knows it."""
        query = "SELECT state IS NOT NULL FROM run WHERE key = ?"
        row = self.ledger_case.catalog.connection.execute(query, (f"urn:li:dataProcessInstance:{run}",)).fetchone()
        return None if row is None else bool(row[0])

    def facts(self):
        return self.ledger_case.catalog.connection.execute("SELECT count(*) FROM state_object").fetchone()[0]

    def edges(self):
        jobs = self.ledger_case.catalog.entities("dataJob")
        found = [self.ledger_case.catalog.aspect(urn, "dataJobInputOutput") or {} for urn in jobs]
        return {edge["destinationUrn"] for one in found for edge in one.get("inputDatasetEdges", ())}


def at(kind, second, **parts):
    return event(kind, f"2026-11-20T10:00:{second:02}Z", **parts)


def child(number, second=5, kind="COMPLETE"):
    parent = {"run": {"runId": RUN}, "job": {"namespace": "ns", "name": "app.parent"}}
    run = f"018cc251-f400-734d-88b3-{number + 100:012}"
    return at(kind, second, run=run, job="app.child", run_facets={"parent": parent}, inputs=[dataset(f"d.s.t{number}")])


def test_run_without_end_is_pruned_and_its_aspects_stay():
    days = Days()
    days.process(0, at("START", 1, run=RUN, inputs=[dataset("d.s.a")]))
    before = days.edges(), days.ledger_case.catalog.aspects(URN)
    days.process(89)
    assert days.state() is True
    days.process(91)
    assert days.state() is False
    assert before == (days.edges(), days.ledger_case.catalog.aspects(URN))
    assert len(before[0]) == 1


def test_late_events_of_pruned_open_runs_erase_nothing():
    days = Days()
    days.process(0, at("START", 1, run=RUN, inputs=[dataset("d.s.a")]))
    days.process(91)
    before = days.ledger_case.catalog.aspects(URN)
    translation, _ = days.ledger_case.ledger.process_and_deliver(
        read([at("COMPLETE", 9, run=RUN, outputs=[dataset("d.s.b")])])
    )
    assert translation.counts.notes == {"late events of runs that the ledger has deleted": 1}
    after = days.ledger_case.catalog.aspects(URN)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"dataProcessInstanceOutput"}
    assert len(days.ledger_case.catalog.timeseries(URN, "dataProcessInstanceRunEvent")) == 2
    assert len(days.edges()) == 1


def test_active_stream_is_never_pruned_by_age():
    days = Days(retention_days=7)
    days.process(0, at("START", 1, run=RUN, job_facets=STREAM))
    for day in range(10, 100, 10):
        days.process(day, event("RUNNING", f"2026-11-20T{10 + day // 10}:00:00Z", run=RUN, job_facets=STREAM))
        days.process(day + 5)
        assert days.state() is True
    (record,) = [one for one in days.ledger_case.ledger._aggregator.runs._records.values() if one.state.urn == URN]
    assert len(record.state.events) == 10
    days.process(130)
    assert days.state() is False


def test_application_is_kept_while_child_runs_are_active():
    days = Days(retention_days=7)
    days.process(0, at("START", 1, run=RUN, job="app.parent"))
    facts = []
    for day in range(3, 120, 3):
        days.process(day, child(day))
        facts.append(days.facts())
    assert days.state() is True
    assert max(facts[20:]) <= max(facts[:20])
    days.process(136)
    assert days.state() is True
    days.process(139)
    assert days.state() is False


def test_runs_that_name_each_other_as_parent_are_pruned():
    days = Days()
    parent = {"run": {"runId": OTHER}, "job": {"namespace": "ns", "name": "app.up"}}
    other = {"run": {"runId": RUN}, "job": {"namespace": "ns", "name": "app.down"}}
    days.process(
        0,
        at("START", 1, run=RUN, job="app.down", run_facets={"parent": parent}),
        at("START", 1, run=OTHER, job="app.up", run_facets={"parent": other}),
    )
    days.process(91)
    assert (days.state(), days.state(OTHER)) == (False, False)


@pytest.mark.parametrize("forgetful", [False, True])
def test_state_of_open_runs_is_bounded_by_age(forgetful):
    days = Days(retention_days=3)
    days.ledger_case._forgetful = forgetful
    sizes = []
    for day in range(40):
        run = f"018cc251-f400-734d-88b3-{day:012}"
        days.process(day, at("START", 1, run=run, job=f"app.{day}", inputs=[dataset(f"d.s.t{day}")]))
        tables = (
            "run WHERE state IS NOT NULL",
            "run_history",
            "sent WHERE urn LIKE '%Instance:%'",
            "contribution",
            "state_object",
        )
        count = days.ledger_case.catalog.connection.execute
        sizes.append([count(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables])  # noqa: S608
    assert sizes[25] == sizes[-1]
    assert sizes[-1][0] <= 11
    assert sizes[-1][-1] < 100
