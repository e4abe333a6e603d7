"""Kept values: their text, their caps, and how many of them an aspect holds."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dh_bridge.model.properties import (
    MAX_PROPERTIES,
    MAX_PROPERTY_BYTES,
    MAX_VALUE_CHARS,
    digest_properties,
    flatten,
    json_text,
    limit_properties,
    property_text,
    truncate,
    truncate_middle,
)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a b", "a b"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (1.5, "1.5"),
        ([1, "a"], '[1,"a"]'),
        ({"b": 1, "a": None}, '{"a":null,"b":1}'),
    ],
)
def test_value_is_text_or_compact_json_with_sorted_names(value, written):
    assert json_text(value) == written
    assert property_text("k", value) == written


def test_null_becomes_no_property():
    assert property_text("k", None) is None
    assert flatten("a", {"b": None, "c": {"d": None, "e": 1}}) == {"a.c.e": "1"}


def test_members_become_paths_and_lists_stay_one_value():
    stated = {"a": {"b": {"c": 1}}, "d": [{"e": 2}], "g": ""}
    assert flatten("p", stated) == {"p.a.b.c": "1", "p.d": '[{"e":2}]', "p.g": ""}


def test_empty_values_become_no_property():
    assert flatten("p", {"a": {"b": {}, "c": [], "d": None, "e": {"f": {}}}, "g": {}, "h": []}) == {}
    assert flatten("p", {"a": [[], {}], "b": 0, "c": False}) == {"p.a": "[[],{}]", "p.b": "0", "p.c": "false"}


def test_long_value_is_truncated_with_length_and_digest():
    long = "x" * 10_000
    found = truncate(long)
    assert MAX_VALUE_CHARS - 4 < len(found) <= MAX_VALUE_CHARS
    head, _, marker = found.partition("…")
    digest = hashlib.sha256(long.encode()).hexdigest()[:16]
    assert marker == f"[+{10_000 - len(head)} chars, sha256:{digest}]"
    assert truncate("x" * MAX_VALUE_CHARS) == "x" * MAX_VALUE_CHARS


def test_stack_trace_keeps_its_head_and_its_cause():
    trace = "A" * 3000 + "B" * 3000 + "C" * 3000
    found = truncate_middle(trace)
    assert found.startswith("A" * 2600)
    assert found.endswith("C" * 1300)
    assert len(found) <= MAX_VALUE_CHARS
    assert truncate_middle("short") == "short"


@given(VALUES)
def test_every_json_value_has_a_bounded_text(value):
    written = property_text("k", value)
    assert (written is None) == (value is None)
    if written is not None:
        assert len(written) <= MAX_VALUE_CHARS
        if (
            isinstance(value, list | dict)
            and "REDACTED" not in written
            and "***" not in written
            and len(written) < MAX_VALUE_CHARS
        ):
            assert json.loads(written) == value


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=600), max_size=400))
def test_aspect_has_at_most_200_properties_and_64_kib(properties):
    left = limit_properties(properties)
    assert len(left) <= MAX_PROPERTIES
    assert (
        sum(len((key + value).encode()) for key, value in left.items()) <= MAX_PROPERTY_BYTES
        or len(properties) <= MAX_PROPERTIES
    )
    assert left.items() <= properties.items()
    assert list(left) == sorted(properties)[: len(left)] or left == properties


def test_last_names_of_the_alphabet_go_first():
    left = limit_properties({f"k{number:03}": "v" for number in range(300)})
    assert list(left) == [f"k{number:03}" for number in range(200)]
    assert len(limit_properties({f"k{number:03}": "v" * 3000 for number in range(100)})) < 30


def test_bulk_leaves_its_hash_and_its_size():
    assert digest_properties("p", b"abc") == {"p.sha256": hashlib.sha256(b"abc").hexdigest(), "p.bytes": "3"}
