"""Checks reported from Python: the examples of DataHub's page, the same checks from OpenLineage, every field of a result."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from uuid import UUID

import pytest

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.datahub.search_texts import cut_text
from dh_bridge.errors import AspectError, EventError
from dh_bridge.sdk import Freshness
from dh_bridge.sinks.catalog import CatalogSink

GUID = "432475190cc846f2894b5b3aa4d55af2"
CHECK = f"urn:li:assertion:{GUID}"
BAZ = "urn:li:dataset:(urn:li:dataPlatform:postgres,bazTable,PROD)"
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,prod),load)"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
PAIR = ("postgres://db:5432", "shop.public.orders")
PROFILES = ["0.15.0", "1.7"]
RESULT = "assertionRunEvent"
FULL_TABLE = {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"}


def between(one, **stated):
    """Say the check of the page's example."""
    return one.pipeline.assertion(
        BAZ, "expect_column_max_to_be_between", column="col1", min=89, max=99,
        platform="great-expectations", suite="demo_suite", **{"id": GUID, **stated},
    )  # fmt: skip


def three_results(check):
    for success, actual, partition in (
        (True, 90, [{"country": "IN"}]),
        (False, 101, [{"country": "US"}]),
        (True, 93, None),
    ):
        check.report(
            success=success,
            actual=actual,
            partition=partition,
            run_id="uuid1",
            url="http://example.com/uuid1",
            time=1000,
        )


def test_first_example_of_the_page_yields_the_same_assertion(record_pipeline):
    one = record_pipeline()
    assert between(one).urn == CHECK
    assert one.last(CHECK, "assertionInfo") == {
        "customProperties": {"suite_name": "demo_suite"},
        "type": "DATASET",
        "datasetAssertion": {
            "dataset": BAZ,
            "scope": "DATASET_COLUMN",
            "fields": [f"urn:li:schemaField:({BAZ},col1)"],
            "aggregation": "MAX",
            "operator": "BETWEEN",
            "parameters": {
                "maxValue": {"value": "99", "type": "NUMBER"},
                "minValue": {"value": "89", "type": "NUMBER"},
            },
            "nativeType": "expect_column_max_to_be_between",
            "nativeParameters": {"max_value": "99", "min_value": "89"},
        },
        "source": {"type": "EXTERNAL"},
    }
    assert one.last(CHECK, "dataPlatformInstance") == {"platform": "urn:li:dataPlatform:great-expectations"}


def test_second_example_of_the_page_yields_the_same_results(record_pipeline):
    one = record_pipeline()
    three_results(between(one))
    ends = [
        ("SUCCESS", 90.0, '[{"country": "IN"}]'),
        ("FAILURE", 101.0, '[{"country": "US"}]'),
        ("SUCCESS", 93.0, None),
    ]
    points = one.aspects(CHECK, RESULT)
    assert points == [
        {
            "timestampMillis": 1000,
            "runId": "uuid1",
            "asserteeUrn": BAZ,
            "status": "COMPLETE",
            "result": {"type": end, "actualAggValue": actual, "externalUrl": "http://example.com/uuid1"},
            "assertionUrn": CHECK,
            "partitionSpec": {"partition": partition, "type": "PARTITION"} if partition else FULL_TABLE,
            "messageId": points[0]["messageId"],
        }
        for end, actual, partition in ends
    ]


def test_three_results_of_one_moment_are_all_kept():
    with Catalog(":memory:") as catalog:
        bridge = Bridge(sink=CatalogSink(catalog))
        check = bridge.assertion(BAZ, "row_count", min=1, id=GUID)
        three_results(check)
        three_results(check)
        retained = {
            (point["partitionSpec"]["partition"], point["result"]["type"])
            for point in catalog.timeseries(CHECK, RESULT)
        }
        assert len(catalog.timeseries(CHECK, RESULT)) == 3, "the second report overwrites"
        assert retained == {
            ('[{"country": "IN"}]', "SUCCESS"),
            ('[{"country": "US"}]', "FAILURE"),
            ("FULL_TABLE_SNAPSHOT", "SUCCESS"),
        }


def of_openlineage(actual, country=None):
    """Return an input with the check of the page's example, of one country or of the whole table."""
    check = {
        "assertion": "expect_column_max_to_be_between", "column": "col1", "success": 89 <= actual <= 99, "actual": str(actual),
        "params": {"min_value": 89, "max_value": 99},
    }  # fmt: skip
    facets = {"dataQualityAssertions": {"assertions": [check]}}
    if country is not None:
        condition = {"type": "partition", "partitions": [{"dimensions": {"country": country}}]}
        facets["subset"] = {"inputCondition": condition}
    return {"namespace": "postgres://db:5432", "name": "bazTable", "inputFacets": facets}


def test_same_three_results_from_openlineage_are_the_same(record_pipeline):
    one = record_pipeline()
    check = between(one, id=None)
    three_results(check)
    event = {
        "eventTime": "1970-01-01T00:00:01Z", "eventType": "COMPLETE",
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.0.0/integration/common/openlineage/provider/great_expectations",
        "run": {"runId": "018cc251-f400-7662-b080-b72299e0a86b"}, "job": {"namespace": "ge", "name": "suite"},
        "inputs": [of_openlineage(90, "IN"), of_openlineage(101, "US"), of_openlineage(93)],
    }  # fmt: skip
    found = [proposal for proposal in Bridge().translate(event).proposals if proposal.aspect_name == RESULT]
    assert {proposal.entity_urn for proposal in found} == {check.urn}

    def essence(point):
        partition = point["partitionSpec"]["partition"]
        where = json.loads(partition) if partition.startswith("[") else partition
        result = point["result"]
        return point["timestampMillis"], point["asserteeUrn"], result["type"], result["actualAggValue"], str(where)

    wanted = sorted(essence(point) for point in one.aspects(check.urn, RESULT))
    assert len(set(wanted)) == 3
    assert sorted(essence(proposal.value) for proposal in found) == wanted


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("kind", "stated"),
    [
        ("expect_column_max_to_be_between", {"column": "col1", "min_value": 89, "max_value": 99}),
        ("expect_column_values_to_not_be_null", {"column": "Col1", "mostly": 0.9}),
        ("expect_table_row_count_to_equal", {"value": 4}),
        ("expect_column_values_to_be_in_set", {"column": "col1", "value_set": ["a", "b"]}),
        ("expect_something_of_ours", {}),
    ],
)
def test_same_check_from_openlineage_is_the_same_entity(record_pipeline, profile, kind, stated):
    one = record_pipeline(datahub_version=profile)
    check = one.pipeline.assertion(PAIR, kind, platform="great-expectations", **stated)
    params = {key: value for key, value in stated.items() if key != "column"}
    entry = {
        "assertion": kind,
        "success": True,
        "params": params,
        **({"column": stated["column"]} if "column" in stated else {}),
    }
    event = {
        "eventTime": "2023-11-14T22:13:20Z", "eventType": "COMPLETE",
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.0.0/integration/common/openlineage/provider/great_expectations",
        "run": {"runId": "018cc251-f400-7662-b080-b72299e0a86b"}, "job": {"namespace": "ge", "name": "suite"},
        "inputs": [
            {"namespace": PAIR[0], "name": PAIR[1], "inputFacets": {"dataQualityAssertions": {"assertions": [entry]}}}
        ],
    }  # fmt: skip
    found = Bridge(Settings(datahub_version=profile)).translate(event).proposals
    (info,) = [proposal for proposal in found if proposal.aspect_name == "assertionInfo"]
    assert info.entity_urn == check.urn
    (dataset_properties,) = [proposal for proposal in one.sink.proposals if proposal.aspect_name == "datasetProperties"]
    assert dataset_properties in found, "the dataset is made known alike"
    facet = {"openlineage.facet": "dataQualityAssertions"}
    assert {**info.value, "customProperties": {}} == {**one.last(check.urn, "assertionInfo"), "customProperties": {}}
    assert info.value["customProperties"] == facet, "which nobody needs who reports it here"


@pytest.mark.parametrize("profile", PROFILES)
def test_every_aspect_is_one_for_datahub(record_pipeline, profile):
    one = record_pipeline(datahub_version=profile)
    check = between(
        one, name="max of col1", description="in bounds", url="http://example.com", properties={"team": "data"}
    )
    check.report(
        success=False, actual=101.5, run_id="r", partition="p", url="http://x/1", rows=5, missing=1, unexpected=2,
        severity="warn", batch={"id": "b", "query": "select 1", "limit": 10, "properties": {"n": 1}},
        context={"suite": "demo", "tries": 2}, results={"partial": [1, 2]},
    )  # fmt: skip
    check.report(error="Connection refused", where="country = 'IN'")
    one.assert_sound()


def test_every_field_of_a_result_can_be_set(record_pipeline):
    one = record_pipeline(datahub_version="1.7")
    between(one).report(
        success=False, actual=101.5, run_id="r", partition="p", url="http://x/1", rows=5, missing=1, unexpected=2,
        severity="warn", batch={"id": {"asset": "orders"}, "query": "select 1", "limit": 10, "properties": {"n": 1}},
        context={"suite": "demo", "password": "x"}, results={"partial": [1, 2], "none": None}, time=5,
    )  # fmt: skip
    event = one.last(CHECK, RESULT)
    assert event["result"] == {
        "type": "FAILURE",
        "severity": "LOW",
        "rowCount": 5,
        "missingCount": 1,
        "unexpectedCount": 2,
        "actualAggValue": 101.5,
        "nativeResults": {"partial": "[1,2]"},
        "externalUrl": "http://x/1",
    }
    assert event["batchSpec"] == {
        "customProperties": {"n": "1"},
        "nativeBatchId": '{"asset":"orders"}',
        "query": "select 1",
        "limit": 10,
    }
    assert event["runtimeContext"] == {"password": "[REDACTED]", "suite": "demo"}
    assert event["timestampMillis"] == 5


@pytest.mark.parametrize("profile", ["1.4", "1.5"])
def test_severity_is_a_native_result_on_older_servers(record_pipeline, profile):
    one = record_pipeline(datahub_version=profile)
    between(one).report(success=False, severity="warn")
    assert one.last(CHECK, RESULT)["result"] == {"type": "FAILURE", "nativeResults": {"severity": "warn"}}


def test_error_does_not_replace_a_native_result_of_its_name(record_pipeline):
    one = record_pipeline()
    between(one).report(error="no such table", results={"error": "E1"})
    native = one.last(CHECK, RESULT)["result"]["nativeResults"]
    assert native == {"error": "E1", "error.message": "no such table"}


def test_error_is_among_the_native_results_that_datahub_shows(record_pipeline):
    one = record_pipeline(datahub_version="1.7")
    between(one).report(error="no such table", results={"rows": 0}, url="http://x/1")
    result = one.last(CHECK, RESULT)["result"]
    assert result["nativeResults"] == {"error": "no such table", "rows": "0"}
    assert list(result) == ["type", "nativeResults", "externalUrl", "error"]
    between(one).report(error="no such table")
    assert one.last(CHECK, RESULT)["result"]["nativeResults"] == {"error": "no such table"}


def test_description_that_the_search_index_does_not_take_is_cut(record_pipeline):
    one = record_pipeline(datahub_version="1.7")
    between(one, description="x" * 40_000)
    assert one.last(CHECK, "assertionInfo")["description"] == cut_text("x" * 40_000)


@pytest.mark.parametrize("actual", ["many", [1, 2], 1e300, True, {"a": 1}])
def test_non_numeric_actual_value_is_a_native_result(record_pipeline, actual):
    one = record_pipeline()
    between(one).report(success=True, actual=actual)
    result = one.last(CHECK, RESULT)["result"]
    assert "actualAggValue" not in result
    assert result["nativeResults"]["actual"]


def test_result_without_a_run_has_the_moment_for_its_run(record_pipeline):
    one = record_pipeline()
    between(one).report(success=True)
    assert (one.last(CHECK, RESULT)["runId"], one.last(CHECK, RESULT)["timestampMillis"]) == (
        "1700000000000",
        1700000000000,
    )


@pytest.mark.parametrize(
    ("error", "kind", "properties"),
    [
        ("Connection refused", "SOURCE_CONNECTION_ERROR", {"message": "Connection refused"}),
        ("who knows", "UNKNOWN_ERROR", {"message": "who knows"}),
        (("INSUFFICIENT_DATA", "who knows"), "INSUFFICIENT_DATA", {"message": "who knows"}),
        (
            TypeError("missing 1 required positional argument: 'x'"),
            "INVALID_PARAMETERS",
            {"exception": "TypeError", "message": "TypeError: missing 1 required positional argument: 'x'"},
        ),
    ],
)
def test_assertion_that_fails_to_run_is_an_error_with_its_type(record_pipeline, error, kind, properties):
    one = record_pipeline()
    between(one).report(error=error)
    assert one.last(CHECK, RESULT)["result"] == {
        "type": "ERROR",
        "nativeResults": {"error": properties["message"]},
        "error": {"type": kind, "properties": properties},
    }


def test_error_of_no_known_type_is_refused(record_pipeline):
    one = record_pipeline()
    check = between(one)
    with pytest.raises(AspectError, match="error"):
        check.report(error=("BAD_LUCK", "x"))
    assert one.aspects(CHECK, RESULT) == []


# -- which rows were looked at -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["row_condition", "where", "filter"])
def test_check_of_some_rows_has_results_of_those_rows(record_pipeline, key):
    one = record_pipeline()
    check = one.pipeline.assertion(BAZ, "row_count", min=1, **{key: "country = 'IN'"})
    check.report(success=True)
    assert one.last(check.urn, RESULT)["partitionSpec"] == {"partition": "country = 'IN'", "type": "QUERY"}
    assert one.last(check.urn, "assertionInfo")["datasetAssertion"]["nativeParameters"][key] == "country = 'IN'"
    check.report(success=True, partition=["p"])
    assert one.last(check.urn, RESULT)["partitionSpec"] == {"partition": '["p"]', "type": "PARTITION"}


def test_result_of_selected_rows_has_a_query_partition(record_pipeline):
    one = record_pipeline()
    between(one).report(success=True, where="country = 'IN'")
    assert one.last(CHECK, RESULT)["partitionSpec"] == {"partition": "country = 'IN'", "type": "QUERY"}


# -- what a check is ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "label"), [("dbt", "dbt Test"), ("great-expectations", "Great Expectations"), ("soda", "soda check")]
)
def test_from_1_7_a_check_is_shown_as_one_of_its_platform(record_pipeline, platform, label):
    one = record_pipeline(datahub_version="1.7")
    check = one.pipeline.assertion(BAZ, "not_null", column="id", platform=platform)
    info = one.last(check.urn, "assertionInfo")
    assert (info["type"], info["customAssertion"]["type"]) == ("CUSTOM", label)


@pytest.mark.parametrize("given", [GUID, CHECK])
def test_id_may_be_a_guid_or_a_urn(record_pipeline, given):
    assert record_pipeline().pipeline.assertion(BAZ, "row_count", id=given).urn == CHECK


def test_instance_of_the_platform_is_part_of_the_check(record_pipeline):
    one = record_pipeline()
    west = one.pipeline.assertion(BAZ, "row_count", platform="dbt", instance="west")
    assert west.urn != one.pipeline.assertion(BAZ, "row_count", platform="dbt").urn
    assert one.last(west.urn, "dataPlatformInstance") == {
        "platform": "urn:li:dataPlatform:dbt",
        "instance": "urn:li:dataPlatformInstance:(urn:li:dataPlatform:dbt,west)",
    }


def test_without_a_platform_a_check_is_of_the_default_one(record_pipeline):
    one = record_pipeline()
    check = one.pipeline.assertion(BAZ, "row_count", value={3, 1})
    assert one.last(check.urn, "dataPlatformInstance") == {"platform": "urn:li:dataPlatform:openlineage"}
    assert one.last("urn:li:dataPlatform:openlineage", "dataPlatformInfo")["name"] == "openlineage"
    assert one.last(check.urn, "assertionInfo")["datasetAssertion"]["nativeParameters"] == {"value": "[1,3]"}


def test_logic_of_a_check_is_kept(record_pipeline):
    one = record_pipeline()
    check = one.pipeline.assertion(PAIR, "custom_sql", logic="select 1 where false")
    assert one.last(check.urn, "assertionInfo")["datasetAssertion"]["logic"] == "select 1 where false"


# -- what cannot be used -----------------------------------------------------------------------------------------------


def test_results_are_of_datasets_only(record_pipeline):
    one = record_pipeline()
    check = one.pipeline.assertion(JOB, Freshness(cron="0 8 * * *"))
    with pytest.raises(AspectError, match="is not a dataset"):
        check.report(success=True)


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"success": True, "error": "x"},
        {"success": True, "partition": "p", "where": "x = 1"},
        {"success": True, "rows": -1},
        {"success": True, "missing": 1.5},
        {"success": True, "unexpected": True},
        {"success": True, "severity": "awful"},
        {"success": True, "batch": {"size": 3}},
        {"success": "failed"},
        {"success": True, "time": datetime(2024, 1, 1, tzinfo=timezone.utc)},
        {"success": True, "time": 1.5},
    ],
)
def test_report_that_makes_no_sense_is_refused(record_pipeline, stated):
    one = record_pipeline()
    check = between(one)
    with pytest.raises(EventError) as caught:
        check.report(**stated)
    assert caught.value.remedy
    assert one.aspects(CHECK, RESULT) == []


@pytest.mark.parametrize("batch", [{"limit": "ten"}, {"limit": 2**31}])
def test_limit_that_is_no_number_is_refused_by_the_schema(record_pipeline, batch):
    with pytest.raises(AspectError, match="limit"):
        between(record_pipeline()).report(success=True, batch=batch)


def test_run_of_a_result_may_be_any_id(record_pipeline):
    one = record_pipeline()
    for run_id in (UUID(int=7), one.pipeline.run(("nightly", "shop.check"), run_id=UUID(int=7))):
        between(one).report(success=True, run_id=run_id)
        assert one.last(CHECK, RESULT)["runId"] == str(UUID(int=7))


def test_batch_may_be_its_id_alone(record_pipeline):
    one = record_pipeline()
    between(one).report(success=True, batch="b1")
    assert one.last(CHECK, RESULT)["batchSpec"] == {"customProperties": {}, "nativeBatchId": "b1"}


@pytest.mark.parametrize("ref", [JOB, "urn:li:tag:x", ("a",)])
def test_named_check_is_one_of_a_dataset(record_pipeline, ref):
    with pytest.raises(EventError):
        record_pipeline().pipeline.assertion(ref, "not_null", column="id")


def test_assertion_that_datahub_would_reject_is_refused(record_pipeline):
    with pytest.raises(AspectError, match="entityUrn"):
        record_pipeline().pipeline.assertion(BAZ, "not_null", id="a" * 600)


def test_proposals_are_plain_json(record_pipeline):
    one = record_pipeline()
    three_results(between(one))
    for proposal in one.sink.proposals:
        again = json.loads(json.dumps(proposal.value, allow_nan=False))
        assert upsert(proposal.entity_type, proposal.entity_urn, proposal.aspect_name, again) == proposal
