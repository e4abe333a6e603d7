"""What the ledger lets go of, and what stays all the same."""

from __future__ import annotations

import json
import random

import pytest
from support.generated_runs import group
from support.ledger_batches import NOW, Told, read, settings
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


def kept(**said):
    return settings().model_copy(update={"ledger": settings().ledger.model_copy(update=said)})


def count(told, table, where="1"):
    return told.catalog.connection.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0]  # noqa: S608


def at(kind, second, **parts):
    return event(kind, f"2026-11-20T10:00:{second:02}Z", **parts)


def days_later(told, clock, days=31):
    """Let days pass, and something else happen."""
    clock.now += days * DAY
    told.tell([at("START", 59, run=OTHER, job="app.else")])


def gone_and_come(seed, days=31):
    """Return a ledger with generated runs that were told so many days ago, and their events; after 91 open ones are gone as well."""
    clock = Clock()
    told = Told(settings(datahub_version="1.7"), clock=clock)
    events = read([one for i in range(seed, seed + 6) for one in group(2026, i)])
    told.tell(events)
    days_later(told, clock, 0)
    before = told.dump()
    days_later(told, clock, days)
    return told, events, before


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
    told, _, before = gone_and_come(seed, days)
    assert count(told, "run", "state IS NULL") > 3
    assert count(told, "run", "state IS NOT NULL AND ended IS NULL") == 1 or days == 31
    assert told.dump() == before


@pytest.mark.parametrize("days", [31, 91])
@pytest.mark.parametrize("seed", [0, 40])
def test_late_events_of_pruned_runs_erase_no_shared_values(seed, days):
    told, events, before = gone_and_come(seed, days)
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    chance.shuffle(events)
    for one in events[:40]:
        told.tell([one])
    missing = leaves(before) - leaves(told.dump())
    assert missing == set()


def test_pruned_run_keeps_its_aspects_after_late_events():
    clock = Clock()
    told = Told(clock=clock)
    told.tell([at("START", 1, run=RUN, inputs=[dataset("d.s.a")]), at("COMPLETE", 5, run=RUN)])
    days_later(told, clock)
    urn = f"urn:li:dataProcessInstance:{RUN}"
    before = told.catalog.aspects(urn)
    translation, _ = told.ledger.process_and_deliver(read([at("RUNNING", 3, run=RUN), at("COMPLETE", 9, run=RUN)]))
    assert translation.counts.notes == {"late events of runs that the ledger has deleted": 2}
    assert told.catalog.aspects(urn) == before
    assert len(told.catalog.timeseries(urn, "dataProcessInstanceRunEvent")) == 3


def test_late_event_of_a_run_adds_to_what_runs_share():
    clock = Clock()
    told = Told(clock=clock)
    told.tell([at("START", 1, run=RUN, inputs=[dataset("d.s.a")]), at("COMPLETE", 5, run=RUN)])
    days_later(told, clock)
    told.tell([at("COMPLETE", 9, run=RUN, inputs=[dataset("d.s.b")])])
    edges = {
        edge["destinationUrn"]
        for urn in told.catalog.entities("dataJob")
        for edge in (told.catalog.aspect(urn, "dataJobInputOutput") or {}).get("inputDatasetEdges", ())
    }
    assert {name[len("urn:li:dataset:(urn:li:dataPlatform:postgres,") :][:5] for name in edges} == {"d.s.a", "d.s.b"}


def test_open_run_is_kept_for_its_end():
    clock = Clock()
    told = Told(clock=clock)
    told.tell([at("START", 1, run=RUN)])
    days_later(told, clock)
    assert count(told, "run", "state IS NULL") == 0


def test_ledger_state_is_bounded_by_age():
    clock = Clock()
    told = Told(clock=clock)
    sizes = []
    for day in range(75):
        clock.now += DAY
        run = f"018cc251-f400-734d-88b3-{day:012}"
        parent = {"run": {"runId": f"118cc251-f400-734d-88b3-{day:012}"}, "job": {"namespace": "ns", "name": "up"}}
        inputs = [dataset("d.s.a"), dataset("d.s.b")]
        told.tell([at("START", 1, run=run, job=f"j{day % 2}", run_facets={"parent": parent}, inputs=inputs)])
        told.tell([at("COMPLETE", 2, run=run, job=f"j{day % 2}", outputs=[dataset("d.s.b")])])
        tables = ("contribution", "run_token", "sent", "sent_point", "shared", "run_ancestry")
        sizes.append([count(told, "run", "state IS NOT NULL"), *(count(told, table) for table in tables)])
    assert sizes[45] == sizes[-1]
    assert sizes[-1][0] <= 32


def test_ledger_run_limit_evicts_ended_runs_first():
    told = Told(kept(max_runs=5))
    told.tell([at("START", 1, run=RUN)])
    for number in range(20):
        told.tell([at("COMPLETE", 2, run=f"018cc251-f400-734d-88b3-{number + 100:012}")])
    assert count(told, "run", "state IS NOT NULL") == 5
    assert count(told, "run", "state IS NOT NULL AND ended IS NULL") == 1


def test_open_runs_go_where_there_are_too_many():
    told = Told(kept(max_runs=5))
    for number in range(20):
        told.tell([at("START", 2, run=f"018cc251-f400-734d-88b3-{number + 100:012}")])
    assert count(told, "run", "state IS NOT NULL") == 5


def test_endless_run_has_bounded_state():
    """A streaming job says RUNNING for months: what is kept of it in the file and in memory are its hours, not its events."""
    told = Told()
    sizes = []
    for hour in range(4):
        moments = [f"2026-11-20T{10 + hour}:{number // 30:02}:{2 * (number % 30):02}Z" for number in range(1500)]
        told.tell([event("RUNNING", moment, inputs=[dataset("d.s.a")]) for moment in moments])
        sizes.append(told.catalog.connection.execute("SELECT length(state) FROM run").fetchone()[0])
    (record,) = told.ledger._aggregator.runs._records.values()
    assert len(record.state.events) < 1_000
    assert [stamp[2]._raw for stamp, _ in record.state.events] == [b""] * len(record.state.events)
    assert max(sizes[1:]) - min(sizes[1:]) < 60_000


def test_snapshot_removal_loads_no_records_of_other_runs():
    told = Told()
    pattern = {"eventTrigger": "EVENT", "eventContentMode": "COMPLETE_SNAPSHOT"}
    said = {"jobType": {"processingType": "STREAMING", "integration": "X", "emissionPattern": pattern}}
    runs = [f"018cc251-f400-734d-88b3-{number:012}" for number in range(30)]
    told.tell([at("START", 1, run=run, job_facets=said, outputs=[dataset("d.s.left")]) for run in runs])
    records = told.ledger._aggregator.runs._records
    told.ledger._aggregator.clear_cache()
    told.tell([at("RUNNING", 2, run=runs[-1], job_facets=said, outputs=[dataset("d.s.kept")])])
    assert list(records) == [f"urn:li:dataProcessInstance:{runs[-1]}"]


def test_collapsed_lineage_outlives_the_pruned_writer():
    clock = Clock()
    chosen = settings(temporary=TemporarySettings(datasets=("*.tmp_*",)))
    told = Told(chosen, clock=clock)
    writer = at("COMPLETE", 5, run=RUN, job="app.one", inputs=[dataset("d.s.a")], outputs=[dataset("d.s.tmp_x")])
    told.tell([writer, at("START", 7, run=OTHER, job="app.two", inputs=[dataset("d.s.tmp_x")])])
    before = told.dump()
    clock.now += 31 * DAY
    told.tell([])
    assert count(told, "run", "state IS NULL") == 1
    told.tell([at("START", 8, run=OTHER, job="app.two", outputs=[dataset("d.s.b")])])
    of_a = [line for line in before if b"d.s.a" in line and b"app.two" in line]
    assert of_a
    assert any(b"d.s.a" in line and b"app.two" in line and b"InputOutput" in line for line in told.dump())


def test_old_deliveries_are_found_by_their_time():
    """There may be one for each event: none is looked at in vain with every batch."""
    told = Told()
    rows = told.catalog.connection.execute("EXPLAIN QUERY PLAN DELETE FROM delivery WHERE last < 1").fetchall()
    assert ["delivery_last" in row[3] for row in rows] == [True]


def test_pruned_runs_leave_no_rows_for_a_reused_number():
    """The number of one may be given to another run."""
    told = Told(Settings(ledger={"max_runs": 1}))
    said = {"jobType": {"processingType": "STREAMING", "integration": "X"}}
    above, writer = (OTHER[:-1] + number for number in "89")
    parent = {"parent": {"run": {"runId": above}, "job": {"namespace": "ns", "name": "up"}}}
    told.tell(
        [
            at("COMPLETE", 1, run=above, job="up", job_facets=said),
            at("COMPLETE", 1, run=writer, job="app.w", outputs=[dataset("d.s.a")]),
            at("START", 2, run=OTHER, job="app", run_facets=parent, inputs=[dataset("d.s.a")]),
        ]
    )
    assert [count(told, table) for table in ("run", "run_ancestry")] == [3, 2]
    with told.catalog.transaction():
        prune_runs(told.catalog, [f"urn:li:dataProcessInstance:{run}" for run in (above, writer)], settings().ledger)
    assert [count(told, table) for table in ("run", "run_ancestry")] == [1, 1]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("softly", [False, True])
def test_pruned_run_is_sent_again_completely(late, softly):
    clock = Clock()
    told = Told(clock=clock, forgetful=True)  # it is another process that prunes
    events = [at("START", 0), at("COMPLETE", 30, outputs=[dataset("d.s.a")])]
    (first,) = [[one for one in told.tell(events) if one.entity_type == "dataProcessInstance"]]
    if late:  # it is let go, and what comes then is noted as sent
        days_later(told, clock)
        assert told.tell(events)
    with told.catalog.transaction():
        prune_runs(
            told.catalog, [first[0].entity_urn], settings().ledger, removed_at=int(clock() * 1000) if softly else None
        )
    again = [one for one in told.tell(events) if one.entity_urn == first[0].entity_urn]
    visible = [upsert("dataProcessInstance", first[0].entity_urn, "status", {"removed": False})] if softly else []
    assert again == [*first, *visible]
    assert [one for one in told.tell(events) if one.entity_urn == first[0].entity_urn] == []
