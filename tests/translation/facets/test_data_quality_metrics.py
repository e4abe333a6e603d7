"""dataQualityMetrics (dataset, input), and Great Expectations' copy of it under ``dataQuality``."""

from __future__ import annotations

import pytest
from facet_cases import (
    DATAHUB,
    END_MS,
    ORDERS,
    client_pair,
    dataset_event,
    event,
    facet,
    of_input,
    orders,
    pair,
    spec,
    told,
)
from openlineage.client.facet_v2 import data_quality_metrics_input_dataset

COLUMNS = {
    "amount": {"count": 10, "max": 1500, "min": 100, "sum": 6600},
    "id": {"nullCount": 2, "distinctCount": 4, "quantiles": {"25%": 1, "0.5": 2.5, "75": 3}},
}
BODY = facet(rowCount=10, bytes=2048, fileCount=5, lastUpdated="2023-05-30T10:54:22.355067Z", columnMetrics=COLUMNS)


def profile(found, urn=ORDERS):
    return found.one(urn, "datasetProfile")


@pytest.mark.parametrize("bag", ["facets", "inputFacets"])
def test_the_profile_holds_what_was_measured(bag):
    found = profile(of_input("dataQualityMetrics", BODY, bag))
    assert found["timestampMillis"] == END_MS
    assert (found["rowCount"], found["sizeInBytes"]) == (10, 2048)
    assert "columnCount" not in found
    amount, key = found["fieldProfiles"]
    assert amount == {"fieldPath": "amount", "min": "100", "max": "1500", "mean": "660"}
    assert key == {
        "fieldPath": "id",
        "uniqueCount": 4,
        "uniqueProportion": 0.5,
        "nullCount": 2,
        "nullProportion": 0.2,
        "median": "2.5",
        "quantiles": [
            {"quantile": "0.25", "value": "1"},
            {"quantile": "0.5", "value": "2.5"},
            {"quantile": "0.75", "value": "3"},
        ],
    }


def test_what_a_profile_has_no_field_for_is_kept_on_the_dataset():
    found = of_input("dataQualityMetrics", BODY)
    kept = found.kept(ORDERS)
    assert kept["dataQualityMetrics.fileCount"] == "5"
    assert kept["dataQualityMetrics.lastUpdated"] == "2023-05-30T10:54:22.355067Z"
    assert kept["dataQualityMetrics.columns"] == '{"amount":{"count":10,"sum":6600}}'


def test_the_dataset_was_last_modified_when_the_measurement_says():
    modified = of_input("dataQualityMetrics", BODY).patched(ORDERS, "datasetProperties")["/lastModified"]
    assert modified == {"time": 1685444062355, "actor": DATAHUB}


def test_the_largest_last_update_wins_in_any_order():
    events = [
        event("START", inputs=[orders(facets={"dataQualityMetrics": facet(lastUpdated="2024-01-02T00:00:00Z")})]),
        event(inputs=[orders(facets={"dataQualityMetrics": facet(lastUpdated="2024-01-01T00:00:00Z")})]),
    ]
    for order in (events, events[::-1]):
        assert told(order).patched(ORDERS, "datasetProperties")["/lastModified"]["time"] == 1704153600000


def test_a_time_that_is_none_is_a_property_alone():
    found = of_input("dataQualityMetrics", facet(rowCount=1, lastUpdated="yesterday"), report=True)
    assert "/lastModified" not in found.patched(ORDERS, "datasetProperties")
    target = "datasetProperties.customProperties[openlineage.dataQualityMetrics.lastUpdated]"
    assert found.verdicts()["$.inputs[0].facets.dataQualityMetrics.lastUpdated"] == ("kept", target)
    assert found.kept(ORDERS)["dataQualityMetrics.lastUpdated"] == "yesterday"


def test_the_columns_are_counted_by_the_schema_alone():
    bag = {"schema": facet(fields=[{"name": name, "type": "int"} for name in "abc"]), "dataQualityMetrics": BODY}
    assert profile(told(pair(inputs=[orders(facets=bag)])))["columnCount"] == 3


def test_great_expectations_copy_is_a_duplicate_and_read_when_it_is_alone():
    """producers.md 36."""
    both = {"dataQuality": facet(rowCount=9), "dataQualityMetrics": facet(rowCount=10)}
    found = told(pair(inputs=[orders(inputFacets=both)]), report=True)
    assert profile(found)["rowCount"] == 10
    path = "$.inputs[0].inputFacets.dataQuality.rowCount"
    assert found.verdicts()[path] == ("withheld", "duplicate-of:dataQualityMetrics")
    assert profile(of_input("dataQuality", facet(rowCount=9), "inputFacets"))["rowCount"] == 9


def test_numbers_may_be_text_and_nulls_say_nothing():
    body = facet(rowCount="10", bytes=None, columnMetrics={"a": {"nullCount": "1", "min": "x", "max": 2.50}, "b": None})
    found = profile(of_input("dataQualityMetrics", body))
    assert found["rowCount"] == 10
    assert found["fieldProfiles"] == [
        {"fieldPath": "a", "nullCount": 1, "nullProportion": 0.1, "min": "x", "max": "2.5"}
    ]


@pytest.mark.parametrize("quantiles", [{}, None, {"median": 1}, {"nan": 1}, {"": 2}])
def test_quantiles_that_are_none_are_left_out(quantiles):
    found = profile(
        of_input("dataQualityMetrics", facet(columnMetrics={"a": {"nullCount": 0, "quantiles": quantiles}}))
    )
    assert found["fieldProfiles"] == [{"fieldPath": "a", "nullCount": 0}]


def test_no_proportion_is_made_of_no_rows():
    body = facet(rowCount=0, columnMetrics={"a": {"nullCount": 0, "distinctCount": 0, "count": 0, "sum": 0}})
    assert profile(of_input("dataQualityMetrics", body))["fieldProfiles"] == [
        {"fieldPath": "a", "uniqueCount": 0, "nullCount": 0}
    ]


def test_a_dataset_event_writes_its_profile_at_its_own_time():
    found = profile(told(dataset_event(orders(facets={"dataQualityMetrics": facet(rowCount=3)}))))
    assert (found["timestampMillis"], found["rowCount"]) == (END_MS, 3)


def test_a_metric_that_no_profile_takes_makes_no_profile():
    found = of_input("dataQualityMetrics", facet(fileCount=3))
    assert not found.has(ORDERS, "datasetProfile")
    assert found.kept(ORDERS)["dataQualityMetrics.fileCount"] == "3"


@pytest.mark.parametrize("folder", ["DataQualityMetricsDatasetFacet", "DataQualityMetricsInputDatasetFacet"])
def test_the_specification_s_documents_are_read(folder):
    bag = {"facets" if folder == "DataQualityMetricsDatasetFacet" else "inputFacets": spec(folder)}
    found = profile(told(pair(inputs=[orders(**bag)])))
    assert found["rowCount"] == 10
    assert [one["fieldPath"] for one in found["fieldProfiles"]] == ["amount", "counterparty_id", "user_id"]
    assert found["fieldProfiles"][2] == {
        "fieldPath": "user_id", "uniqueCount": 3, "uniqueProportion": 0.3, "nullCount": 0, "nullProportion": 0.0,
    }  # fmt: skip


def test_the_client_s_classes_are_read():
    made = data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet(
        rowCount=7,
        columnMetrics={"a": data_quality_metrics_input_dataset.ColumnMetrics(nullCount=1, quantiles={"0.5": 2.0})},
    )
    found = profile(told(client_pair(input_facets={"dataQualityMetrics": made})))
    assert found["rowCount"] == 7
    assert found["fieldProfiles"][0]["median"] == "2"


def test_a_quantile_of_large_whole_numbers_is_exact():
    found = profile(of_input("dataQualityMetrics", facet(columnMetrics={"id": {"quantiles": {"0.5": 2**53 + 1}}})))
    assert found["fieldProfiles"][0]["median"] == str(2**53 + 1)


def test_of_columns_for_which_a_profile_has_no_room_the_report_says_so():
    columns = {f"c{number:04}": {"nullCount": number, "sum": 1, "quantiles": {"0.5": 1}} for number in range(1001)}
    found = of_input("dataQualityMetrics", facet(columnMetrics=columns), report=True)
    assert len(profile(found)["fieldProfiles"]) == 1000
    where = "$.inputs[0].facets.dataQualityMetrics.columnMetrics"
    verdicts = found.verdicts()
    assert verdicts[f"{where}.c0999.nullCount"][0] == "mapped"
    assert verdicts[f"{where}.c1000.nullCount"] == ("withheld", "too-large")
    assert verdicts[f'{where}.c1000.quantiles["0.5"]'] == ("withheld", "too-large")
    assert verdicts[f"{where}.c1000.sum"][0] == "kept"
