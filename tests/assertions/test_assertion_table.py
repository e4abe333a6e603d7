"""The table of checks: every example of the YAML file is what its row says."""

from __future__ import annotations

import json
from functools import partial

import jsonschema
import pytest
from support.value_tables import TABLES, document

from dh_bridge.assertions import AssertionTable, Check
from dh_bridge.assertions import parse_check as read_by
from dh_bridge.assertions.bounds import parse_comparison, parse_list, parse_number
from dh_bridge.assertions.table import SCOPES
from dh_bridge.bundled import MAPPINGS
from dh_bridge.errors import MappingError

DOCUMENT = document("assertions")
SCHEMA = json.loads((MAPPINGS / "schema" / "assertions.schema.json").read_text(encoding="utf-8"))
EXAMPLES = [
    pytest.param(row, example, id=f"{example['check']['assertion']}-{parse_number}")
    for row in DOCUMENT["checks"]
    for parse_number, example in enumerate(row["examples"])
]
read = partial(read_by, table=TABLES.assertions)
WIRE = {"value": "value", "greatest": "maxValue", "least": "minValue"}


def test_table_keeps_its_own_schema():
    jsonschema.validate(DOCUMENT, SCHEMA)


@pytest.mark.parametrize(("row", "example"), EXAMPLES)
def test_table_examples_match_their_rows(row, example):
    found = read(Check(**example["check"]), "airflow")
    assert (found.scope, found.aggregation) == (SCOPES[row["scope"]], row["aggregation"])
    assert found.operator == example.get("operator", row["operator"])
    expected = {WIRE[key]: {"value": value[1], "type": value[0]} for key, value in example.items() if key in WIRE}
    assert found.parameters == expected
    assert list(found.columns) == example.get("columns", list(found.columns))
    assert found.logic == example.get("logic", found.logic)


@pytest.mark.parametrize("name", sorted({name for row in DOCUMENT["checks"] for name in row["names"] if name != "*"}))
def test_every_name_finds_a_row_of_its_own(name):
    table = TABLES.assertions
    named = table.parse_name(name.replace("*", "x"))
    assert named.is_known
    assert any(name in row.names for row in named.rows)


@pytest.mark.parametrize(
    ("spelling", "kind"),
    [
        (" not_null ", "not_null"),
        ("ExpectColumnValuesToNotBeNull", "expect_column_values_to_not_be_null"),
        ("dbt_expectations.expect_column_max_to_be_between", "expect_column_max_to_be_between"),
        ("great_expectations.NotNull", "not_null"),
        ("isComplete", "is_complete"),
        ("NOT_NULL", "not_null"),
        ("SQLCheck", "sql_check"),
        ("warn_row_count_check", "row_count_check"),
        ("error_our_own", "error_our_own"),
        ("Row_Count  >  0", "row_count > 0"),
        ("our  OWN check", "our own check"),
    ],
)
def test_spellings_of_one_check_are_one_kind(spelling, kind):
    assert TABLES.assertions.parse_name(spelling).kind == kind


@pytest.mark.parametrize(
    ("check", "columns"),
    [
        (Check("missing_count(Email) = 0"), ("Email",)),
        (Check("duplicate_count(a, b) = 0"), ("a", "b")),
        (Check("our_own(a)"), ()),
        (Check("not_null", params={"column_name": "id"}), ("id",)),
        (Check("not_null", column="id", params={"column": "other"}), ("id",)),
        (Check("not_null", column="<<non-serializable: Column>>"), ()),
        (Check("unique_combination_of_columns", params={"combination_of_columns": ["a", 3, "", "a"]}), ("a",)),
        (Check("mutually_exclusive_ranges", column="c", params={"lower_bound_column": "a"}), ("c", "a")),
    ],
)
def test_columns_are_found_where_producers_put_them(check, columns):
    assert read(check, "airflow").columns == columns


@pytest.mark.parametrize(
    ("check", "platform", "operator", "value"),
    [
        # dbt's expected value is a number of failures, not a limit
        (Check("expect_column_median_to_be_between", column="n", expected="0"), "dbt", "_NATIVE_", None),
        (Check("row_count", expected="0"), "airflow", "EQUAL_TO", "0"),
        (Check("row_count", expected="(7,)"), "airflow", "EQUAL_TO", "7"),
        (Check("row_count", params={"!=": 3}), "airflow", "NOT_EQUAL_TO", "3"),
        (Check("row_count", params={"row_count": {"gt": 3}}), "airflow", "GREATER_THAN", "3"),
        (Check("row_count", params={"min_value": float("nan"), "max_value": True}), "gx", "_NATIVE_", None),
        (Check("row_count", params={"min_value": "<<non-serializable: x>>", "gt": 1}), "gx", "GREATER_THAN", "1"),
        (Check("invalid_count(a) < 3"), "soda", "LESS_THAN", "3"),
        (Check("row_count > (select 1)"), "soda", "_NATIVE_", None),
        (Check("row_count", expected="more than enough"), "airflow", "_NATIVE_", None),
        (Check("missing_percent(a)"), "soda", "_NATIVE_", None),
        (Check("missing_percent(a) < 1e300"), "soda", "_NATIVE_", None),
        (Check("not_null_proportion", column="a"), "dbt", "LESS_THAN_OR_EQUAL_TO", None),
        (Check("not_null_proportion", column="a", params={"at_least": "much"}), "dbt", "LESS_THAN_OR_EQUAL_TO", None),
        (Check("expect_column_to_exist", params={"column_index": 3}), "gx", "CONTAIN", None),
        (Check("expect_column_to_exist", params={"column": "id"}), "gx", "CONTAIN", "id"),
        (Check("expect_table_row_count_to_equal", params={"value": [1]}), "gx", "EQUAL_TO", "[1]"),
        (Check("expect_table_row_count_to_equal", expected="12"), "gx", "EQUAL_TO", "12"),
        (Check("expect_column_values_to_match_regex", column="a"), "gx", "REGEX_MATCH", None),
        (
            Check("expect_column_quantile_values_to_be_between", params={"quantile": 1, "min_value": 3}),
            "gx",
            "_NATIVE_",
            None,
        ),
    ],
)
def test_operators_and_limits_are_only_claimed_when_known(check, platform, operator, value):
    found = read(check, platform)
    assert found.operator == operator
    assert found.parameters.get("value", {}).get("value") == value


def test_relationship_check_names_the_referenced_table():
    assert read(Check("relationships", column="a", params={"to": "b"}), "dbt").logic == "a references b"
    assert read(Check("relationships", params={"to": "b"}), "dbt").logic is None
    assert read(Check("relationships", column="a", content="select 1"), "dbt").logic == "select 1"
    assert read(Check("expression_is_true", params={"expression": 3}), "dbt").logic is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[1, 2]", [1, 2]), ("('a', 'b')", ["a", "b"]), ("{2, 1}", [1, 2]), ("(4,)", [4]), ('["é"]', ["é"]), ("(4)", None),
        ("__import__('os')", None), ("[open('x')]", None), ("[1or 2]", None), ("['\\d']", None), ("[" * 5000, None), ("", None),
        ("a", None), ("{'a': 1}", None), ("[1" * 20_000, None), ("(((1", None), ("{[1]}", None),
    ],
)  # fmt: skip
def test_lists_are_read_from_json_and_python_and_nothing_is_run(text, found):
    assert parse_list(text) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (3, 3.0), ("3.5", 3.5), ("(4,)", 4.0), ("[1, 2]", None), ("nan", None), ("inf", None), (float("nan"), None), (True, None),
        (None, None), ("1_000", None), ("", None), ("9" * 400, None), (10**400, None), ([1], None), ("Test failure", None),
    ],
)  # fmt: skip
def test_numbers_are_finite_or_none(value, found):
    assert parse_number(value) == found


@pytest.mark.parametrize("text", ["", "5", "> ", "> 1 2", "~ 3", "between 1", ">1, x", "x" * 500, "> 1 and maybe"])
def test_non_comparison_text_is_not_parsed(text):
    assert parse_comparison(text, TABLES.assertions) is None


@pytest.mark.parametrize(
    "broken",
    [
        {**DOCUMENT, "checks": []},
        {**DOCUMENT, "more": 1},
        {**DOCUMENT, "checks": [{**DOCUMENT["checks"][-1], "column": True}]},
        {"checks": []},
        {**DOCUMENT, "checks": [{"names": ["*"]}]},
        {**DOCUMENT, "checks": [{**DOCUMENT["checks"][0], "names": ["NotNull"]}, DOCUMENT["checks"][-1]]},
        {**DOCUMENT, "checks": [{**DOCUMENT["checks"][0], "parameters": {"values": ["x"]}}, DOCUMENT["checks"][-1]]},
        {**DOCUMENT, "severities": {"error": "FATAL"}},
    ],
)
def test_table_that_cannot_work_is_refused(broken):
    with pytest.raises(MappingError, match=r"tables/assertions\.yaml"):
        AssertionTable(broken, "tables/assertions.yaml")


@pytest.mark.parametrize(
    "text",
    ["(" * 50_000, "a " * 50_000, "<" * 50_000, "row_count" + " a" * 50_000 + " >", "aB" * 50_000, "\x00", "🦆 > 3"],
)
def test_no_name_stalls_the_reading(text):
    found = read(Check(text, expected=text, actual=text, content=text, params={text[:99]: text}), "airflow")
    assert found.operator
