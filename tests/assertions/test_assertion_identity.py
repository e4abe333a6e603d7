"""Assertion URNs stay, whatever else changes, and differ where checks differ."""

from __future__ import annotations

import json
from functools import partial
from hashlib import md5

import msgspec
import pytest
from support.value_tables import TABLES

from dh_bridge import assertions
from dh_bridge.assertions import Check, datasets_of_test, distinct_checks, merge_checks

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
ITEMS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.items,PROD)"
replace = msgspec.structs.replace
assertion_urn = partial(assertions.assertion_urn, table=TABLES.assertions)
assertion_urns = partial(assertions.assertion_urns, table=TABLES.assertions)

NOT_NULL = Check("not_null", success=True, column="id", name="not_null_orders_id", severity="error", params={"a": 1})


def urn(check: Check, **options) -> str:
    return assertion_urn(check, options.pop("dataset", ORDERS), options.pop("platform", "dbt"), **options)


def test_urn_is_datahubs_guid_of_the_named_parts():
    key = {"platform": "dbt", "dataset": ORDERS, "type": "not_null", "column": "id", "d": "not_null_orders_id"}
    text = json.dumps(key, sort_keys=True, separators=(",", ":"))
    assert urn(NOT_NULL) == f"urn:li:assertion:{md5(text.encode(), usedforsecurity=False).hexdigest()}"


@pytest.mark.parametrize(
    "change",
    [
        {"success": False}, {"severity": "warn"}, {"expected": "1"}, {"actual": "2"}, {"description": "x"}, {"failures": 3},
        {"content": "select 1"}, {"params": {"other": 2}}, {"content_type": "sql"}, {"assertion": "Not_Null"},
    ],
)  # fmt: skip
def test_assertion_urn_ignores_mutable_fields_of_a_named_check(change):
    assert urn(replace(NOT_NULL, **change)) == urn(NOT_NULL)


@pytest.mark.parametrize("change", [{"assertion": "unique"}, {"column": "x"}, {"column": None}, {"name": "other"}])
def test_another_check_is_another_urn(change):
    assert urn(replace(NOT_NULL, **change)) != urn(NOT_NULL)


def test_dataset_platform_and_instance_are_part_of_it():
    found = {
        urn(NOT_NULL),
        urn(NOT_NULL, dataset=ITEMS),
        urn(NOT_NULL, platform="airflow"),
        urn(NOT_NULL, instance="eu"),
    }
    assert len(found) == 4


def test_column_is_its_field_path():
    upper = replace(NOT_NULL, column="ID")
    assert urn(upper, column_path=str.lower) == urn(NOT_NULL)
    assert urn(upper) != urn(NOT_NULL)


PLAIN = Check("accepted_range", column="n")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        # parameters distinguish unnamed checks, but not those of the run
        ({"params": {"min_value": 1}}, {"params": {"min_value": 2}}, False),
        ({"params": {"a": 1, "b": 2}}, {"params": {"b": 2, "a": 1}}, True),
        (
            {"params": {"min_value": 1, "batch_id": "x", "element_count": 3}},
            {"params": {"min_value": 1, "run_id": "y"}},
            True,
        ),
        ({"params": {"meta": {"x": 1}}}, {"params": {}}, True),
        ({"params": {"x": float("nan")}}, {"params": {}}, True),
        ({"params": {"x": None}}, {"params": {"x": "<<non-serializable: y>>"}}, True),
        # then the content does, blanks aside
        ({"content": "select 1"}, {"content": "select  \n 1 "}, True),
        ({"content": "select 1"}, {"content": "select 2"}, False),
        ({"params": {"a": 1}, "content": "select 1"}, {"params": {"a": 1}, "content": "select 2"}, True),
        # a name that repeats the kind is no name
        ({"name": "accepted_range", "params": {"a": 1}}, {"params": {"a": 1}}, True),
    ],
)
def test_assertion_urn_uses_the_documented_precedence_of_fields(one, other, same):
    assert (urn(replace(PLAIN, **one), platform="airflow") == urn(replace(PLAIN, **other), platform="airflow")) is same


def test_name_only_looks_neither_at_parameters_nor_at_content():
    one, other = replace(PLAIN, params={"a": 1}), replace(PLAIN, content="select 1")
    assert urn(one, identity="name_only") == urn(other, identity="name_only") == urn(PLAIN)


def test_singular_dbt_test_is_one_check_in_all_its_forms():
    forms = [
        Check("assert_no_negative_amount", name="assert_no_negative_amount", params={}),
        Check("assert_no_negative_amount", name="assert_no_negative_amount", content="select 1", params={"x": 1}),
        Check(
            "test.shop.assert_no_negative_amount",
            name="test.shop.assert_no_negative_amount",
            source="test",
            status="fail",
        ),
        Check("singular", name="test.shop.assert_no_negative_amount", content="select 2", source="test", status="fail"),
        Check("", name="test.shop.assert_no_negative_amount", source="test"),
    ]
    assert len({urn(form) for form in forms}) == 1
    odd = [Check("is_all_well", name="is_all_well"), Check("singular", name="test.shop.is_all_well", source="test")]
    assert urn(odd[0]) == urn(odd[1])


def test_untyped_tests_are_distinguished_by_name():
    one, other = (Check("", name=f"{suite}.check", source="test") for suite in ("a", "b"))
    assert urn(one, platform="airflow") != urn(other, platform="airflow")


def test_identical_checks_are_numbered():
    same = [
        Check("not_null", column="id"),
        Check("not_null", column="id"),
        Check("unique", column="id"),
        Check("not_null", column="id"),
    ]
    first, second, unique, third = assertion_urns(same, ORDERS, "gx")
    assert len({first, second, unique, third}) == 4
    assert first == assertion_urn(same[0], ORDERS, "gx")
    assert second == assertion_urn(same[0], ORDERS, "gx", ordinal=2)
    assert assertion_urns([*same, same[0]], ORDERS, "gx")[:4] == [first, second, unique, third]
    assert len(set(assertion_urns([same[0]] * 500, ORDERS, "gx"))) == 500


def test_distinct_checks_merges_across_facets_but_not_within_one():
    twin = Check("expect_column_values_to_be_between", column="n", success=True)
    other = replace(twin, column="m")
    assert distinct_checks([[twin, twin], [twin, other]]) == [twin, twin, other]


def test_test_facet_completes_fields_that_the_assertion_lacks():
    assertion = Check("unique", success=False, column="id", name="u", params={"a": 1})
    test = Check(
        "singular",
        success=True,
        name="u",
        severity="warn",
        expected="0",
        params={"a": 2, "b": 3},
        source="test",
        status="fail",
    )
    merged = merge_checks(assertion, test)
    assert (merged.assertion, merged.success, merged.severity, merged.expected) == ("unique", False, "warn", "0")
    assert (merged.params, merged.source, merged.column) == ({"a": 1, "b": 3}, "dataQualityAssertions", "id")


@pytest.mark.parametrize(
    ("params", "several", "expected"),
    [
        ({}, "all", [ITEMS, ORDERS]),
        ({}, "first", [ITEMS]),
        ({}, "none", []),
        ({"dataset": ORDERS}, "all", [ORDERS]),
        ({"model": "orders"}, "all", [ORDERS]),
        ({"model": "Public.Orders"}, "none", [ORDERS]),
        ({"column": "orders.amount"}, "all", [ORDERS]),
        ({"column": "amount", "model": ["x"]}, "all", [ITEMS, ORDERS]),
        ({"model": "public"}, "all", [ITEMS, ORDERS]),
    ],
)
def test_tested_dataset_is_the_one_that_is_named(params, several, expected):
    assert datasets_of_test(Check("t", params=params), [ORDERS, ITEMS], multi_dataset=several) == expected


def test_single_dataset_is_the_tested_one():
    assert datasets_of_test(Check("t", params={"model": "x"}), [ORDERS], multi_dataset="none") == [ORDERS]
    assert datasets_of_test(Check("t"), []) == []
