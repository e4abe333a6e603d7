"""Keys of a batch filter rows alike, whether the driver lists them or Spark joins them."""

from __future__ import annotations

import pytest

from dh_bridge.spark.key_sets import MAX_LISTED_KEYS, KeySet


@pytest.mark.parametrize("is_listed", [True, False])
def test_listed_and_joined_keys_filter_alike(session, is_listed):
    rows = session.createDataFrame([("a", 1), ("b", 2), ("b", 3), ("", 4)], "origin string, number long")
    frame = session.createDataFrame([("b",), ("c",)], "key string")
    keys = KeySet(frame, ["b", "c", "b"] if is_listed else None)
    assert keys.listed == (["b", "c"] if is_listed else None)
    assert sorted(row.number for row in keys.select(rows, "origin").collect()) == [2, 3]
    assert sorted(row.number for row in keys.exclude(rows, "origin").collect()) == [1, 4]
    marked = keys.mark(rows, "origin", "is_known").collect()
    assert {row.number: row.is_known for row in marked} == {1: False, 2: True, 3: True, 4: False}


def test_many_keys_are_not_listed(session):
    frame = session.createDataFrame([], "key string")
    assert KeySet(frame, map(str, range(MAX_LISTED_KEYS))).listed is not None
    assert KeySet(frame, map(str, range(MAX_LISTED_KEYS + 1))).listed is None


def test_no_listed_key_selects_no_row(session):
    rows = session.createDataFrame([("a",)], "key string")
    keys = KeySet(rows.limit(0), [])
    assert keys.select(rows).collect() == []
    assert [row.key for row in keys.exclude(rows).collect()] == ["a"]
