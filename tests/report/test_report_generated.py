"""The report of facets drawn at random, each as its class in openlineage-python or its JSON schema has it: a line for each leaf."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.public_data import needs_spec
from support.random_facets import BAGS, classes, of_class, of_schema, schemas
from support.report_truth import bridge, lies
from support.sample_events import dataset, event

from dh_bridge.facets import registry

CLASSES, DEFINITIONS = classes(), schemas()
OUTCOMES = {"mapped", "property", "dropped"}
few = settings(max_examples=5, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def carried(base, key, facet):
    """Return an event that has the facet where it belongs."""
    part, bag = BAGS[base]
    found = event("COMPLETE", inputs=[dataset("d.s.a")], outputs=[dataset("d.s.b")])
    about = found[part][0] if part in ("inputs", "outputs") else found[part]
    about[bag] = {key: facet}
    return found


def lines_of(document, profile):
    translation = bridge(profile).translate([{**document, "eventType": "START"}, document], report=True)
    assert (translation.dead, translation.rejected) == ([], [])
    return list(translation.report.lines())


def paths(document, path="$"):
    """The places of a document's leaves, worked out in the plainest way."""
    if isinstance(document, dict) and document:
        for key, member in document.items():
            plain = key and not set(key) & set(".[]")
            yield from paths(member, f"{path}.{key}" if plain else f'{path}["{key}"]')
    elif isinstance(document, list) and document:
        for position, member in enumerate(document):
            yield from paths(member, f"{path}[{position}]")
    else:
        yield path


def check(base, key, facet, profile):
    document = carried(base, key, facet)
    lines = lines_of(document, profile)
    expected = Counter(paths(document))
    assert Counter(line["path"] for line in lines) == Counter({path: 2 * count for path, count in expected.items()})
    for line in lines:
        assert line["outcome"] in OUTCOMES
        assert (line["reason"] is None) == (line["target"] is not None) == (line["outcome"] != "dropped")


def test_standard_facets_all_have_a_class_and_a_module():
    assert len({name for name, _, _ in CLASSES}) >= 38
    known = {key for keys in registry().values() for key in keys}
    assert {key for _, key, _ in CLASSES} <= known


@needs_spec
def test_every_schema_s_facet_has_its_module():
    assert len({file for file, _, _ in DEFINITIONS}) >= 44
    assert {key for _, _, key in DEFINITIONS} <= {key for keys in registry().values() for key in keys}


@pytest.mark.parametrize("named", sorted(CLASSES), ids=lambda named: named[0])
def test_each_leaf_of_a_facet_drawn_from_its_class_has_one_line(named):
    _, key, base = named

    @few
    @given(of_class(CLASSES[named]), st.sampled_from(["0.15.0", "1.7"]))
    def each(facet, profile):
        check(base, key, facet, profile)

    each()


@pytest.mark.parametrize("named", sorted(DEFINITIONS), ids=lambda named: named[1])
def test_each_leaf_of_a_facet_drawn_from_its_schema_has_one_line(named):
    file, definition, key = named

    @few
    @given(of_schema(file, definition), st.sampled_from(["0.15.0", "1.7"]))
    def each(facet, profile):
        check(DEFINITIONS[named], key, facet, profile)

    each()


@pytest.mark.parametrize("named", sorted(CLASSES), ids=lambda named: named[0])
def test_generated_field_change_changes_the_reported_target(named):
    _, key, base = named
    drawn = []

    @few
    @given(of_class(CLASSES[named]))
    def each(facet):
        drawn.append((key, carried(base, key, facet)))

    each()
    found, _ = lies(drawn, 0.5, lambda path: key in path, whole=True, profile="1.7")
    # one column alone is in order wherever it says to stand
    assert [one for one in found if not one[1].endswith(".ordinal_position")] == []


LIES = [
    ("DatasetFacet", "columnLineage", {"fields": {"id": {"inputFields": [], "transformationDescription": "d"}}}, "no-field:no input column"),
    ("InputDatasetFacet", "dataQualityMetrics", {"columnMetrics": {"a": {"quantiles": {"most": 5}}}}, "malformed"),
    ("JobFacet", "sourceCodeLocation", {"type": "svn", "url": "svn://code/x"}, None),
]  # fmt: skip


@pytest.mark.parametrize(("base", "key", "facet", "reason"), LIES, ids=lambda one: one if isinstance(one, str) else "")
def test_fields_found_by_generation_are_reported_correctly(base, key, facet, reason):
    lines = [line for line in lines_of(carried(base, key, facet), "1.7") if key in line["path"]]
    last = lines[-1]
    assert last["reason"] == reason
    if reason is None:
        assert (last["outcome"], last["target"]) == (
            "property",
            "dataJobInfo.customProperties[openlineage.sourceCodeLocation.url]",
        )
