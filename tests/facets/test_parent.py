"""parent (run), also as ``parentRun`` and in the bag of the job."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import parent_run
from support.facet_cases import (
    DPI,
    JOB,
    PARENT,
    PARENT_DPI,
    RUN,
    client_pair,
    facet,
    of_run,
    pair,
    spec,
    translate_events,
)

BODY = facet(run={"runId": PARENT}, job={"namespace": "shop", "name": "daily"})


def relationships(found):
    return found.one(DPI, "dataProcessInstanceRelationships")


@pytest.mark.parametrize("key", ["parent", "parentRun"])
def test_parent_s_run_is_the_parent_instance(key):
    found = of_run(key, BODY)
    assert relationships(found) == {"parentTemplate": JOB, "parentInstance": PARENT_DPI, "upstreamInstances": []}
    assert found.properties(JOB)["parent.job"] == "shop/daily"


def test_parent_among_job_facets_is_that_of_the_run():
    assert relationships(translate_events(pair(job={"parent": BODY})))["parentInstance"] == PARENT_DPI


def test_containment_is_no_data_flow():
    found = of_run("parent", BODY)
    assert not found.has(JOB, "dataJobInputOutput")
    assert found.entities("dataProcessInstance") == {DPI}


def test_run_is_not_its_own_parent():
    found = of_run("parent", facet(run={"runId": RUN}, job={"namespace": "shop", "name": "daily.load"}), report=True)
    assert "parentInstance" not in relationships(found)
    assert "parent.job" not in found.properties(JOB)
    for leaf in ("run.runId", "job.namespace", "job.name"):
        assert found.outcomes()[f"$.run.facets.parent.{leaf}"][0] == "dropped"


def test_non_uuid_parent_run_is_identified_with_its_job():
    one = of_run("parent", facet(run={"runId": "build-1"}, job={"namespace": "a", "name": "x"}))
    other = of_run("parent", facet(run={"runId": "build-1"}, job={"namespace": "a", "name": "y"}))
    assert relationships(one)["parentInstance"] != relationships(other)["parentInstance"]


def test_root_is_kept():
    root = {"run": {"runId": PARENT}, "job": {"namespace": "shop", "name": "daily"}}
    properties = of_run("parent", facet(**{**BODY, "root": root})).properties(DPI)
    assert properties["root.runId"] == PARENT
    assert properties["root.dpi"] == PARENT_DPI
    assert properties["root.job"] == "shop/daily"


def test_forwarded_facets_are_kept():
    body = facet(
        run={"runId": PARENT, "facets": {"processing_engine": {"name": "Airflow"}}},
        job={"namespace": "shop", "name": "daily", "facets": {"jobType": {"jobType": "DAG"}}},
        root={
            "run": {"runId": PARENT, "facets": {}},
            "job": {"namespace": "n", "name": "m", "facets": {"a": {"b": 1}}},
        },
    )
    properties = of_run("parent", body).properties(DPI)
    assert properties["parent.run.facets"] == '{"processing_engine":{"name":"Airflow"}}'
    assert properties["parent.job.facets"] == '{"jobType":{"jobType":"DAG"}}'
    assert properties["root.job.facets"] == '{"a":{"b":1}}'
    assert "root.run.facets" not in properties


@pytest.mark.parametrize(
    "body", [facet(), facet(run=None, job=None, root=None), facet(run={}, root={}), facet(run="x")]
)
def test_parent_without_names_is_ignored(body):
    found = of_run("parent", body)
    assert "parentInstance" not in relationships(found)
    assert "parent.job" not in found.properties(JOB)
    assert not any(key.startswith("root") for key in found.properties(DPI))


def test_dbt_s_empty_facets_inside_are_nothing():
    body = facet(run={"runId": PARENT, "facets": {}}, job={"namespace": "a", "name": "b c#d", "facets": {}})
    found = of_run("parent", body, report=True)
    assert found.properties(JOB)["parent.job"] == "a/b c#d"
    assert found.outcomes()["$.run.facets.parent.run.facets"] == ("dropped", "envelope")


def test_specification_s_documents_are_read():
    urn = "urn:li:dataProcessInstance:f99310b4-3c3c-1a1a-2b2b-c1b95c24ff11"
    assert relationships(of_run("parent", spec("ParentRunFacet", "1")["parent"]))["parentInstance"] == urn
    found = of_run("parent", spec("ParentRunFacet", "2")["parent"])
    assert relationships(found)["parentInstance"] == urn
    assert found.properties(DPI)["root.job"] == "airflow/my_dag"
    assert '"version":"2.10.0"' in found.properties(DPI)["parent.run.facets"]


def test_client_s_class_is_read():
    made = parent_run.ParentRunFacet(
        run=parent_run.Run(PARENT),
        job=parent_run.Job("shop", "daily"),
        root=parent_run.Root(parent_run.RootRun(PARENT), parent_run.RootJob("shop", "daily")),
    )
    found = translate_events(client_pair(run={"parent": made}))
    assert relationships(found)["parentInstance"] == PARENT_DPI
    assert found.properties(DPI)["root.dpi"] == PARENT_DPI


def test_root_job_is_a_property_of_job_and_run():
    root = {"run": {"runId": PARENT}, "job": {"namespace": "cron", "name": "nightly"}}
    found = of_run(
        "parent", facet(run={"runId": PARENT}, job={"namespace": "shop", "name": "daily"}, root=root), report=True
    )
    assert found.properties(JOB)["root.job"] == found.properties(DPI)["root.job"] == "cron/nightly"
    assert found.outcomes()["$.run.facets.parent.root.job.name"] == (
        "property",
        "dataJobInfo.customProperties[openlineage.root.job]",
    )


@pytest.mark.parametrize(("own", "kind"), [(None, "STREAMING"), ("STREAMING", "STREAMING"), ("BATCH", None)])
def test_run_type_is_read_from_the_parent_if_the_run_has_none(own, kind):
    forwarded = {"jobType": {"processingType": "STREAMING", "integration": "SPARK", "jobType": "APPLICATION"}}
    parent = facet(run={"runId": PARENT}, job={"namespace": "shop", "name": "app", "facets": forwarded})
    job = {} if own is None else {"jobType": facet(processingType=own, integration="SPARK", jobType="SQL_JOB")}
    found = translate_events(pair(run={"parent": parent}, job=job))
    assert found.one(DPI, "dataProcessInstanceProperties").get("type") == kind
