"""Edges leave, where the settings say so."""

from __future__ import annotations

import itertools
import random
from datetime import date, timedelta

import pytest
from support.generated_runs import group
from support.ledger_batches import LedgerCase, catalogue, read, settings
from support.sample_events import dataset, event

from dh_bridge.datahub.proposal import patch

SEED = 2026
LAST, WINDOW = "last_run", "window:7d"
_START = "urn:li:dataset:(urn:li:dataPlatform:postgres,d.s."


def chosen(edges, profile=None):
    return settings(edges=edges, datahub_version=profile)


def run(day, *, reads=(), writes=(), kind="COMPLETE", number=None):
    parts = {"inputs": [dataset(f"d.s.{one}") for one in reads], "outputs": [dataset(f"d.s.{one}") for one in writes]}
    key = f"018cc251-f400-734d-88b3-{number or day:012}"
    return event(kind, f"{date(2026, 9, 30) + timedelta(days=day)}T10:00:00Z", run=key, job="app.load", **parts)


def edges(ledger_case, side="input"):
    (job,) = ledger_case.catalog.entities("dataJob")
    found = ledger_case.catalog.aspect(job, "dataJobInputOutput")[f"{side}DatasetEdges"]
    return "".join(sorted(edge["destinationUrn"].removeprefix(_START)[0] for edge in found))


def after(setting, *events):
    ledger_case = LedgerCase(chosen(setting))
    ledger_case.process(*([one] for one in events))
    return ledger_case


def test_edge_expires_with_the_newest_complete_run():
    history = [run(1, reads="ab", writes="x"), run(2, reads="bc", writes="x")]
    assert edges(after(LAST, *history)) == "bc"
    assert edges(after("accumulate", *history)) == "abc"
    assert edges(after(WINDOW, *history)) == "abc"


def test_edge_leaves_when_no_run_of_the_window_names_it():
    assert edges(after(WINDOW, run(1, reads="ab"), run(8, reads="b"))) == "ab"
    assert edges(after(WINDOW, run(1, reads="ab"), run(9, reads="b"))) == "b"


def test_window_without_a_number_is_thirty_days():
    assert edges(after("window", run(1, reads="ab"), run(30, reads="b"))) == "ab"
    assert edges(after("window", run(1, reads="ab"), run(30, reads="b"), run(32, reads="b"))) == "b"


@pytest.mark.parametrize("kind", ["FAIL", "ABORT", "RUNNING"])
def test_incomplete_run_expires_no_edges(kind):
    assert edges(after(LAST, run(1, reads="ab"), run(2, reads="b", kind=kind))) == "ab"
    assert edges(after(LAST, run(1, reads="ab"), run(2, reads="c", kind=kind))) == "abc"
    assert edges(after(LAST, run(1, reads="a", kind=kind), run(2, reads="b"))) == "b"


def test_run_without_edges_on_one_side_expires_none_there():
    ledger_case = after(LAST, run(1, reads="a", writes="x"), run(2, reads="b"))
    assert (edges(ledger_case), edges(ledger_case, "output")) == ("b", "x")


def test_edge_comes_back_with_the_run_that_names_it():
    assert edges(after(LAST, run(1, reads="ab"), run(2, reads="b"), run(3, reads="a"))) == "a"


@pytest.mark.parametrize("setting", [LAST, WINDOW])
def test_order_of_runs_does_not_matter(setting):
    history = [run(1, reads="ab", writes="x"), run(3, reads="bc"), run(20, reads="c", writes="y"), run(21, writes="y")]
    dumps = {tuple(after(setting, *order).dump()) for order in itertools.permutations(history)}
    assert len({tuple(line for line in dump if b"InputOutput" in line) for dump in dumps}) == 1
    assert len(dumps) == 1


@pytest.mark.parametrize("setting", [LAST, WINDOW])
@pytest.mark.parametrize("block", [range(8), range(60, 68)])
def test_generated_runs_give_one_catalogue_while_edges_expire(setting, block):
    for i in block:
        events, own = read(group(SEED, i)), chosen(setting, profile="1.7")
        whole = catalogue(events, chosen=own)
        chance = random.Random(i)  # noqa: S311 - reproducible, not secret
        chance.shuffle(events)
        cut = chance.randint(0, len(events))
        for way in ([[one] for one in events], [events[:cut], events, events[cut:]]):
            assert catalogue(*way, chosen=own, forgetful=True) == whole


def test_only_edges_of_the_bridge_leave():
    ledger_case = after(LAST, run(1, reads="ab"))
    (job,) = ledger_case.catalog.entities("dataJob")
    theirs = f"{_START}q,PROD)"
    path = "/inputDatasetEdges/" + theirs
    ledger_case.catalog.apply(
        [
            patch(
                "dataJob", job, "dataJobInputOutput", [{"op": "add", "path": path, "value": {"destinationUrn": theirs}}]
            )
        ]
    )
    ledger_case.process([run(2, reads="b")])
    assert edges(ledger_case) == "bq"


def test_columns_leave_with_their_datasets():
    def lineage(source):
        field = {"namespace": "postgres://db:5432", "name": f"d.s.{source}", "field": "c"}
        return dataset("d.s.x", facets={"columnLineage": {"fields": {"c": {"inputFields": [field]}}}})

    def one(day, source):
        ledger_case = run(day, reads=source)
        return {**ledger_case, "outputs": [lineage(source)]}

    ledger_case = after(LAST, one(1, "a"), one(2, "b"))
    (job,) = ledger_case.catalog.entities("dataJob")
    io = ledger_case.catalog.aspect(job, "dataJobInputOutput")
    ups = [up for fine in io["fineGrainedLineages"] for up in fine["upstreams"]]
    assert [up.removeprefix("urn:li:schemaField:(" + _START)[0] for up in ups] == ["b"]


# -- edges that have left are forgotten with the runs that named them -----------------------------------------------------


def aged(setting, days, clock):
    own = settings().ledger.model_copy(update={"retention_days": days})
    return LedgerCase(
        settings(edges=setting, datahub_version="1.7", ledger=own),
        clock=lambda: clock[0],
    )


def lineage_of(ledger_case):
    """Return of each job its edges and pairs of columns, without their times."""
    for job in ledger_case.catalog.entities("dataJob"):
        io = ledger_case.catalog.aspect(job, "dataJobInputOutput") or {}
        sides = [{edge["destinationUrn"] for edge in io.get(f"{side}DatasetEdges", ())} for side in ("input", "output")]
        fine = io.get("fineGrainedLineages", ())
        columns = {(up, down) for one in fine for up in one["upstreams"] for down in one["downstreams"]}
        yield job, sides, columns


def with_both(one):
    field = "urn:li:schemaField:(" + _START + "{},PROD),c)"
    names = [[at["name"].removeprefix("d.s.") for at in one[side]] for side in ("inputs", "outputs")]
    return {(field.format(source), field.format(target)) for source in names[0] for target in names[1]}


def with_columns(one):
    fields = [{"namespace": source["namespace"], "name": source["name"], "field": "c"} for source in one["inputs"]]
    facets = {"columnLineage": {"fields": {"c": {"inputFields": fields}}}}
    return {**one, "outputs": [{**target, "facets": facets} for target in one["outputs"]]}


@pytest.mark.parametrize("setting", [LAST, WINDOW])
@pytest.mark.parametrize("seed", range(6))
def test_visible_edges_are_the_same_if_expired_are_forgotten(setting, seed):
    chance = random.Random(f"{seed}/{setting}")  # noqa: S311 - reproducible, not secret
    days = list(range(1, 29))
    if seed % 2:  # some come late
        days.sort(key=lambda day: day + chance.choice((0, 0, 0, 9)))
    clock = [1_796_000_000]
    forgets, remembers = aged(setting, 2, clock), aged(setting, 10_000, clock)
    for day in days:
        clock[0] += 86_400
        reads, writes = chance.sample("abcde", chance.randint(0, 3)), chance.sample("uvwxyz", chance.randint(0, 2))
        kind = chance.choice(("COMPLETE", "COMPLETE", "COMPLETE", "FAIL", "RUNNING"))
        ledger_case = with_columns(run(day, reads=reads, writes=writes, kind=kind))
        for ledger in (forgets, remembers):
            ledger.process([ledger_case])
        (less,), (more,) = lineage_of(forgets), lineage_of(remembers)
        assert less[:2] == more[:2]
        # an edge that comes back brings the columns of its new runs alone
        assert less[2] <= more[2]
        assert {pair for pair in more[2] if pair in with_both(ledger_case)} <= less[2]
    assert forgets.catalog.connection.execute("SELECT count(*) FROM run WHERE state IS NULL").fetchone()[0] > 5


@pytest.mark.parametrize("setting", [LAST, WINDOW])
def test_daily_tables_do_not_grow_the_state_of_their_job(setting):
    clock = [1_796_000_000]
    ledger_case = aged(setting, 5, clock)
    sizes = []
    for day in range(60):
        clock[0] += 86_400
        moment = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T10:00:00Z"
        key = f"018cc251-f400-734d-88b3-{day:012}"
        parts = {"inputs": [dataset("d.s.a")], "outputs": [dataset(f"d.s.x{day:03}")]}
        ledger_case.process([with_columns(event("COMPLETE", moment, run=key, job="app.load", **parts))])
        query = "SELECT length(base) + length(registers) FROM shared WHERE urn LIKE 'urn:li:dataJob%'"
        sizes.append(ledger_case.catalog.connection.execute(query).fetchone()[0])
    assert sizes[59] < sizes[30] + 200
    assert len(edges(ledger_case, "output")) == (1 if setting == LAST else 8)


def test_edge_that_was_forgotten_comes_back_as_a_new_one():
    clock = [1_796_000_000]
    ledger_case = aged(LAST, 2, clock)
    for day, reads in ((1, "ab"), (2, "b"), (6, "b"), (10, "a")):
        clock[0] = 1_796_000_000 + day * 86_400
        ledger_case.process([run(day, reads=reads)])
    assert edges(ledger_case) == "a"
    (job,) = ledger_case.catalog.entities("dataJob")
    (edge,) = ledger_case.catalog.aspect(job, "dataJobInputOutput")["inputDatasetEdges"]
    assert edge["created"]["time"] == edge["lastModified"]["time"]


@pytest.mark.parametrize("setting", [LAST, WINDOW])
@pytest.mark.parametrize("seed", [0, 30])
def test_forgetting_expired_edges_sends_nothing(setting, seed):
    clock = [1_796_000_000]
    ledger_case = aged(setting, 30, clock)
    ledger_case.process(read([one for i in range(seed, seed + 8) for one in group(SEED, i)]))
    before = ledger_case.dump()
    clock[0] += 91 * 86_400
    assert ledger_case.process([]) == []
    assert ledger_case.catalog.connection.execute("SELECT count(*) FROM run WHERE state IS NOT NULL").fetchone() == (0,)
    assert ledger_case.dump() == before
    for number in (4, 5):
        sent = ledger_case.process(read(group(SEED + 1, number)))
        assert not {one.entity_urn for one in sent} & {
            one for one in ledger_case.catalog.entities() if f"ns{SEED}-" in one
        }
