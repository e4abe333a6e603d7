"""An argument of the wrong type is an error with its name, before anything is sent."""

from __future__ import annotations

import uuid
from decimal import Decimal
from pathlib import Path

import pytest

from dh_bridge.errors import EventError
from dh_bridge.sdk import Custom, Field, Freshness, Pipeline, Schema, Sql, Volume

JOB = ("nightly", "shop.load")
ORDERS = "postgres://db:5432/shop.public.orders"


@pytest.fixture
def pipeline():
    return Pipeline(sink="memory:")


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ({"inputs": 5}, "dataset: expected a dataset, got 5"),
        ({"inputs": Path("/data/in.csv")}, "expected a dataset, got PosixPath"),
        ({"upstream": 5}, "run: expected a run, got 5"),
        ({"parent": 5}, "run: expected a run, got 5"),
        ({"name": 5}, "name: expected a string, got int"),
        ({"kind": ["scheduled"]}, "kind: expected a string, got list"),
        ({"url": 5}, "url: expected a string"),
        ({"template": 5}, "template: expected a string"),
        ({"producer": 5}, "producer: expected a string"),
        ({"properties": [1]}, "properties: expected a mapping, got list"),
        ({"facets": "x"}, "facets: expected a mapping, got str"),
        ({"job_facets": [1]}, "job_facets: expected a mapping"),
    ],
)
def test_run_arguments_are_validated(pipeline, stated, named):
    with pytest.raises(EventError, match=named):
        pipeline.run(JOB, **stated)


@pytest.mark.parametrize(
    ("check", "stated", "named"),
    [
        (5, {}, "check: expected a check, got 5"),
        (Volume, {}, "expected a check"),
        ("not_null", {"platform": 5}, "platform: expected a string"),
        ("not_null", {"instance": 5}, "instance: expected a string"),
        ("not_null", {"description": 5}, "description: expected a string"),
        ("not_null", {"url": 5}, "url: expected a string"),
        ("not_null", {"properties": [1]}, "properties: expected a mapping"),
        ("not_null", {"parameters": [1]}, "parameters: expected a mapping"),
        ("custom_sql", {"logic": 5}, "logic: expected a string"),
        (Freshness(every="2 DAY"), {}, r"Freshness: .*\$\.every"),
        (Volume(min=1, change=5), {}, r"Volume: .*\$\.change"),
        (Volume(min=1, segment="day"), {}, r"Volume: .*\$\.segment"),
        (Sql(statement=5, min=1), {}, r"Sql: .*\$\.statement"),
        (Field(column=5, native_type="int", min=1), {}, r"Field: .*\$\.column"),
        (Schema(5), {}, r"Schema: .*\$\.fields"),
        (Schema([("id", 5)]), {}, r"Schema: .*\$\.fields\[0\]\[1\]"),
        (Custom(label="x", columns=5), {}, r"Custom: .*\$\.columns"),
    ],
)
def test_assertion_arguments_are_validated(pipeline, check, stated, named):
    with pytest.raises(EventError, match=named):
        pipeline.assertion(ORDERS, check, **stated)
    assert pipeline.sink.proposals == []


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ({"url": 5}, "url: expected a string"),
        ({"severity": ["warn"]}, "severity: expected a string"),
        ({"batch": 5}, "batch: expected a mapping, got int"),
        ({"batch": {"properties": [1]}}, r"batch\.properties: expected a mapping"),
        ({"context": [1]}, "context: expected a mapping"),
        ({"results": "x"}, "results: expected a mapping"),
    ],
)
def test_result_arguments_are_validated(pipeline, stated, named):
    check = pipeline.assertion(ORDERS, "not_null", column="id")
    with pytest.raises(EventError, match=named):
        check.report(True, **stated)  # noqa: FBT003 - the word of the public interface


@pytest.mark.parametrize("error", [5, ("UNKNOWN_ERROR",), ("UNKNOWN_ERROR", 5)])
def test_error_of_a_wrong_type_is_refused(pipeline, error):
    with pytest.raises(EventError, match="error: "):
        pipeline.assertion(ORDERS, "not_null", column="id").report(error=error)
    if error == 5:
        with pipeline.run(JOB) as run, pytest.raises(EventError, match="error: expected an error, got int"):
            run.retry(2, error=error)


def test_uuid_is_an_id_and_a_decimal_a_limit(pipeline):
    own = uuid.uuid4()
    assert pipeline.assertion(ORDERS, "not_null", column="id", id=own).urn == f"urn:li:assertion:{own}"
    total = pipeline.assertion(ORDERS, Volume(min=Decimal(5), change="ABSOLUTE")).info["volumeAssertion"]
    assert total["rowCountChange"]["parameters"]["value"] == {"value": "5", "type": "NUMBER"}


def test_run_that_never_began_cannot_end(pipeline):
    with pytest.raises(EventError, match="has not started"):
        pipeline.run(JOB).__exit__(None, None, None)


def test_pipeline_accepts_the_settings_of_a_bridge():
    assert Pipeline({"datahub_version": "1.4"}, sink="memory:").options.profile.name == "1.4"
