"""airflow (run): a task's run, as the Airflow provider describes it."""

from __future__ import annotations

import pytest
from support.facet_cases import AIRFLOW, DPI, END_MS, START_MS, TOTALS, event, facet, pair, totals, translate_events

FLOW = "urn:li:dataFlow:(airflow,daily,shop)"
JOB = f"urn:li:dataJob:({FLOW},daily.load)"

DAG = {
    "dag_id": "daily",
    "description": "What the night does",
    "owner": "ann, data-team,airflow",
    "tags": "['shop', 'tier:1']",
    "fileloc": "/dags/daily.py",
    "start_date": "2026-01-01T00:00:00+00:00",
    "timetable": {"delta": 86400.0},
}
DAG_RUN = {
    "run_id": "scheduled__2026-11-20T00:00:00+00:00",
    "run_type": "scheduled",
    "conf": {"limit": 10, "api_key": "hidden"},
    "data_interval_start": "2026-11-19T00:00:00+00:00",
    "external_trigger": False,
}
TASK = {
    "task_id": "load",
    "operator_class": "PythonOperator",
    "retries": 2,
    "pool": "default_pool",
    "upstream_task_ids": "['extract', 'group.check']",
    "downstream_task_ids": "[]",
    "wait_for_past_depends_before_skipping": False,
}
INSTANCE = {
    "try_number": 2,
    "map_index": -1,
    "log_url": "https://airflow.example.com/log?x=1",
    "duration": 12.5,
    "pool": "default_pool",
}


def airflow(**parts):
    body = {"dag": DAG, "dagRun": DAG_RUN, "task": TASK, "taskInstance": INSTANCE, "taskUuid": "other", **parts}
    return {"airflow": facet(**{key: value for key, value in body.items() if value is not None})}


def task(*, facets=None, **settings):
    return translate_events(pair(run=facets or airflow(), producer=AIRFLOW), **settings)


def test_dag_describes_the_flow():
    found = task().patched(FLOW, "dataFlowInfo")
    assert found["/name"] == "daily"
    assert found["/description"] == "What the night does"
    properties = task().properties(FLOW)
    assert properties["airflow.dag.fileloc"] == "/dags/daily.py"
    assert properties["airflow.dag.start_date"] == "2026-01-01T00:00:00+00:00"
    assert properties["airflow.dag.timetable.delta"] == "86400.0"
    assert properties["airflow.dag_id"] == "daily"
    assert "description" not in " ".join(properties)


def test_doc_md_serves_where_a_dag_has_no_description():
    dag = {key: value for key, value in DAG.items() if key != "description"}
    found = task(facets=airflow(dag={**dag, "doc_md": "# Night"}))
    assert found.patched(FLOW, "dataFlowInfo")["/description"] == "# Night"


def test_task_never_describes_its_flow_s_owners_as_its_own():
    found = task()
    assert set(found.patched(FLOW, "ownership")) == {
        "/owners/urn:li:corpuser:ann/DEVELOPER",
        "/owners/urn:li:corpuser:data-team/DEVELOPER",
    }
    assert not found.has(JOB, "ownership")


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        ("['shop', 'tier:1']", {"shop", "tier:1"}),
        ('["a"]', {"a"}),
        (["b", 7], {"b", "7"}),
        ("x, y", {"x", "y"}),
        ("[]", set()),
        ("['cut", set()),
        (None, set()),
        ({"a": 1}, set()),
        ("[" + "'a'," * 6000 + "]", set()),
    ],
)
def test_tags_of_a_dag_are_read_whether_list_or_python_text(tags, names):
    found = task(facets=airflow(dag={**DAG, "tags": tags}))
    if names:
        assert set(found.patched(FLOW, "globalTags")) == {f"/tags/urn:li:tag:{name}" for name in names}
    else:
        assert not found.has(FLOW, "globalTags")


def test_tag_that_is_to_be_none_is_none_of_its_dag_either():
    found = task(tags={"exclude": ["shop"]})
    assert set(found.patched(FLOW, "globalTags")) == {"/tags/urn:li:tag:tier:1"}


def test_tags_that_cannot_be_read_are_kept_as_text():
    assert task(facets=airflow(dag={**DAG, "tags": "['cut"})).properties(FLOW)["airflow.dag.tags"] == "['cut"
    assert "airflow.dag.tags" not in task(facets=airflow(dag={**DAG, "tags": "[]"})).properties(FLOW)


def test_run_name_has_dag_run_map_index_and_try():
    assert task().one(DPI, "dataProcessInstanceProperties")["name"] == "scheduled__2026-11-20T00:00:00+00:00 #2"
    mapped = task(facets=airflow(taskInstance={**INSTANCE, "map_index": 3}))
    assert mapped.one(DPI, "dataProcessInstanceProperties")["name"] == "scheduled__2026-11-20T00:00:00+00:00[3] #2"
    bare = task(facets=airflow(taskInstance={}))
    assert bare.one(DPI, "dataProcessInstanceProperties")["name"] == "scheduled__2026-11-20T00:00:00+00:00"
    untold = task(facets=airflow(dagRun={}, taskInstance={}))
    assert untold.one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]


@pytest.mark.parametrize(
    ("run_type", "kind"),
    [
        ("manual", "BATCH_AD_HOC"),
        ("operator_triggered", "BATCH_AD_HOC"),
        ("asset_materialization", "BATCH_AD_HOC"),
        ("scheduled", "BATCH_SCHEDULED"),
        ("backfill", "BATCH_SCHEDULED"),
        ("asset_triggered", "BATCH_SCHEDULED"),
        ("dataset_triggered", "BATCH_SCHEDULED"),
    ],
)
def test_type_of_a_dag_run_is_the_type_of_the_run(run_type, kind):
    found = task(facets=airflow(dagRun={**DAG_RUN, "run_type": run_type}))
    assert found.one(DPI, "dataProcessInstanceProperties")["type"] == kind
    assert found.properties(DPI)["airflow.dagRun.run_type"] == run_type


def test_external_trigger_is_the_weakest_hint():
    triggered = {"run_id": "x", "external_trigger": True}
    found = task(facets=airflow(dagRun=triggered))
    assert found.one(DPI, "dataProcessInstanceProperties")["type"] == "BATCH_AD_HOC"
    found = task(facets={**airflow(dagRun=triggered), "nominalTime": facet(nominalStartTime="2026-11-20T00:00:00Z")})
    assert found.one(DPI, "dataProcessInstanceProperties")["type"] == "BATCH_SCHEDULED"


def test_dag_run_is_kept_with_its_conf_redacted():
    properties = task().properties(DPI)
    assert properties["airflow.dagRun.run_id"] == DAG_RUN["run_id"]
    assert properties["airflow.dagRun.conf"] == '{"api_key":"[REDACTED]","limit":10}'
    assert properties["airflow.dagRun.external_trigger"] == "false"
    assert properties["airflow.dagRun.data_interval_start"] == "2026-11-19T00:00:00+00:00"
    assert properties["airflow.taskUuid"] == "other"


def test_empty_conf_and_own_task_uuid_are_not_kept():
    properties = task(facets=airflow(dagRun={"run_id": "x", "conf": {}}, taskUuid=DPI.rpartition(":")[2])).properties(
        DPI
    )
    assert not {"airflow.dagRun.conf", "airflow.taskUuid"} & properties.keys()


def test_task_describes_the_job():
    properties = task().properties(JOB)
    assert properties["airflow.task.operator_class"] == "PythonOperator"
    assert properties["airflow.task.retries"] == "2"
    assert (
        properties["airflow.task.other"] == '{"downstream_task_ids":"[]","wait_for_past_depends_before_skipping":false}'
    )
    assert "airflow.task.upstream_task_ids" not in properties


def test_upstream_tasks_are_edges_between_jobs():
    edges = task().patched(JOB, "dataJobInputOutput")
    assert edges == {
        f"/inputDatajobEdges/urn:li:dataJob:({FLOW},daily.{name})": {
            "destinationUrn": f"urn:li:dataJob:({FLOW},daily.{name})"
        }
        for name in ("extract", "group.check")
    }


def test_without_the_graph_upstream_tasks_are_kept():
    found = task(report=True, airflow={"task_graph": False})
    assert found.all(JOB, "dataJobInputOutput") == []
    assert "upstream_task_ids" in found.properties(JOB)["airflow.task.other"]
    outcomes = {path: outcome for path, (outcome, _) in found.outcomes().items() if "upstream_task_ids" in path}
    assert set(outcomes.values()) == {"property"}


def test_try_is_the_attempt_and_the_log_the_page():
    found = task()
    for point in found.all(DPI, "dataProcessInstanceRunEvent"):
        assert point["attempt"] == 2
        assert point["externalUrl"] == "https://airflow.example.com/log?x=1"
    assert found.one(DPI, "dataProcessInstanceProperties")["externalUrl"] == "https://airflow.example.com/log?x=1"
    assert found.properties(DPI)["attempt"] == "2"


def test_page_that_is_no_page_is_only_kept():
    found = task(facets=airflow(taskInstance={"log_url": "file:///log"}))
    assert "externalUrl" not in found.one(DPI, "dataProcessInstanceProperties")
    assert found.properties(DPI)["airflow.taskInstance.log_url"] == "file:///log"


@pytest.mark.parametrize("tries", [True, 0, -1, "second", 2**31, 1.5, None])
def test_invalid_try_number_is_no_attempt(tries):
    found = task(facets=airflow(taskInstance={"try_number": tries}), report=True)
    assert {point.get("attempt") for point in found.all(DPI, "dataProcessInstanceRunEvent")} == {1}
    if tries is not None:
        history_of = "dataProcessInstanceProperties.customProperties[openlineage.airflow.taskInstance.try_number]"
        assert found.outcomes()["$.run.facets.airflow.taskInstance.try_number"] == ("property", history_of)


def test_duration_of_the_instance_serves_where_no_start_was_seen():
    alone = translate_events(event("COMPLETE", run=airflow(), producer=AIRFLOW))
    (point,) = alone.all(DPI, "dataProcessInstanceRunEvent")
    assert (point["timestampMillis"], point["durationMillis"]) == (END_MS, 12500)
    start, end = task().all(DPI, "dataProcessInstanceRunEvent")
    assert (start["timestampMillis"], end["durationMillis"]) == (START_MS, 30000)
    untold = translate_events(event("COMPLETE", run=airflow(taskInstance={"duration": True}), producer=AIRFLOW))
    assert "durationMillis" not in untold.all(DPI, "dataProcessInstanceRunEvent")[0]


def test_malformed_airflow_facet_is_read_as_far_as_possible():
    found = task(facets=airflow(dag="gone", dagRun=[], task=None, taskInstance=7))
    assert found.has(FLOW, "dataFlowInfo")
    assert not found.has(JOB, "dataJobInputOutput")


def test_unknown_fields_are_kept_on_the_run():
    assert task(facets=airflow(extra={"a": [1, 2]})).properties(DPI)["airflow.extra.a"] == "[1,2]"


@pytest.mark.parametrize("name", ["unknown"])
def test_placeholder_job_gets_no_flow_from_its_dag(name):
    found = translate_events(pair(run=airflow(), producer=AIRFLOW, name=name))
    assert found.entities("dataFlow") == set()
    assert found.entities("dataJob") == set()


def test_job_that_a_rule_skips_gets_no_flow_from_its_dag():
    found = translate_events(
        pair(run=airflow(), producer=AIRFLOW), identity={"rules": [{"name": "daily.*", "skip": True}]}
    )
    assert found.entities("dataFlow") == set()


def test_dag_s_own_run_draws_no_edges_between_tasks():
    found = translate_events(pair(run=airflow(), producer=AIRFLOW, name="daily"))
    assert found.properties(FLOW)["airflow.task.operator_class"] == "PythonOperator"
    assert found.entities("dataJob") == set()


def test_owners_of_a_dag_that_are_placeholders_are_withheld():
    found = task(report=True)
    assert found.outcomes()["$.run.facets.airflow.dag.description"] == ("mapped", "dataFlowInfo.description")
    nobody = task(facets=airflow(dag={"dag_id": "daily", "owner": "airflow"}), report=True)
    assert nobody.outcomes()["$.run.facets.airflow.dag.owner"] == ("dropped", "no-field:placeholder owner")
    assert not nobody.has(FLOW, "ownership")


@pytest.mark.parametrize(
    ("version", "index", "page"),
    [
        ("3.0.1", -1, "/dags/daily/runs/{}/tasks/load"),
        ("3.3.2", 4, "/dags/daily/runs/{}/tasks/load/mapped/4"),
        ("2.9.1", -1, "/dags/daily/grid?dag_run_id={}&task_id=load"),
        ("2.3.0", 4, "/dags/daily/grid?dag_run_id={}&task_id=load&map_index=4"),
        ("2.1.4", -1, "/graph?dag_id=daily&execution_date=2026-11-19T00%3A00%3A00%2B00%3A00"),
        ("next", -1, "/dags/daily/grid?dag_run_id={}&task_id=load"),
    ],
)
def test_airflow_url_namespace_links_the_task_page(version, index, page):
    facets = airflow(taskInstance={"map_index": index})
    facets["processing_engine"] = facet(name="Airflow", version=version)
    found = translate_events(pair(run=facets, producer=AIRFLOW, namespace="https://airflow.example/"))
    run_id = "scheduled__2026-11-20T00%3A00%3A00%2B00%3A00"
    assert found.one(DPI, "dataProcessInstanceProperties")["externalUrl"] == "https://airflow.example" + page.format(
        run_id
    )


def test_told_version_beats_a_guessed_one_and_the_log_beats_both():
    start = event("START", run={**airflow(taskInstance={}), "processing_engine": facet(version="3.1.0")}, producer=AIRFLOW,
                  namespace="https://air")  # fmt: skip
    end = event(run=airflow(taskInstance={}), producer=AIRFLOW, namespace="https://air")
    for order in ([start, end], [end, start]):
        url = translate_events(order).one(DPI, "dataProcessInstanceProperties")["externalUrl"]
        assert url.startswith("https://air/dags/daily/runs/")
    logged = translate_events(start, event(run=airflow(), producer=AIRFLOW, namespace="https://air"))
    assert logged.one(DPI, "dataProcessInstanceProperties")["externalUrl"] == INSTANCE["log_url"]


def test_only_airflow_3_has_run_after():
    facets = airflow(dagRun={**DAG_RUN, "run_after": "2026-11-20T00:00:00Z"}, taskInstance={})
    found = translate_events(pair(run=facets, producer=AIRFLOW, namespace="https://air"))
    assert "/runs/" in found.one(DPI, "dataProcessInstanceProperties")["externalUrl"]


@pytest.mark.parametrize("parts", [{"dag": {}}, {"dagRun": {}}, {"dag": {"dag_id": 7}}])
def test_without_dag_or_run_there_is_no_page(parts):
    found = translate_events(pair(run=airflow(taskInstance={}, **parts), producer=AIRFLOW, namespace="https://air"))
    assert "externalUrl" not in found.one(DPI, "dataProcessInstanceProperties")


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ({"external_dag_id": "raw", "external_task_id": "done"}, {"raw.done"}),
        ({"external_dag_id": "raw", "external_task_ids": "['a', 'b']"}, {"raw.a", "raw.b"}),
        ({"external_dag_id": "raw", "external_task_id": None}, set()),
        ({"external_dag_id": 7, "external_task_id": "done"}, set()),
        ({"external_task_id": "done"}, set()),
        (
            {"external_dag_id": "raw", "external_task_id": "done", "operator_class": "ExternalTaskMarker"},
            set(),
        ),
    ],
)
def test_sensor_hangs_on_the_tasks_of_the_other_dag(task, names):
    found = task_of(task)
    edges = found.all(JOB, "dataJobInputOutput")
    other = "urn:li:dataFlow:(airflow,raw,shop)"
    assert {one["path"] for edge in edges for one in edge} == {
        f"/inputDatajobEdges/urn:li:dataJob:({other},{name})" for name in names
    }
    if "external_dag_id" in task:
        assert found.properties(JOB)["airflow.task.external_dag_id"] == str(task["external_dag_id"])


BUCKET = "urn:li:dataset:(urn:li:dataPlatform:gcs,lake/x y.csv,PROD)"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.etl.daily,PROD)"
ASSETS = {
    "inlets": "[{'uri': 'postgres://db.example.com:5432/shop/etl/daily', 'extra': {}, 'type': 'asset'}, {'uri': 'plain'}]",
    "outlets": "[{'uri': 'gs://lake/x y.csv', 'extra': {'team': 'a'}, 'type': 'asset'}]",
}


def test_assets_are_datasets_where_the_provider_named_none():
    """Airflow's provider names those of systems alone whose own provider is installed."""
    found = task(facets=airflow(task={**TASK, **ASSETS}), report=True)
    io = found.patched(JOB, "dataJobInputOutput")
    assert f"/inputDatasetEdges/{TABLE}" in io
    assert f"/outputDatasetEdges/{BUCKET.replace('/', '~1')}" in io
    assert found.one(DPI, "dataProcessInstanceOutput") == {"outputs": [BUCKET]}
    assert found.properties(BUCKET)["name"] == "x y.csv"
    path = "$.run.facets.airflow.task"
    assert found.outcomes()[f"{path}.outlets"] == ("mapped", "dataJobInputOutput.outputDatasetEdges")
    assert found.properties(JOB)["airflow.task.other"].count("'uri'") == 3


LISTED = {
    "inlets": "[{'uri': 's3://lake/unread', 'extra': {'limit': Decimal('1.5')}, 'type': 'asset'}]",
    "inlets_list": [{"uri": "plain"}, {"uri": "postgres://db.example.com:5432/shop/etl/daily", "extra": {"limit": "1.5"}, "type": "asset"}],
    "outlets": "[{'uri': 'gs://lake/x y.csv', 'extra': {}, 'type': 'asset_event_from_alias', 'source_alias': 'a'}]",
    "outlets_list": [{"uri": "gs://lake/x y.csv", "extra": {}, "type": "asset_event_from_alias", "source_alias": "a"}, 7, {"uri": 7}],
}  # fmt: skip


def test_asset_list_is_preferred_to_its_text():
    """Since provider 2.21; Python text with a value that is no literal cannot be read."""
    found = task(facets=airflow(task={**TASK, **LISTED}), report=True)
    io = found.patched(JOB, "dataJobInputOutput")
    assert {path for path in io if "Dataset" in path} == {
        f"/inputDatasetEdges/{TABLE}",
        f"/outputDatasetEdges/{BUCKET.replace('/', '~1')}",
    }
    path = "$.run.facets.airflow.task"
    outcomes = found.outcomes()
    assert outcomes[f"{path}.inlets_list[1].uri"] == ("mapped", "dataJobInputOutput.inputDatasetEdges")
    assert outcomes[f"{path}.inlets_list[0].uri"][0] == "property"
    assert outcomes[f"{path}.outlets_list[0].uri"] == ("mapped", "dataJobInputOutput.outputDatasetEdges")
    for leaf in ("inlets", "outlets"):
        assert outcomes[f"{path}.{leaf}"] == ("dropped", f"duplicate-of:task.{leaf}_list")
    other = found.properties(JOB)["airflow.task.other"]
    assert "inlets_list" in other
    assert "Decimal(" not in other


@pytest.mark.parametrize("assets", [None, "gone", {"uri": "s3://lake/a"}])
def test_asset_text_is_used_if_the_list_is_missing(assets):
    found = task(facets=airflow(task={**TASK, **ASSETS, "outlets_list": assets}), report=True)
    assert f"/outputDatasetEdges/{BUCKET.replace('/', '~1')}" in found.patched(JOB, "dataJobInputOutput")
    assert found.outcomes()["$.run.facets.airflow.task.outlets"][0] == "mapped"


@pytest.mark.parametrize(
    "outlets", [ASSETS["outlets"], "[{'uri': 'plain'}]", "[{'uri': 7}, 'gs://lake/a']", "[{'uri", None, 7]
)
def test_assets_add_nothing_to_what_the_provider_named(outlets):
    facets = airflow(task={**TASK, "outlets": outlets})
    found = translate_events(pair(run=facets, outputs=[totals()], producer=AIRFLOW))
    assert found.one(DPI, "dataProcessInstanceOutput") == {"outputs": [TOTALS]}
    assert BUCKET not in found.entities("dataset")


def task_of(task):
    return translate_events(pair(run=airflow(task={"task_id": "load", **task}), producer=AIRFLOW))


def test_data_interval_is_the_nominal_time_where_none_is_stated():
    dag_run = {**DAG_RUN, "data_interval_end": "2026-11-20T00:00:00+00:00"}
    properties = task(facets=airflow(dagRun=dag_run)).properties(DPI)
    assert properties["nominalTime.nominalStartTime"] == DAG_RUN["data_interval_start"]
    assert properties["nominalTime.nominalEndTime"] == "2026-11-20T00:00:00+00:00"
    stated = task(facets={**airflow(dagRun=dag_run), "nominalTime": facet(nominalStartTime="2026-11-18T00:00:00Z")})
    assert stated.properties(DPI)["nominalTime.nominalStartTime"] == "2026-11-18T00:00:00Z"
    assert "nominalTime.nominalEndTime" not in stated.properties(DPI)
    point = task(facets=airflow(dagRun={**DAG_RUN, "data_interval_end": DAG_RUN["data_interval_start"]})).properties(
        DPI
    )
    assert "nominalTime.nominalEndTime" not in point


def test_description_and_an_owner_that_are_no_texts_are_kept():
    found = task(facets=airflow(dag={"dag_id": "daily", "description": ["x"], "owner": {"name": "ann"}}), report=True)
    assert found.properties(FLOW)["airflow.dag.description"] == '["x"]'
    assert found.properties(FLOW)["airflow.dag.owner.name"] == "ann"
    assert found.outcomes()["$.run.facets.airflow.dag.owner.name"][0] == "property"


def test_uuid_that_is_no_text_is_kept():
    assert task(facets={"airflow": facet(taskUuid=[7])}).properties(DPI)["airflow.taskUuid"] == "[7]"


def test_parts_that_are_no_objects_are_kept_as_they_are():
    properties = task(facets={"airflow": facet(dag="daily", dagRun=["x"], task=7, taskInstance="t")}).properties(DPI)
    assert [properties[f"airflow.{name}"] for name in ("dag", "dagRun", "task", "taskInstance")] == [
        "daily",
        '["x"]',
        "7",
        "t",
    ]
