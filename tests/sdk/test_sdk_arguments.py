"""What a caller says of the wrong kind is told by its name, before anything else is."""

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
    ("said", "named"),
    [
        ({"inputs": 5}, "dataset: 5 names no dataset"),
        ({"inputs": Path("/data/in.csv")}, "names no dataset"),
        ({"upstream": 5}, "run: 5 names no run"),
        ({"parent": 5}, "run: 5 names no run"),
        ({"name": 5}, "name: a text is wanted, not int"),
        ({"kind": ["scheduled"]}, "kind: a text is wanted, not list"),
        ({"url": 5}, "url: a text is wanted"),
        ({"template": 5}, "template: a text is wanted"),
        ({"producer": 5}, "producer: a text is wanted"),
        ({"properties": [1]}, "properties: a mapping is wanted, not list"),
        ({"facets": "x"}, "facets: a mapping is wanted, not str"),
        ({"job_facets": [1]}, "job_facets: a mapping is wanted"),
    ],
)
def test_what_is_said_of_a_run(pipeline, said, named):
    with pytest.raises(EventError, match=named):
        pipeline.run(JOB, **said)


@pytest.mark.parametrize(
    ("check", "said", "named"),
    [
        (5, {}, "check: 5 is no check"),
        (Volume, {}, "is no check"),
        ("not_null", {"platform": 5}, "platform: a text is wanted"),
        ("not_null", {"instance": 5}, "instance: a text is wanted"),
        ("not_null", {"description": 5}, "description: a text is wanted"),
        ("not_null", {"url": 5}, "url: a text is wanted"),
        ("not_null", {"properties": [1]}, "properties: a mapping is wanted"),
        ("not_null", {"parameters": [1]}, "parameters: a mapping is wanted"),
        ("custom_sql", {"logic": 5}, "logic: a text is wanted"),
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
def test_what_is_said_of_a_check(pipeline, check, said, named):
    with pytest.raises(EventError, match=named):
        pipeline.assertion(ORDERS, check, **said)
    assert pipeline.sink.proposals == []


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"url": 5}, "url: a text is wanted"),
        ({"severity": ["warn"]}, "severity: a text is wanted"),
        ({"batch": 5}, "batch: a mapping is wanted, not int"),
        ({"batch": {"properties": [1]}}, r"batch\.properties: a mapping is wanted"),
        ({"context": [1]}, "context: a mapping is wanted"),
        ({"results": "x"}, "results: a mapping is wanted"),
    ],
)
def test_what_is_said_of_a_result(pipeline, said, named):
    check = pipeline.assertion(ORDERS, "not_null", column="id")
    with pytest.raises(EventError, match=named):
        check.report(True, **said)  # noqa: FBT003 - the word of the public interface


@pytest.mark.parametrize("error", [5, ("UNKNOWN_ERROR",), ("UNKNOWN_ERROR", 5)])
def test_what_is_no_error_is_refused(pipeline, error):
    with pytest.raises(EventError, match="error: "):
        pipeline.assertion(ORDERS, "not_null", column="id").report(error=error)
    if error == 5:
        with pipeline.run(JOB) as run, pytest.raises(EventError, match="error: int is no error"):
            run.retry(2, error=error)


def test_a_uuid_is_an_id_and_a_decimal_a_limit(pipeline):
    own = uuid.uuid4()
    assert pipeline.assertion(ORDERS, "not_null", column="id", id=own).urn == f"urn:li:assertion:{own}"
    total = pipeline.assertion(ORDERS, Volume(min=Decimal(5), change="ABSOLUTE")).info["volumeAssertion"]
    assert total["rowCountChange"]["parameters"]["value"] == {"value": "5", "type": "NUMBER"}


def test_a_run_that_never_began_cannot_end(pipeline):
    with pytest.raises(EventError, match="has not begun"):
        pipeline.run(JOB).__exit__(None, None, None)


def test_settings_of_a_pipeline_are_given_as_those_of_a_bridge():
    assert Pipeline({"datahub_version": "1.4"}, sink="memory:").options.profile.name == "1.4"
