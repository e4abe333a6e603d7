"""Checkpoints of Great Expectations 1.x: their results as its objects hold them, and a real checkpoint where it is installed."""

from __future__ import annotations

from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
from realparts.process import free_port

from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sdk import Pipeline
from dh_bridge.sdk.checkpoints import report_checkpoint

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
TIME = datetime(2024, 1, 1, tzinfo=timezone.utc)
RESULT = "assertionRunEvent"


def expectation(
    kind="expect_column_max_to_be_between", *, success=True, result=None, info=None, severity=None, **kwargs
):
    config = SimpleNamespace(
        type=kind, kwargs={"batch_id": "shop-orders", **kwargs}, description="in bounds",
        severity=SimpleNamespace(value=severity) if severity else None,
    )  # fmt: skip
    return SimpleNamespace(success=success, expectation_config=config, result=result, exception_info=info)


def checkpoint(*results, run_name="nightly-1", identifiers=None, **meta):
    definition = {"datasource_name": "shop", "data_asset_name": "orders", "batch_identifiers": identifiers or {}}
    suite = SimpleNamespace(
        suite_name="demo_suite", asset_name="orders", batch_id="shop-orders", result_url="https://gx.example/1",
        results=list(results), meta={"active_batch_definition": definition, **meta},
    )  # fmt: skip
    return SimpleNamespace(
        run_id=SimpleNamespace(run_name=run_name, run_time=TIME),
        run_results={"key": suite},
        checkpoint_config=SimpleNamespace(name="nightly"),
    )


def report_results(one, *results, datasets=None, **stated):
    return report_checkpoint(one.pipeline, checkpoint(*results, **stated), datasets or {"orders": ORDERS})


def only(one, aspect):
    (found,) = [proposal.value for proposal in one.sink.proposals if proposal.aspect_name == aspect]
    return found


def test_expectation_equals_the_openlineage_assertion(record_pipeline):
    one = record_pipeline(datahub_version="1.7")
    failed = expectation(
        column="amount",
        min_value=89.0,
        max_value=99.0,
        success=False,
        severity="critical",
        result={"observed_value": "101"},
    )
    assert report_results(one, failed) == 1
    (check,) = {proposal.entity_urn for proposal in one.sink.proposals}
    same = one.pipeline.assertion(
        ORDERS, "expect_column_max_to_be_between", column="amount", min=89.0, max=99.0, platform="great-expectations"
    )
    assert check == same.urn
    info = one.aspects(check, "assertionInfo")[0]
    assert info["customProperties"] == {"suite_name": "demo_suite"}
    assert info["description"] == "in bounds"
    event = only(one, RESULT)
    assert event["result"] == {
        "type": "FAILURE",
        "severity": "HIGH",
        "actualAggValue": 101.0,
        "externalUrl": "https://gx.example/1",
    }
    assert (event["runId"], event["timestampMillis"]) == ("nightly-1", 1704067200000)
    assert event["runtimeContext"] == {"checkpoint": "nightly", "suite": "demo_suite"}
    assert event["batchSpec"] == {
        "customProperties": {"data_asset_name": "orders", "datasource_name": "shop"},
        "nativeBatchId": "shop-orders",
    }
    one.assert_sound()


def test_counts_are_sent_without_the_unexpected_values(record_pipeline):
    one = record_pipeline()
    found = {
        "element_count": 9, "missing_count": 1, "unexpected_count": 2, "unexpected_percent": 22.2,
        "partial_unexpected_list": ["ann@example.com"],
    }  # fmt: skip
    report_results(
        one,
        expectation("expect_column_values_to_be_in_set", column="mail", value_set=["x"], success=False, result=found),
    )
    result = only(one, RESULT)["result"]
    assert (result["rowCount"], result["missingCount"], result["unexpectedCount"]) == (9, 1, 2)
    assert result["nativeResults"] == {"unexpected_percent": "22.2"}
    assert "ann@" not in str([proposal.value for proposal in one.sink.proposals])


@pytest.mark.parametrize(
    "info",
    [
        {"raised_exception": True, "exception_message": "Connection refused", "exception_traceback": "…"},
        {
            "a metric": {"raised_exception": False},
            "another": {"raised_exception": True, "exception_message": "Connection refused"},
        },
    ],
)
def test_exception_is_an_error_with_its_type(record_pipeline, info):
    one = record_pipeline()
    report_results(one, expectation(column="amount", success=False, info=info, severity="warning"))
    assert only(one, RESULT)["result"] == {
        "type": "ERROR",
        "nativeResults": {"error": "Connection refused", "severity": "warning"},
        "externalUrl": "https://gx.example/1",
        "error": {"type": "SOURCE_CONNECTION_ERROR", "properties": {"message": "Connection refused"}},
    }


@pytest.mark.parametrize("condition", ["amount > 1", {"type": "pass_through", "pass_through_filter": "amount > 1"}])
def test_row_condition_is_the_query_partition(record_pipeline, condition):
    one = record_pipeline()
    report_results(one, expectation("expect_table_row_count_to_equal", value=1, row_condition=condition))
    assert only(one, RESULT)["partitionSpec"] == {"partition": "amount > 1", "type": "QUERY"}


@pytest.mark.parametrize(
    ("condition", "predicate"),
    [
        ({"type": "comparison", "column": {"name": "amount"}, "operator": ">", "parameter": 1}, "amount > 1"),
        (
            {"type": "comparison", "column": {"name": "c"}, "operator": "NOT_IN", "parameter": ["IN", "O'S"]},
            "c NOT IN ('IN', 'O''S')",
        ),
        (
            {
                "type": "or",
                "conditions": [
                    {"type": "nullity", "column": {"name": "c"}, "is_null": True},
                    {"type": "nullity", "column": {"name": "d"}, "is_null": False},
                ],
            },
            "(c IS NULL) OR (d IS NOT NULL)",
        ),
    ],
)
def test_condition_object_is_the_query_partition(record_pipeline, condition, predicate):
    one = record_pipeline()
    report_results(one, expectation("expect_table_row_count_to_equal", value=1, row_condition=condition))
    assert only(one, RESULT)["partitionSpec"] == {"partition": predicate, "type": "QUERY"}
    assert only(one, "assertionInfo")["datasetAssertion"]["nativeParameters"]["row_condition"] == predicate


def test_condition_of_a_kind_to_come_is_kept_as_it_is(record_pipeline):
    one = record_pipeline()
    report_results(one, expectation("expect_table_row_count_to_equal", value=1, row_condition={"type": "fuzzy"}))
    info = only(one, "assertionInfo")["datasetAssertion"]
    assert info["nativeParameters"]["row_condition"] == '{"type":"fuzzy"}'


def test_counts_of_values_that_differ_are_no_counts_of_rows(record_pipeline):
    one = record_pipeline()
    found = {"observed_value": None, "unexpected_count": 3, "missing_count": 1, "partial_missing_list": ["DE"]}
    report_results(
        one, expectation("expect_column_distinct_values_to_equal_set", column="c", success=False, result=found)
    )
    result = only(one, RESULT)["result"]
    assert not {"missingCount", "unexpectedCount"} & result.keys()
    assert result["nativeResults"] == {"missing_count": "1", "unexpected_count": "3"}


def test_numpy_and_pandas_values_are_converted(record_pipeline):
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    one = record_pipeline()
    found = {
        "observed_value": pandas.Timestamp("2024-03-02"), "element_count": numpy.int64(9),
        "unexpected_percent": numpy.float64(22.5),
    }  # fmt: skip
    report_results(
        one, expectation(column="day", min_value=pandas.Timestamp("2024-01-01"), max_value=None, result=found)
    )
    info = only(one, "assertionInfo")["datasetAssertion"]
    assert info["parameters"] == {"value": {"value": "2024-01-01T00:00:00", "type": "STRING"}}
    result = only(one, RESULT)["result"]
    assert result["rowCount"] == 9
    assert result["nativeResults"] == {"actual": "2024-03-02T00:00:00", "unexpected_percent": "22.5"}


def test_values_of_a_secret_column_are_hidden(record_pipeline):
    one = record_pipeline()
    found = {"observed_value": ["hunter2"], "element_count": 4}
    report_results(
        one, expectation("expect_column_values_to_be_in_set", column="password", value_set=["hunter2"], result=found)
    )
    assert "hunter2" not in str([proposal.value for proposal in one.sink.proposals])
    assert only(one, RESULT)["result"]["nativeResults"] == {"actual": "[REDACTED]"}
    assert only(one, RESULT)["result"]["rowCount"] == 4


def test_non_null_proportion_is_sent_as_a_null_proportion(record_pipeline):
    one = record_pipeline()
    kind = "expect_column_proportion_of_non_null_values_to_be_between"
    report_results(one, expectation(kind, column="c", min_value=0.9, success=False, result={"observed_value": 0.75}))
    info = only(one, "assertionInfo")["datasetAssertion"]
    assert (info["operator"], info["parameters"]["value"]["value"]) == ("LESS_THAN_OR_EQUAL_TO", "0.1")
    result = only(one, RESULT)["result"]
    assert (result["actualAggValue"], result["nativeResults"]) == (0.25, {"actual": "0.75"})


def test_batch_of_a_partition_has_a_partition_spec(record_pipeline):
    one = record_pipeline()
    report_results(one, expectation(column="amount"), identifiers={"year": "2024", "dataframe": "<DATAFRAME>"})
    assert only(one, RESULT)["partitionSpec"] == {"partition": '[{"year": "2024"}]', "type": "PARTITION"}


def test_query_and_limit_of_a_batch_are_kept(record_pipeline):
    one = record_pipeline()
    report_results(one, expectation(column="amount"), batch_spec={"query": "select 1", "limit": 10})
    batch = only(one, RESULT)["batchSpec"]
    assert (batch["query"], batch["limit"]) == ("select 1", 10)
    assert only(one, RESULT)["partitionSpec"] == {"partition": "select 1", "type": "QUERY"}


def test_checkpoint_without_a_run_name_uses_its_time(record_pipeline):
    one = record_pipeline()
    report_results(one, expectation(column="amount"), run_name=None, active_batch_definition=None)
    assert only(one, RESULT)["runId"] == "2024-01-01T00:00:00+00:00"


def test_asset_may_be_named_with_its_source(record_pipeline):
    one = record_pipeline()
    assert report_results(
        one, expectation(column="amount"), datasets={"orders": "hive/other.orders", "shop/orders": ORDERS}
    )
    assert only(one, RESULT)["asserteeUrn"] == ORDERS


def test_asset_without_a_dataset_is_refused_before_sending(record_pipeline):
    one = record_pipeline()
    with pytest.raises(SettingsError, match="orders"):
        report_results(one, expectation(column="amount"), datasets={"customers": ORDERS})
    assert one.sink.proposals == []


def test_asset_without_a_dataset_is_a_warning_if_configured():
    pipeline = Pipeline(sink="memory:", on_error="warn")
    found = checkpoint(expectation(column="amount"))
    with pytest.warns(RuntimeWarning, match=r"demo_suite: not sent.*'orders'"):
        assert report_checkpoint(pipeline, found, {}) == 0
    with pytest.warns(RuntimeWarning, match="not sent: dataset: 'orders' is not the name of a dataset"):
        assert report_checkpoint(pipeline, found, {"orders": "orders"}) == 0


@pytest.mark.parametrize("on_error", ["raise", "warn"])
def test_unavailable_server_fails_a_checkpoint_only_if_set(monkeypatch, on_error):
    monkeypatch.setenv("GX_ANALYTICS_ENABLED", "False")
    pytest.importorskip("great_expectations", reason="pip install 'dh-bridge[great-expectations]' (Python < 3.14)")
    from dh_bridge.sdk.great_expectations import DataHubAction  # noqa: PLC0415 - needs the package

    action = DataHubAction(
        name="tell", sink=f"rest:http://127.0.0.1:{free_port()}", datasets={"orders": ORDERS}, on_error=on_error,
        settings={"datahub_version": "1.7", "rest": {"retries": 0}},
    )  # fmt: skip
    result = checkpoint(expectation(column="amount"))
    if on_error == "raise":
        with pytest.raises(SinkError):
            action.run(result)
        return
    with pytest.warns(RuntimeWarning) as found:
        assert action.run(result) == {"reported": 1}
    assert "3 proposals lost" in str(found[-1].message)


def test_settings_of_the_action_are_a_mapping_as_everywhere(monkeypatch):
    monkeypatch.setenv("GX_ANALYTICS_ENABLED", "False")
    pytest.importorskip("great_expectations", reason="pip install 'dh-bridge[great-expectations]' (Python < 3.14)")
    from dh_bridge.sdk.great_expectations import DataHubAction  # noqa: PLC0415 - needs the package

    stated = {"name": "tell", "sink": "memory:", "datasets": {"orders": ORDERS}}
    result = checkpoint(expectation(column="amount"))
    assert DataHubAction(**stated, settings={"assertions.type": "dataset", "datahub_version": "1.7"}).run(result) == {
        "reported": 1
    }
    with pytest.raises(SettingsError, match="did you mean `datahub_version`"):
        DataHubAction(**stated, settings={"datahub_versio": "1.7"}).run(result)


def test_real_checkpoint_sends_its_expectations(tmp_path, monkeypatch):
    monkeypatch.setenv("GX_ANALYTICS_ENABLED", "False")  # it would call home
    gx = pytest.importorskip("great_expectations", reason="pip install 'dh-bridge[great-expectations]' (Python < 3.14)")
    pandas = pytest.importorskip("pandas")
    from dh_bridge.sdk.great_expectations import DataHubAction  # noqa: PLC0415 - needs the package

    context = gx.get_context(mode="ephemeral")
    batch = (
        context.data_sources.add_pandas("shop")
        .add_dataframe_asset("orders")
        .add_batch_definition_whole_dataframe("all")
    )
    suite = context.suites.add(gx.ExpectationSuite("demo_suite"))
    expectations = gx.expectations
    suite.add_expectation(expectations.ExpectColumnMaxToBeBetween(column="amount", min_value=89, max_value=99))
    suite.add_expectation(expectations.ExpectColumnValuesToNotBeNull(column="country", mostly=0.5))
    suite.add_expectation(expectations.ExpectColumnMinToBeBetween(column="nope", min_value=1))
    definition = context.validation_definitions.add(gx.ValidationDefinition(name="v", data=batch, suite=suite))
    file = tmp_path / "shop.db"
    action = DataHubAction(
        name="tell", sink=f"catalog:{file}", datasets={"orders": ORDERS}, settings={"datahub_version": "1.7"}
    )
    nightly = context.checkpoints.add(
        gx.Checkpoint(name="nightly", validation_definitions=[definition], actions=[action])
    )
    frame = pandas.DataFrame({"amount": [90, 101], "country": ["IN", None]})
    assert not nightly.run(batch_parameters={"dataframe": frame}).success
    with Catalog(file, readonly=True) as catalog:
        ended = {}
        for check in catalog.entities("assertion"):
            native = catalog.aspect(check, "assertionInfo")["customAssertion"]["nativeType"]
            (point,) = catalog.timeseries(check, RESULT)
            ended[native] = point["result"]["type"]
    assert ended == {
        "expect_column_max_to_be_between": "FAILURE",
        "expect_column_values_to_not_be_null": "SUCCESS",
        "expect_column_min_to_be_between": "ERROR",
    }
