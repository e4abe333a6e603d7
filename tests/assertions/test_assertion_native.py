"""``assertions.type: native``: DataHub's own types, where all that they require is known."""

from __future__ import annotations

import pytest
from support.facet_cases import facet, orders, pair, translate_events
from support.oracles import disagreement
from support.value_tables import TABLES, document

from dh_bridge.assertions import Check, assertion_info
from dh_bridge.datahub.profiles import profile

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
EXAMPLES = [
    (row.get("offers", ""), example["check"]) for row in document("assertions")["checks"] for example in row["examples"]
]
ZERO = {"value": {"value": "0", "type": "NUMBER"}}


def column(path):
    return {"fieldPath": path, "type": {"type": {"com.linkedin.schema.StringType": {}}}, "nativeDataType": "text"}


def info(check, *, version="1.7", kind="native", look=column):
    return assertion_info(
        Check(**check), ORDERS, profile=profile(version), platform="great-expectations", label="Great Expectations",
        kind=kind, find_column=look, table=TABLES.assertions,
    )  # fmt: skip


def part(found):
    (key,) = (key for key in found if key.endswith("Assertion"))
    return found[key]


@pytest.mark.parametrize("version", ["0.15.0", "1.4", "1.7"])
def test_every_check_of_the_table_is_what_datahub_reads(version):
    for _, check in EXAMPLES:
        found = info(check, version=version)
        assert disagreement("assertion", "assertionInfo", found, profile(version)) == {}, (check, found)


def test_native_check_has_the_type_of_its_row_or_is_custom():
    reached = set()
    for offers, check in EXAMPLES:
        found = info(check)
        kind = found["type"]
        assert kind in (offers.partition(" ")[0], "CUSTOM"), check
        if kind == "CUSTOM":
            assert found == info(check, kind="auto")
        reached.add(kind)
    assert reached == {"FIELD", "VOLUME", "SQL", "FRESHNESS", "CUSTOM"}


NOT_NULL = {"assertion": "not_null", "column": "id"}


@pytest.mark.parametrize(
    ("check", "wanted"),
    [
        (NOT_NULL, {"operator": "NOT_NULL", "failThreshold": {"type": "COUNT", "value": 0}, "excludeNulls": False}),
        (
            {**NOT_NULL, "params": {"mostly": 0.95}},
            {"operator": "NOT_NULL", "failThreshold": {"type": "PERCENTAGE", "value": 5}, "excludeNulls": False},
        ),
        (
            {"assertion": "expect_column_value_lengths_to_equal", "column": "id", "params": {"value": 0}},
            {
                "transform": {"type": "LENGTH"}, "operator": "EQUAL_TO", "parameters": ZERO,
                "failThreshold": {"type": "COUNT", "value": 0}, "excludeNulls": True,
            },
        ),
    ],
)  # fmt: skip
def test_values_of_a_column(check, wanted):
    found = part(info(check))
    assert (found["type"], found["entity"]) == ("FIELD_VALUES", ORDERS)
    spec = {"path": "id", "type": "STRING", "nativeType": "text"}
    assert found["fieldValuesAssertion"] == {"field": spec, **wanted}


@pytest.mark.parametrize(
    ("check", "metric", "value"),
    [
        ({"assertion": "unique", "column": "id"}, "UNIQUE_PERCENTAGE", "100"),
        ({"assertion": "missing_percent(id) < 5 %"}, "NULL_PERCENTAGE", "5"),
        ({"assertion": "missing_count(id) < 5"}, "NULL_COUNT", "5"),
    ],
)
def test_metrics_of_a_column(check, metric, value):
    found = part(info(check))["fieldMetricAssertion"]
    assert (found["metric"], found["parameters"]["value"]["value"]) == (metric, value)


@pytest.mark.parametrize(
    ("params", "name", "unit", "multiple"),
    [
        ({"datepart": "day", "interval": 2}, "recency", "DAY", 2),
        ({}, "freshness(at) < 36h", "HOUR", 36),
    ],
)
def test_age_is_a_fixed_interval(params, name, unit, multiple):
    found = part(info({"assertion": name, "params": params}))
    assert found["schedule"] == {"type": "FIXED_INTERVAL", "fixedInterval": {"unit": unit, "multiple": multiple}}


def test_statement_that_finds_nothing():
    found = part(info({"assertion": "singular", "content": "select * from orders where amount < 0"}))
    assert (found["statement"], found["operator"]) == ("select * from orders where amount < 0", "EQUAL_TO")
    assert found["parameters"] == ZERO


def test_row_filter_is_native_and_other_params_are_properties():
    found = info({**NOT_NULL, "params": {"where": "id > 1", "other": "x"}})
    assert part(found)["filter"] == {"type": "SQL", "sql": "id > 1"}
    properties = found["customProperties"]
    assert (properties["openlineage.nativeType"], properties["openlineage.params.other"]) == ("not_null", "x")


@pytest.mark.parametrize(
    ("why", "check", "look"),
    [
        ("no such column in the schema", NOT_NULL, lambda _: None),
        ("no schema", NOT_NULL, None),
        ("no values", {"assertion": "accepted_values", "column": "id"}, column),
        ("half a percent", {**NOT_NULL, "params": {"mostly": 0.995}}, column),
        ("no share", {**NOT_NULL, "params": {"mostly": "some"}}, column),
        ("no number", {"assertion": "missing_count", "column": "id", "params": {"max_value": "few"}}, column),
        ("no number", {"assertion": "row_count", "params": {"min_value": "few"}}, column),
        ("no limit", {"assertion": "row_count"}, column),
        ("an expression", {"assertion": "expression_is_true", "params": {"expression": "a = b"}}, column),
        ("no filter", {"assertion": "singular", "content": "select 1", "params": {"where": "a = 1"}}, column),
        ("no interval", {"assertion": "recency", "params": {"datepart": "day"}}, column),
        ("half a day", {"assertion": "recency", "params": {"datepart": "day", "interval": 0.5}}, column),
        ("the schema has no such type", {"assertion": "schema"}, column),
    ],
)
def test_incompletely_known_check_is_not_native(why, check, look):
    assert info(check, look=look) == info(check, kind="auto"), why
    assert info(check, look=look, version="0.15.0")["type"] == "DATASET", why


def test_native_column_type_is_from_the_schema_with_the_same_urn():
    check = {"assertion": "not_null", "column": "id", "success": True}
    assertions = {"dataQualityAssertions": facet(assertions=[check])}
    columns = {"schema": facet(fields=[{"name": "id", "type": "bigint"}])}
    urns = set()
    for kind, facets, written in [
        ("native", columns, "FIELD"), ("native", {}, "DATASET"), ("auto", columns, "DATASET"),
    ]:  # fmt: skip
        found = translate_events(
            pair(inputs=[orders(inputFacets=assertions, facets=facets)]), assertions={"type": kind}
        )
        (one,) = (one for one in found.proposals if one.aspect_name == "assertionInfo")
        assert one.value["type"] == written
        if written == "FIELD":
            spec = one.value["fieldAssertion"]["fieldValuesAssertion"]["field"]
            assert spec == {"path": "id", "type": "NUMBER", "nativeType": "bigint"}
        urns.add(one.entity_urn)
    assert len(urns) == 1
