"""A facet's JSON bent into its Struct: one bad leaf goes, the rest stays."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dh_bridge.facet_support.repair import UNUSABLE, Repairs, integer_of, repair, text_of


class Inner(msgspec.Struct):
    name: str
    size: int | None = None


class Outer(msgspec.Struct):
    text: str | None = None
    count: int | None = None
    share: float | None = None
    sure: bool | None = None
    either: bool | str | None = None
    part: Inner | None = None
    parts: list[Inner] | None = None
    named: dict[str, Inner] | None = None
    open: Any = None


CASES = {
    "a number for a text": ({"text": 5}, Outer(text="5"), []),
    "a boolean for a text": ({"text": True}, Outer(text="true"), []),
    "a text for a number": ({"count": "42", "share": "1.5"}, Outer(count=42, share=1.5), []),
    "a whole float for a count": ({"count": 7.0}, Outer(count=7), []),
    "a text of a whole float": ({"count": "7.0"}, Outer(count=7), []),
    "a broken count": ({"count": 7.5}, Outer(), ["count"]),
    "a word for a count": ({"count": "many"}, Outer(), ["count"]),
    "no number at all": ({"share": "NaN", "count": "Infinity"}, Outer(), ["share", "count"]),
    "a boolean for a number": ({"count": True}, Outer(), ["count"]),
    "a text for a boolean": ({"sure": "TRUE", "either": "False"}, Outer(sure=True, either=False), []),
    "another word for one of two kinds": ({"either": "odd"}, Outer(either="odd"), []),
    "a number for a boolean": ({"sure": 1}, Outer(), ["sure"]),
    "an object for a text": ({"text": {}}, Outer(), ["text"]),
    "a text for an object": ({"part": "x"}, Outer(), ["part"]),
    "an object without what it needs": ({"part": {"size": 1}}, Outer(), ["part"]),
    "one bad entry of a list": ({"parts": [{"name": "a"}, 5, {"size": 2}, {"name": "b", "size": "x"}]},
                                Outer(parts=[Inner("a"), Inner("b")]), ["parts[1]", "parts[2]", "parts[3].size"]),
    "an object for a list": ({"parts": {"name": "a"}}, Outer(), ["parts"]),
    "one bad entry of a map": ({"named": {"x": {"name": "a"}, "y": []}}, Outer(named={"x": Inner("a")}), ["named.y"]),
    "a list for a map": ({"named": []}, Outer(), ["named"]),
    "nulls": ({"text": None, "parts": None, "part": None}, Outer(), []),
    "anything where anything goes": ({"open": [1, {"a": None}]}, Outer(open=[1, {"a": None}]), []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_field_of_another_type_is_converted_or_malformed(case):
    document, expected, malformed = CASES[case]
    mending = Repairs()
    assert repair(document, Outer, mending) == expected
    assert mending.malformed == malformed
    assert mending.extra == []


def test_unknown_leaves_are_left_over_with_their_paths():
    mending = Repairs()
    document = {"text": "a", "new": 1, "part": {"name": "n", "more": [2]}, "parts": [{"name": "p", "x": 3}]}
    assert repair(document, Outer, mending) == Outer(text="a", part=Inner("n"), parts=[Inner("p")])
    assert mending.extra == [("new", 1), ("part.more", [2]), ("parts[0].x", 3)]


def test_leaves_that_nobody_asks_for_are_counted_and_not_kept():
    mending = Repairs(records_paths=False)
    assert repair({"parts": [5, [], {"name": "a"}], "count": "many"}, Outer, mending) == Outer(parts=[Inner("a")])
    assert (mending.lost_count, mending.malformed) == (3, [])


@pytest.mark.parametrize("document", [{}, {"size": 1}, {"name": None}, {"name": []}, [], "x", None])
def test_document_without_required_fields_is_unusable(document):
    mending = Repairs()
    assert repair(document, Inner, mending) is UNUSABLE
    assert mending.malformed


@pytest.mark.parametrize(
    ("value", "text", "whole"),
    [
        ("ann", "ann", None), (7, "7", 7), (" 7 ", " 7 ", 7), (1.5, "1.5", None), ("7.0", "7.0", 7), (True, "true", None),
        ("", "", None), (None, "", None), ([7], "", None), ({"a": 7}, "", None), ("inf", "inf", None),
    ],
)  # fmt: skip
def test_facet_values_convert_to_text_and_integers(value, text, whole):
    assert (text_of(value), integer_of(value)) == (text, whole)
