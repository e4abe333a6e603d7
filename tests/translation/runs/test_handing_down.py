"""Upstream runs by what was read: the scenarios of the specification, in any order of their events."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
import yaml
from facet_cases import facet, told

VECTORS = yaml.safe_load(
    (Path(__file__).parents[1] / "identity" / "identity_vectors.yaml").read_text(encoding="utf-8")
)["upstream_vectors"]
BASE = "2026-11-20T10:00:{:02}Z"
ON = {"infer_upstream": True}
MOST_ORDERS = 24


def run_id(name):
    return f"01938a9c-0000-7000-8000-{sum(ord(letter) << 8 * place for place, letter in enumerate(name[::-1])):012x}"


def urn(name):
    return f"urn:li:dataProcessInstance:{run_id(name)}"


def dataset(name, version):
    facets = {"version": facet(datasetVersion=version)} if version else {}
    return {"namespace": "postgres://db:5432", "name": f"shop.public.{name.lower()}", "facets": facets}


def event(one, runs):
    about = runs[one["run"]]
    facets, job_facets = {}, {}
    if "parent" in about:
        above = about["parent"]
        facets["parent"] = facet(
            run={"runId": run_id(above)}, job={"namespace": "ns", "name": runs.get(above, {}).get("job", "p")}
        )
    if about.get("streaming"):
        job_facets["jobType"] = facet(processingType="STREAMING", integration="FLINK", jobType="JOB")
    return {
        "eventType": one["type"], "eventTime": BASE.format(one["time"]), "producer": "https://example.com",
        "run": {"runId": run_id(one["run"]), "facets": facets},
        "job": {"namespace": "ns", "name": f"pipeline.{about['job']}", "facets": job_facets},
        "inputs": [dataset(*named) for named in one.get("inputs", {}).items()],
        "outputs": [dataset(*named) for named in one.get("outputs", {}).items()],
    }  # fmt: skip


def upstreams(found, run):
    return found.one(urn(run), "dataProcessInstanceRelationships")["upstreamInstances"]


def said(run, kind, second, inputs=(), outputs=()):
    return {
        "run": run, "type": kind, "time": second, "inputs": dict.fromkeys(inputs), "outputs": dict.fromkeys(outputs),
    }  # fmt: skip


@pytest.mark.parametrize("vector", VECTORS, ids=[one["id"] for one in VECTORS])
def test_scenarios_of_the_specification(vector):
    events = [event(one, vector["runs"]) for one in vector["events"]]
    skew = vector.get("settings", {}).get("skew", 0)
    orders = list(itertools.permutations(events))
    random.Random(7).shuffle(orders)  # noqa: S311 - reproducible, not secret
    for order in orders[:MOST_ORDERS]:
        found = told(list(order), runs={**ON, "upstream_skew_seconds": skew})
        for reader, writers in vector["expect"].items():
            assert upstreams(found, reader) == sorted(urn(writer) for writer in writers)
            assert found.kept(urn(reader))["upstream.inferred"] == str(len(writers))


TWO = {"A": {"job": "a"}, "B": {"job": "b"}}
HANDED = [said("A", "COMPLETE", 5, outputs="D"), said("B", "START", 20, inputs="D")]


def both(runs=TWO, events=HANDED, **more):
    return told([event(one, runs) for one in events], runs={**ON, **more})


def test_nothing_is_inferred_by_default():
    found = told([event(one, TWO) for one in HANDED])
    assert upstreams(found, "B") == []
    assert "upstream.inferred" not in found.kept(urn("B"))
    assert upstreams(both(), "B") == [urn("A")]


def test_a_write_of_long_ago_hands_nothing_down():
    old = event(HANDED[0], TWO)
    for day, wanted in (("2026-11-14", [urn("A")]), ("2026-11-12", [])):
        old["eventTime"] = f"{day}T10:00:00Z"
        assert upstreams(told(old, event(HANDED[1], TWO), runs=ON), "B") == wanted
    old["eventTime"] = "2026-11-01T10:00:00Z"
    assert upstreams(told(old, event(HANDED[1], TWO), runs={**ON, "upstream_window_days": 30}), "B") == [urn("A")]


def test_a_job_that_reads_what_it_wrote_has_no_older_writer():
    same = {"A": {"job": "b"}, "B": {"job": "b"}, "C": {"job": "c"}}
    events = [said("C", "COMPLETE", 1, outputs="D"), *HANDED]
    assert upstreams(both(same, events), "B") == []
    assert upstreams(both(same, events, upstream_self_edges=True), "B") == [urn("A")]


def test_a_run_does_not_take_over_from_itself_nor_from_those_inside_it():
    runs = {"B": {"job": "b"}, "A": {"job": "a", "parent": "M"}, "M": {"job": "m", "parent": "B"}}
    events = [said("B", "START", 9, inputs="D"), said("A", "COMPLETE", 5, outputs="D"), said("M", "START", 1)]
    assert upstreams(both(runs, [*events, said("B", "COMPLETE", 10, outputs="D")]), "B") == []
    circle = {"A": {"job": "a", "parent": "B"}, "B": {"job": "b", "parent": "A"}}
    assert upstreams(both(circle), "B") == []


def test_what_events_name_themselves_comes_first_and_counts_as_no_guess():
    reader = event(HANDED[1], TWO)
    reader["run"]["facets"]["jobDependencies"] = facet(
        upstream=[{"job": {"namespace": "ns", "name": "a"}, "run": {"runId": run_id(name)}} for name in "AX"]
    )
    found = told(event(HANDED[0], TWO), reader, runs=ON)
    assert upstreams(found, "B") == sorted([urn("A"), urn("X")])
    assert "upstream.inferred" not in found.kept(urn("B"))


def test_no_more_than_ten_of_one_moment_and_a_hundred_in_all():
    many = {f"W{number}": {"job": f"w{number}"} for number in range(12)}
    written = [said(run, "COMPLETE", 5, outputs=[f"D{number}" for number in range(12)]) for run in many]
    found = both({**TWO, **many}, [*written, said("B", "START", 20, inputs=["D0"])])
    assert len(upstreams(found, "B")) == 10
    single = {f"W{number}": {"job": f"w{number}"} for number in range(120)}
    written = [said(f"W{number}", "COMPLETE", 5, outputs=[f"D{number}"]) for number in range(120)]
    found = both({**TWO, **single}, [*written, said("B", "START", 20, inputs=[f"D{n}" for n in range(120)])])
    assert len(upstreams(found, "B")) == 100


def test_runs_of_which_no_job_is_known_and_events_without_a_run_are_no_trouble():
    runs = {"A": {"job": "a"}, "B": {"job": "b"}}
    written, read = (event(one, runs) for one in HANDED)
    for one in (written, read):
        one["job"]["name"] = "unknown"
    job_event = {**event(HANDED[0], runs), "eventTime": BASE.format(19)}
    del job_event["run"], job_event["eventType"]
    assert upstreams(told(written, read, job_event, runs=ON), "B") == [urn("A")]
