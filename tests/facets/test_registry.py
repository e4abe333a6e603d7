"""The folder of facets is the registry; what holds for every facet, known or unknown."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from support.facet_cases import (
    DPI,
    JOB,
    ORDERS,
    TOTALS,
    dataset_event,
    event,
    facet,
    job_event,
    of_input,
    of_job,
    of_output,
    of_run,
    orders,
    pair,
    totals,
    translate_events,
)

from dh_bridge import facets
from dh_bridge.facet_support.facet_spec import FacetSpec
from dh_bridge.facets import registry, specs
from dh_bridge.render.targets import documented_paths

MODULES = [module.name for module in pkgutil.iter_modules(facets.__path__)]
KEYS = [(attach, key) for attach, keys in registry().items() for key in keys]
REASONS = ("duplicate-of:", "no-field:", "policy:")
WORDS = {
    "plan", "secret", "too-large", "envelope", "malformed", "pending-terminal", "profile", "phantom", "ephemeral",
    "bulk", "non-serializable", "no-such-column", "filtered", "schema-owned", "no-dataset",
}  # fmt: skip


def placed(attach, key, value, **settings):
    settings = {"report": True, **settings}
    if attach == "run":
        return of_run(key, value, **settings), f"$.run.facets.{key}"
    if attach == "job":
        return of_job(key, value, **settings), f"$.job.facets.{key}"
    return of_output(key, value, **settings), f"$.outputs[0].facets.{key}"


def outcomes(found, start):
    quoted = start if "." not in start.rpartition("facets.")[2] else start.replace("facets.", 'facets["') + '"]'
    return {path: outcome for path, outcome in found.outcomes().items() if path.startswith((start, quoted))}


@pytest.mark.parametrize("name", MODULES)
def test_each_module_declares_its_facets(name):
    members = vars(importlib.import_module(f"dh_bridge.facets.{name}")).values()
    assert any(isinstance(member, FacetSpec) for member in members)


@pytest.mark.parametrize("spec", specs(), ids=lambda spec: f"{spec.attach}-{spec.keys[0]}")
def test_facet_specs_have_docs_and_field_outcomes(spec):
    assert spec.doc
    assert spec.outcomes
    for row in spec.outcomes.values():
        assert not (row.reason and row.targets)
        assert row.reason in WORDS | {""} or row.reason.startswith(REASONS)
        assert all(list(documented_paths(target)) for target in row.targets)


@pytest.mark.parametrize(("attach", "key"), KEYS)
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("<<non-serializable: SqlParsingResult>>", "non-serializable"),
        ("text", "malformed"),
        (7, "malformed"),
        ([1], "malformed"),
        (True, "malformed"),
    ],
)
def test_malformed_facet_is_dropped_and_its_event_is_kept(attach, key, value, reason):
    found, start = placed(attach, key, value)
    assert set(outcomes(found, start).values()) == {("dropped", reason)}
    assert found.has(DPI, "dataProcessInstanceRunEvent")


@pytest.mark.parametrize(("attach", "key"), KEYS)
def test_empty_and_null_facets_break_no_event(attach, key):
    for value in (None, {}, facet()):
        found, _ = placed(attach, key, value, report=False)
        assert found.has(DPI, "dataProcessInstanceRunEvent")


@pytest.mark.parametrize(("attach", "key"), KEYS)
@pytest.mark.parametrize("value", [None, [], {}, 0, "x", [None], [{}], {"a": None}, 1e308, "<<non-serializable: x>>"])
def test_every_leaf_may_be_anything(attach, key, value):
    """Lenient types: one unusable leaf is reported and skipped, never the event."""
    spec = registry()[attach][key]
    leaves = {path.partition(".")[0].removesuffix("[]") for path in spec.outcomes if "*" not in path.partition(".")[0]}
    body = facet(**dict.fromkeys(leaves or {"a"}, value))
    found, _ = placed(attach, key, body, report=False)
    assert found.has(DPI, "dataProcessInstanceRunEvent")


@pytest.mark.parametrize(("attach", "key"), [(attach, key) for attach, key in KEYS if attach != "run"])
def test_deleted_facet_is_a_tombstone_and_states_nothing_else(attach, key):
    found, start = placed(attach, key, {**facet(), "_deleted": True, "description": "gone"})
    urn = JOB if attach == "job" else TOTALS
    assert not any("gone" in value for value in found.properties(urn).values())
    stated = {path.rpartition(".")[2]: outcome for path, outcome in outcomes(found, start).items()}
    assert stated["_deleted"][0] in ("dropped", "mapped")


@pytest.mark.parametrize(
    "spec", [spec for spec in specs() if spec.struct], ids=lambda spec: f"{spec.attach}-{spec.keys[0]}"
)
def test_unknown_leaves_of_a_known_facet_are_kept(spec):
    key = spec.keys[0]
    found, _ = placed(spec.attach, key, facet(brandNew={"a": [1, None]}), report=False)
    urn = {"run": DPI, "job": JOB, "dataset": TOTALS}[spec.attach]
    assert found.properties(urn)[f"{key}.brandNew"] == '{"a":[1,null]}'


@pytest.mark.parametrize("key", ["mystery", "my.company_facet"])
def test_unknown_facet_is_kept_complete_on_its_entity(key):
    body = facet(b=[1, 2], a={"password": "p", "url": "https://x"})
    text = '{"a":{"password":"[REDACTED]","url":"https://x"},"b":[1,2]}'
    for attach, urn in (("run", DPI), ("job", JOB), ("dataset", TOTALS)):
        assert placed(attach, key, body)[0].properties(urn)[f"facet.{key}"] == text


def test_unknown_input_and_output_facets_are_on_edge_and_run():
    for found, direction, urn in (
        (of_input("mystery", facet(a=1), "inputFacets"), "input", ORDERS),
        (of_output("mystery", facet(a=1), "outputFacets"), "output", TOTALS),
    ):
        edge = found.patched(JOB, "dataJobInputOutput")[f"/{direction}DatasetEdges/{urn}"]
        assert edge["properties"] == {"openlineage.facet.mystery": '{"a":1}'}
        assert urn in found.properties(DPI)[f"{direction}s.facet.mystery"]
        assert "facet.mystery" not in found.properties(urn)


def test_unknown_facet_without_content_is_not_kept():
    for value in (facet(), None, "<<non-serializable: x>>", 7, {**facet(a=1), "_deleted": True}):
        assert "facet.mystery" not in of_job("mystery", value).properties(JOB)


def test_run_facets_are_ignored_without_a_run():
    declared = translate_events(
        job_event(job={"parent": facet(run={"runId": "x"}), "nominalTime": facet(nominalStartTime="x")}), report=True
    )
    assert declared.outcomes()["$.job.facets.nominalTime.nominalStartTime"] == ("dropped", "no-field:no run")
    assert "parent.job" not in declared.properties(JOB)


def test_filter_leaves_a_facet_out_and_counts_it():
    found = translate_events(
        pair(job={"documentation": facet(description="x"), "mystery": facet(a=1)}),
        filters={"facets": ["!doc*", "!mystery"]},
        report=True,
    )
    assert "/description" not in found.patched(JOB, "dataJobInfo")
    assert "facet.mystery" not in found.properties(JOB)
    assert found.outcomes()["$.job.facets.documentation.description"][0] == "dropped"


@pytest.mark.parametrize(("attach", "key"), KEYS)
def test_facet_values_do_not_depend_on_event_order(attach, key):
    spec = registry()[attach][key]
    leaves = {path.partition(".")[0].removesuffix("[]") for path in spec.outcomes if "*" not in path.partition(".")[0]}
    bodies = [facet(**dict.fromkeys(leaves, value)) for value in ("1", "2")]

    def events(body, kind, time):
        bag = {key: body}
        return event(
            kind, time=time,
            run=bag if attach == "run" else {}, job=bag if attach == "job" else {},
            inputs=[orders()], outputs=[totals(facets=bag if attach == "dataset" else {})],
        )  # fmt: skip

    stated = [events(bodies[0], "START", "2026-11-20T01:00:00Z"), events(bodies[1], "COMPLETE", "2026-11-20T01:00:30Z")]
    one, two = (translate_events(order).proposals for order in (stated, stated[::-1]))
    assert sorted(map(str, one)) == sorted(map(str, two))


def test_unknown_facets_of_a_dataset_event_are_on_the_dataset():
    for bag in ("facets", "inputFacets", "outputFacets"):
        assert (
            translate_events(dataset_event(totals(**{bag: {"mystery": facet(a=1)}}))).properties(TOTALS)[
                "facet.mystery"
            ]
            == '{"a":1}'
        )
