"""What the ledger lets go of, and what stays all the same."""

from __future__ import annotations

import json
import random

import pytest
from support.generated_runs import group
from support.ledger_batches import NOW, LedgerCase, read, settings
from support.sample_events import dataset, event

from dh_bridge import Settings
from dh_bridge.datahub.proposal import upsert
from dh_bridge.ledger.pruning import prune_runs
from dh_bridge.settings.temporary import TemporarySettings

DAY = 86_400
RUN, OTHER = "018cc251-f400-734d-88b3-1e3d63fe6210", "018cc251-f400-734d-88b3-000000000001"


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


def retained(**stated):
    return settings().model_copy(update={"ledger": settings().ledger.model_copy(update=stated)})


def count(ledger_case, table, where="1"):
    return ledger_case.catalog.connection.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0]  # noqa: S608


def at(kind, second, **parts):
    return event(kind, f"2026-11-20T10:00:{second:02}Z", **parts)


def days_later(ledger_case, clock, days=31):
    """Let days pass, and something else happen."""
    clock.now += days * DAY
    ledger_case.process([at("START", 59, run=OTHER, job="app.else")])


def gone_and_come(seed, days=31):
    """Return a ledger with generated runs that arrived so many days ago, and their events; after 91 days open ones are deleted as well."""
    clock = Clock()
    ledger_case = LedgerCase(settings(datahub_version="1.7"), clock=clock)
    events = read([one for i in range(seed, seed + 6) for one in group(2026, i)])
    ledger_case.process(events)
    days_later(ledger_case, clock, 0)
    before = ledger_case.dump()
    days_later(ledger_case, clock, days)
    return ledger_case, events, before


def leaves(lines):
    """Return where something is said of what runs share: of each aspect and point the paths, of edges the URNs too."""
    found = set()
    for line in map(json.loads, lines):
        if line["entityType"] == "dataProcessInstance":
            continue
        body = line["aspect"]["json"]
        place = (line["entityUrn"], line["aspectName"], body.get("messageId"))
        found |= {(*place, leaf) for leaf in body if leaf != "customProperties"}
        edges = [one for side in ("input", "output") for one in body.get(f"{side}DatasetEdges", ())]
        found |= {(*place, edge["destinationUrn"]) for edge in edges}
    return found


@pytest.mark.parametrize("days", [31, 91])
@pytest.mark.parametrize("seed", [0, 40])
def test_letting_runs_go_changes_nothing_in_the_catalogue(seed, days):
    ledger_case, _, before = gone_and_come(seed, days)
    assert count(ledger_case, "run", "state IS NULL") > 3
    assert count(ledger_case, "run", "state IS NOT NULL AND ended IS NULL") == 1 or days == 31
    assert ledger_case.dump() == before


@pytest.mark.parametrize("days", [31, 91])
@pytest.mark.parametrize("seed", [0, 40])
def test_late_events_of_pruned_runs_erase_no_shared_values(seed, days):
    ledger_case, events, before = gone_and_come(seed, days)
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    chance.shuffle(events)
    for one in events[:40]:
        ledger_case.process([one])
    missing = leaves(before) - leaves(ledger_case.dump())
    assert missing == set()


def test_pruned_run_keeps_its_aspects_after_late_events():
    clock = Clock()
    ledger_case = LedgerCase(clock=clock)
    ledger_case.process([at("START", 1, run=RUN, inputs=[dataset("d.s.a")]), at("COMPLETE", 5, run=RUN)])
    days_later(ledger_case, clock)
    urn = f"urn:li:dataProcessInstance:{RUN}"
    before = ledger_case.catalog.aspects(urn)
    translation, _ = ledger_case.ledger.process_and_deliver(
        read([at("RUNNING", 3, run=RUN), at("COMPLETE", 9, run=RUN)])
    )
    assert translation.counts.notes == {"late events of runs that the ledger has deleted": 2}
    assert ledger_case.catalog.aspects(urn) == before
    assert len(ledger_case.catalog.timeseries(urn, "dataProcessInstanceRunEvent")) == 3


def test_late_event_of_a_run_adds_to_what_runs_share():
    clock = Clock()
    ledger_case = LedgerCase(clock=clock)
    ledger_case.process([at("START", 1, run=RUN, inputs=[dataset("d.s.a")]), at("COMPLETE", 5, run=RUN)])
    days_later(ledger_case, clock)
    ledger_case.process([at("COMPLETE", 9, run=RUN, inputs=[dataset("d.s.b")])])
    edges = {
        edge["destinationUrn"]
        for urn in ledger_case.catalog.entities("dataJob")
        for edge in (ledger_case.catalog.aspect(urn, "dataJobInputOutput") or {}).get("inputDatasetEdges", ())
    }
    assert {name[len("urn:li:dataset:(urn:li:dataPlatform:postgres,") :][:5] for name in edges} == {"d.s.a", "d.s.b"}


def test_open_run_is_kept_for_its_end():
    clock = Clock()
    ledger_case = LedgerCase(clock=clock)
    ledger_case.process([at("START", 1, run=RUN)])
    days_later(ledger_case, clock)
    assert count(ledger_case, "run", "state IS NULL") == 0


def test_ledger_state_is_bounded_by_age():
    clock = Clock()
    ledger_case = LedgerCase(clock=clock)
    sizes = []
    for day in range(75):
        clock.now += DAY
        run = f"018cc251-f400-734d-88b3-{day:012}"
        parent = {"run": {"runId": f"118cc251-f400-734d-88b3-{day:012}"}, "job": {"namespace": "ns", "name": "up"}}
        inputs = [dataset("d.s.a"), dataset("d.s.b")]
        ledger_case.process([at("START", 1, run=run, job=f"j{day % 2}", run_facets={"parent": parent}, inputs=inputs)])
        ledger_case.process([at("COMPLETE", 2, run=run, job=f"j{day % 2}", outputs=[dataset("d.s.b")])])
        tables = ("contribution", "run_token", "sent", "sent_point", "shared", "run_ancestry")
        sizes.append([count(ledger_case, "run", "state IS NOT NULL"), *(count(ledger_case, table) for table in tables)])
    assert sizes[45] == sizes[-1]
    assert sizes[-1][0] <= 32


def test_ledger_run_limit_evicts_ended_runs_first():
    ledger_case = LedgerCase(retained(max_runs=5))
    ledger_case.process([at("START", 1, run=RUN)])
    for number in range(20):
        ledger_case.process([at("COMPLETE", 2, run=f"018cc251-f400-734d-88b3-{number + 100:012}")])
    assert count(ledger_case, "run", "state IS NOT NULL") == 5
    assert count(ledger_case, "run", "state IS NOT NULL AND ended IS NULL") == 1


def test_open_runs_go_where_there_are_too_many():
    ledger_case = LedgerCase(retained(max_runs=5))
    for number in range(20):
        ledger_case.process([at("START", 2, run=f"018cc251-f400-734d-88b3-{number + 100:012}")])
    assert count(ledger_case, "run", "state IS NOT NULL") == 5


def test_endless_run_has_bounded_state():
    """A streaming job says RUNNING for months: what is kept of it in the file and in memory are its hours, not its events."""
    ledger_case = LedgerCase()
    sizes = []
    for hour in range(4):
        moments = [f"2026-11-20T{10 + hour}:{number // 30:02}:{2 * (number % 30):02}Z" for number in range(1500)]
        ledger_case.process([event("RUNNING", moment, inputs=[dataset("d.s.a")]) for moment in moments])
        sizes.append(ledger_case.catalog.connection.execute("SELECT length(state) FROM run").fetchone()[0])
    (record,) = ledger_case.ledger._aggregator.runs._records.values()
    assert len(record.state.events) < 1_000
    assert [stamp[2]._raw for stamp, _ in record.state.events] == [b""] * len(record.state.events)
    assert max(sizes[1:]) - min(sizes[1:]) < 60_000


def test_snapshot_removal_loads_no_records_of_other_runs():
    ledger_case = LedgerCase()
    pattern = {"eventTrigger": "EVENT", "eventContentMode": "COMPLETE_SNAPSHOT"}
    stated = {"jobType": {"processingType": "STREAMING", "integration": "X", "emissionPattern": pattern}}
    runs = [f"018cc251-f400-734d-88b3-{number:012}" for number in range(30)]
    ledger_case.process([at("START", 1, run=run, job_facets=stated, outputs=[dataset("d.s.left")]) for run in runs])
    records = ledger_case.ledger._aggregator.runs._records
    ledger_case.ledger._aggregator.clear_cache()
    ledger_case.process([at("RUNNING", 2, run=runs[-1], job_facets=stated, outputs=[dataset("d.s.kept")])])
    assert list(records) == [f"urn:li:dataProcessInstance:{runs[-1]}"]


def test_collapsed_lineage_outlives_the_pruned_writer():
    clock = Clock()
    chosen = settings(temporary=TemporarySettings(datasets=("*.tmp_*",)))
    ledger_case = LedgerCase(chosen, clock=clock)
    writer = at("COMPLETE", 5, run=RUN, job="app.one", inputs=[dataset("d.s.a")], outputs=[dataset("d.s.tmp_x")])
    ledger_case.process([writer, at("START", 7, run=OTHER, job="app.two", inputs=[dataset("d.s.tmp_x")])])
    before = ledger_case.dump()
    clock.now += 31 * DAY
    ledger_case.process([])
    assert count(ledger_case, "run", "state IS NULL") == 1
    ledger_case.process([at("START", 8, run=OTHER, job="app.two", outputs=[dataset("d.s.b")])])
    of_a = [line for line in before if b"d.s.a" in line and b"app.two" in line]
    assert of_a
    assert any(b"d.s.a" in line and b"app.two" in line and b"InputOutput" in line for line in ledger_case.dump())


def test_old_deliveries_are_found_by_their_time():
    """There may be one for each event: none is looked at in vain with every batch."""
    ledger_case = LedgerCase()
    rows = ledger_case.catalog.connection.execute("EXPLAIN QUERY PLAN DELETE FROM delivery WHERE last < 1").fetchall()
    assert ["delivery_last" in row[3] for row in rows] == [True]


def test_pruned_runs_leave_no_rows_for_a_reused_number():
    """The number of one may be given to another run."""
    ledger_case = LedgerCase(Settings(ledger={"max_runs": 1}))
    stated = {"jobType": {"processingType": "STREAMING", "integration": "X"}}
    above, writer = (OTHER[:-1] + number for number in "89")
    parent = {"parent": {"run": {"runId": above}, "job": {"namespace": "ns", "name": "up"}}}
    ledger_case.process(
        [
            at("COMPLETE", 1, run=above, job="up", job_facets=stated),
            at("COMPLETE", 1, run=writer, job="app.w", outputs=[dataset("d.s.a")]),
            at("START", 2, run=OTHER, job="app", run_facets=parent, inputs=[dataset("d.s.a")]),
        ]
    )
    assert [count(ledger_case, table) for table in ("run", "run_ancestry")] == [3, 2]
    with ledger_case.catalog.transaction():
        prune_runs(
            ledger_case.catalog, [f"urn:li:dataProcessInstance:{run}" for run in (above, writer)], settings().ledger
        )
    assert [count(ledger_case, table) for table in ("run", "run_ancestry")] == [1, 1]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("softly", [False, True])
def test_pruned_run_is_sent_again_completely(late, softly):
    clock = Clock()
    ledger_case = LedgerCase(clock=clock, forgetful=True)  # it is another process that prunes
    events = [at("START", 0), at("COMPLETE", 30, outputs=[dataset("d.s.a")])]
    (first,) = [[one for one in ledger_case.process(events) if one.entity_type == "dataProcessInstance"]]
    if late:  # it is let go, and what comes then is noted as sent
        days_later(ledger_case, clock)
        assert ledger_case.process(events)
    with ledger_case.catalog.transaction():
        prune_runs(
            ledger_case.catalog,
            [first[0].entity_urn],
            settings().ledger,
            removed_at=int(clock() * 1000) if softly else None,
        )
    again = [one for one in ledger_case.process(events) if one.entity_urn == first[0].entity_urn]
    visible = [upsert("dataProcessInstance", first[0].entity_urn, "status", {"removed": False})] if softly else []
    assert again == [*first, *visible]
    assert [one for one in ledger_case.process(events) if one.entity_urn == first[0].entity_urn] == []
