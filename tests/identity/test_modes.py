"""Modes beside the default: identity_vectors.yaml, and DataHub's own classes make the same ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from datahub.api.entities.datajob import DataFlow, DataJob
from datahub.api.entities.dataprocess.dataprocess_instance import DataProcessInstance
from datahub.emitter.mce_builder import datahub_guid, make_assertion_urn, make_dataset_urn_with_platform_instance
from datahub.metadata.urns import DatasetUrn

from dh_bridge.identity import Identity
from dh_bridge.identity.compat import CompatMode, flow_of
from dh_bridge.identity.dbt_nodes import node_job_name
from dh_bridge.identity.event import event_identity, identity_input
from dh_bridge.identity.hints import Hints, read_hints
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.settings.dbt import DbtSettings
from dh_bridge.settings.identity import IdentitySettings

DOCUMENT = yaml.safe_load(Path(__file__).with_name("identity_vectors.yaml").read_text(encoding="utf-8"))
AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
RUN = "018cc251-f400-7026-81fb-56cf8ce05681"
DAG_RUN = "018cc251-f400-7662-b080-b72299e0a86b"
CASES = [
    (mode, vector)
    for vector in DOCUMENT["vectors"]
    for mode in ("datahub-openlineage", "datahub-airflow-plugin", "datahub-dbt-source")
    if mode in vector["expect"]
]
IDS = [f"{vector['id']}-{mode}" for mode, vector in CASES]


def event(stated):
    """Return a vector's input as the event that it stands for."""
    run_facets = {key: stated[key] for key in ("parent", "processing_engine", "airflow") if key in stated}
    if "dbt_invocation_id" in stated:
        run_facets["dbt_run"] = {"invocation_id": stated["dbt_invocation_id"]}
    job_facets = {key: stated[key] for key in ("jobType", "dbt_node") if key in stated}
    body = {
        "eventTime": "2024-01-01T00:00:00Z",
        "eventType": stated.get("eventType"),
        "producer": stated["producer"],
        "job": {"namespace": stated["namespace"], "name": stated["name"], "facets": job_facets},
        "inputs": [{"namespace": "x", "name": "y"}] if stated["has_io"] else [],
    }
    if stated["kind"] == "RunEvent":
        body["run"] = {"runId": stated["runId"], "facets": run_facets}
    return parse_event(json.dumps(body).encode(), "here")


def endpoint_settings(**stated):
    """Return the settings for an endpoint of this configuration."""
    return {"mode": "datahub-openlineage", "endpoint": {key.replace("_", "-"): value for key, value in stated.items()}}


def plugin_settings(platform_instance=None, **stated):
    """Return the settings for a plugin of this configuration."""
    rules = [{"instance": platform_instance}] if platform_instance else []
    return {"mode": "datahub-airflow-plugin", "airflow_plugin": stated, "rules": rules}


def settings(mode, config):
    stated = {key: value for key, value in (config or {}).items() if key in ("rules", "namespaces")}
    if mode == "datahub-openlineage":
        return IdentitySettings(**stated, **endpoint_settings(**(config or {}).get("compat", {})))
    if mode == "datahub-airflow-plugin":
        chosen = plugin_settings(**(config or {}).get("join", {}))
        return IdentitySettings(**{**chosen, **stated, "rules": [*stated.get("rules", ()), *chosen["rules"]]})
    return IdentitySettings(**stated, mode="datahub-dbt-source")


def row(identity, **stated):
    given = {"kind": "RunEvent", "namespace": "ns", "producer": AIRFLOW, "runId": RUN, "has_io": False, **stated}
    return event_identity(identity, identity_input(event(given)))


@pytest.mark.parametrize(("mode", "vector"), CASES, ids=IDS)
def test_identity_matches_the_vectors_of_each_mode(mode, vector):
    found = event_identity(Identity(settings(mode, vector.get("config"))), identity_input(event(vector["input"])))
    expected = dict(vector["expect"][mode])
    if "rejected" in expected:
        assert found["lints"][0] == f"compat-refused: {expected['rejected']}"
        expected = dict(event_identity(Identity(), identity_input(event(vector["input"]))))
        del expected["lints"]
    if "template" in expected:
        expected["parentTemplate"] = expected.pop("template")
    assert {key: found[key] for key in expected} == expected


def test_every_mode_has_its_vectors():
    assert [sum(mode == name for mode, _ in CASES) for name in sorted({mode for mode, _ in CASES})] == [23, 2, 63]


@pytest.mark.parametrize("vector", DOCUMENT["vectors"], ids=lambda vector: vector["id"])
def test_compat_knows_what_the_endpoint_refuses_and_nothing_else(vector):
    endpoint = compat(**(vector.get("config") or {}).get("compat", {}))
    expected = vector["expect"]["datahub-openlineage"].get("rejected")
    assert endpoint.refusal_reason(read_hints(event(vector["input"]))) == expected


@pytest.mark.parametrize("vector", DOCUMENT["vectors"], ids=lambda vector: vector["id"])
def test_default_mode_reads_the_same_of_an_event_as_of_its_names(vector):
    row = event_identity(Identity(), identity_input(event(vector["input"])))
    assert Identity().for_event(event(vector["input"])).job is not None
    job = Identity().job(vector["input"]["namespace"], vector["input"]["name"], vector["input"]["producer"])
    assert row["dataFlow"] == job.flow_urn


GRAINS = [
    (grain, vector)
    for vector in DOCUMENT["vectors"]
    for grain in ("operation", "task", "application")
    if "runId" in vector["input"]
]


@pytest.mark.parametrize(("grain", "vector"), GRAINS, ids=[f"{vector['id']}-{grain}" for grain, vector in GRAINS])
def test_granularity_matches_the_vectors(grain, vector):
    stated = settings("default", vector.get("config")).model_copy(update={"granularity": grain, "mode": "default"})
    found = event_identity(Identity(stated), identity_input(event(vector["input"])))
    assert found["folds_into"] == vector["expect"].get("granularity", {}).get(grain)
    assert {key: found[key] for key in vector["expect"]["default"]} == vector["expect"]["default"]


def test_vectors_of_granularity_are_all_there():
    assert sum("granularity" in vector["expect"] for vector in DOCUMENT["vectors"]) == 10


def test_rule_folds_some_jobs_and_leaves_others():
    rules = [{"name": r"app\..*", "granularity": "application"}]
    identity = Identity(IdentitySettings(rules=rules))
    assert row(identity, name="app.x", producer=SPARK)["folds_into"].endswith("(spark,app,ns),app)")
    assert row(identity, name="other.x", producer=SPARK)["folds_into"] is None
    whole = Identity(
        IdentitySettings(granularity="application", rules=[{"name": r"app\..*", "granularity": "operation"}])
    )
    assert row(whole, name="app.x", producer=SPARK)["folds_into"] is None
    assert row(whole, name="other.x", producer=SPARK)["folds_into"].endswith("(spark,other,ns),other)")


SQL_OF_TASKS = pytest.mark.parametrize("query", ["query.1", "manual_query.2", "hll_query.3"])  # the last: provider 2.21


@SQL_OF_TASKS
def test_sql_of_a_task_folds_into_the_task(query):
    identity = Identity(IdentitySettings(granularity="task"))
    found = row(identity, **task_event(name=f"dag.load.{query}", jobType={"jobType": "QUERY"}))
    assert found["folds_into"] == "urn:li:dataJob:(urn:li:dataFlow:(airflow,dag,ns),dag.load)"


@SQL_OF_TASKS
def test_joins_with_the_plugin_fold_the_sql_of_tasks(query):
    sql = task_event(name=f"my.dag.grp.load.{query}", jobType={"jobType": "QUERY"})
    task = "urn:li:dataJob:(urn:li:dataFlow:(airflow,my.dag,prod),grp.load)"
    assert row(plugin(), **sql)["folds_into"] == task
    assert row(plugin(), **task_event())["folds_into"] is None
    assert row(plugin(), name="a.b", producer=SPARK)["folds_into"] is None
    everything = Identity(IdentitySettings(mode="datahub-openlineage", granularity="application"))
    assert row(everything, name="a.b", producer=SPARK)["folds_into"] is None


# -- compat ---------------------------------------------------------------------------------------------------------


def compat(**stated):
    return CompatMode(IdentitySettings(**endpoint_settings(**stated)).endpoint)


@pytest.mark.parametrize(
    ("stated", "hint", "expected"),
    [
        ({}, {"engine": "Spark", "integration": "DBT", "producer": DBT}, "spark"),
        ({}, {"integration": "SPARK", "producer": DBT}, "dbt"),
        ({}, {"producer": AIRFLOW}, "airflow"),
        ({}, {"producer": "https://github.com/trinodb/trino/plugin"}, "trino"),
        ({}, {"producer": "https://github.com/OpenLineage/OpenLineage/blob/1/client/python"}, "python"),
        ({}, {"producer": "https://acme.example"}, None),
        ({"orchestrator": "own"}, {"engine": "Spark"}, "own"),
        ({}, {}, None),
    ],
)
def test_endpoint_finds_its_orchestrator(stated, hint, expected):
    assert compat(**stated).orchestrator(Hints("ns", "a.b", **hint)) == expected


@pytest.mark.parametrize(
    ("name", "flow"), [("a.b.c", "a"), ("a", "a"), (".x", ""), ("", ""), (".", None), ("..", None), ("a..", "a")]
)
def test_flow_is_what_java_splits_off(name, flow):
    assert flow_of(name) == flow


def test_endpoint_refuses_job_events():
    stated = Hints("ns", "a.b", AIRFLOW)
    assert compat().refusal_reason(stated) == "no run (JobEvent): NullPointerException, HTTP 500"


def test_endpoints_own_settings_decide_about_cluster_and_flow():
    both = {"env": "PROD", "platform_instance": "west", "pipeline_name": "all"}
    found = row(Identity(IdentitySettings(**endpoint_settings(**both))), name="a.b")
    assert found["dataJob"] == "urn:li:dataJob:(urn:li:dataFlow:(airflow,all,west),a.b)"
    found = row(Identity(IdentitySettings(**endpoint_settings(env="PROD"))), name="a.b")
    assert (found["dataFlow"], found["env"]) == ("urn:li:dataFlow:(airflow,a,prod)", "PROD")


def test_endpoint_names_another_job_of_the_event_likewise():
    stated = event(
        {"kind": "RunEvent", "namespace": "ns", "name": "a.b", "producer": AIRFLOW, "runId": RUN, "has_io": False}
    )
    names = Identity(IdentitySettings(mode="datahub-openlineage", namespaces={"one": ["ns"]})).for_event(stated)
    assert names.job("ns", "a.b", AIRFLOW).job_urn == "urn:li:dataJob:(urn:li:dataFlow:(airflow,a,ns),a.b)"
    near = names.job("ns", "a.b", AIRFLOW)
    other = names.reference("other", "c.d", referrer=near)
    assert other is None or other.job_urn == "urn:li:dataJob:(urn:li:dataFlow:(airflow,c,other),c.d)"
    assert names.reference("ns", "unknown", referrer=near) is None


# -- DataHub's Airflow plugin ---------------------------------------------------------------------------------------


def plugin(**stated):
    return Identity(IdentitySettings(**plugin_settings(**stated)))


def task_event(task="grp.load", dag="my.dag", dag_run="manual__2026-01-01", **more):
    body = {
        "name": f"{dag}.{task}",
        "jobType": {"integration": "AIRFLOW", "jobType": "TASK"},
        "airflow": {"dag": {"dag_id": dag}, "task": {"task_id": task}, "dagRun": {"run_id": dag_run}},
        "parent": {"job": {"namespace": "ns", "name": dag}, "run": {"runId": DAG_RUN}},
    }
    return {**body, **more}


@pytest.mark.parametrize("instance", [None, "west"])
@pytest.mark.parametrize("cluster", ["prod", "DEV"])
@pytest.mark.parametrize(("dag", "task"), [("my_dag", "load"), ("my.dag", "grp.load"), ("d(1),ü", "a,b")])
def test_ids_are_those_of_datahubs_own_classes(instance, cluster, dag, task):
    found = row(plugin(cluster=cluster, platform_instance=instance), **task_event(task, dag))
    flow = DataFlow(orchestrator="airflow", id=dag, env=cluster, platform_instance=instance)
    job = DataJob(id=task, flow_urn=flow.urn, platform_instance=instance)
    run = DataProcessInstance(orchestrator="airflow", cluster=cluster, id=f"{dag}_{task}_manual__2026-01-01")
    assert found["dataFlow"] == str(flow.urn)
    assert found["dataJob"] == found["parentTemplate"] == str(job.urn)
    assert found["dpi"] == str(run.urn)
    assert found["parentInstance"] == f"urn:li:dataProcessInstance:{DAG_RUN}"


@pytest.mark.parametrize("runs", ["links", "plugin"])
def test_tries_and_mapped_indexes_share_the_plugins_run(runs):
    identity = plugin(runs=runs)
    urns = {row(identity, **task_event(), runId=f"018cc251-f400-7026-81fb-56cf8ce0568{n}")["dpi"] for n in range(3)}
    assert len(urns) == 1


def test_runs_openlineage_keeps_the_runs_own_ids():
    found = row(plugin(runs="openlineage"), **task_event())
    assert found["dpi"] == f"urn:li:dataProcessInstance:{RUN}"
    assert found["dataJob"] == "urn:li:dataJob:(urn:li:dataFlow:(airflow,my.dag,prod),grp.load)"
    assert "join-run" not in found["lints"]


def test_run_without_the_plugin_id_has_a_warning():
    found = row(plugin(), **task_event(airflow={}))
    assert found["dpi"] == f"urn:li:dataProcessInstance:{RUN}"
    assert found["lints"] == ["join-run"]
    assert row(plugin(), **task_event())["lints"] == []


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"name": "a.b.c", "jobType": {"jobType": "DAG"}}, ("a.b.c", None)),
        ({"name": "a.b.c", "airflow": {"dag": {"dag_id": "a.b"}}}, ("a.b", "c")),
        ({"name": "a.b.c", "parent": {"job": {"name": "a.b"}, "run": {"runId": "r"}}}, ("a.b", "c")),
        ({"name": "a.b.c", "parent": {"job": {"name": "x"}, "run": {"runId": "r"}}}, ("a", "b.c")),
        ({"name": "a.b.c"}, ("a", "b.c")),
        ({"name": "a.b.query.1", "jobType": {"jobType": "QUERY"}, "parent": {"job": {"name": "a.b"}, "run": {"runId": "r"}}},
         ("a", "b.query.1")),
        ({"name": "a.b.c.query.1", "parent": {"job": {"name": "a.b.c"}, "run": {"runId": "r"},
          "root": {"job": {"name": "a.b"}, "run": {"runId": "r"}}}}, ("a.b", "c.query.1")),
    ],
)  # fmt: skip
def test_dag_id_is_read_from_the_most_reliable_source(stated, expected):
    dag, task = expected
    found = row(plugin(), **stated)
    assert found["dataFlow"] == f"urn:li:dataFlow:(airflow,{dag},prod)"
    assert found["dataJob"] == (task and f"urn:li:dataJob:({found['dataFlow']},{task})")


@SQL_OF_TASKS
@pytest.mark.parametrize("kind", [{"jobType": "QUERY"}, {}])
def test_sql_of_a_task_keeps_its_own_run(query, kind):
    sql = task_event(name=f"my.dag.grp.load.{query}", jobType=kind)
    assert row(plugin(), **sql)["dpi"] == f"urn:li:dataProcessInstance:{RUN}"


def test_dag_run_keeps_its_own_run():
    dag = {"name": "my.dag", "jobType": {"jobType": "DAG"}, "airflow": {"dagRun": {"run_id": "manual__2026-01-01"}}}
    assert row(plugin(), **dag)["dpi"] == f"urn:li:dataProcessInstance:{RUN}"


def test_child_finds_the_plugins_run_by_the_facets_of_its_parent():
    airflow = {"dag": {"dag_id": "my.dag"}, "task": {"task_id": "grp.load"}, "dagRun": {"run_id": "manual__2026-01-01"}}
    parent = {
        "job": {"namespace": "ns", "name": "my.dag.grp.load"},
        "run": {"runId": DAG_RUN, "facets": {"airflow": airflow}},
    }
    found = row(plugin(), name="app", producer=SPARK, parent=parent)
    assert found["parentInstance"] == row(plugin(), **task_event())["dpi"]
    assert found["dataFlow"] == "urn:li:dataFlow:(spark,app,ns)"
    del parent["run"]["facets"]
    assert row(plugin(), name="app", producer=SPARK, parent=parent)["parentInstance"].endswith(DAG_RUN)


def test_other_producers_and_placeholders_keep_the_default_ids():
    for stated in ({"name": "a.b", "producer": SPARK}, {"name": "unknown"}, {"name": "a.b", "producer": "x"}):
        assert row(plugin(), **stated)["dataFlow"] == row(Identity(), **stated)["dataFlow"]


def test_other_tasks_of_the_events_dag_fall_as_its_own():
    stated = event(
        {"kind": "RunEvent", "namespace": "ns", "producer": AIRFLOW, "runId": RUN, "has_io": False, **task_event()}
    )
    names = plugin().for_event(stated)
    assert names.job("ns", "my.dag.extract", AIRFLOW).job_id == "extract"
    assert names.job("ns", "other.extract", AIRFLOW).flow_id == "other"
    near = names.job("ns", "my.dag.grp.load", AIRFLOW)
    assert names.reference("ns", "my.dag.x", referrer=near).job_urn.endswith("(airflow,my.dag,prod),x)")


# -- dbt ------------------------------------------------------------------------------------------------------------


def dbt_event(kind="MODEL", unique_id="model.shop.orders", name="shop.analytics.shop.orders", **more):
    node = {"database": "shop", "schema": '"Analytics"', "alias": "orders", "unique_id": unique_id}
    stated = {"name": name, "producer": DBT, "jobType": {"integration": "DBT", "jobType": kind}, "dbt_node": node}
    return {**stated, "dbt_invocation_id": "2b0a0a3e", **more}


@pytest.mark.parametrize("instance", [None, "core"])
@pytest.mark.parametrize("env", ["PROD", "DEV"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_runs_of_nodes_are_those_of_datahubs_dbt_source(instance, env, lowercase):
    rules = [{"producer": "/dbt$", "instance": instance}] if instance else []
    chosen = IdentitySettings(mode="datahub-dbt-source", rules=rules, dbt_urns_to_lowercase=lowercase)
    found = row(Identity(chosen, dataset_env=env), **dbt_event())
    name = "shop.Analytics.orders"
    dataset = make_dataset_urn_with_platform_instance("dbt", name.lower() if lowercase else name, instance, env)
    run = DataProcessInstance(
        id=f"2b0a0a3e_{dataset}", orchestrator="dbt", cluster=None, template_urn=DatasetUrn.from_string(dataset)
    )
    assert (found["parentTemplate"], found["dpi"]) == (dataset, str(run.urn))
    assert (found["dataJob"], found["dataFlow_written"]) == (None, False)


def test_dbt_node_names_follow_the_datahub_dbt_source():
    """As acryl-datahub 1.7.0.17 wrote `shop."Mart"."Top Customers"` of a PostgreSQL; so since 1.6."""
    found = row(Identity(IdentitySettings(mode="datahub-dbt-source")), **dbt_event())
    assert found["parentTemplate"] == "urn:li:dataset:(urn:li:dataPlatform:dbt,shop.analytics.orders,PROD)"


@pytest.mark.parametrize(
    "stated",
    [
        dbt_event("TEST"),
        dbt_event("TEST", "test.shop.not_null"),
        dbt_event(dbt_node={}),
        dbt_event(dbt_node={"unique_id": "model.shop.orders"}),
        dbt_event(dbt_invocation_id=""),
        dbt_event(producer=SPARK),
        {"name": "dbt-run-shop", "producer": DBT},
    ],
)
def test_nodes_without_runs_in_the_dbt_source_keep_default_ids(stated):
    join = Identity(IdentitySettings(mode="datahub-dbt-source"))
    assert row(join, **stated) == row(Identity(), **stated)


@pytest.mark.parametrize("instance", [None, "core"])
def test_dbt_tests_assertion_is_the_one_of_datahubs_dbt_source(instance):
    rules = [{"platform": "dbt", "instance": instance}] if instance else []
    identity = Identity(IdentitySettings(mode=["datahub-airflow-plugin", "datahub-dbt-source"], rules=rules))

    def check(unique_id):
        stated = dbt_event("TEST", unique_id)
        return identity.for_event(
            event({"kind": "RunEvent", "namespace": "ns", "runId": RUN, "has_io": False, **stated})
        ).check_urn()

    key = {"platform": "dbt", "name": "test.shop.not_null_orders_id.81c"} | ({"instance": instance} if instance else {})
    assert check("test.shop.not_null_orders_id.81c") == make_assertion_urn(datahub_guid(key))
    for other in ("test.shop.relationships_orders_customer.430", "model.shop.orders", "test.", ""):
        assert check(other) is None


@pytest.mark.parametrize(
    ("stated", "job"),
    [
        (dbt_event(), "model.shop.orders"),
        (dbt_event(name="shop.analytics.shop.orders.build.run"), "model.shop.orders"),
        (dbt_event("TEST", name="shop.analytics.shop.orders.test"), "model.shop.orders.test"),
        (
            dbt_event("TEST", "source.shop.raw.orders", "shop.raw.source.shop.raw.orders.test"),
            "source.shop.raw.orders.test",
        ),
        (dbt_event("TEST", "test.shop.x.81c", "test.shop.x.81c"), "test.shop.x.81c"),
        (dbt_event(name="model.shop.orders"), "model.shop.orders"),
        ({"name": "model.shop.orders.sql.3", "producer": DBT}, "model.shop.orders.sql.3"),
    ],
)
def test_dbt_node_is_one_job_whatever_sends_it(stated, job):
    identity = Identity(dbt=DbtSettings(node_identity="unique_id"))
    found = row(identity, **stated)
    assert found["dataJob"] == f"urn:li:dataJob:(urn:li:dataFlow:(dbt,shop,ns),{job})"
    assert found["dpi"] == f"urn:li:dataProcessInstance:{RUN}"


def test_unique_ids_touch_nobody_but_dbts_nodes():
    identity = Identity(dbt=DbtSettings(node_identity="unique_id"))
    for stated in ({"name": "dbt-run-shop", "producer": DBT}, dbt_event(producer=SPARK), {"name": "a.b"}):
        assert row(identity, **stated) == row(Identity(), **stated)
    names = identity.for_event(
        event({"kind": "RunEvent", "namespace": "ns", "runId": RUN, "has_io": False, **dbt_event()})
    )
    assert names.job("ns", "shop.analytics.shop.orders", DBT).name == "shop.analytics.shop.orders"
    assert names.job("ns", "dbt-run-shop", DBT).job_id == "dbt-run-shop"


@pytest.mark.parametrize(
    ("unique_id", "kind", "name"),
    [("model.s.a", "TEST", "model.s.a.test"), ("model.s.a", None, "model.s.a"), ("test.s.a", "test", "test.s.a")],
)
def test_tests_of_a_node_have_a_job_of_their_own(unique_id, kind, name):
    assert node_job_name(unique_id, kind) == name


def test_airflow_and_dbt_modes_combine():
    identity = Identity(IdentitySettings(mode=["datahub-airflow-plugin", "datahub-dbt-source"]))
    assert row(identity, **task_event())["dataFlow"] == "urn:li:dataFlow:(airflow,my.dag,prod)"
    assert row(identity, **dbt_event())["parentTemplate"].startswith("urn:li:dataset:(urn:li:dataPlatform:dbt,")


# -- hints ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "facets",
    [
        {"airflow": "<<non-serializable: X>>", "parent": [], "dbt_run": 1, "jobDependencies": {"upstream": 3}},
        {"airflow": {"dag": [], "task": "x", "dagRun": {"run_id": 7}}, "parent": {"run": {"runId": 1}}},
        {"parent": {"run": {"runId": ""}, "job": None}, "jobDependencies": {"upstream": ["x", {"run": None}]}},
    ],
)
def test_malformed_facets_give_no_hints(facets):
    body = {
        "eventTime": "2024-01-01T00:00:00Z", "producer": "p", "run": {"runId": RUN, "facets": facets},
        "job": {"namespace": "n", "name": "a.b", "facets": {"dbt_node": {"unique_id": " "}, "jobType": None}},
    }  # fmt: skip
    assert read_hints(parse_event(json.dumps(body).encode(), "here")) == Hints("n", "a.b", "p", RUN)
