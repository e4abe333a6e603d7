"""assertionInfo and assertionRunEvent: what DataHub's SDK would write, accepted by every profile."""

from __future__ import annotations

import json
import warnings
from functools import cache, partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sample_events import SOURCES, documents
from support.value_tables import TABLES, document

from dh_bridge import assertions
from dh_bridge.assertions import Check, assertion_platform, batch_spec, check_partition, run_event
from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.proposal import upsert
from dh_bridge.datahub.validation import validator

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    sdk = pytest.importorskip("datahub.metadata.schema_classes", reason="needs acryl-datahub (extra: dev)")
    from datahub.emitter.serialization_helper import post_json_transform, pre_json_transform

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
OLD, NEW = profile("0.15.0"), profile("1.7")
EXAMPLES = [example["check"] for row in document("assertions")["checks"] for example in row["examples"]]
assertion_info = partial(assertions.assertion_info, table=TABLES.assertions)
assertion_result = partial(assertions.assertion_result, table=TABLES.assertions, errors=TABLES.assertion_errors)
assertion_urn = partial(assertions.assertion_urn, table=TABLES.assertions)
outcome = partial(assertions.evaluate_outcome, table=TABLES.assertions)


@cache
def checker(name: str):
    return validator(profile(name))


def assert_is_what_the_sdk_writes(aspect: dict[str, Any], kind: str, *, orders: bool = True) -> None:
    read = getattr(sdk, kind).from_obj(post_json_transform(json.loads(json.dumps(aspect, allow_nan=False))))
    assert read.validate()
    again = json.loads(json.dumps(pre_json_transform(read.to_obj())))
    assert again == aspect
    if orders:
        assert json.dumps(again) == json.dumps(aspect), "the keys stand in the order of their Avro fields"


def aspects(check: Check, platform: str = "dbt", **more: Any) -> None:
    """Write the check for the profiles that differ and let the SDK and the profile's own schemas judge."""
    urn = assertion_urn(check, ORDERS, platform)
    for name in ("0.15.0", "1.5", "1.7"):
        known = profile(name)
        info = assertion_info(check, ORDERS, profile=known, platform=platform, label="dbt Test", **more)
        assert_is_what_the_sdk_writes(info, "AssertionInfoClass")
        checker(name).check(upsert("assertion", urn, "assertionInfo", info))
        result = assertion_result(check, profile=known, platform=platform, row_count=7)
        if result is not None:
            event = run_event(
                urn, ORDERS, time=1_700_000_000_123, run_id="r", result=result, partition=check_partition(check)
            )
            assert_is_what_the_sdk_writes(event, "AssertionRunEventClass")
            checker(name).check(upsert("assertion", urn, "assertionRunEvent", event))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["assertion"])
def test_every_row_of_the_table_makes_legal_aspects(example):
    aspects(
        Check(
            **{"name": "n", **example},
            success=False,
            severity="error",
            actual="3",
            description="d",
            content_type="sql",
        )
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("<<non-serializable: X>>"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
texts = (
    st.none()
    | st.text(max_size=12)
    | st.sampled_from(["0", "(4,)", ">= 3", "nan", "1e39", "[1]", "<<non-serializable: x>>"])
)
names = st.sampled_from([row["names"][0].replace("*", "x") for row in document("assertions")["checks"]]) | st.text(
    max_size=12
)
keys = st.sampled_from(
    ["min_value", "max_value", "values", "value_set", "equal_to", "at_least", "element_count", "unexpected_count", "where",
     "quantile_ranges", "column", "column_list", "to", "field", "expression", "password", "run_id", "expected"]
)  # fmt: skip
checks = st.builds(
    Check, assertion=names, success=st.none() | st.booleans(), column=texts, severity=st.sampled_from([None, "error", "warn", "x"]),
    name=texts, description=texts, expected=texts, actual=texts, content=texts, content_type=texts,
    params=st.dictionaries(keys, json_values, max_size=5), failures=st.none() | st.integers(),
    source=st.sampled_from(["dataQualityAssertions", "test"]), status=st.sampled_from([None, "pass", "fail", "skip", "?"]),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(checks, st.sampled_from(["dbt", "airflow"]))
def test_assertion_aspects_of_generated_checks_are_valid(check, platform):
    aspects(check, platform)


def test_before_1_7_a_check_is_a_dataset_assertion():
    check = Check(
        "accepted_values",
        column="st(at)us",
        params={"values": ["a"]},
        description="d",
        content="select 1",
        severity="warn",
    )
    info = assertion_info(
        check, ORDERS, profile=OLD, platform="dbt", label="dbt Test", column_path=str.upper,
        properties={"openlineage.producer": "p"}, external_url="https://x/y",
    )  # fmt: skip
    assert info == {
        "customProperties": {
            "openlineage.severity": "warn",
            "openlineage.facet": "dataQualityAssertions",
            "openlineage.producer": "p",
        },
        "externalUrl": "https://x/y",
        "type": "DATASET",
        "datasetAssertion": {
            "dataset": ORDERS,
            "scope": "DATASET_COLUMN",
            "fields": [f"urn:li:schemaField:({ORDERS},ST%28AT%29US)"],
            "aggregation": "IDENTITY",
            "operator": "IN",
            "parameters": {"value": {"value": '["a"]', "type": "SET"}},
            "nativeType": "accepted_values",
            "nativeParameters": {"values": '["a"]'},
            "logic": "select 1",
        },
        "source": {"type": "EXTERNAL"},
        "description": "d",
    }


def test_from_1_7_it_is_a_custom_assertion_with_the_same_content():
    check = Check("expect_column_pair_values_to_be_equal", params={"column_A": "a", "column_B": "b"})
    old = assertion_info(check, ORDERS, profile=OLD, platform="gx", label="Great Expectations")["datasetAssertion"]
    new = assertion_info(check, ORDERS, profile=NEW, platform="gx", label="Great Expectations")
    assert new["type"] == "CUSTOM"
    custom = new["customAssertion"]
    assert (custom.pop("type"), custom.pop("entity"), custom.pop("field")) == (
        "Great Expectations",
        old.pop("dataset"),
        old["fields"][0],
    )
    assert custom == old


def test_assertion_info_does_not_change_between_runs():
    one = Check(
        "row_count", success=True, actual="5", params={"min_value": 1, "run_id": "a", "element_count": 5}, status="pass"
    )
    two = Check(
        "row_count", success=False, actual="0", params={"min_value": 1, "run_id": "b"}, failures=1, status="fail"
    )
    assert assertion_info(one, ORDERS, profile=OLD, platform="x", label="l") == assertion_info(
        two, ORDERS, profile=OLD, platform="x", label="l"
    )
    result = assertion_result(one, profile=OLD, platform="x")
    assert (result["rowCount"], result["nativeResults"]["run_id"]) == (5, "a")


def test_native_parameters_are_redacted_text_and_at_most_fifty():
    params = {
        "n": 1,
        "t": True,
        "l": [1, {"b": 1, "a": 2}],
        "none": None,
        "api_key": "x",
        "big": "y" * 5000,
        "url": "http://u:pw@h",
    }
    info = assertion_info(Check("x", params=params, expected="0"), ORDERS, profile=OLD, platform="dbt", label="l")
    native = info["datasetAssertion"]["nativeParameters"]
    assert len(native.pop("big")) <= 4000
    assert native == {
        "n": "1",
        "t": "true",
        "l": '[1,{"a":2,"b":1}]',
        "api_key": "[REDACTED]",
        "url": "http://u:***@h",
        "expected": "0",
    }
    many = Check("x", params={f"k{i:03}": i for i in range(99)})
    info = assertion_info(many, ORDERS, profile=OLD, platform="dbt", label="l")
    assert list(info["datasetAssertion"]["nativeParameters"]) == [f"k{i:03}" for i in range(50)]


def test_long_texts_are_truncated_and_invalid_fields_omitted():
    check = Check("not_null", column="c" * 600, content="x" * 40_000, description="d" * 70_000)
    info = assertion_info(check, ORDERS, profile=OLD, platform="dbt", label="l", external_url="ftp://x")
    assert "fields" not in info["datasetAssertion"]
    assert "externalUrl" not in info
    assert len(info["datasetAssertion"]["logic"]) <= 32_000
    assert len(info["description"]) <= 65_536


def test_external_assertion_has_a_platform():
    assert assertion_platform("dbt") == {"platform": "urn:li:dataPlatform:dbt"}
    assert assertion_platform("dbt", "eu") == {
        "platform": "urn:li:dataPlatform:dbt",
        "instance": "urn:li:dataPlatformInstance:(urn:li:dataPlatform:dbt,eu)",
    }


@pytest.mark.parametrize(
    ("check", "platform", "expected"),
    [
        (Check("x", success=True), "dbt", "SUCCESS"),
        (Check("x", success=False), "gx", "FAILURE"),
        (Check("x", success=None), "gx", "UNKNOWN"),
        (Check("x", success=False, severity="warn", actual="1"), "dbt", "FAILURE"),
        # an entry of facet 1-1-0 that fails without a value did not run; older entries never have one
        (Check("x", success=False, severity="error"), "dbt", "ERROR"),
        (Check("x", success=False, name="n"), "dbt", "ERROR"),
        (Check("x", success=False, expected="0"), "dbt", "ERROR"),
        (Check("x", success=False), "dbt", "FAILURE"),
        (Check("x", success=False, severity="error"), "airflow", "FAILURE"),
        (Check("x", status="pass", source="test"), "dbt", "SUCCESS"),
        (Check("x", status="PASS ", source="test"), "dbt", "SUCCESS"),
        (Check("x", status="fail", actual="2", source="test"), "dbt", "FAILURE"),
        (Check("x", status="fail", source="test"), "dbt", "ERROR"),
        (Check("x", status="fail", source="test"), "airflow", "FAILURE"),
        (Check("x", success=False, status="skip", source="test"), "dbt", "SKIPPED"),
        (Check("x", success=False, status="perhaps", source="test"), "dbt", "UNKNOWN"),
    ],
)
def test_how_a_check_ended(check, platform, expected):
    assert outcome(check, platform) == expected
    result = assertion_result(check, profile=NEW, platform=platform)
    assert (result is None) == (expected in ("SKIPPED", "UNKNOWN"))
    if result is not None:
        assert result["type"] == expected
        assert ("error" in result) == (expected == "ERROR")


def test_error_cause_is_in_the_native_results():
    check = Check("x", success=False, severity="error", name="x")
    result = assertion_result(check, profile=NEW, platform="dbt", error="Connection refused by 10.0.0.1")
    assert result["nativeResults"] == {"error": "Connection refused by 10.0.0.1", "severity": "error"}
    assert result["error"]["properties"]["message"] == result["nativeResults"]["error"]
    without = assertion_result(check, profile=NEW, platform="dbt")
    assert without["nativeResults"]["error"] == without["error"]["properties"]["message"] != ""


def test_error_cause_in_the_parameters_is_not_repeated():
    check = Check("x", success=False, severity="error", params={"error_message": "no such table"})
    result = assertion_result(check, profile=NEW, platform="dbt", error="another")
    assert result["nativeResults"] == {"error_message": "no such table", "severity": "error"}


def test_failure_and_success_have_no_cause():
    for success in (True, False):
        result = assertion_result(Check("x", success=success), profile=NEW, platform="airflow", error="broken")
        assert "error" not in result
        assert "error" not in result.get("nativeResults", {})


@pytest.mark.parametrize(
    ("severity", "known", "expected"),
    [
        ("error", NEW, "HIGH"), ("warn", NEW, "LOW"), ("INFO", NEW, "LOW"), (None, NEW, None), ("other", NEW, None),
        ("error", profile("1.6"), "HIGH"), ("error", profile("1.5"), None), ("error", profile("1.4"), None), ("error", OLD, None),
    ],
)  # fmt: skip
def test_failure_severity_is_typed_if_the_server_supports_types(severity, known, expected):
    check = Check("x", success=False, severity=severity, actual="1")
    result = assertion_result(check, profile=known, platform="dbt")
    assert result.get("severity") == expected
    assert result["nativeResults"].get("severity") == severity
    assert "severity" not in assertion_result(
        msgspec.structs.replace(check, success=True), profile=known, platform="dbt"
    )


def test_warning_may_count_as_success():
    check = Check("x", success=False, severity="warn", actual="1")
    assert assertion_result(check, profile=NEW, platform="dbt", warn_as="success")["type"] == "SUCCESS"
    error = msgspec.structs.replace(check, severity="error")
    assert assertion_result(error, profile=NEW, platform="dbt", warn_as="success")["type"] == "FAILURE"


@pytest.mark.parametrize(
    ("check", "platform", "counts"),
    [
        (Check("x", success=True, actual="3"), "dbt", {"unexpectedCount": 3, "actualAggValue": 3.0}),
        (Check("x", success=True, actual="3"), "airflow", {"actualAggValue": 3.0}),
        (Check("x", success=True, actual="(4,)"), "airflow", {"actualAggValue": 4.0}),
        (Check("x", success=True, actual="Test failure"), "dbt", {}),
        (Check("x", success=True, actual="2.5"), "dbt", {"actualAggValue": 2.5}),
        (Check("x", success=True, actual="-1"), "dbt", {"actualAggValue": -1.0}),
        (Check("x", success=True, actual="1e39"), "airflow", {}),
        (Check("x", success=True, actual="inf"), "airflow", {}),
        (Check("x", success=True, failures=2, actual="3"), "dbt", {"unexpectedCount": 2, "actualAggValue": 3.0}),
        (Check("x", success=True, failures=-2), "dbt", {}),
        (Check("x", success=True, failures=2**63), "dbt", {}),
        (
            Check("x", success=True, params={"element_count": 9, "missing_count": "1", "unexpected_count": 2.0}),
            "gx",
            {"rowCount": 9, "missingCount": 1, "unexpectedCount": 2},
        ),
        (Check("x", success=True, params={"element_count": True, "missing_count": "1e30"}), "gx", {}),
    ],
)
def test_row_counts_are_written_if_sent_and_possible(check, platform, counts):
    result = assertion_result(check, profile=NEW, platform=platform)
    assert {key: value for key, value in result.items() if key not in ("type", "nativeResults")} == counts


@pytest.mark.parametrize(
    ("check", "platform", "kind", "expected"),
    [
        (Check("missing_percent", column="mail", actual="5", expected="< 10"), "soda", "auto", 0.05),
        (Check("missing_percent", column="mail", actual="5", expected="< 10"), "soda", "native", 5.0),
        (Check("duplicate_percent", column="id", actual="5"), "soda", "auto", 0.95),
        (
            Check("expect_column_proportion_of_non_null_values_to_be_between", column="c", actual="0.95"),
            "great-expectations",
            "native",
            0.05,
        ),
        (
            Check("expect_column_proportion_of_non_null_values_to_be_between", column="c", actual="3"),
            "dbt",
            "auto",
            3.0,
        ),
        (Check("expect_column_max_to_be_between", column="c", actual="5"), "great-expectations", "auto", 5.0),
    ],
)
def test_actual_value_has_the_unit_of_its_limit(check, platform, kind, expected):
    result = assertion_result(msgspec.structs.replace(check, success=True), profile=NEW, platform=platform, kind=kind)
    assert result["actualAggValue"] == expected
    assert result["nativeResults"]["actual"] == check.actual


def test_run_measurements_override_the_parameters():
    check = Check("x", success=True, params={"element_count": 9})
    result = assertion_result(
        check, profile=NEW, platform="gx", row_count=5, missing_count=0, external_url="https://log"
    )
    assert (result["rowCount"], result["missingCount"], result["externalUrl"]) == (5, 0, "https://log")


def test_run_event_is_about_the_dataset_and_overwrites_itself():
    check = Check("not_null", success=True, column="id")
    urn = assertion_urn(check, ORDERS, "dbt")
    result = assertion_result(check, profile=OLD, platform="dbt")
    event = run_event(
        urn, ORDERS, time=5, run_id="r", result=result, context={"job": "ns/x", "attempt": 2, "none": None}
    )
    assert event == {
        "timestampMillis": 5,
        "runId": "r",
        "asserteeUrn": ORDERS,
        "status": "COMPLETE",
        "result": {"type": "SUCCESS"},
        "runtimeContext": {"job": "ns/x", "attempt": "2"},
        "assertionUrn": urn,
        "partitionSpec": {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"},
        "messageId": event["messageId"],
    }
    again = run_event(
        urn, ORDERS, time=5, run_id="r", result={"type": "FAILURE"}, partition={"partition": "x", "type": "QUERY"}
    )
    assert again["messageId"] == event["messageId"]
    others = [
        run_event(urn, ORDERS, time=6, run_id="r", result=result),
        run_event(urn, ORDERS, time=5, run_id="s", result=result),
    ]
    assert len({event["messageId"], *(other["messageId"] for other in others)}) == 3


def test_dataset_event_has_no_run():
    event = run_event("urn:li:assertion:a", ORDERS, time=5, run_id=None, result={"type": "SUCCESS"})
    assert event["runId"] == "5"
    assert_is_what_the_sdk_writes(event, "AssertionRunEventClass")


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"row_condition": "a > 1"}, {"partition": "a > 1", "type": "QUERY"}),
        ({"where": "a > 1"}, {"partition": "a > 1", "type": "QUERY"}),
        ({"where": " "}, None),
        ({"where": ["a"]}, None),
        ({}, None),
    ],
)
def test_partition_of_a_check_is_read_from_its_parameters(params, expected):
    assert check_partition(Check("x", params=params)) == expected


def test_batch_of_an_expectation_is_kept():
    meta = {
        "active_batch_definition": {
            "data_asset_name": "orders",
            "datasource_name": "shop",
            "batch_identifiers": {"day": 1},
        },
        "batch_spec": {"query": "select * from orders"},
    }
    spec = batch_spec(meta)
    assert spec == {
        "customProperties": {"data_asset_name": "orders", "datasource_name": "shop"},
        "nativeBatchId": '{"batch_identifiers":{"day":1},"data_asset_name":"orders","datasource_name":"shop"}',
        "query": "select * from orders",
    }
    event = run_event("urn:li:assertion:a", ORDERS, time=5, run_id="r", result={"type": "SUCCESS"}, batch=spec)
    assert_is_what_the_sdk_writes(event, "AssertionRunEventClass")
    assert batch_spec({"batch_kwargs": {"query": "q"}}) == {"customProperties": {}, "query": "q"}
    assert batch_spec({"active_batch_definition": {"x": 1}})["nativeBatchId"] == '{"x":1}'
    for nothing in (
        {},
        {"active_batch_definition": "<<non-serializable: B>>"},
        {"batch_spec": {"query": 3}},
        {"batch_kwargs": "x"},
    ):
        assert batch_spec(nothing) is None


@pytest.mark.parametrize("source", SOURCES)
def test_every_check_of_real_events_makes_legal_aspects(source):
    found: dict[str, Check] = {}

    def look(value: Any) -> None:
        if isinstance(value, dict):
            for key, entries in (("dataQualityAssertions", "assertions"), ("test", "tests")):
                facet = value.get(key)
                for entry in (facet.get(entries) or []) if isinstance(facet, dict) else []:
                    kind = entry.get("assertion") or entry.get("type") or ""
                    stated = {
                        key: entry.get(key)
                        for key in ("column", "severity", "name", "expected", "actual", "content", "status")
                    }
                    check = Check(
                        kind, success=entry.get("success"), **stated, params=entry.get("params") or {}, source=key
                    )
                    found[json.dumps(entry)] = check
            for member in value.values():
                look(member)
        elif isinstance(value, list):
            for member in value:
                look(member)

    look(documents(source))
    assert len(found) > 20
    for check in found.values():
        aspects(check)
