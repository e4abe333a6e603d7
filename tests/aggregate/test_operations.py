"""Operations that fold: the run above carries what they read and wrote."""

from __future__ import annotations

import itertools
import json

import pytest

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.settings import Settings

SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
APP, FIRST, SECOND, THIRD = (f"0192f000-0000-7000-8000-00000000000{n}" for n in range(4))
FLOW = "urn:li:dataFlow:(spark,app,ns)"
TWIN = f"urn:li:dataJob:({FLOW},app)"


def dataset(name, rows=None):
    found = {"namespace": "postgres://db:5432", "name": f"shop.public.{name}"}
    return found | ({"outputFacets": {"outputStatistics": {"rowCount": rows}}} if rows else {})


def urn(name):
    return f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.{name},PROD)"


def event(name, run, kind, minute, parent=None, producer=SPARK, job_type="SQL_JOB", **io):
    job, above = parent or ("", "")
    facets = {"parent": {"job": {"namespace": "ns", "name": job}, "run": {"runId": above}}} if parent else {}
    return {
        "eventTime": f"2026-01-01T00:{minute:02}:00Z", "eventType": kind, "producer": producer,
        "run": {"runId": run, "facets": facets},
        "job": {"namespace": "ns", "name": name, "facets": {"jobType": {"jobType": job_type, "integration": "SPARK"}}}, **io,
    }  # fmt: skip


def application(second="COMPLETE", third=None):
    return [
        event("app", APP, "START", 0, job_type="APPLICATION"),
        event("app.one", FIRST, "START", 1, ("app", APP), inputs=[dataset("raw")]),
        event("app.one", FIRST, "COMPLETE", 2, ("app", APP), outputs=[dataset("out", 3)]),
        event("app.two", SECOND, second, 3, ("app", APP), outputs=[dataset("out", 4)]),
        *([event("app.two", THIRD, third, 4, ("app", APP))] if third else []),
        event("app", APP, "COMPLETE", 5, job_type="APPLICATION"),
    ]


def translated(events, **identity):
    settings = Settings(identity={"granularity": "application", **identity})
    translation = Bridge(settings).translate([json.dumps(one) for one in events])
    assert (translation.dead, translation.rejected) == ([], [])
    return translation.proposals


def value(proposals, entity, aspect):
    (found,) = [one.value for one in proposals if (one.entity_urn, one.aspect_name) == (entity, aspect)]
    return found


def run_urn(run):
    return f"urn:li:dataProcessInstance:{run}"


def results(proposals, run):
    return [
        one.value["result"]["type"]
        for one in proposals
        if one.entity_urn == run_urn(run) and one.aspect_name == "dataProcessInstanceRunEvent" and "result" in one.value
    ]


def test_application_run_has_the_lineage_of_its_folded_jobs():
    proposals = translated(application())
    assert {one.entity_urn for one in proposals if one.entity_type == "dataJob"} == {TWIN}
    assert {one.entity_urn for one in proposals if one.entity_type == "dataProcessInstance"} == {run_urn(APP)}
    paths = {operation["path"].split("/")[1] for operation in value(proposals, TWIN, "dataJobInputOutput")}
    assert paths == {"inputDatasetEdges", "outputDatasetEdges"}
    assert value(proposals, run_urn(APP), "dataProcessInstanceInput") == {"inputs": [urn("raw")]}
    assert value(proposals, run_urn(APP), "dataProcessInstanceOutput") == {"outputs": [urn("out")]}
    assert value(proposals, run_urn(APP), "dataProcessInstanceRelationships")["parentTemplate"] == TWIN


def test_statistics_of_folded_jobs_are_summed():
    properties = value(translated(application()), run_urn(APP), "dataProcessInstanceProperties")["customProperties"]
    assert properties["openlineage.outputs.rowCount"] == "7"


def test_flow_job_has_the_name_and_type_of_the_application():
    proposals = translated(application())
    info = {operation["path"]: operation.get("value") for operation in value(proposals, TWIN, "dataJobInfo")}
    assert info["/name"] == "app"
    assert info["/customProperties/openlineage.job.name"] == "app"
    assert value(proposals, FLOW, "subTypes") == {"typeNames": ["Application"]}


@pytest.mark.parametrize(
    ("events", "result"),
    [
        (application(), "SUCCESS"),
        (application("FAIL"), "FAILURE"),
        (application("FAIL", "COMPLETE"), "SUCCESS"),
        (application("COMPLETE", "FAIL"), "FAILURE"),
        (application("ABORT"), "SUCCESS"),
    ],
)
def test_application_fails_when_a_job_of_it_failed_last(events, result):
    assert results(translated(events), APP) == [result]


def test_output_of_a_failed_application_is_still_written():
    *events, end = application("FAIL")
    proposals = translated([*events, {**end, "outputs": [dataset("own")]}])
    assert results(proposals, APP) == ["FAILURE"]
    assert value(proposals, urn("own"), "operation")["operationType"] == "INSERT"


def test_runs_are_kept_by_setting():
    proposals = translated(application(), fold_runs="keep")
    relations = value(proposals, run_urn(FIRST), "dataProcessInstanceRelationships")
    assert (relations["parentTemplate"], relations["parentInstance"]) == (TWIN, run_urn(APP))
    assert value(proposals, run_urn(APP), "dataProcessInstanceOutput") == {"outputs": [urn("out")]}


def test_run_without_the_one_above_keeps_what_it_did():
    events = [one for one in application() if one["run"]["runId"] != APP]
    proposals = translated(events)
    assert value(proposals, run_urn(FIRST), "dataProcessInstanceRelationships")["parentTemplate"] == TWIN
    assert value(proposals, run_urn(FIRST), "dataProcessInstanceInput") == {"inputs": [urn("raw")]}
    alone = event("app.one", FIRST, "START", 1, inputs=[dataset("raw")])
    assert value(translated([alone]), run_urn(FIRST), "dataProcessInstanceRelationships")["parentTemplate"] == TWIN


def test_runs_that_go_in_circles_are_kept():
    events = [
        event("app.one", FIRST, "START", 1, ("app.two", SECOND), inputs=[dataset("raw")]),
        event("app.two", SECOND, "START", 1, ("app.one", FIRST), inputs=[dataset("raw")]),
    ]
    found = {one.entity_urn for one in translated(events) if one.entity_type == "dataProcessInstance"}
    assert found == {run_urn(FIRST), run_urn(SECOND)}


def test_sql_operations_fold_into_their_dbt_node_only():
    events = [
        event("dbt-run-shop", APP, "START", 0, producer=DBT, job_type="JOB"),
        event("model.shop.orders", FIRST, "START", 1, ("dbt-run-shop", APP), producer=DBT, job_type="MODEL"),
        event("model.shop.orders.sql.1", SECOND, "COMPLETE", 2, ("model.shop.orders", FIRST), producer=DBT, inputs=[dataset("raw")]),
        event("model.shop.orders.sql.2", THIRD, "FAIL", 2, ("model.shop.orders.sql.1", SECOND), producer=DBT, outputs=[dataset("out")]),
        event("model.shop.orders", FIRST, "COMPLETE", 3, ("dbt-run-shop", APP), producer=DBT, job_type="MODEL"),
    ]  # fmt: skip
    proposals = translated(events, granularity="task")
    node = "urn:li:dataJob:(urn:li:dataFlow:(dbt,shop,ns),model.shop.orders)"
    assert {one.entity_urn for one in proposals if one.entity_type == "dataJob"} == {node}
    assert value(proposals, run_urn(FIRST), "dataProcessInstanceInput") == {"inputs": [urn("raw")]}
    assert value(proposals, run_urn(FIRST), "dataProcessInstanceOutput") == {"outputs": [urn("out")]}
    assert results(proposals, FIRST) == ["SUCCESS"]  # the node knows its own result
    assert value(proposals, node, "subTypes") == {"typeNames": ["Model"]}
    assert not [one for one in proposals if one.entity_urn == run_urn(APP) and one.aspect_name.endswith("put")]


def test_job_events_of_operations_fold_too():
    stated = event("app.one", FIRST, None, 1, outputs=[dataset("out")])
    del stated["run"], stated["eventType"]
    proposals = translated([stated])
    assert {one.entity_urn for one in proposals if one.entity_type == "dataJob"} == {TWIN}


@pytest.mark.parametrize("events", [application("FAIL", "COMPLETE"), application("COMPLETE", "FAIL")])
def test_order_of_events_does_not_matter(events):
    wanted = sorted(map(ndjson_line, translated(events)))
    for order in itertools.islice(itertools.permutations(events), 0, None, 211):
        assert sorted(map(ndjson_line, translated(order))) == wanted
    assert sorted(map(ndjson_line, translated([*events, *events]))) == wanted


def test_default_folds_nothing():
    assert {
        one.entity_urn for one in translated(application(), granularity="operation") if one.entity_type == "dataJob"
    } == {f"urn:li:dataJob:({FLOW},app.{name})" for name in ("one", "two")}


# -- what was done to outputs -----------------------------------------------------------------------------------------------


def changed(name, word, rows=None):
    found = dataset(name, rows)
    return found | {"facets": {"lifecycleStateChange": {"lifecycleStateChange": word}}}


def test_outputs_keep_their_lifecycle_word_on_the_edge_of_the_application():
    events = application()
    events[2]["outputs"] = [changed("out", "OVERWRITE", 3)]
    proposals = translated(events)
    (edge,) = [
        operation["value"]
        for operation in value(proposals, TWIN, "dataJobInputOutput")
        if operation["path"].startswith("/outputDatasetEdges/")
    ]
    assert edge["properties"] == {
        "openlineage.lifecycleStateChange": "OVERWRITE",
        "openlineage.outputStatistics.rowCount": "7",
    }


def test_output_that_the_application_names_too_keeps_the_word_of_its_operation():
    *events, end = application()
    events[2]["outputs"] = [changed("out", "OVERWRITE", 3)]
    proposals = translated([*events, {**end, "outputs": [dataset("out")]}])
    kinds = {
        one.value["customProperties"]["openlineage.run"]: one.value["operationType"]
        for one in proposals
        if one.aspect_name == "operation"
    }
    assert kinds[run_urn(APP)] == kinds[run_urn(FIRST)] == "UPDATE"
