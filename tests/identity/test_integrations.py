"""Producers that only a facet or a part of a name identifies: integrations, sessions of Microsoft Fabric, URLs with one slash."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from support.facet_cases import event, facet

from dh_bridge import Bridge
from dh_bridge.identity import Identity
from dh_bridge.settings import Settings

CASES = Path(__file__).parents[1] / "cases"


def events_of(name):
    events = json.loads((CASES / name).read_text(encoding="utf-8"))
    return events if isinstance(events, list) else [events]


def translated(events, **settings):
    return Bridge(Settings(**settings)).translate([json.dumps(body).encode() for body in events])


def urns(events, entity_type):
    return {p.entity_urn for p in translated(events).proposals if p.entity_type == entity_type}


def job_type(integration):
    return {"jobType": facet(processingType="BATCH", integration=integration, jobType="JOB")}


def test_integration_of_a_job_chooses_the_platform_of_an_unknown_producer():
    platforms = {
        urn.split("(")[1].partition(",")[0] for urn in urns(events_of("10_platform_from_integration.json"), "dataFlow")
    }
    assert platforms == {"dbt", "spark", "airflow"}


WORDS = [
    ("DBT", "dbt"), ("Great Expectations", "great-expectations"), ("KAFKA-CONNECT", "kafka-connect"), ("Hamilton", "hamilton"),
    ("BIGQUERY_PIPELINES", "dataform"), ("acme", "openlineage"), ("", "openlineage"),
]  # fmt: skip


@pytest.mark.parametrize(("integration", "platform"), WORDS)
def test_words_of_integrations(integration, platform):
    body = event("COMPLETE", job=job_type(integration), producer="https://example.com/fork")
    assert all(urn.startswith(f"urn:li:dataFlow:({platform},") for urn in urns([body], "dataFlow"))


def test_known_producer_and_the_scheme_of_the_namespace_count_before_the_integration():
    airflow = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
    assert all("(airflow," in urn for urn in urns([event(job=job_type("SPARK"), producer=airflow)], "dataFlow"))
    body = event(job=job_type("SPARK"), producer="https://example.com/fork", namespace="trino://h:8080")
    assert all("(trino," in urn for urn in urns([body], "dataFlow"))


def test_rule_on_the_producer_still_holds():
    rules = [{"producer": "example.com/fork", "platform": "acme"}]
    found = translated([event(job=job_type("SPARK"), producer="https://example.com/fork")], identity={"rules": rules})
    assert {p.entity_urn.partition(",")[0] for p in found.proposals if p.entity_type == "dataFlow"} == {
        "urn:li:dataFlow:(acme"
    }


@pytest.mark.parametrize(
    ("uri", "platform"),
    [
        ("https:/github.com/OpenLineage/OpenLineage/tree/0.6.1/integration/airflow", "airflow"),
        ("http:/github.com/OpenLineage/OpenLineage/tree/0.6.1/integration/spark", "spark"),
        ("https://connection.us-east4.gcp.keboola.com", "keboola"),
        ("https://connection.keboola.com/", "keboola"),
        ("https://cloud.ibm.com/catalog/services/datastage", "datastage"),
        ("https://cloud.ibm.com/watsonx/intelligence", "watsonx.data.intelligence"),
        ("https://cloud.pola.rs", "polars"),
    ],
)
def test_producer_is_known_by_its_url(uri, platform):
    assert Identity().job("shop", "a.b", uri).platform == platform


def test_events_without_the_facet_belong_to_the_job_of_their_run_in_every_order():
    hamilton = events_of("14_hamilton.json")
    complete = {**hamilton[1], "eventType": "COMPLETE", "eventTime": "2026-11-27T13:55:04Z"}
    results = set()
    for order in permutations([*hamilton, complete]):
        found = translated(order)
        jobs = {p.entity_urn for p in found.proposals if p.entity_type in {"dataFlow", "dataJob"}}
        assert all("(hamilton,orders_job," in urn for urn in jobs)
        assert "(openlineage," not in repr(found.proposals)
        results.add(frozenset((p.entity_urn, p.aspect_name) for p in found.proposals))
    assert len(results) == 1
    assert urns(hamilton, "dataset") == {"urn:li:dataset:(urn:li:dataPlatform:file,/data/totals.parquet,PROD)"}


def test_sessions_of_a_fabric_notebook_are_runs_of_one_flow():
    events = events_of("09_fabric_sessions.json")
    assert urns(events, "dataFlow") == {"urn:li:dataFlow:(spark,nb_shop,default)"}
    assert urns(events, "dataJob") == {
        "urn:li:dataJob:(urn:li:dataFlow:(spark,nb_shop,default),execute_merge_into_command.customers)"
    }


def test_flow_of_a_fabric_notebook_has_the_name_of_the_notebook():
    events = events_of("09_fabric_sessions.json")
    for body in events:
        body["run"]["facets"]["spark_properties"]["properties"]["trident.artifact.name"] = "NB Shop"
    found = translated(events)
    infos = [repr(p) for p in found.proposals if p.aspect_name == "dataFlowInfo"]
    assert infos
    assert all("NB Shop" in text for text in infos)
