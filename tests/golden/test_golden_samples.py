"""What every facet and every producer becomes: one small golden case each, from samples.yaml (tools/golden_events.py)."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from dh_bridge import Bridge, Settings
from dh_bridge.facets import specs
from dh_bridge.testing import cases, compare

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = [*cases(HERE / "facets"), *cases(HERE / "producers")]
BAGS = {
    "run": ("facets",),
    "job": ("facets",),
    "inputs": ("facets", "inputFacets"),
    "outputs": ("facets", "outputFacets"),
    "dataset": ("facets",),
}
#: Families of facets without a mapping of their own: their senders are known by the facets that they attach.
FAMILIES = {"confluent", "data_rentgen", "google_cloud", "iceberg"}
_MOST = 32_000


@pytest.fixture(scope="module")
def bridge():
    return Bridge(Settings(datahub_version="1.7"))


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: str(case.events.relative_to(HERE)).removesuffix(".events.json")
)
def test_a_sample_becomes_what_the_golden_file_says(case, bridge, request):
    update = request.config.getoption("--update-golden", default=False)
    differences = compare(case, bridge, update=update).differences
    assert not differences, "\n".join([case.proposals.name, *differences])


def places(path):
    """Return (kind of the event, part, bag, key) of every facet in a file of events."""
    found = set()
    for event in json.loads(path.read_text(encoding="utf-8")):
        kind = "run" if "run" in event else "dataset" if "dataset" in event else "job"
        for part, bags in BAGS.items():
            stated = event.get(part, [])
            for owner in stated if isinstance(stated, list) else [stated]:
                found |= {(kind, part, bag, key) for bag in bags for key in owner.get(bag, {})}
    return found


def carried(path):
    """Return (attach point, key) of every facet in a file of events."""
    return {(part if part in ("run", "job") else "dataset", key) for _, part, _, key in places(path)}


def test_no_facet_is_without_a_golden_file():
    covered = {path: carried(path) for path in (HERE / "facets").glob("*.events.json")}
    lacking = [
        (spec.attach, spec.keys[0])
        for spec in specs()
        if not any(
            (spec.attach, key) in covered.get(HERE / f"facets/{key}.{spec.attach}.events.json", ()) for key in spec.keys
        )
    ]
    assert lacking == []


def test_no_attach_point_is_without_a_golden_file():
    """A facet of datasets lies on inputs, outputs and events of datasets, one of jobs on runs and events of jobs."""
    covered = set().union(*(places(path) for path in (HERE / "facets").glob("*.events.json")))
    lacking = []
    for spec in specs():
        of_bag = {(part, bag) for kind, part, bag, key in covered if key in spec.keys and kind == "run"}
        wanted = {"job": {("job", "job", "facets")}, "dataset": {("dataset", "dataset", "facets")}}.get(
            spec.attach, set()
        )
        if spec.attach == "dataset" and of_bag & {("inputs", "facets"), ("outputs", "facets")} == of_bag:
            wanted |= {("run", "inputs", "facets"), ("run", "outputs", "facets")}
        there = {place[:3] for place in covered if place[3] in spec.keys}
        lacking += [(spec.keys[0], *place) for place in sorted(wanted - there)]
    assert lacking == []


@pytest.mark.parametrize(
    ("key", "bags"),
    [
        ("dataQualityAssertions", {("inputs", "inputFacets"), ("inputs", "facets"), ("outputs", "outputFacets")}),
        ("dataQualityMetrics", {("inputs", "inputFacets"), ("inputs", "facets"), ("outputs", "facets")}),
        ("subset", {("inputs", "inputFacets"), ("outputs", "outputFacets")}),
        ("outputStatistics", {("outputs", "outputFacets"), ("inputs", "facets")}),
        ("parent", {("run", "facets"), ("job", "facets")}),
        ("sql", {("run", "facets"), ("job", "facets")}),
        ("tags", {("run", "facets"), ("job", "facets"), ("inputs", "facets"), ("outputs", "facets")}),
    ],
)
def test_the_bags_in_which_a_facet_was_seen_have_a_golden_file(key, bags):
    covered = set().union(*(places(path) for path in (HERE / "facets").glob(f"{key}.*.events.json")))
    assert bags <= {(part, bag) for _, part, bag, _ in covered}


def test_no_producer_is_without_a_golden_file():
    mapped = {path.stem for path in (ROOT / "mappings" / "producers").glob("*.yaml")}
    assert mapped | FAMILIES == {path.name.split(".")[0] for path in (HERE / "producers").glob("*.events.json")}


def test_no_producer_s_own_facets_are_without_a_producer():
    """The facets that only one tool sends are among what its golden events carry."""
    sent = set().union(*(carried(path) for path in (HERE / "producers").glob("*.events.json")))
    names = {spec.producer for spec in specs() if spec.producer}
    shown = {spec.producer for spec in specs() if any((spec.attach, key) in sent for key in spec.keys)}
    assert names <= shown


def test_the_events_are_those_that_the_samples_make():
    made = runpy.run_path(str(ROOT / "tools" / "golden_events.py"))["files"]()
    there = {str(case.events.relative_to(HERE)): json.loads(case.events.read_text(encoding="utf-8")) for case in CASES}
    assert there == made


def test_a_sample_and_what_it_becomes_can_be_read():
    sizes = {case.proposals.name: case.proposals.stat().st_size + case.events.stat().st_size for case in CASES}
    assert {name: size for name, size in sizes.items() if size > _MOST} == {}
    assert sum(sizes.values()) < 1_200_000
