"""The fields of an event's JSON, however deep it is nested."""

from __future__ import annotations

import json

import pytest

from dh_bridge.report.fields import field_values, iter_fields, parse_document


def nested(depth, inner="1"):
    return "[" * depth + inner + "]" * depth


@pytest.mark.parametrize("text", ['{"a":[1,{"b":null}],"c":"[{"}', "[]", '"{"', "[" + ",".join(["{}"] * 2000) + "]"])
def test_document_is_as_json_reads_it(text):
    assert parse_document(text.encode()) == json.loads(text)


def test_numbers_beyond_all_doubles_are_as_they_are_written():
    assert parse_document(b'{"a": 1e999, "b": 1.5}') == {"a": "1e999", "b": "1.5"}


@pytest.mark.parametrize("depth", [600, 100_000])
@pytest.mark.parametrize("inner", ["1", '"]]}\\\\\\"["', '{"x":[]}'])
def test_value_nested_too_deep_is_one_field(depth, inner):
    deep = nested(depth, inner)
    found = list(iter_fields(parse_document(f'{{"a":{deep},"b":[{deep},"["],"c":2}}'.encode()), {}, {}))
    assert [value for *_, value, _ in found] == ["...", "...", "[", 2]
    assert [len(path) for path, *_ in found] == [499, 499, 2, 1]
    assert [shown[:6] for _, shown, *_ in found] == ["$.a[0]", "$.b[0]", "$.b[1]", "$.c"]


def test_value_at_the_depth_limit_is_not_cut():
    found = list(field_values(parse_document(nested(499).encode())))
    assert found == [((0,) * 499, 1)]


def test_field_has_the_nearest_note_and_its_datasets():
    stated = {"inputs": [{"name": "a", "facets": {"odd.key": {"x": 1, "y": []}}}, {}], "producer": "p"}
    noted = {"$.inputs[0]": "far", "$.inputs[0].facets.odd.key.x": "near"}
    about = {"$.inputs[0]": "outer", "$.inputs[0].facets.odd.key": "inner", "$.producer": "own"}
    assert [field[1:5] for field in iter_fields(stated, noted, about)] == [
        ("$.inputs[0].name", "far", ("outer",), "a"),
        ('$.inputs[0].facets["odd.key"].x', "near", ("outer", "inner"), 1),
        ('$.inputs[0].facets["odd.key"].y', "far", ("outer", "inner"), []),
        ("$.inputs[1]", None, (), {}),
        ("$.producer", None, ("own",), "p"),
    ]


@pytest.mark.parametrize("alone", [1, None, "x", {}, []])
def test_scalar_document_is_one_field(alone):
    assert list(iter_fields(alone, {"$": "said"}, {"$": "own"})) == [((), "$", "said", ("own",), alone, False)]
