"""The numbers of a datasetProfile."""

from __future__ import annotations

import pytest

from dh_bridge.render.dataset_profiles import profile_fields

STAMP = (0,)


def value(**columns):
    metrics = {(0, "rowCount"): (STAMP, 10)}
    for column, leaves in columns.items():
        for leaf, number in leaves.items():
            if leaf == "quantiles":
                metrics |= {(0, "quantile", column, key): (STAMP, one) for key, one in number.items()}
            else:
                metrics[0, "column", column, leaf] = (STAMP, number)
    return profile_fields(metrics)


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        ({"distinctCount": 5, "count": 10}, {"uniqueCount": 5, "uniqueProportion": 0.5}),
        ({"distinctCount": 4, "nullCount": 2}, {"uniqueCount": 4, "uniqueProportion": 0.5, "nullCount": 2, "nullProportion": 0.2}),
        ({"distinctCount": 4}, {"uniqueCount": 4}),
        ({"distinctCount": 0, "nullCount": 10}, {"uniqueCount": 0, "nullCount": 10, "nullProportion": 1.0}),
        ({"sum": 10, "count": 4}, {"mean": "2.5"}),
        ({"sum": 10, "count": 0}, {}),
        ({"sum": 10}, {}),
        ({"sum": 10**400, "count": 1, "distinctCount": 1}, {"uniqueCount": 1, "uniqueProportion": 1.0}),
        ({"sum": 1e300, "count": 1e-300}, {}),
        ({"min": 10**400}, {"min": str(10**400)}),
        ({"min": 1.0, "max": 2.5}, {"min": "1", "max": "2.5"}),
        ({"min": "2020-01-01", "max": 1e300}, {"min": "2020-01-01", "max": "1e300"}),
        ({"quantiles": {"0.5": 3}}, {"median": "3", "quantiles": [{"quantile": "0.5", "value": "3"}]}),
        ({"quantiles": {"50%": 3, "25": 1, "0.75 ": 4}}, {
            "median": "3",
            "quantiles": [{"quantile": "0.25", "value": "1"}, {"quantile": "0.5", "value": "3"}, {"quantile": "0.75", "value": "4"}],
        }),
        ({"quantiles": {"x": 1, "inf": 2, "nan": 3, "-5": 4, "250": 5, "101%": 6}}, {}),
        ({"quantiles": {"100": 2**53 + 1}}, {"quantiles": [{"quantile": "1", "value": str(2**53 + 1)}]}),
        ({"distinctCount": 4, "nullCount": 12}, {"uniqueCount": 4, "nullCount": 12}),
        ({"distinctCount": 4, "count": 3}, {"uniqueCount": 4}),
        ({"sum": 4, "count": -3}, {}),
    ],
)  # fmt: skip
def test_column(measured, expected):
    (found,) = value(a=measured).get("fieldProfiles", [{"fieldPath": "a"}])
    assert found == {"fieldPath": "a", **expected}


def test_columns_are_sorted_and_a_thousand_at_most():
    found = value(**{f"c{number:04}": {"nullCount": 0} for number in range(1200)})["fieldProfiles"]
    assert [one["fieldPath"] for one in found[:2]] == ["c0000", "c0001"]
    assert len(found) == 1000


def test_source_of_the_lower_rank_wins():
    assert profile_fields({(0, "rowCount"): (STAMP, 1), (1, "rowCount"): (STAMP, 2)}) == {"rowCount": 1}
    assert profile_fields({}) == {}
