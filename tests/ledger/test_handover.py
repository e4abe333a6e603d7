"""Upstream runs by what was read, over batches: as one call over all events, in whatever order they come."""

from __future__ import annotations

import itertools
import json
import os
import random
from pathlib import Path

import pytest
import yaml
from gen_runs import group
from samples import dataset, event
from told import Told

from dh_bridge import Bridge, Settings

VECTORS = yaml.safe_load(
    (Path(__file__).parents[1] / "translation" / "identity" / "identity_vectors.yaml").read_text(encoding="utf-8")
)["upstream_vectors"]
ORDERS = int(os.environ.get("DH_BRIDGE_ORDERS", "12"))
ON = Settings(profile="1.7", runs={"infer_upstream": True})
NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def key(name):
    return f"018cc251-f400-734d-88b3-{int.from_bytes(name.encode(), 'big'):012x}"[:36]


def urn(name):
    return f"urn:li:dataProcessInstance:{key(name)}"


def told(one, runs):
    about = runs[one["run"]]
    facets = {}
    if "parent" in about:
        facets["parent"] = {"run": {"runId": key(about["parent"])}, "job": {"namespace": "ns", "name": "p"}}
    kind = (
        {"jobType": {"processingType": "STREAMING", "integration": "X", "jobType": "J"}}
        if about.get("streaming")
        else {}
    )
    named = {
        side: [
            dataset(f"d.s.{name}", facets={"version": {"datasetVersion": version}} if version else {})
            for name, version in one.get(side, {}).items()
        ]
        for side in ("inputs", "outputs")
    }
    minute, second = divmod(one["time"], 60)
    return event(
        one["type"], f"2026-11-20T10:{minute:02}:{second:02}Z", run=key(one["run"]), job=f"x.{about['job']}",
        run_facets=facets, job_facets=kind, **named,
    )  # fmt: skip


def upstreams(ledger):
    """Run -> its upstream runs, of the runs that have any."""
    found = {
        one: (ledger.catalog.aspect(one, "dataProcessInstanceRelationships") or {}).get("upstreamInstances")
        for one in ledger.catalog.entities("dataProcessInstance")
    }
    return {one: runs for one, runs in found.items() if runs}


def orders(events, seed, most=ORDERS):
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    for _ in range(most):
        yield chance.sample(events, len(events))


@pytest.mark.parametrize("vector", VECTORS, ids=[one["id"] for one in VECTORS])
def test_scenarios_of_the_specification(vector):
    events = [told(one, vector["runs"]) for one in vector["events"]]
    chosen = Settings(runs={"infer_upstream": True, "upstream_skew_seconds": vector.get("settings", {}).get("skew", 0)})
    wanted = {urn(reader): sorted(map(urn, writers)) for reader, writers in vector["expect"].items()}
    for order in orders(events, vector["id"]):
        ledger = Told(chosen, forgetful=True)
        ledger.tell(*([one] for one in order))
        assert {reader: runs for reader, runs in upstreams(ledger).items() if reader in wanted} == wanted
        assert ledger.refused == []


def story(seed):
    """Return events of up to eight runs of four jobs over three datasets, some streams, some inside others."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    names = NAMES[: chance.randint(3, 8)]
    runs = {name: {"job": chance.choice("wxyz"), "streaming": chance.random() < 0.2} for name in names}
    for name in names[1:]:
        if chance.random() < 0.3:
            runs[name]["parent"] = chance.choice(names)
    said = []
    for name in names:
        start = chance.randint(0, 60)
        for kind in ("START", chance.choice(("RUNNING", "COMPLETE")), chance.choice(("COMPLETE", "COMPLETE", "FAIL"))):
            one = {"run": name, "type": kind, "time": start}
            for side, often in (("inputs", 0.5), ("outputs", 0.5)):
                one[side] = {
                    which: chance.choice((None, None, None, "v1", "v2"))
                    for which in "DEF"
                    if chance.random() < often / 2
                }
            said.append(one)
            start += chance.randint(0, 20)
    return [told(one, runs) for one in said]


@pytest.mark.parametrize("block", range(3))
def test_batches_end_as_one_call(block):
    """The incremental answer is that of one call over all events, whatever the order."""
    some = 0
    for seed in range(block * 6, block * 6 + 6):
        events = story(seed)
        whole = Bridge(ON).translate(json.dumps(events))
        wanted = {
            one.entity_urn: one.value["upstreamInstances"]
            for one in whole.proposals
            if one.aspect_name == "dataProcessInstanceRelationships" and one.value["upstreamInstances"]
        }
        some += len(wanted)
        for order in orders(events, seed, most=2):
            ledger = Told(ON, forgetful=True)
            cut = random.Random(seed).randint(0, len(order))  # noqa: S311 - reproducible, not secret
            ledger.tell(*([one] for one in order[:cut]), order[cut:])
            assert upstreams(ledger) == wanted, seed
    assert some > 2


def test_generated_runs_end_in_the_same_catalogue():
    for number in range(6):
        events = group(2026, number)
        dumps = set()
        for order in itertools.islice(orders(events, number), 3):
            ledger = Told(ON)
            ledger.tell(*([one] for one in order))
            dumps.add(tuple(ledger.dump()))
        assert len(dumps) == 1


def test_a_writer_that_was_let_go_is_upstream_for_as_long_as_its_reader_is_kept():
    """Late readers that are let go, too, come between, and a reader of the same job, which has no upstream."""
    few = Settings(runs={"infer_upstream": True}, ledger={"max_runs": 1})
    runs = {name: {"job": name.lower()} for name in "ABCEF"} | {"G": {"job": "a"}}
    ledger = Told(few, forgetful=True)
    ledger.tell([told({"run": "A", "type": "COMPLETE", "time": 1, "outputs": {"D": None, "E": None}}, runs)])
    ledger.tell([told({"run": "B", "type": "START", "time": 4, "inputs": {"D": None}}, runs)])
    for name, kind in (("C", "RUNNING"), ("G", "RUNNING"), ("C", "COMPLETE"), ("G", "COMPLETE"), ("E", "COMPLETE")):
        ledger.tell([told({"run": name, "type": kind, "time": 3, "inputs": {"D": None}}, runs)])
        ledger.tell([told({"run": "B", "type": "RUNNING", "time": 5}, runs)])
        assert upstreams(ledger)[urn("B")] == [urn("A")]
    rows = "SELECT run.key, dataset, wrote FROM handed JOIN run ON run.id = run"
    assert len(ledger.catalog.connection.execute(rows).fetchall()) == 2  # what was read and written of D
    ledger.tell([told({"run": "F", "type": "START", "time": 6, "inputs": {"E": None}}, runs)])
    ledger.tell([told({"run": "B", "type": "COMPLETE", "time": 7}, runs)])
    assert [key for key, *_ in ledger.catalog.connection.execute(rows)] == [urn("F")]
    assert ledger.catalog.connection.execute("SELECT count(*) FROM heritage").fetchone() == (0,)


def test_a_run_that_is_above_a_writer_no_more_takes_over_from_it():
    runs = {"R": {"job": "r"}, "M": {"job": "m", "parent": "R"}, "W": {"job": "w", "parent": "M"}}
    moved = runs | {"M": {"job": "m", "parent": "X"}}
    story = [
        told({"run": "R", "type": "START", "time": 9, "inputs": {"D": None}}, runs),
        told({"run": "M", "type": "START", "time": 1}, runs),
        told({"run": "W", "type": "COMPLETE", "time": 2, "outputs": {"D": None}}, runs),
        told({"run": "M", "type": "RUNNING", "time": 3}, moved),
    ]
    for order in itertools.permutations(story):
        ledger = Told(ON, forgetful=True)
        ledger.tell(*([one] for one in order))
        assert upstreams(ledger) == {urn("R"): [urn("W")]}


def test_an_operation_of_an_application_that_nobody_told_of_is_not_its_own_parent():
    folded = Settings(identity={"granularity": "application"}, runs={"infer_upstream": True})
    writer = event("COMPLETE", "2026-11-20T10:00:01Z", run=key("A"), job="x.w", outputs=[dataset("d.s.D")])
    parent = {"run": {"runId": key("P")}, "job": {"namespace": "ns", "name": "y"}}
    reader = event(
        run=key("B"), time="2026-11-20T10:00:02Z", job="y.r", run_facets={"parent": parent}, inputs=[dataset("d.s.D")]
    )
    for order in itertools.permutations([writer, reader]):
        ledger = Told(folded, forgetful=True)
        ledger.tell(*([one] for one in order))
        assert upstreams(ledger) == {urn("B"): [urn("A")]}


def test_a_run_of_no_job_loses_an_upstream_run_that_wrote_nothing_after_all():
    """Without a job it has no template, and without the upstream run no relationships to tell: what was sent is to go."""
    runs = {"A": {"job": "w"}, "B": {"job": "r"}}
    wrote = [
        told({"run": "A", "type": word, "time": time, "outputs": {"D": None}}, runs)
        for word, time in (("COMPLETE", 1), ("FAIL", 2))
    ]
    read = told({"run": "B", "type": "START", "time": 5, "inputs": {"D": None}}, runs)
    read["job"]["name"] = "unknown"
    ledger = Told(ON)
    ledger.tell([wrote[0], read])
    assert upstreams(ledger) == {urn("B"): [urn("A")]}
    ledger.tell([wrote[1]])
    assert upstreams(ledger) == {}
    other = Told(ON)
    other.tell([*wrote, read])
    assert ledger.dump() == other.dump()
