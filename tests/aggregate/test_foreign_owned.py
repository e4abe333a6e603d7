"""Beside DataHub's own tools only what they lack is written."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from datahub.emitter.mce_builder import datahub_guid

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.openlineage.read import read_events
from dh_bridge.settings import Settings

EXAMPLES = str(Path(__file__).resolve().parents[2] / "examples" / "events")
AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
DAG_RUN, TASK_RUN, SECOND_TRY, APP_RUN = (f"018cc251-f400-7026-81fb-56cf8ce0568{n}" for n in range(4))
FLOW = "urn:li:dataFlow:(airflow,shop.daily,prod)"
TASK = f"urn:li:dataJob:({FLOW},load)"
OUTPUT = {"namespace": "postgres://db:5432", "name": "shop.public.orders"}


def event(name, run, kind="START", minute=0, producer=AIRFLOW, **more):
    facets = more.pop("facets", {})
    job_facets = more.pop("job_facets", {})
    return {
        "eventTime": f"2026-01-01T00:{minute:02}:00Z", "eventType": kind, "producer": producer,
        "run": {"runId": run, "facets": facets}, "job": {"namespace": "ns", "name": name, "facets": job_facets}, **more,
    }  # fmt: skip


def parent(name, run):
    root = {"job": {"namespace": "ns", "name": "shop.daily"}, "run": {"runId": DAG_RUN}}
    return {"parent": {"job": {"namespace": "ns", "name": name}, "run": {"runId": run}, "root": root}}


def airflow(tries=1):
    return {
        "airflow": {
            "dag": {"dag_id": "shop.daily", "owner": "ann", "tags": "['x']"},
            "task": {"task_id": "load"},
            "dagRun": {"run_id": "manual__1"},
            "taskInstance": {"try_number": tries},
        },
        **parent("shop.daily", DAG_RUN),
    }


EVENTS = [
    event("shop.daily", DAG_RUN, job_facets={"jobType": {"jobType": "DAG", "integration": "AIRFLOW"}}),
    event("shop.daily.load", TASK_RUN, minute=1, facets=airflow()),
    event("shop.daily.load", TASK_RUN, "FAIL", 2, facets=parent("shop.daily", DAG_RUN)),
    event("shop.daily.load", SECOND_TRY, minute=3, facets=airflow(2)),
    event("app", APP_RUN, minute=4, producer=SPARK, facets=parent("shop.daily.load", SECOND_TRY)),
    event("shop.daily.load", SECOND_TRY, "COMPLETE", 5, facets=airflow(2), outputs=[OUTPUT]),
    event("shop.daily", DAG_RUN, "COMPLETE", 6, job_facets={"jobType": {"jobType": "DAG", "integration": "AIRFLOW"}}),
]


def translated(events=EVENTS, **join):
    settings = Settings(identity={"mode": ["datahub-airflow-plugin", "datahub-dbt-source"], **join})
    translation = Bridge(settings).translate([json.dumps(one) for one in events])
    assert (translation.dead, translation.rejected) == ([], [])
    return translation.proposals


def aspects(proposals, urn):
    return sorted(proposal.aspect_name for proposal in proposals if proposal.entity_urn == urn)


def plugins_run(proposals):
    (urn,) = {
        proposal.entity_urn
        for proposal in proposals
        if proposal.aspect_name == "dataProcessInstanceRelationships" and proposal.value.get("parentTemplate") == TASK
    }
    return urn


def test_plugin_owned_entities_get_only_the_parent_aspect():
    proposals = translated()
    assert aspects(proposals, FLOW) == aspects(proposals, TASK) == []
    run = plugins_run(proposals)
    assert aspects(proposals, run) == ["dataProcessInstanceRelationships"]
    (relationships,) = [proposal.value for proposal in proposals if proposal.entity_urn == run]
    assert relationships["parentInstance"] == f"urn:li:dataProcessInstance:{DAG_RUN}"


def test_aspects_that_the_plugin_lacks_are_written():
    proposals = translated()
    dag_run = aspects(proposals, f"urn:li:dataProcessInstance:{DAG_RUN}")
    assert "dataProcessInstanceProperties" in dag_run
    assert dag_run.count("dataProcessInstanceRunEvent") == 2
    assert "operation" in aspects(proposals, "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)")


def test_child_run_points_at_the_plugin_run_of_its_parent_task():
    proposals = translated()
    (child,) = [
        proposal.value
        for proposal in proposals
        if proposal.entity_urn.endswith(APP_RUN) and proposal.aspect_name == "dataProcessInstanceRelationships"
    ]
    assert child["parentInstance"] == plugins_run(proposals)
    assert not any(proposal.entity_urn.endswith((TASK_RUN, SECOND_TRY)) for proposal in proposals)


@pytest.mark.parametrize("runs", ["links", "plugin", "openlineage"])
def test_order_of_events_does_not_matter(runs):
    wanted = sorted(map(ndjson_line, translated(airflow_plugin={"runs": runs})))
    for order in itertools.islice(itertools.permutations(EVENTS), 0, None, 503):
        assert sorted(map(ndjson_line, translated(order, airflow_plugin={"runs": runs}))) == wanted


def test_run_id_conflict_is_resolved_equally_in_every_order():
    """A producer gave one id to the tasks of two DAG runs; a child names it, and an event that states no DAG run."""

    def task(dag_run):
        return event(
            "shop.daily.load", TASK_RUN, facets={"airflow": {**airflow()["airflow"], "dagRun": {"run_id": dag_run}}}
        )

    child = event("app", APP_RUN, minute=4, producer=SPARK, facets=parent("shop.daily.load", TASK_RUN))
    end = event("shop.daily.load", TASK_RUN, "FAIL", 2, facets=parent("shop.daily", DAG_RUN))
    history = [task("one"), task("two"), child, end]
    orders = [translated(order, airflow_plugin={"runs": "plugin"}) for order in itertools.permutations(history)]
    assert len({tuple(sorted(map(ndjson_line, found))) for found in orders}) == 1


def test_plugin_run_contains_every_try():
    proposals = translated(airflow_plugin={"runs": "plugin"})
    points = [
        (proposal.value["timestampMillis"] // 60_000 % 60, proposal.value["status"], proposal.value.get("attempt"))
        for proposal in proposals
        if proposal.entity_urn == plugins_run(proposals) and proposal.aspect_name == "dataProcessInstanceRunEvent"
    ]
    assert sorted(point[:2] for point in points) == [(1, "STARTED"), (2, "COMPLETE"), (3, "STARTED"), (5, "COMPLETE")]
    assert aspects(proposals, TASK) == []


def test_whole_runs_under_their_own_ids_keep_tries_apart():
    proposals = translated(airflow_plugin={"runs": "openlineage"})
    for run in (TASK_RUN, SECOND_TRY):
        assert aspects(proposals, f"urn:li:dataProcessInstance:{run}").count("dataProcessInstanceRunEvent") == 2


def test_lineage_patch_adds_edges_and_nothing_else():
    proposals = translated(airflow_plugin={"lineage": "patch"})
    (edges,) = [proposal for proposal in proposals if proposal.entity_urn == TASK]
    assert (edges.aspect_name, edges.change_type) == ("dataJobInputOutput", "PATCH")


def test_sql_of_a_task_folds_into_the_plugins_task():
    sql = event(
        "shop.daily.load.query.1", APP_RUN, "COMPLETE", 4, facets=parent("shop.daily.load", SECOND_TRY), outputs=[OUTPUT],
        job_facets={"jobType": {"jobType": "QUERY", "integration": "AIRFLOW"}},
    )  # fmt: skip
    others = [one for one in EVENTS if one["run"]["runId"] != APP_RUN]
    proposals = translated([*others, sql], airflow_plugin={"lineage": "patch"})
    found = {proposal.entity_urn for proposal in proposals if proposal.entity_urn.startswith("urn:li:dataJob:")}
    assert found == {TASK}
    assert not [proposal for proposal in proposals if proposal.entity_urn.endswith(APP_RUN)]


def test_jobs_of_other_producers_are_not_plugin_owned():
    proposals = translated([event("a.b", TASK_RUN, producer=SPARK)])
    assert aspects(proposals, "urn:li:dataFlow:(spark,a,ns)") != []


def test_dbt_node_runs_point_at_the_dataset_and_the_invocation():
    node = {"database": "shop", "schema": "marts", "alias": "orders", "unique_id": "model.shop.orders"}
    facets = {"dbt_run": {"invocation_id": "i"}, **parent("dbt-run-shop", DAG_RUN)}
    stated = {"producer": DBT, "job_facets": {"dbt_node": node}, "facets": facets}
    proposals = translated(
        [
            event("dbt-run-shop", DAG_RUN, producer=DBT),
            event("model.shop.orders", TASK_RUN, minute=1, **stated),
            event("model.shop.orders.sql.1", APP_RUN, producer=DBT, facets=parent("model.shop.orders", TASK_RUN)),
            event("model.shop.orders", TASK_RUN, "COMPLETE", 2, **stated, outputs=[OUTPUT]),
        ]
    )
    (run,) = [
        proposal for proposal in proposals if "(urn:li:dataPlatform:dbt,shop.marts.orders," in str(proposal.value)
    ]
    assert run.value["parentInstance"] == f"urn:li:dataProcessInstance:{DAG_RUN}"
    (child,) = [
        proposal.value
        for proposal in proposals
        if proposal.entity_urn.endswith(APP_RUN) and proposal.aspect_name == "dataProcessInstanceRelationships"
    ]
    assert child["parentInstance"] == run.entity_urn
    assert not [proposal for proposal in proposals if proposal.entity_urn.endswith("model.shop.orders)")]


def test_run_that_others_only_name_as_upstream_is_found_too():
    upstream = {
        "jobDependencies": {
            "upstream": [{"job": {"namespace": "ns", "name": "shop.daily.load"}, "run": {"runId": SECOND_TRY}}]
        }
    }
    proposals = translated(
        [*EVENTS, event("app2", "11111111-1111-4111-8111-111111111111", producer=SPARK, facets=upstream)]
    )
    (found,) = [
        proposal.value["upstreamInstances"]
        for proposal in proposals
        if proposal.entity_urn.endswith("8111-111111111111") and proposal.aspect_name.endswith("Relationships")
    ]
    assert found == [plugins_run(proposals)]


def test_datahubs_endpoint_relates_no_runs():
    settings = Settings(identity={"mode": "datahub-openlineage"})
    proposals = Bridge(settings).translate([json.dumps(one) for one in EVENTS]).proposals
    found = [proposal.value for proposal in proposals if proposal.aspect_name == "dataProcessInstanceRelationships"]
    assert len(found) == 4
    assert {tuple(sorted(one)) for one in found} == {("parentTemplate", "upstreamInstances")}
    assert all(one["upstreamInstances"] == [] for one in found)
    assert aspects(proposals, "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,ns),shop.daily)") != []


def test_skip_rule_drops_the_runs_of_its_job_only():
    settings = Settings(identity={"rules": [{"name": r"shop\.daily\.load", "skip": True}]})
    proposals = Bridge(settings).translate([json.dumps(one) for one in EVENTS]).proposals
    runs = {proposal.entity_urn[-1] for proposal in proposals if proposal.entity_type == "dataProcessInstance"}
    assert runs == {DAG_RUN[-1], APP_RUN[-1]}
    assert not [proposal for proposal in proposals if proposal.entity_urn.endswith("shop.daily.load)")]
    assert aspects(proposals, "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)")


def dbt_test(unique_id, inputs, run=TASK_RUN):
    checks = {"dataQualityAssertions": {"assertions": [{"assertion": "not_null", "column": "id", "success": False}]}}
    return event(
        unique_id, run, "FAIL", 1, producer=DBT, job_facets={"dbt_node": {"unique_id": unique_id}, "jobType": {"jobType": "TEST"}},
        inputs=[{"namespace": "postgres://db:5432", "name": name, "facets": checks} for name in inputs],
    )  # fmt: skip


def assertions(proposals):
    return {
        (proposal.entity_urn.rpartition(":")[2], proposal.aspect_name)
        for proposal in proposals
        if proposal.entity_type == "assertion"
    }


def test_dbt_test_writes_only_results_under_the_source_assertion():
    stated = dbt_test("test.shop.not_null_orders_id.81c", ["a.b.c"])
    guid = datahub_guid({"platform": "dbt", "name": "test.shop.not_null_orders_id.81c"})
    assert assertions(translated([stated])) == {(guid, "assertionRunEvent")}
    plain = assertions(Bridge(Settings()).translate(json.dumps(stated)).proposals)
    assert {aspect for _, aspect in plain} >= {"assertionInfo", "assertionRunEvent"}
    assert guid not in {urn for urn, _ in plain}


@pytest.mark.parametrize(
    "stated",
    [
        dbt_test("test.shop.not_null_orders_id.81c", ["a.b.c", "a.b.d"]),
        dbt_test("test.shop.relationships_orders.81c", ["a.b.c"]),
        dbt_test("model.shop.orders", ["a.b.c"]),
    ],
)
def test_assertions_without_a_dbt_name_keep_their_own_urns(stated):
    assert assertions(translated([stated])) == assertions(Bridge(Settings()).translate(json.dumps(stated)).proposals)


@pytest.mark.parametrize(
    "settings",
    [
        {"identity": {"mode": "datahub-openlineage"}},
        {"identity": {"mode": "datahub-openlineage", "endpoint": {"env": "PROD"}}},
        {
            "identity": {
                "mode": ["datahub-airflow-plugin", "datahub-dbt-source"],
                "airflow_plugin": {"runs": "plugin", "lineage": "patch"},
            }
        },
        {"identity": {"mode": ["datahub-airflow-plugin", "datahub-dbt-source"]}},
        {"identity": {"granularity": "application"}, "dbt": {"node_identity": "unique_id"}},
        {"identity": {"granularity": "task", "fold_runs": "keep"}},
    ],
)
def test_real_events_match_datahub_schemas_in_every_mode(settings):
    translation = Bridge(Settings(**settings, datahub_version="1.4")).translate(read_events([EXAMPLES]), report=True)
    assert (translation.dead, translation.rejected) == ([], [])
    assert len(translation.proposals) > 500


@pytest.mark.parametrize(
    ("identity", "reason"),
    [
        ({"mode": "datahub-airflow-plugin"}, "policy:identity.mode"),
        ({"granularity": "task"}, "policy:identity.granularity"),
    ],
)
def test_report_names_the_owner_of_each_dropped_aspect(identity, reason):
    task = event("shop.daily.load", SECOND_TRY, facets=airflow())
    sql = event("shop.daily.load.query.1", TASK_RUN, facets={**airflow(), **parent("shop.daily.load", SECOND_TRY)})
    report = Bridge(Settings(identity=identity)).translate([json.dumps(task), json.dumps(sql)], report=True).report
    reasons = {line.get("reason") for line in report.lines() if line["path"].startswith("$.run.facets.airflow.")}
    assert reason in reasons
    plain = Bridge(Settings()).translate([json.dumps(task), json.dumps(sql)], report=True).report
    assert not [line for line in plain.lines() if str(line.get("reason")).startswith("policy:identity")]
