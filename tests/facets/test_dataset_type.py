"""datasetType (dataset)."""

from __future__ import annotations

import warnings

import pytest
from openlineage.client.facet_v2 import dataset_type_dataset
from support.facet_cases import TOTALS, client_pair, facet, of_output, pair, spec, totals, translate_events
from support.value_tables import TABLES, document


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
@pytest.mark.parametrize(
    ("kind", "subtype", "names"),
    [
        ("TABLE", None, ["Table"]),
        ("view", "", ["View"]),
        ("TOPIC", None, ["Topic"]),
        ("STREAM", None, ["Stream"]),
        ("FILE", None, ["File"]),
        ("MODEL", None, ["Model"]),
        ("FEATURE_GROUP", None, ["Feature Group"]),
        ("TABLE", "EXTERNAL", ["External Table"]),
        ("VIEW", "materialized", ["View"]),
        ("TABLE", "TEMPORARY", ["Temporary Table"]),
        ("VIEW", "TEMPORARY", ["View", "Temporary"]),
        ("x" * 5000, None, ["X" + "x" * 99]),
    ],
)
def test_dataset_type_and_subtype_are_datahub_subtypes(kind, subtype, names, profile):
    found = of_output("datasetType", facet(datasetType=kind, subType=subtype), datahub_version=profile)
    assert found.one(TOTALS, "subTypes") == {"typeNames": names}
    assert found.properties(TOTALS)["datasetType.datasetType"].startswith(kind[:100])
    assert found.properties(TOTALS).get("datasetType.subType") == (subtype or None)


@pytest.mark.parametrize(
    ("platform", "kind", "subtype", "names"),
    [
        ("kafka", "STREAM", "", ["Topic"]),
        ("kafka", "stream", "compacted", ["Topic", "Compacted"]),
        ("kafka", "TABLE", "", ["Topic"]),
        ("kinesis", "TOPIC", "", ["Stream"]),
        ("kinesis", "STREAM", "", ["Stream"]),
        ("elasticsearch", "TABLE", "", ["Index"]),
        ("snowflake", "TABLE", "EXTERNAL", ["Table"]),
        ("snowflake", "VIEW", "MATERIALIZED", ["View"]),
        ("snowflake", "TABLE", "TEMPORARY", ["Temporary Table"]),
        ("bigquery", "TABLE", "EXTERNAL", ["External Table", "Table"]),
        ("external", "VIEW", "MATERIALIZED", ["Materialized View"]),
        ("external", "STREAM", "", ["Stream"]),
    ],
)
def test_subtype_follows_the_connector_of_the_platform(platform, kind, subtype, names):
    assert list(TABLES.dataset_types(kind, subtype, platform)) == names


def test_kafka_stream_has_the_topic_subtype():
    topic = {"namespace": "kafka://b1:9092", "name": "orders", "facets": {"datasetType": facet(datasetType="STREAM")}}
    found = translate_events(pair(outputs=[topic]))
    urn = "urn:li:dataset:(urn:li:dataPlatform:kafka,orders,PROD)"
    assert found.one(urn, "subTypes") == {"typeNames": ["Topic"]}
    assert found.properties(urn)["datasetType.datasetType"] == "STREAM"


def test_words_of_connectors_are_datahubs():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subtypes = pytest.importorskip("datahub.ingestion.source.common.subtypes", reason="needs acryl-datahub")
    written = {
        name for row in document("dataset_types")["platforms"] for names in row["words"].values() for name in names
    }
    assert written <= {str(one) for one in subtypes.DatasetSubTypes}


@pytest.mark.parametrize(
    "body", [facet(datasetType="JOB_OUTPUT"), facet(datasetType=""), facet(subType="EXTERNAL"), facet()]
)
def test_invalid_dataset_type_is_only_a_property(body):
    found = of_output("datasetType", body)
    assert not found.has(TOTALS, "subTypes")
    for leaf in ("datasetType", "subType"):
        assert found.properties(TOTALS).get(f"datasetType.{leaf}") == (body.get(leaf) or None)


def test_dbt_knows_better_in_whatever_order():
    stated = {"datasetType": facet(datasetType="TABLE"), "dbt_model": facet(config={"materialized": "view"})}
    for facets in (stated, dict(reversed(stated.items()))):
        assert translate_events(pair(outputs=[totals(facets=facets)])).one(TOTALS, "subTypes") == {
            "typeNames": ["View"]
        }


def test_malformed_type_is_dropped_and_a_tombstone_is_ignored():
    found = of_output("datasetType", facet(datasetType=["TABLE"], subType="EXTERNAL"))
    assert not found.has(TOTALS, "subTypes")
    assert found.properties(TOTALS)["datasetType.subType"] == "EXTERNAL"
    assert not of_output("datasetType", facet(datasetType="TABLE", _deleted=True)).has(TOTALS, "subTypes")


def test_specification_s_document_is_read():
    found = of_output("datasetType", spec("DatasetTypeDatasetFacet")["datasetType"])
    assert found.one(TOTALS, "subTypes") == {"typeNames": ["View"]}


def test_client_s_class_is_read():
    made = dataset_type_dataset.DatasetTypeDatasetFacet(datasetType="TOPIC")
    assert translate_events(client_pair(outputs={"datasetType": made})).one(TOTALS, "subTypes") == {
        "typeNames": ["Topic"]
    }
