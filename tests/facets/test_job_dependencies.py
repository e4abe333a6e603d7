"""jobDependencies (run)."""

from __future__ import annotations

import json

import pytest
from openlineage.client.generated import job_dependencies_run as client
from support.facet_cases import (
    AIRFLOW,
    DPI,
    FLOW,
    JOB,
    NAME,
    NAMESPACE,
    PARENT,
    PARENT_DPI,
    RUN,
    client_pair,
    event,
    facet,
    of_run,
    orders,
    pair,
    totals,
    translate_events,
)

KEY = "jobDependencies"
BEFORE = f"urn:li:dataJob:({FLOW},daily.before)"
RULES = {
    "dependency_type": "DIRECT_INVOCATION", "sequence_trigger_rule": "FINISH_TO_START", "status_trigger_rule": "EXECUTE_ON_SUCCESS",
}  # fmt: skip


def on(name="daily.before", namespace=NAMESPACE, **parts):
    return {"job": {"namespace": namespace, "name": name}, **parts}


def edges(found):
    start = "/inputDatajobEdges/"
    if not found.has(JOB, "dataJobInputOutput"):
        return {}
    io = found.patched(JOB, "dataJobInputOutput")
    return {path.removeprefix(start): value.get("properties") for path, value in io.items() if path.startswith(start)}


def upstream_runs(found):
    return found.one(DPI, "dataProcessInstanceRelationships")["upstreamInstances"]


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_upstream_jobs_are_edges_and_upstream_runs_are_instances(profile):
    found = of_run(
        KEY, facet(upstream=[on(run={"runId": PARENT}, **RULES), on("daily.other")]), datahub_version=profile
    )
    assert edges(found) == {
        BEFORE: {f"openlineage.{KEY}.{rule}": word for rule, word in RULES.items()},
        f"urn:li:dataJob:({FLOW},daily.other)": None,
    }
    assert upstream_runs(found) == [PARENT_DPI]
    assert f"{KEY}.upstream" not in found.properties(DPI)


def test_older_spelling_of_the_dependency_type_is_read():
    assert edges(of_run(KEY, facet(upstream=[on(type="IMPLICIT_DEPENDENCY")])))[BEFORE] == {
        f"openlineage.{KEY}.dependency_type": "IMPLICIT_DEPENDENCY"
    }


def test_upstream_flow_and_unknown_jobs_are_kept_on_the_run():
    found = translate_events(
        pair(
            run={KEY: facet(upstream=[on("other_dag", "air", **RULES), on("x", "elsewhere", run={"runId": PARENT}), on("unknown")])},
            namespace="air", name="dag.task", producer=AIRFLOW, job={"jobType": facet(jobType="TASK", integration="AIRFLOW")},
        )
    )  # fmt: skip
    properties = json.loads(found.properties(DPI)[f"{KEY}.upstream"])
    assert [one["job"]["name"] for one in properties] == ["other_dag", "x", "unknown"]
    assert properties[0]["dependency_type"] == "DIRECT_INVOCATION"
    assert properties[1]["run"] == {"runId": PARENT}
    assert upstream_runs(found) == [PARENT_DPI]


def test_flow_without_a_flow_job_keeps_upstream_jobs_on_the_run():
    run = {KEY: facet(upstream=[on("dag.task", "air")])}
    found = translate_events(
        pair(run=run, namespace="air", name="other_dag", producer=AIRFLOW, job={"jobType": facet(jobType="DAG")})
    )
    assert json.loads(found.properties(DPI)[f"{KEY}.upstream"])[0]["job"]["name"] == "dag.task"
    assert found.entities("dataJob") == set()  # no dataJob comes of the edge alone


def test_flow_job_has_the_upstream_jobs_of_every_event():
    run = {KEY: facet(upstream=[on("dag.task")])}
    events = [event("START", name="etl", run=run), event("COMPLETE", name="etl", outputs=[totals()])]
    for order in (events, events[::-1]):
        found = translate_events(order)
        (twin,) = found.entities("dataJob")
        flow = "urn:li:dataFlow:(openlineage,dag,shop)"
        assert f"/inputDatajobEdges/urn:li:dataJob:({flow},dag.task)" in found.patched(twin, "dataJobInputOutput")


def test_job_and_the_run_itself_are_no_upstream():
    found = of_run(KEY, facet(upstream=[on(NAME, run={"runId": RUN}), on(run={"runId": RUN})]), report=True)
    assert edges(found) == {BEFORE: None}
    assert upstream_runs(found) == []
    outcomes = found.outcomes()
    assert outcomes[f"$.run.facets.{KEY}.upstream[0].job.name"] == ("dropped", "no-field:the job itself")
    assert outcomes[f"$.run.facets.{KEY}.upstream[1].run.runId"] == ("dropped", "duplicate-of:run.runId")


def test_downstream_jobs_are_properties_and_no_entities():
    found = of_run(KEY, facet(downstream=[on("daily.after", run={"runId": PARENT}, **RULES)]))
    assert json.loads(found.properties(DPI)[f"{KEY}.downstream"]) == [
        {"job": {"namespace": NAMESPACE, "name": "daily.after"}, "run": {"runId": PARENT}, **RULES}
    ]
    assert found.entities("dataJob") == {JOB}
    assert edges(found) == {}


def test_trigger_rule_is_on_run_and_job():
    found = of_run(KEY, facet(trigger_rule="ALL_DONE"))
    assert found.properties(DPI)[f"{KEY}.trigger_rule"] == found.properties(JOB)[f"{KEY}.trigger_rule"] == "ALL_DONE"


def test_upstream_edges_of_all_events_add_up_in_any_order():
    stated = [
        event("START", run={KEY: facet(upstream=[on(run={"runId": PARENT})])}),
        event(run={KEY: facet(upstream=[on("daily.other")])}, inputs=[orders()]),
    ]
    for order in (stated, stated[::-1]):
        assert sorted(edges(translate_events(order))) == [BEFORE, f"urn:li:dataJob:({FLOW},daily.other)"]
        assert upstream_runs(translate_events(order)) == [PARENT_DPI]


def test_invalid_fields_are_dropped_individually():
    odd = [
        7,
        {},
        {"job": "x"},
        {"job": {}},
        {"job": {"name": "n" * 900, "namespace": NAMESPACE}},
        on(run={"runId": ["x"]}),
        on(run={"runId": ""}),
    ]
    found = of_run(KEY, facet(upstream=odd, downstream="none", trigger_rule=["x"]), report=True)
    assert BEFORE in edges(found)
    assert upstream_runs(found) == []
    assert found.outcomes()[f"$.run.facets.{KEY}.upstream[5].run.runId[0]"] == ("dropped", "malformed")
    for nothing in (facet(), facet(upstream=None, downstream=[]), facet(upstream=[on()], _deleted=True)):
        assert edges(of_run(KEY, nothing)) == {}


@pytest.mark.parametrize(
    ("settings", "lost"),
    [
        (
            {"identity": {"mode": "datahub-openlineage", "endpoint": {"orchestrator": "x"}}},
            {"run.runId": "policy:identity.mode"},
        ),
        (
            {"writes": {"aspects": ["dataProcessInstance*"]}},
            dict.fromkeys(("job.namespace", "job.name", "dependency_type"), "policy:writes"),
        ),
    ],
)
def test_report_drops_dependencies_if_edges_or_relations_are_off(settings, lost):
    stated = facet(upstream=[on(run={"runId": PARENT}, **RULES)])
    found = of_run(KEY, stated, report=True, datahub_version="1.7", **settings)
    start = f"$.run.facets.{KEY}.upstream[0]."
    outcomes = found.outcomes()
    assert {leaf: outcomes[start + leaf] for leaf in lost} == {leaf: ("dropped", why) for leaf, why in lost.items()}
    assert f"{KEY}.upstream" not in found.properties(DPI)


def test_other_leaves_are_kept():
    assert of_run(KEY, facet(upstream=[on(airflow={"x": 1})])).properties(DPI)[f"{KEY}.upstream.airflow"] == '{"x":1}'


def test_client_s_class_is_read():
    made = client.JobDependenciesRunFacet(
        upstream=[
            client.JobDependency(job=client.JobIdentifier(NAMESPACE, "daily.before"), run=client.RunIdentifier(PARENT))
        ],
        trigger_rule="ALL_SUCCESS",
    )
    found = translate_events(client_pair(run={KEY: made}))
    assert edges(found) == {BEFORE: None}
    assert upstream_runs(found) == [PARENT_DPI]
