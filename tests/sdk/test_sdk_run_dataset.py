"""Inputs and outputs of a run with details, and datasets that are one text."""

from __future__ import annotations

import pytest

from dh_bridge.errors import EventError
from dh_bridge.sdk import Pipeline, RunDataset
from dh_bridge.sdk.references import resolve_dataset
from dh_bridge.sinks.memory import MemorySink

JOB = ("nightly", "shop.load")
ORDERS = ("postgres://db:5432", "shop.public.orders")
URN = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
LAKE = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/in,PROD)"


@pytest.fixture
def pipeline():
    return Pipeline({"datahub_version": "1.4"}, sink=MemorySink())


def last(pipeline, urn, aspect):
    return [one.value for one in pipeline.sink.proposals if (one.entity_urn, one.aspect_name) == (urn, aspect)][-1]


def test_schema_counts_and_change_of_an_output(pipeline):
    details = RunDataset(
        ORDERS,
        schema=[("id", "bigint"), ("name", "text", "of the buyer")],
        rows=17,
        size=2048,
        files=2,
        change="OVERWRITE",
    )
    with pipeline.run(JOB, outputs=[details]) as run:
        pass
    fields = last(pipeline, URN, "schemaMetadata")["fields"]
    assert [(field["fieldPath"], field["nativeDataType"]) for field in fields] == [("id", "bigint"), ("name", "text")]
    assert fields[1]["description"] == "of the buyer"
    operation = last(pipeline, URN, "operation")
    assert (operation["operationType"], operation["numAffectedRows"]) == ("UPDATE", 17)
    assert operation["customProperties"]["openlineage.outputStatistics.size"] == "2048"
    assert operation["customProperties"]["openlineage.outputStatistics.fileCount"] == "2"
    properties = last(pipeline, run.urn, "dataProcessInstanceProperties")["customProperties"]
    assert properties["openlineage.outputs.rowCount"] == "17"
    assert last(pipeline, URN, "datasetProfile")["rowCount"] == 17


def test_counts_of_an_input_and_further_facets(pipeline):
    documented = {"documentation": {"description": "All orders."}}
    with pipeline.run(JOB, RunDataset("s3://lake/in", rows=5, size=70, facets=documented), [ORDERS]) as run:
        pass
    properties = last(pipeline, run.urn, "dataProcessInstanceProperties")["customProperties"]
    assert (properties["openlineage.inputs.rowCount"], properties["openlineage.inputs.size"]) == ("5", "70")
    operations = {one["path"]: one.get("value") for one in last(pipeline, LAKE, "datasetProperties")}
    assert operations["/description"] == "All orders."


def test_details_that_are_known_later_are_added(pipeline):
    with pipeline.run(JOB, outputs=[RunDataset(ORDERS, schema=[("id", "bigint")], rows=1)]) as run:
        run.writes(ORDERS)
        run.writes(RunDataset(ORDERS, rows=17), RunDataset(ORDERS, size=9, change="APPEND"))
    operation = last(pipeline, URN, "operation")
    assert (operation["operationType"], operation["numAffectedRows"]) == ("INSERT", 17)
    assert operation["customProperties"]["openlineage.outputStatistics.size"] == "9"
    assert last(pipeline, URN, "schemaMetadata")["fields"][0]["fieldPath"] == "id"


def test_secrets_in_facets_are_masked(pipeline):
    facets = {"documentation": {"description": "see postgres://ann:secret@db/x"}}
    with pipeline.run(JOB, outputs=[RunDataset(ORDERS, facets=facets)]):
        pass
    assert "secret" not in str([one.value for one in pipeline.sink.proposals])


@pytest.mark.parametrize(
    ("details", "side", "match"),
    [
        ({"rows": -1}, "outputs", "expected a count, got -1"),
        ({"rows": True}, "outputs", "rows"),
        ({"size": "many"}, "outputs", "size"),
        ({"change": "SHRINK"}, "outputs", "change"),
        ({"change": "APPEND"}, "inputs", "only outputs have a change"),
        ({"schema": ["id"]}, "outputs", "schema"),
        ({"schema": [("id",)]}, "outputs", "each column requires a name and a type"),
        ({"facets": 7}, "outputs", "expected a mapping"),
    ],
)
def test_details_that_cannot_be_used_are_refused(pipeline, details, side, match):
    with pytest.raises(EventError, match=match):
        pipeline.run(JOB, **{side: [RunDataset(ORDERS, **details)]})


def test_dataset_that_is_a_urn_has_no_details(pipeline):
    with pytest.raises(EventError, match="cannot be a URN"):
        pipeline.run(JOB, outputs=[RunDataset(URN, rows=1)])
    with pipeline.run(JOB, outputs=[RunDataset(URN)]) as run:
        pass
    assert last(pipeline, run.urn, "dataProcessInstanceOutput") == {"outputs": [URN]}


# -- datasets that are one text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("azurecosmos://h/dbs/d/colls/t", ("azurecosmos://h/dbs/d", "colls/t")),
        ("bigquery:p.s.t", ("bigquery", "p.s.t")),
        ("spanner://p/i/db.s.t", ("spanner://p/i", "db.s.t")),
        ("confluent://e/c/topic", ("confluent://e/c", "topic")),
        ("trino://h:8080/hive/default.orders", ("trino://h:8080", "hive.default.orders")),
        ("arn:aws:glue:us-east-1:123456789012:table/db/t", ("arn:aws:glue:us-east-1:123456789012:table", "db/t")),
        ("pubsub:topic:p:t", ("pubsub", "topic:p:t")),
        ("oracle:thin:@//h:1521/db/S.T", ("oracle:thin:@//h:1521/db", "S.T")),
        # as it is spelled, where both give one dataset
        ("s3://lake/in", ("s3://lake", "in")),
        ("s3a://lake/a/b.csv", ("s3a://lake", "a/b.csv")),
        ("postgres://db:5432/shop.public.orders", ("postgres://db:5432", "shop.public.orders")),
        ("foo://h/a/b", ("foo://h", "a/b")),
    ],
)
def test_known_system_claims_the_longest_prefix_of_a_text(pipeline, text, pair):
    dataset = resolve_dataset(text, pipeline.options)
    assert dataset.pair == pair
    assert dataset.urn == resolve_dataset(pair, pipeline.options).urn


@pytest.mark.parametrize(
    "text", ["azurecosmos://h/dbs/d", "postgres://db:5432", "bigquery", "s3://lake", "sqlite:///data/x.db/t"]
)
def test_namespace_alone_is_refused_with_the_reason(pipeline, text):
    with pytest.raises(EventError, match="is a namespace without the name of a dataset") as caught:
        resolve_dataset(text, pipeline.options)
    assert caught.value.remedy == "pass (namespace, name)"
