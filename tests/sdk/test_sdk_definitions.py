"""Checks that OpenLineage has no words for: exact aspects, each sound for the oracles, each with the version it needs."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from dh_bridge.errors import AspectError, EventError, SettingsError
from dh_bridge.sdk import Comparison, Custom, Field, Freshness, Schema, Segment, Sql, Volume

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,prod),load)"
COLUMN = f"urn:li:schemaField:({ORDERS},amount)"
NUMBER = {"path": "amount", "type": "NUMBER", "nativeType": "numeric(10,2)"}
AMOUNT = {"column": "amount", "native_type": "numeric(10,2)"}
ONE_TO_NINE = {
    "operator": "BETWEEN",
    "parameters": {"maxValue": {"value": "9", "type": "NUMBER"}, "minValue": {"value": "1", "type": "NUMBER"}},
}
AT_LEAST_ONE = {"operator": "GREATER_THAN_OR_EQUAL_TO", "parameters": {"value": {"value": "1", "type": "NUMBER"}}}
SINCE = {"type": "SINCE_THE_LAST_CHECK"}
ROWS = {"type": "SQL", "sql": "country = 'IN'"}
HIGH = {"failureSeverityConfig": {"defaultSeverity": "HIGH", "rules": []}}

EVERYWHERE = {
    "a dataset that changes at a time": (
        Freshness(cron="0 8 * * *", timezone="Europe/Berlin", window_start_offset_ms=60_000),
        "freshnessAssertion",
        {
            "type": "DATASET_CHANGE",
            "entity": ORDERS,
            "schedule": {
                "type": "CRON",
                "cron": {"cron": "0 8 * * *", "timezone": "Europe/Berlin", "windowStartOffsetMs": 60000},
            },
        },
    ),
    "a dataset that changes often": (
        Freshness(every=(2, "day"), filter="country = 'IN'"),
        "freshnessAssertion",
        {
            "type": "DATASET_CHANGE",
            "entity": ORDERS,
            "schedule": {"type": "FIXED_INTERVAL", "fixedInterval": {"unit": "DAY", "multiple": 2}},
            "filter": ROWS,
        },
    ),
    "a dataset that changed since": (
        Freshness(since_last_check=True),
        "freshnessAssertion",
        {"type": "DATASET_CHANGE", "entity": ORDERS, "schedule": SINCE},
    ),
    "rows": (
        Volume(min=1, max=9),
        "volumeAssertion",
        {"type": "ROW_COUNT_TOTAL", "entity": ORDERS, "rowCountTotal": ONE_TO_NINE},
    ),
    "more rows": (
        Volume(min=1, change="percentage", filter="country = 'IN'"),
        "volumeAssertion",
        {
            "type": "ROW_COUNT_CHANGE",
            "entity": ORDERS,
            "rowCountChange": {"type": "PERCENTAGE", **AT_LEAST_ONE},
            "filter": ROWS,
        },
    ),
    "rows of a day": (
        Volume(min=1, segment=Segment("amount", "numeric(10,2)", "TIMESTAMP_MS_TO_DATE")),
        "volumeAssertion",
        {
            "type": "INCREMENTING_SEGMENT_ROW_COUNT_TOTAL",
            "entity": ORDERS,
            "incrementingSegmentRowCountTotal": {
                "segment": {"field": NUMBER, "transformer": {"type": "TIMESTAMP_MS_TO_DATE"}},
                **AT_LEAST_ONE,
            },
        },
    ),
    "more rows of a segment of ours": (
        Volume(min=1, change="absolute", segment=Segment("amount", "numeric(10,2)", "amount / 7")),
        "volumeAssertion",
        {
            "type": "INCREMENTING_SEGMENT_ROW_COUNT_CHANGE",
            "entity": ORDERS,
            "incrementingSegmentRowCountChange": {
                "segment": {"field": NUMBER, "transformer": {"type": "NATIVE", "nativeType": "amount / 7"}},
                "type": "ABSOLUTE",
                **AT_LEAST_ONE,
            },
        },
    ),
    "rows of each amount": (
        Volume(min=1, segment=Segment("amount", "numeric(10,2)")),
        "volumeAssertion",
        {
            "type": "INCREMENTING_SEGMENT_ROW_COUNT_TOTAL",
            "entity": ORDERS,
            "incrementingSegmentRowCountTotal": {"segment": {"field": NUMBER}, **AT_LEAST_ONE},
        },
    ),
    "a number of SQL": (
        Sql(statement="select 1", min=1),
        "sqlAssertion",
        {"type": "METRIC", "entity": ORDERS, "statement": "select 1", **AT_LEAST_ONE},
    ),
    "a number of SQL that grows": (
        Sql(statement="select 1", operator=">=", value=1, change="absolute"),
        "sqlAssertion",
        {"type": "METRIC_CHANGE", "entity": ORDERS, "statement": "select 1", "changeType": "ABSOLUTE", **AT_LEAST_ONE},
    ),
    "a metric of a column": (
        Field(**AMOUNT, metric="MEAN", min=1, max=9),
        "fieldAssertion",
        {
            "type": "FIELD_METRIC",
            "entity": ORDERS,
            "fieldMetricAssertion": {"field": NUMBER, "metric": "MEAN", **ONE_TO_NINE},
        },
    ),
    "values of a column": (
        Field(**AMOUNT, operator="NOT_NULL", exclude_nulls=False, fail_percentage=5, filter="country = 'IN'"),
        "fieldAssertion",
        {
            "type": "FIELD_VALUES",
            "entity": ORDERS,
            "fieldValuesAssertion": {
                "field": NUMBER,
                "operator": "NOT_NULL",
                "failThreshold": {"type": "PERCENTAGE", "value": 5},
                "excludeNulls": False,
            },
            "filter": ROWS,
        },
    ),
    "long texts": (
        Field(column="name", native_type="varchar(20)", length=True, min=1),
        "fieldAssertion",
        {
            "type": "FIELD_VALUES",
            "entity": ORDERS,
            "fieldValuesAssertion": {
                "field": {"path": "name", "type": "STRING", "nativeType": "varchar(20)"},
                "transform": {"type": "LENGTH"},
                **AT_LEAST_ONE,
                "failThreshold": {"type": "COUNT", "value": 0},
                "excludeNulls": True,
            },
        },
    ),
    "known values of a nested column": (
        Field(column="who", native_type="struct<a:int>", value={"b", "a"}, operator="NOT_IN", fail_count=3),
        "fieldAssertion",
        {
            "type": "FIELD_VALUES",
            "entity": ORDERS,
            "fieldValuesAssertion": {
                "field": {"path": "who", "type": "STRUCT", "nativeType": "struct<a:int>"},
                "operator": "NOT_IN",
                "parameters": {"value": {"value": '["a","b"]', "type": "SET"}},
                "failThreshold": {"type": "COUNT", "value": 3},
                "excludeNulls": True,
            },
        },
    ),
    "anything": (
        Custom(label="Fraud model", column="amount", logic="score < 0.5"),
        "customAssertion",
        {"type": "Fraud model", "entity": ORDERS, "field": COLUMN, "logic": "score < 0.5"},
    ),
    "anything at all": (Custom(label="Eyes"), "customAssertion", {"type": "Eyes", "entity": ORDERS}),
}
TYPES = {
    "freshnessAssertion": "FRESHNESS",
    "volumeAssertion": "VOLUME",
    "sqlAssertion": "SQL",
    "fieldAssertion": "FIELD",
    "customAssertion": "CUSTOM",
    "schemaAssertion": "DATA_SCHEMA",
}


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
@pytest.mark.parametrize(("definition", "part", "wanted"), EVERYWHERE.values(), ids=EVERYWHERE)
def test_definition_is_written_as_datahub_keeps_it(record_pipeline, definition, part, wanted, profile):
    one = record_pipeline(datahub_version=profile)
    check = one.pipeline.assertion(ORDERS, definition, platform="dbt", description="must hold")
    assert one.last(check.urn, "assertionInfo") == {
        "customProperties": {},
        "type": TYPES[part],
        part: wanted,
        "source": {"type": "EXTERNAL"},
        "description": "must hold",
    }
    check.report(success=True)
    one.assert_sound()


def test_job_that_runs_in_time(record_pipeline):
    one = record_pipeline()
    check = one.pipeline.assertion(JOB, Freshness(every=(1, "HOUR")))
    assert one.last(check.urn, "assertionInfo")["freshnessAssertion"] == {
        "type": "DATA_JOB_RUN",
        "entity": JOB,
        "schedule": {"type": "FIXED_INTERVAL", "fixedInterval": {"unit": "HOUR", "multiple": 1}},
    }
    one.assert_sound()


def test_columns_of_a_dataset(record_pipeline):
    one = record_pipeline()
    check = one.pipeline.assertion(ORDERS, Schema([("id", "bigint"), ("at", "timestamp", "when")], "SUPERSET"))
    found = one.last(check.urn, "assertionInfo")["schemaAssertion"]
    assert (found["entity"], found["compatibility"]) == (ORDERS, "SUPERSET")
    assert [(field["fieldPath"], field["nativeDataType"]) for field in found["schema"]["fields"]] == [
        ("id", "bigint"),
        ("at", "timestamp"),
    ]
    assert found["schema"]["fields"][1]["description"] == "when"
    assert found["schema"]["schemaName"] == "shop.public.orders"
    one.assert_sound()


def test_columns_are_spelt_as_their_system_spells_them(record_pipeline):
    one = record_pipeline()
    check = one.pipeline.assertion(
        ("snowflake://acme", "SHOP.PUBLIC.ORDERS"), Field(column="AMOUNT", native_type="int", min=0)
    )
    field = one.last(check.urn, "assertionInfo")["fieldAssertion"]["fieldValuesAssertion"]["field"]
    assert field["path"] == "amount"


def test_results_of_a_filtered_definition_are_of_those_rows(record_pipeline):
    one = record_pipeline()
    check = one.pipeline.assertion(ORDERS, Volume(min=1, filter="country = 'IN'"))
    check.report(success=True)
    assert one.last(check.urn, "assertionRunEvent")["partitionSpec"] == {"partition": "country = 'IN'", "type": "QUERY"}


# -- identity ----------------------------------------------------------------------------------------------------------


def test_definition_urn_depends_on_its_limits_and_platform(record_pipeline):
    one = record_pipeline()
    say = one.pipeline.assertion
    first = say(ORDERS, Volume(min=1), platform="dbt").urn
    assert first == say(ORDERS, Volume(min=1), platform="dbt", description="d", suite="s").urn
    others = {
        say(ORDERS, Volume(min=2), platform="dbt").urn,
        say(ORDERS, Volume(min=1), platform="airflow").urn,
        say(ORDERS, Volume(min=1), platform="dbt", instance="west").urn,
        say(ORDERS, Sql(statement="select 1", min=1), platform="dbt").urn,
    }
    assert len(others) == 4
    assert first not in others


def test_definition_urn_depends_on_its_name_if_named(record_pipeline):
    one = record_pipeline()
    first = one.pipeline.assertion(ORDERS, Volume(min=1), name="enough", url="https://checks.example/1")
    assert first.urn == one.pipeline.assertion(ORDERS, Volume(min=2), name="enough").urn
    info = one.aspects(first.urn, "assertionInfo")[0]
    assert info["customProperties"] == {"openlineage.name": "enough"}
    assert info["externalUrl"] == "https://checks.example/1"


# -- versions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "definition",
    [
        Freshness(since_last_check=True, failure_severity="HIGH"),
        Volume(min=1, failure_severity="HIGH"),
        Volume(min=1, change="absolute", failure_severity="HIGH"),
        Sql(statement="select 1", min=1, failure_severity="HIGH"),
        Field(**AMOUNT, min=1, failure_severity="HIGH"),
        Field(**AMOUNT, metric="MEAN", min=1, failure_severity="HIGH"),
    ],
)
def test_how_bad_a_failure_is_needs_1_6(record_pipeline, definition):
    with pytest.raises(SettingsError, match=r"requires DataHub 1\.6, but the proposals are for DataHub 1\.5") as caught:
        record_pipeline(datahub_version="1.5").pipeline.assertion(ORDERS, definition)
    assert caught.value.location == "datahub_version"
    one = record_pipeline(datahub_version="1.6")
    check = one.pipeline.assertion(ORDERS, definition)
    assert str(HIGH)[1:-1] in str(one.last(check.urn, "assertionInfo"))
    one.assert_sound()


@pytest.mark.parametrize(
    ("stated", "key"),
    [
        ({"columns": ["id"]}, "fields"),
        ({"scope": "DATASET_ROWS"}, "scope"),
        ({"aggregation": "MAX"}, "aggregation"),
        ({"min": 1}, "operator"),
        ({"native_type": "fraud"}, "nativeType"),
        ({"native_parameters": {"a": 1, "none": None}}, "nativeParameters"),
    ],
)
def test_custom_assertion_details_require_datahub_1_7(record_pipeline, stated, key):
    with pytest.raises(
        SettingsError, match=rf"{key} .*requires DataHub 1\.7, but the proposals are for DataHub 0\.15\.0"
    ):
        record_pipeline().pipeline.assertion(ORDERS, Custom(label="Fraud", **stated))
    one = record_pipeline(datahub_version="1.7")
    check = one.pipeline.assertion(ORDERS, Custom(label="Fraud", column="amount", **stated))
    assert key in one.last(check.urn, "assertionInfo")["customAssertion"]
    one.assert_sound()


# -- what cannot be used -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "definition",
    [
        Freshness(),
        Freshness(cron="0 8 * * *", since_last_check=True),
        Freshness(every=(1, "FORTNIGHT")),
        Volume(),
        Volume(operator="NOT_NULL"),
        Volume(min=1, segment=Segment("day", "date"), failure_severity="HIGH"),
        Sql(statement="select 1"),
        Field(**AMOUNT, metric="MEAN", length=True, min=1),
        Field(**AMOUNT, metric="MEAN", fail_count=1, min=1),
        Field(**AMOUNT, min=1, fail_count=1, fail_percentage=1),
        Schema([]),
        Schema([("id", "")]),
        Schema([("id",)]),
        Schema([("id", "bigint"), ("id", "bigint")]),
    ],
)
def test_definition_that_makes_no_sense_is_refused(record_pipeline, definition):
    with pytest.raises(EventError) as caught:
        record_pipeline(datahub_version="1.7").pipeline.assertion(ORDERS, definition)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "definition",
    [Volume(min=1), Sql(statement="s", min=1), Field(**AMOUNT, min=1), Schema([("a", "int")]), Custom(label="x")],
)
def test_only_freshness_is_about_jobs(record_pipeline, definition):
    with pytest.raises(AspectError, match="is not a dataset"):
        record_pipeline().pipeline.assertion(JOB, definition)


def test_job_has_no_rows_to_filter(record_pipeline):
    with pytest.raises(EventError, match="rows"):
        record_pipeline().pipeline.assertion(JOB, Freshness(since_last_check=True, filter="a = 1"))


@pytest.mark.parametrize("redaction", ["default", "off"])
def test_values_of_a_secret_column_are_hidden(record_pipeline, redaction):
    one = record_pipeline(redaction=redaction)
    checks = [
        one.pipeline.assertion(
            ORDERS, Field(column="password", native_type="text", value=[value], **stated), platform="x"
        )
        for value in ("hunter2", "hunter3")
        for stated in ({}, {"operator": "REGEX_MATCH"})
    ]
    assert len({check.urn for check in checks}) == 4
    checks[0].report(success=False, actual="hunter2", unexpected=3)
    values = [
        one.last(check.urn, "assertionInfo")["fieldAssertion"]["fieldValuesAssertion"]["parameters"]["value"]["value"]
        for check in checks
    ]
    hidden = "[REDACTED]" if redaction == "default" else None
    assert values[::2] == [hidden or '["hunter2"]', hidden or '["hunter3"]']
    assert values[1::2] == ['["hunter2"]', '["hunter3"]']  # a pattern says how is looked
    result = one.last(checks[0].urn, "assertionRunEvent")["result"]
    assert (result["nativeResults"], result["unexpectedCount"]) == ({"actual": hidden or "hunter2"}, 3)


def test_definition_accepts_no_extra_arguments(record_pipeline):
    with pytest.raises(EventError, match="column"):
        record_pipeline().pipeline.assertion(ORDERS, Volume(min=1), column="id")


@pytest.mark.parametrize(
    "definition",
    [Field(**AMOUNT, metric="LUCK", min=1), Custom(label="x", scope="EVERYWHERE"), Freshness(every=(2**40, "DAY"))],
)
def test_definition_values_unknown_to_datahub_are_refused(record_pipeline, definition):
    with pytest.raises(AspectError, match=r"assertionInfo.*correct the arguments of the check"):
        record_pipeline(datahub_version="1.7").pipeline.assertion(ORDERS, definition)


# -- comparisons -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "operator", "parameters"),
    [
        ({"min": 1}, "GREATER_THAN_OR_EQUAL_TO", {"value": {"value": "1", "type": "NUMBER"}}),
        ({"max": 1.5}, "LESS_THAN_OR_EQUAL_TO", {"value": {"value": "1.5", "type": "NUMBER"}}),
        ({"value": 3}, "EQUAL_TO", {"value": {"value": "3", "type": "NUMBER"}}),
        ({"value": "x"}, "EQUAL_TO", {"value": {"value": "x", "type": "STRING"}}),
        ({"value": True}, "EQUAL_TO", {"value": {"value": "true", "type": "STRING"}}),
        ({"value": Decimal("1.10")}, "EQUAL_TO", {"value": {"value": "1.10", "type": "NUMBER"}}),
        ({"min": date(2024, 1, 1)}, "GREATER_THAN_OR_EQUAL_TO", {"value": {"value": "2024-01-01", "type": "STRING"}}),
        ({"value": [2, 1]}, "IN", {"value": {"value": "[2,1]", "type": "LIST"}}),
        ({"operator": ">", "min": 1}, "GREATER_THAN", {"value": {"value": "1", "type": "NUMBER"}}),
        ({"operator": "REGEX_MATCH", "value": "^a"}, "REGEX_MATCH", {"value": {"value": "^a", "type": "STRING"}}),
        ({"operator": "IS_TRUE"}, "IS_TRUE", None),
    ],
)
def test_comparison_is_an_operator_with_its_parameters(stated, operator, parameters):
    wanted = {"operator": operator, **({"parameters": parameters} if parameters is not None else {})}
    assert Comparison(**stated).to_json() == wanted


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"min": 1, "max": 2, "value": 3},
        {"operator": "BETWEEN", "min": 1},
        {"operator": "NOT_NULL", "value": 1},
        {"operator": ">"},
        {"operator": ">", "min": 1, "max": 2},
        {"min": 1, "value": 2},
    ],
)
def test_comparison_with_missing_or_extra_bounds_is_refused(stated):
    with pytest.raises(EventError, match=r"(requires|accepts)"):
        Comparison(**stated).to_json()
