"""Several processes give what one gives, and say so when one of them dies."""

from __future__ import annotations

import multiprocessing
from zlib import crc32

import pytest
from click.testing import CliRunner
from gen_runs import group
from samples import EXAMPLES, dataset, event, examples
from samples import packed as sent
from test_replay import LINEAGE, SEED, dumped

from dh_bridge import Bridge, Settings
from dh_bridge.call import Counts
from dh_bridge.catalog.dump import dump
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.errors import BridgeError, SettingsError
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.read import events_of
from dh_bridge.replay import processes
from dh_bridge.replay.processes import translations


def test_two_processes_give_the_catalogue_of_one_and_count_every_event():
    settings = Settings(profile="1.7")
    items = [*examples(), DeadLetter("x:1", "no event", b"{")]
    found = list(translations(items, settings, 2))
    one = Bridge(settings).translate(examples())
    assert dumped([proposal for part in found for proposal in part.proposals]) == dumped(one.proposals)
    total = found[0].counts
    for part in found[1:]:
        total.add(part.counts)
    assert (total.events, total.dead, total.runs) == (len(examples()), 1, one.counts.runs)
    assert (total.jobs, total.datasets, total.proposals) == (one.counts.jobs, one.counts.datasets, one.counts.proposals)


DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.30.0/integration/dbt"
RUN = b'"entityType":"dataProcessInstance"'


def run_of(worker, position):
    """Return the id of a run that the worker of this number has, of two; each position gives another one."""
    ids = (f"018cc251-f400-734d-88b3-{position:08x}{number:04x}" for number in range(1000))
    return next(one for one in ids if crc32(f"urn:li:dataProcessInstance:{one}".encode()) % 2 == worker)


def filler(position, many=60):
    """Return events of runs that have nothing to do with others: more than a window."""
    return [
        event(word, job=f"fill.j{position}", run=run_of(number % 2, 1000 * position + number))
        for number in range(many // 2)
        for word in ("START", "COMPLETE")
    ]


def names_another(position, one, other):
    target = {"type": "JOB", "runId": other, "namespace": "ns", "name": f"etl.b{position}"}
    facets = {"lineage": {"entries": [{**target, "inputs": [{**LINEAGE, "name": f"d.s.x{position}"}]}]}}
    return [
        event("START", run=other, job=f"etl.b{position}", inputs=[dataset(f"d.s.b{position}")]),
        event("START", run=one, job=f"etl.a{position}", job_facets=facets),
        event("COMPLETE", run=one, job=f"etl.a{position}", job_facets=facets, outputs=[dataset(f"d.s.a{position}")]),
        event("COMPLETE", run=other, job=f"etl.b{position}", inputs=[dataset(f"d.s.b{position}")]),
    ]


def writes_for_another(position, one, other):
    made = dataset(f"tmp{position}")
    return [
        event("COMPLETE", run=other, job=f"etl.b{position}", inputs=[made], outputs=[dataset(f"d.s.b{position}")]),
        event("COMPLETE", run=one, job=f"etl.a{position}", inputs=[dataset(f"d.s.a{position}")], outputs=[made]),
    ]


def fails_a_test_of_another(position, one, other):
    parent = {"run": {"runId": run_of(0, 9000)}, "job": {"namespace": "ns", "name": "dbt-run"}}
    parts = {"producer": DBT, "run_facets": {"parent": parent}}
    check = {"assertion": "not_null", "column": "id", "name": f"check{position}", "success": False}
    table = dataset(f"d.s.a{position}")
    tested = dataset(f"d.s.a{position}", inputFacets={"dataQualityAssertions": {"assertions": [check]}})
    return [
        event("START", run=one, job=f"d.s.a{position}", outputs=[table], **parts),
        event("FAIL", run=one, job=f"d.s.a{position}", **parts),
        event("START", run=other, job=f"d.s.a{position}.test", inputs=[table], **parts),
        event("FAIL", run=other, job=f"d.s.a{position}.test", inputs=[tested], **parts),
    ]


#: story of two runs, settings, and what only those say that heard of others: aspect, text, in how many runs
CROSSING = {
    "lineage that names another run": (names_another, {"profile": "1.7"}, "dataProcessInstanceInput", "d.s.x", 1),
    "temporary datasets": (
        writes_for_another,
        {"filters": {"through": ["tmp*"]}},
        "dataProcessInstanceInput",
        "d.s.a",
        2,
    ),
    "tests that dbt skipped": (fails_a_test_of_another, {}, "dataProcessInstanceProperties", "check", 1),
}


@pytest.mark.parametrize("case", CROSSING)
def test_what_crosses_from_run_to_run_crosses_between_processes_too_in_each_window(case):
    story, given, aspect, text, number = CROSSING[case]
    events = []
    for position in range(4):
        one, other = run_of(position % 2, position), run_of(1 - position % 2, position)
        events += [*story(position, one, other), *filler(position + 10)]
    items, settings = read(events), Settings(**given)
    parts = list(translations(items, settings, 2, window=20))
    whole = list(Bridge(settings).stream(items, window=20))
    assert len([part for part in whole if part.proposals]) > 4, "runs close in many windows"
    assert ends(parts) == ends(whole)
    assert summed(parts) == summed(whole)
    lines = [line for line in ends(parts) if b'"%s"' % aspect.encode() in line]
    heard = [len([line for line in lines if f"{text}{position}".encode() in line]) for position in range(4)]
    assert heard == [number] * 4


def read(events):
    return [found for raw in sent(events) for found in events_of(raw, "e")]


def ends(parts):
    return dumped([proposal for part in parts for proposal in part.proposals])


def summed(parts):
    """Return what all parts counted of events and runs; jobs and datasets are counted in each window."""
    total = Counts()
    for part in parts:
        total.add(part.counts)
    return total.events, total.runs, total.dead, total.newer, total.filtered, total.notes


def test_the_window_is_that_of_the_whole_input():
    """A run whose second end comes within the window of its first is one run, however many processes there are."""
    late = {"nominalTime": {"nominalStartTime": "2026-11-20T00:00:00Z"}}
    run = run_of(0, 1)
    story = [
        event("START", run=run, inputs=[dataset("d.s.in")]),
        event("COMPLETE", "2026-11-20T11:00:00Z", run=run),
        *[event("RUNNING", run=run_of(0, 2), job="etl.long")] * 30,
        event("COMPLETE", "2026-11-20T11:00:01Z", run=run, run_facets=late),
        *filler(3),
    ]
    whole = list(Bridge().stream(read(story), window=40))
    parts = list(translations(read(story), Settings(), 4, window=40))
    assert summed(parts) == summed(whole)
    assert summed(parts)[1] == 32
    assert ends(parts) == ends(whole)


@pytest.mark.parametrize("window", [3, 20])
def test_generated_runs_that_windows_cut_are_the_same_and_counted_the_same(window):
    """What runs share is folded over all windows by several processes, by one over those of each window: runs alone."""
    raws = [raw for number in range(40) for raw in sent(group(SEED, number))]
    items = [found for raw in raws for found in events_of(raw, "e")]
    settings = Settings(profile="1.7", filters={"through": ["*t2*"], "event_type": {"deny": ["OTHER"]}})
    parts = list(translations(items, settings, 2, window=window))
    whole = list(Bridge(settings).stream(items, window=window))
    assert summed(parts) == summed(whole)
    assert [one for one in ends(parts) if RUN in one] == [one for one in ends(whole) if RUN in one]


def test_what_is_too_much_to_hold_is_written_before_the_end(monkeypatch):
    monkeypatch.setattr(processes, "HELD", 5_000)
    items = [
        one
        for i in range(30)
        for raw in sent([event("COMPLETE", job=f"etl.j{i}", namespace=f"n{i}", run=f"018cc251-f400-734d-88b3-{i:012}")])
        for one in events_of(raw, f"e:{i}")
    ]
    found = list(translations(items, Settings(), 1, window=5))
    settings = Settings()
    proposals = [proposal for part in found for proposal in part.proposals]
    assert dumped(proposals) == dumped(Bridge(settings).translate([one.raw for one in items]).proposals)
    assert len([part for part in found if part.proposals]) > 3


def test_a_worker_that_dies_is_told_of():
    def items():
        yield from examples()
        for child in multiprocessing.active_children():
            child.kill()
            child.join()
        yield from examples()

    with pytest.raises(BridgeError, match="a worker ended"):
        list(translations(items(), Settings(), 1))


def test_emit_takes_several_processes(tmp_path):
    target = tmp_path / "catalog.db"
    given = ["emit", str(EXAMPLES), "--to", f"catalog:{target}", "--profile", "1.7", "--processes"]
    done = CliRunner().invoke(commands, [*given, "2"])
    assert done.exit_code == 0, done.output
    assert "events           164" in done.stderr
    with Catalog(target, readonly=True) as catalog:
        assert list(dump(catalog)) == dumped(Bridge(Settings(profile="1.7")).translate(examples()).proposals)
    refused = CliRunner().invoke(commands, [*given, "2", "--ledger", str(tmp_path / "ledger.db")])
    assert refused.exit_code == 2
    assert "--processes goes with neither" in refused.stderr
    refused = CliRunner().invoke(commands, [*given, "2", "--full"])
    assert (refused.exit_code, "goes with neither --ledger, --full" in refused.stderr) == (2, True)


def test_settings_that_make_runs_one_are_refused():
    settings = Settings(identity={"granularity": "task"})
    with pytest.raises(SettingsError, match=r"identity\.granularity: 'task' is not possible in parts"):
        list(translations([], settings, 2))
