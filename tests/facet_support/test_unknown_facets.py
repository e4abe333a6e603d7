"""Facets that nobody knows: at most 20 of a group become properties, and the report has the others."""

from __future__ import annotations

import json

import pytest
from support.report_truth import reported
from support.sample_events import RUN, dataset, event, lines

from dh_bridge import translate

MANY = {f"acme_{number:02}": {"x": number} for number in range(23)}
DPI = f"urn:li:dataProcessInstance:{RUN}"
BAGS = {
    "run": (lambda bag: event(run_facets=bag), "$.run.facets"),
    "job": (lambda bag: event(job_facets=bag), "$.job.facets"),
    "dataset": (lambda bag: event(inputs=[dataset("d.s.t", facets=bag)]), "$.inputs[0].facets"),
    "input": (lambda bag: event("COMPLETE", inputs=[dataset("d.s.t", inputFacets=bag)]), "$.inputs[0].inputFacets"),
}


def retained(stated):
    text = b"".join(lines(translate(stated))).decode()
    return {key for key in MANY if f"openlineage.facet.{key}" in text}


@pytest.mark.parametrize("place", BAGS)
def test_first_20_of_the_alphabet_stay_whatever_their_order(place):
    stated, path = BAGS[place]
    for bag in (MANY, dict(reversed(MANY.items()))):
        assert retained(stated(bag)) == {f"acme_{number:02}" for number in range(20)}
        output = reported([stated(bag)])
        assert {key for key in MANY if output[f"{path}.{key}.x"]["outcome"] == "property"} == retained(stated(bag))
        assert {output[f"{path}.acme_{number}.x"]["reason"] for number in (20, 21, 22)} == {"too-large"}


def test_known_facets_do_not_count_towards_the_limit_of_each_map():
    known = {"documentation": {"description": "d"}, "sql": {"query": "select 1"}}
    few = {key: MANY[key] for key in sorted(MANY)[:20]}
    stated = event(job_facets={**few, **known}, run_facets=few)
    output = reported([stated])
    assert not [path for path, line in output.items() if line["reason"] == "too-large"]
    assert output["$.job.facets.documentation.description"]["outcome"] == "mapped"


def test_facet_order_is_the_same_beyond_the_limit():
    """columnLineage needs the columns, which the schema states."""
    lineage = {"x": {"inputFields": [{"namespace": "postgres://db:5432", "name": "d.s.a", "field": "y"}]}}
    facets = {"columnLineage": {"fields": lineage}, "schema": {"fields": [{"name": "x", "type": "int"}]}}
    crowded, plain = (
        event("COMPLETE", outputs=[dataset("d.s.t", facets={**facets, **more})], inputs=[dataset("d.s.a")])
        for more in (MANY, {})
    )

    def pairs(stated):
        return [one for one in map(json.loads, lines(translate(stated))) if one["aspectName"] == "dataJobInputOutput"]

    assert pairs(crowded) == pairs(plain)


@pytest.mark.parametrize("bag", [[[1]], [{"a": 1}], [1]])
def test_bag_that_is_no_object_is_malformed(bag):
    stated = event("COMPLETE")
    stated["run"]["facets"] = bag
    (line,) = [line for path, line in reported([stated]).items() if path.startswith("$.run.facets")]
    assert (line["outcome"], line["reason"]) == ("dropped", "malformed")
