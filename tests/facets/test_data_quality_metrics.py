"""dataQualityMetrics (dataset, input), and Great Expectations' copy of it under ``dataQuality``."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import data_quality_metrics_input_dataset
from support.facet_cases import (
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
    translate_events,
)

COLUMNS = {
    "amount": {"count": 10, "max": 1500, "min": 100, "sum": 6600},
    "id": {"nullCount": 2, "distinctCount": 4, "quantiles": {"25%": 1, "0.5": 2.5, "75": 3}},
}
BODY = facet(rowCount=10, bytes=2048, fileCount=5, lastUpdated="2023-05-30T10:54:22.355067Z", columnMetrics=COLUMNS)


def profile(found, urn=ORDERS):
    return found.one(urn, "datasetProfile")


@pytest.mark.parametrize("bag", ["facets", "inputFacets"])
def test_profile_contains_the_measured_metrics(bag):
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


def test_metrics_without_a_profile_field_are_dataset_properties():
    found = of_input("dataQualityMetrics", BODY)
    properties = found.properties(ORDERS)
    assert properties["dataQualityMetrics.fileCount"] == "5"
    assert properties["dataQualityMetrics.lastUpdated"] == "2023-05-30T10:54:22.355067Z"
    assert properties["dataQualityMetrics.columns"] == '{"amount":{"count":10,"sum":6600}}'


def test_last_updated_sets_last_modified_of_the_dataset():
    modified = of_input("dataQualityMetrics", BODY).patched(ORDERS, "datasetProperties")["/lastModified"]
    assert modified == {"time": 1685444062355, "actor": DATAHUB}


def test_largest_last_update_wins_in_any_order():
    events = [
        event("START", inputs=[orders(facets={"dataQualityMetrics": facet(lastUpdated="2024-01-02T00:00:00Z")})]),
        event(inputs=[orders(facets={"dataQualityMetrics": facet(lastUpdated="2024-01-01T00:00:00Z")})]),
    ]
    for order in (events, events[::-1]):
        assert translate_events(order).patched(ORDERS, "datasetProperties")["/lastModified"]["time"] == 1704153600000


def test_time_that_is_none_is_a_property_alone():
    found = of_input("dataQualityMetrics", facet(rowCount=1, lastUpdated="yesterday"), report=True)
    assert "/lastModified" not in found.patched(ORDERS, "datasetProperties")
    target = "datasetProperties.customProperties[openlineage.dataQualityMetrics.lastUpdated]"
    assert found.outcomes()["$.inputs[0].facets.dataQualityMetrics.lastUpdated"] == ("property", target)
    assert found.properties(ORDERS)["dataQualityMetrics.lastUpdated"] == "yesterday"


def test_columns_are_counted_by_the_schema_alone():
    bag = {"schema": facet(fields=[{"name": name, "type": "int"} for name in "abc"]), "dataQualityMetrics": BODY}
    assert profile(translate_events(pair(inputs=[orders(facets=bag)])))["columnCount"] == 3


def test_great_expectations_metrics_are_used_only_alone():
    both = {"dataQuality": facet(rowCount=9), "dataQualityMetrics": facet(rowCount=10)}
    found = translate_events(pair(inputs=[orders(inputFacets=both)]), report=True)
    assert profile(found)["rowCount"] == 10
    path = "$.inputs[0].inputFacets.dataQuality.rowCount"
    assert found.outcomes()[path] == ("dropped", "duplicate-of:dataQualityMetrics")
    assert profile(of_input("dataQuality", facet(rowCount=9), "inputFacets"))["rowCount"] == 9


def test_numeric_text_is_a_number_and_nulls_are_ignored():
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


def test_dataset_event_writes_its_profile_at_its_own_time():
    found = profile(translate_events(dataset_event(orders(facets={"dataQualityMetrics": facet(rowCount=3)}))))
    assert (found["timestampMillis"], found["rowCount"]) == (END_MS, 3)


def test_metrics_without_a_profile_field_create_no_profile():
    found = of_input("dataQualityMetrics", facet(fileCount=3))
    assert not found.has(ORDERS, "datasetProfile")
    assert found.properties(ORDERS)["dataQualityMetrics.fileCount"] == "3"


@pytest.mark.parametrize("folder", ["DataQualityMetricsDatasetFacet", "DataQualityMetricsInputDatasetFacet"])
def test_specification_s_documents_are_read(folder):
    bag = {"facets" if folder == "DataQualityMetricsDatasetFacet" else "inputFacets": spec(folder)}
    found = profile(translate_events(pair(inputs=[orders(**bag)])))
    assert found["rowCount"] == 10
    assert [one["fieldPath"] for one in found["fieldProfiles"]] == ["amount", "counterparty_id", "user_id"]
    assert found["fieldProfiles"][2] == {
        "fieldPath": "user_id", "uniqueCount": 3, "uniqueProportion": 0.3, "nullCount": 0, "nullProportion": 0.0,
    }  # fmt: skip


def test_client_s_classes_are_read():
    made = data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet(
        rowCount=7,
        columnMetrics={"a": data_quality_metrics_input_dataset.ColumnMetrics(nullCount=1, quantiles={"0.5": 2.0})},
    )
    found = profile(translate_events(client_pair(input_facets={"dataQualityMetrics": made})))
    assert found["rowCount"] == 7
    assert found["fieldProfiles"][0]["median"] == "2"


def test_quantile_of_large_integers_is_exact():
    found = profile(of_input("dataQualityMetrics", facet(columnMetrics={"id": {"quantiles": {"0.5": 2**53 + 1}}})))
    assert found["fieldProfiles"][0]["median"] == str(2**53 + 1)


def test_profile_columns_beyond_the_limit_are_reported():
    columns = {f"c{number:04}": {"nullCount": number, "sum": 1, "quantiles": {"0.5": 1}} for number in range(1001)}
    found = of_input("dataQualityMetrics", facet(columnMetrics=columns), report=True)
    assert len(profile(found)["fieldProfiles"]) == 1000
    where = "$.inputs[0].facets.dataQualityMetrics.columnMetrics"
    outcomes = found.outcomes()
    assert outcomes[f"{where}.c0999.nullCount"][0] == "mapped"
    assert outcomes[f"{where}.c1000.nullCount"] == ("dropped", "too-large")
    assert outcomes[f'{where}.c1000.quantiles["0.5"]'] == ("dropped", "too-large")
    assert outcomes[f"{where}.c1000.sum"][0] == "property"


SECRET = {
    "count": 4,
    "sum": 40,
    "min": 7,
    "max": "hunter2",
    "quantiles": {"0.5": 9},
    "nullCount": 1,
    "distinctCount": 2,
}


@pytest.mark.parametrize("mode", ["default", "strict"])
@pytest.mark.parametrize("column", ["api_key", "login.password", "password.hash"])
def test_values_of_secret_columns_are_not_in_the_profile(column, mode):
    """As the literals that such a column is compared with."""
    body = facet(columnMetrics={column: SECRET, "a": {"min": 7}})
    found = of_input("dataQualityMetrics", body, report=True, redaction=mode)
    shown, hidden = profile(found)["fieldProfiles"]
    assert shown == {"fieldPath": "a", "min": "7"}
    assert hidden == {"fieldPath": column, "uniqueCount": 2, "uniqueProportion": 0.5, "nullCount": 1}
    outcomes = found.outcomes()
    where = "$.inputs[0].facets.dataQualityMetrics.columnMetrics" + (f'["{column}"]' if "." in column else f".{column}")
    for leaf in ("sum", "min", "max", 'quantiles["0.5"]'):
        assert outcomes[f"{where}.{leaf}"] == ("dropped", "secret"), leaf
    for leaf in ("nullCount", "distinctCount", "count"):
        assert outcomes[f"{where}.{leaf}"][1] == "datasetProfile.fieldProfiles", leaf


def test_values_of_secret_columns_are_shown_without_redaction():
    found = profile(of_input("dataQualityMetrics", facet(columnMetrics={"api_key": SECRET}), redaction="off"))
    assert found["fieldProfiles"] == [
        {
            "fieldPath": "api_key", "uniqueCount": 2, "uniqueProportion": 0.5, "nullCount": 1, "min": "7", "max": "hunter2",
            "mean": "10", "median": "9", "quantiles": [{"quantile": "0.5", "value": "9"}],
        }
    ]  # fmt: skip


def test_secret_values_are_masked_and_long_values_truncated():
    signed = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
    body = facet(columnMetrics={"a": {"min": "https://u:hunter2@h/x", "max": signed}, "b": {"max": "z" * 5000}})
    found = of_input("dataQualityMetrics", body, report=True)
    first, second = profile(found)["fieldProfiles"]
    assert first == {"fieldPath": "a", "min": "https://u:***@h/x"}
    assert len(second["max"]) == 4000
    where = "$.inputs[0].facets.dataQualityMetrics.columnMetrics.a"
    assert found.outcomes()[f"{where}.max"] == ("dropped", "secret")
    assert found.outcomes()[f"{where}.min"] == ("mapped", "datasetProfile.fieldProfiles")


@pytest.mark.parametrize("measured", [{"sum": 4}, {"count": 4}, {"min": None}])
def test_column_without_profile_metrics_creates_no_profile(measured):
    found = of_input("dataQualityMetrics", facet(columnMetrics={"a": measured}))
    assert not found.has(ORDERS, "datasetProfile")


def test_columns_without_metrics_do_not_count_towards_the_limit():
    columns = {f"c{number:04}": {} if number < 500 else {"nullCount": number} for number in range(1500)}
    found = of_input("dataQualityMetrics", facet(columnMetrics=columns), report=True)
    assert len(profile(found)["fieldProfiles"]) == 1000
    where = "$.inputs[0].facets.dataQualityMetrics.columnMetrics"
    assert found.outcomes()[f"{where}.c1499.nullCount"][0] == "mapped"


def test_empty_last_updated_and_unnamed_columns_are_ignored():
    found = of_input(
        "dataQualityMetrics", facet(lastUpdated="", columnMetrics={"": {"min": 1, "sum": 2, "count": 1}}), report=True
    )
    assert not found.has(ORDERS, "datasetProfile")
    assert not any(key.startswith("dataQualityMetrics") for key in found.properties(ORDERS))
    where = "$.inputs[0].facets.dataQualityMetrics."
    assert found.outcomes()[f"{where}lastUpdated"] == ("dropped", "empty")
    assert found.outcomes()[f'{where}columnMetrics[""].min'] == ("dropped", "malformed")
    assert found.outcomes()[f'{where}columnMetrics[""].sum'] == ("dropped", "malformed")


def test_quantile_with_two_spellings_has_one_value():
    def measured(**quantiles):
        return facet(columnMetrics={"a": {"quantiles": quantiles}})

    both = of_input("dataQualityMetrics", measured(**{"25%": 1, "0.25": 2, "25": 3}), report=True)
    assert profile(both)["fieldProfiles"][0]["quantiles"] == [{"quantile": "0.25", "value": "2"}]
    where = "$.inputs[0].facets.dataQualityMetrics.columnMetrics.a.quantiles"
    assert both.outcomes()[f"{where}.25%"] == both.outcomes()[f"{where}.25"] == ("dropped", "duplicate-of:0.25")
    for earlier, later in (("25%", "0.25"), ("0.25", "25%")):
        start = event("START", inputs=[orders(facets={"dataQualityMetrics": measured(**{earlier: 1})})])
        end = event(inputs=[orders(facets={"dataQualityMetrics": measured(**{later: 2})})])
        assert profile(translate_events(start, end))["fieldProfiles"][0]["quantiles"] == [
            {"quantile": "0.25", "value": "2"}
        ]


def test_column_with_two_spellings_uses_the_first_metrics():
    table = {"namespace": "snowflake://acct", "name": "DB.S.T"}
    for columns in ({"ID": {"sum": 1, "min": 1}, "id": {"count": 2}}, {"id": {"count": 2}, "ID": {"sum": 1, "min": 1}}):
        bag = {"dataQualityMetrics": facet(columnMetrics=columns)}
        found = translate_events(pair(inputs=[{**table, "facets": bag}]), report=True)
        (urn,) = found.entities("dataset")
        assert profile(found, urn)["fieldProfiles"] == [{"fieldPath": "id", "min": "1"}]
        assert found.properties(urn)["dataQualityMetrics.columns"] == '{"id":{"sum":1}}'
        where = "$.inputs[0].facets.dataQualityMetrics.columnMetrics"
        assert found.outcomes()[f"{where}.id.count"] == ("dropped", "duplicate-of:columnMetrics.ID")


def test_quantiles_are_limited_to_1000_plus_the_median():
    quantiles = {f"{number / 4000}": number for number in range(2001)}
    found = of_input("dataQualityMetrics", facet(columnMetrics={"a": {"quantiles": quantiles}}), report=True)
    (column,) = profile(found)["fieldProfiles"]
    assert (len(column["quantiles"]), column["median"]) == (1000, "2000")
    where = "$.inputs[0].facets.dataQualityMetrics.columnMetrics.a.quantiles"
    outcomes = found.outcomes()
    assert outcomes[f'{where}["0.24975"]'][0] == outcomes[f'{where}["0.5"]'][0] == "mapped"
    assert outcomes[f'{where}["0.25"]'] == ("dropped", "too-large")
