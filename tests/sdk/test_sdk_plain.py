"""What Python programs have, as JSON has it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import uuid
from collections import OrderedDict
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType

import pytest

from dh_bridge.sdk.plain import to_plain

UTC = dt.timezone.utc


class Colour(enum.Enum):
    RED = "red"


class Word(str):
    __slots__ = ()


class Thing:
    pass


@dataclasses.dataclass
class Pair:
    left: int
    right: object


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (Word("x"), "x"),
        (Colour.RED, "red"),
        (Decimal("1.10"), "1.10"),
        (dt.datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T00:00:00Z"),
        (dt.date(2024, 1, 1), "2024-01-01"),
        (uuid.UUID(int=3), "00000000-0000-0000-0000-000000000003"),
        (PurePosixPath("a/b"), "a/b"),
        ({"b", "a"}, ["a", "b"]),
        ({1, "a"}, ["a", 1]),
        ((1, (2,)), [1, [2]]),
        ({1: 2, ("a", 1): 3}, {"1": 2, "['a', 1]": 3}),
        (MappingProxyType({"a": OrderedDict(b=Decimal(1))}), {"a": {"b": "1"}}),
        (Pair(1, [Decimal(1)]), {"left": 1, "right": ["1"]}),
        (ValueError("gone"), "gone"),
        (Thing(), f"{__name__}.Thing"),
    ],
)
def test_value_is_what_json_has(value, expected):
    found = to_plain(value)
    assert found == expected
    assert type(found) is type(expected)


def test_numbers_and_times_of_numpy_and_pandas(record_pipeline):
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    for value, expected in (
        (numpy.int64(3), 3),
        (numpy.float32(1.5), 1.5),
        (numpy.bool_(True), True),  # noqa: FBT003 - the value that is looked at
        (numpy.str_("x"), "x"),
        (numpy.array([[1, 2]]), [[1, 2]]),
        (numpy.datetime64("2024-01-01T00:00:00", "ns"), "2024-01-01T00:00:00.000000000"),
        (pandas.Timestamp("2024-01-01", tz="UTC"), "2024-01-01T00:00:00Z"),
        (pandas.NaT, None),
        (pandas.NA, None),
        (pandas.Series([1, 2]), [1, 2]),
    ):
        found = to_plain(value)
        assert found == expected
        assert type(found) is type(expected)
    one = record_pipeline()
    check = one.pipeline.assertion("hive/shop.orders", "row_count", min=numpy.int64(1), platform="x")
    check.report(success=numpy.bool_(True), actual=numpy.int64(4), rows=numpy.int64(4), results={"n": numpy.int64(2)})  # noqa: FBT003 - as above
    (event,) = one.aspects(check.urn, "assertionRunEvent")
    assert event["result"]["actualAggValue"] == 4.0
    assert (event["result"]["rowCount"], event["result"]["nativeResults"]) == (4, {"n": "2"})
    with one.pipeline.run(("jobs", "load"), properties={"rows": numpy.int64(7)}) as run:
        pass
    assert one.last(run.urn, "dataProcessInstanceProperties")["customProperties"]["openlineage.run.rows"] == "7"
