"""The leaves of an event's JSON, however deep it is nested."""

from __future__ import annotations

import json

import pytest

from dh_bridge.translation.report.leaves import document, leaves, shown


def nested(depth, inner="1"):
    return "[" * depth + inner + "]" * depth


@pytest.mark.parametrize("text", ['{"a":[1,{"b":null}],"c":"[{"}', "[]", '"{"', "[" + ",".join(["{}"] * 2000) + "]"])
def test_a_document_is_as_json_reads_it(text):
    assert document(text.encode()) == json.loads(text)


def test_numbers_beyond_all_doubles_are_as_they_are_written():
    assert document(b'{"a": 1e999, "b": 1.5}') == {"a": "1e999", "b": "1.5"}


@pytest.mark.parametrize("depth", [600, 100_000])
@pytest.mark.parametrize("inner", ["1", '"]]}\\\\\\"["', '{"x":[]}'])
def test_what_is_nested_too_deep_is_one_leaf_and_all_beside_it_is_told(depth, inner):
    deep = nested(depth, inner)
    found = list(leaves(document(f'{{"a":{deep},"b":[{deep},"["],"c":2}}'.encode())))
    assert [value for _, value in found] == ["...", "...", "[", 2]
    assert [len(path) for path, _ in found] == [499, 499, 2, 1]
    assert [shown(path)[:6] for path, _ in found] == ["$.a[0]", "$.b[0]", "$.b[1]", "$.c"]


def test_what_is_nested_as_deep_as_is_followed_is_not_cut():
    found = list(leaves(document(nested(499).encode())))
    assert found == [((0,) * 499, 1)]
