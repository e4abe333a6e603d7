"""What a facet module is made of, and what a registry of them holds."""

from __future__ import annotations

import tracemalloc

import msgspec
import pytest
from support.sample_events import SPARK, event, packed

from dh_bridge.facet_support.context import FacetContext
from dh_bridge.facet_support.facet_spec import Facet, as_property, dropped, facet, mapped, read_object
from dh_bridge.facets import registry, specs
from dh_bridge.model.facts import RUN_NAME, RUN_PROPERTIES, TOMBSTONE
from dh_bridge.model.trace import FieldTargets
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.options import Options
from dh_bridge.settings import Settings

OPTIONS = Options(Settings())


class Two(Facet):
    """A name and a number."""

    name: str | None = None
    number: int | None = None


class Entry(Facet):
    """An entry."""

    a: int | None = None


class Many(Facet):
    """Entries."""

    rows: list[Entry] | None = None


def _gone(_, ctx):
    yield ctx.run_urn, RUN_NAME, 1, TOMBSTONE


def _declared(**more):
    def state(two, ctx):
        """Name of the run."""
        if two.name:
            yield ctx.run_urn, RUN_NAME, 1, two.name

    return facet(
        "two", "zwei", attach="run", struct=Two, outcomes={"name": mapped(RUN_NAME), "number": dropped("plan")}, **more
    )(state)


SPEC = _declared()


def place():
    at = FacetContext(parse_event(packed([event(producer=SPARK)])[0]), OPTIONS, (1, 1, b"", 0))
    at.run_urn, at.attach, at.key, at.path, at.notes = "urn:run", "run", "two", "$.run.facets.two", []
    return at


def stated(raw, spec=SPEC):
    at = place()
    return list(spec.extract_facts(msgspec.Raw(raw), at)), at.notes


def test_facet_states_its_facts():
    assert stated(b'{"name":"a","_producer":"p","_schemaURL":null}') == ([("urn:run", RUN_NAME, 1, "a")], [])
    assert (SPEC.keys, SPEC.attach, SPEC.doc) == (("two", "zwei"), "run", "Name of the run.")


def test_malformed_facet_is_repaired_and_extra_fields_are_kept():
    found, notes = stated(b'{"name":5,"number":"many","more":{"x":[1]},"other":null}')
    assert found == [("urn:run", RUN_NAME, 1, "5"), ("urn:run", RUN_PROPERTIES, "two+", {"two.more": '{"x":[1]}'})]
    more = ("$.run.facets.two.more", FieldTargets((RUN_PROPERTIES,)))
    assert notes == [("$.run.facets.two.number", "malformed"), more]


def test_same_unknown_leaf_of_many_entries_is_one_list():
    spec = facet("two", attach="run", struct=Many, outcomes={})(lambda _, __: iter(()))
    found, _ = stated(b'{"rows":[{"a":1,"b":2},{"b":3}]}', spec)
    assert found == [("urn:run", RUN_PROPERTIES, "two+", {"two.rows.b": "[2,3]"})]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"5", "malformed"),
        (b'"<<non-serializable: X>>"', "non-serializable"),
        (b"null", "empty:null"),
        (b"{", "malformed"),
        (b"[" * 5000, "malformed"),
    ],
)
def test_facet_that_is_no_object_states_nothing_and_is_noted(raw, reason):
    assert stated(raw) == ([], [("$.run.facets.two", reason)])
    at = place()
    assert read_object(msgspec.Raw(raw), at) is None


def test_malformed_members_use_little_memory_and_are_notable():
    spec = facet("two", attach="run", struct=Many, outcomes={})(lambda _, __: iter(()))
    many, raw = 100_000, b'{"rows":[' + b",".join([b"[]"] * 100_000) + b"]}"
    at = place()
    at.notes = None
    tracemalloc.start()
    try:
        assert list(spec.extract_facts(msgspec.Raw(raw), at)) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * many  # an empty list takes 72 bytes, its path would take as many
    assert stated(raw, spec)[1] == [(f"$.run.facets.two.rows[{number}]", "malformed") for number in range(many)]


def test_tombstone_is_stated_by_those_who_know_one():
    assert stated(b'{"_deleted":true,"name":"a"}') == ([], [("$.run.facets.two", "policy:state=none")])
    assert stated(b'{"_deleted":true}', _declared(retract=_gone))[0] == [("urn:run", RUN_NAME, 1, TOMBSTONE)]
    assert stated(b'{"_deleted":false,"name":"a"}')[0] == [("urn:run", RUN_NAME, 1, "a")]


def test_facet_that_is_remembered_states_the_same():
    spec = _declared(is_cached=True)
    for _ in range(3):
        assert stated(b'{"name":"a"}', spec) == ([("urn:run", RUN_NAME, 1, "a")], [])
    for number in range(5000):
        stated(b'{"name":"%d"}' % number, spec)
    assert stated(b'{"name":"a"}', spec)[0] == [("urn:run", RUN_NAME, 1, "a")]


def test_facet_notes_are_optional():
    at = place()
    at.notes = None
    assert list(SPEC.extract_facts(msgspec.Raw(b"5"), at)) == []


# -- the registry ----------------------------------------------------------------------------------------------------------


def test_facet_specs_all_have_docs_and_field_outcomes():
    found = specs()
    assert len(found) > 50
    for spec in found:
        assert spec.doc.endswith("."), spec.keys
        assert spec.outcomes, spec.keys
        for path, row in spec.outcomes.items():
            assert not (row.reason and row.targets), (spec.keys, path)


def test_every_facet_is_found_by_each_of_its_keys():
    found = registry()
    for spec in specs():
        assert all(found[spec.attach][key] is spec for key in spec.keys)
    assert as_property(RUN_NAME).targets == (RUN_NAME,)
