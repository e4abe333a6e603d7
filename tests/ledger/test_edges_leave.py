"""Edges leave, where the settings say so (facets.md 3.8, ruling 11)."""

from __future__ import annotations

import itertools
import random

import pytest
from gen_runs import group
from samples import dataset, event
from told import Told, catalogue, read, settings

from dh_bridge.datahub.proposal import patch

SEED = 2026
LAST, WINDOW = ("last_run", 30), ("window", 7)
_START = "urn:li:dataset:(urn:li:dataPlatform:postgres,d.s."


def chosen(edges, days=30, profile=None):
    return settings(edges=edges, edges_window_days=days, profile=profile)


def run(day, *, reads=(), writes=(), kind="COMPLETE", number=None):
    parts = {"inputs": [dataset(f"d.s.{one}") for one in reads], "outputs": [dataset(f"d.s.{one}") for one in writes]}
    key = f"018cc251-f400-734d-88b3-{number or day:012}"
    return event(kind, f"2026-10-{day:02}T10:00:00Z", run=key, job="app.load", **parts)


def edges(told, side="input"):
    (job,) = told.catalog.entities("dataJob")
    found = told.catalog.aspect(job, "dataJobInputOutput")[f"{side}DatasetEdges"]
    return "".join(sorted(edge["destinationUrn"].removeprefix(_START)[0] for edge in found))


def after(setting, *events):
    told = Told(chosen(*setting))
    told.tell(*([one] for one in events))
    return told


def test_an_edge_leaves_with_the_newest_complete_run_that_does_not_name_it():
    story = [run(1, reads="ab", writes="x"), run(2, reads="bc", writes="x")]
    assert edges(after(LAST, *story)) == "bc"
    assert edges(after(("accumulate", 30), *story)) == "abc"
    assert edges(after(WINDOW, *story)) == "abc"


def test_an_edge_leaves_when_no_run_of_the_window_names_it():
    assert edges(after(WINDOW, run(1, reads="ab"), run(8, reads="b"))) == "ab"
    assert edges(after(WINDOW, run(1, reads="ab"), run(9, reads="b"))) == "b"


@pytest.mark.parametrize("kind", ["FAIL", "ABORT", "RUNNING"])
def test_a_run_that_did_not_complete_takes_nothing_away(kind):
    assert edges(after(LAST, run(1, reads="ab"), run(2, reads="b", kind=kind))) == "ab"
    assert edges(after(LAST, run(1, reads="ab"), run(2, reads="c", kind=kind))) == "abc"
    assert edges(after(LAST, run(1, reads="a", kind=kind), run(2, reads="b"))) == "b"


def test_a_run_that_lists_nothing_on_a_side_is_no_statement_about_it():
    told = after(LAST, run(1, reads="a", writes="x"), run(2, reads="b"))
    assert (edges(told), edges(told, "output")) == ("b", "x")


def test_an_edge_comes_back_with_the_run_that_names_it():
    assert edges(after(LAST, run(1, reads="ab"), run(2, reads="b"), run(3, reads="a"))) == "a"


@pytest.mark.parametrize("setting", [LAST, WINDOW])
def test_the_order_in_which_runs_are_told_does_not_matter(setting):
    story = [run(1, reads="ab", writes="x"), run(3, reads="bc"), run(20, reads="c", writes="y"), run(21, writes="y")]
    dumps = {tuple(after(setting, *order).dump()) for order in itertools.permutations(story)}
    assert len({tuple(line for line in dump if b"InputOutput" in line) for dump in dumps}) == 1
    assert len(dumps) == 1


@pytest.mark.parametrize("setting", [LAST, WINDOW])
@pytest.mark.parametrize("block", [range(8), range(60, 68)])
def test_generated_runs_end_in_the_same_catalogue_while_edges_leave(setting, block):
    for i in block:
        events, own = read(group(SEED, i)), chosen(*setting, profile="1.7")
        whole = catalogue(events, chosen=own)
        chance = random.Random(i)  # noqa: S311 - reproducible, not secret
        chance.shuffle(events)
        cut = chance.randint(0, len(events))
        for way in ([[one] for one in events], [events[:cut], events, events[cut:]]):
            assert catalogue(*way, chosen=own, forgetful=True) == whole


def test_only_edges_of_the_bridge_leave():
    told = after(LAST, run(1, reads="ab"))
    (job,) = told.catalog.entities("dataJob")
    theirs = f"{_START}q,PROD)"
    path = "/inputDatasetEdges/" + theirs
    told.catalog.apply(
        [
            patch(
                "dataJob", job, "dataJobInputOutput", [{"op": "add", "path": path, "value": {"destinationUrn": theirs}}]
            )
        ]
    )
    told.tell([run(2, reads="b")])
    assert edges(told) == "bq"


def test_columns_leave_with_their_datasets():
    def lineage(source):
        field = {"namespace": "postgres://db:5432", "name": f"d.s.{source}", "field": "c"}
        return dataset("d.s.x", facets={"columnLineage": {"fields": {"c": {"inputFields": [field]}}}})

    def one(day, source):
        told = run(day, reads=source)
        return {**told, "outputs": [lineage(source)]}

    told = after(LAST, one(1, "a"), one(2, "b"))
    (job,) = told.catalog.entities("dataJob")
    io = told.catalog.aspect(job, "dataJobInputOutput")
    ups = [up for fine in io["fineGrainedLineages"] for up in fine["upstreams"]]
    assert [up.removeprefix("urn:li:schemaField:(" + _START)[0] for up in ups] == ["b"]
