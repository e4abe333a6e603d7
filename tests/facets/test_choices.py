"""What the settings of the translation change; facets have tests of their own, these are of the choices alone."""

from __future__ import annotations

from itertools import permutations

import pytest
from support.facet_cases import (
    AIRFLOW,
    DBT,
    DPI,
    END_MS,
    FLOW,
    JOB,
    NAMESPACE,
    ORDERS,
    POSTGRES,
    START,
    TOTALS,
    dataset_event,
    event,
    facet,
    of_job,
    of_output,
    of_run,
    orders,
    pair,
    totals,
    translate_events,
)

from dh_bridge import Bridge, Settings
from dh_bridge.bundled import MAPPINGS
from dh_bridge.datahub.proposal import ndjson_line

UI = "https://airflow.example.com"
AFTER = f"urn:li:dataJob:({FLOW},daily.publish)"


def page_of(found, urn=DPI):
    if urn == DPI:
        return found.one(DPI, "dataProcessInstanceProperties").get("externalUrl")
    return found.patched(urn, "dataJobInfo" if "dataJob:" in urn else "dataFlowInfo").get("/externalUrl")


# -- links -------------------------------------------------------------------------------------------------------------


def test_query_has_its_page_where_its_system_has_an_address():
    stated = facet(externalQueryId="01b2/4711", source="snowflake")
    pages = {"snowflake": "https://app.snowflake.com/x/queries/{id}", "bigquery": "https://b/{id}"}
    assert page_of(of_run("externalQuery", stated, links=pages)) == ("https://app.snowflake.com/x/queries/01b2%2F4711")
    assert page_of(of_run("externalQuery", stated)) is None
    assert page_of(of_run("externalQuery", facet(externalQueryId="1", source="?"), links=pages)) is None


def test_query_link_template_needs_the_id_placeholder():
    with pytest.raises(ValueError, match=r"`snowflake` should be an URL .* with \{id\}"):
        Settings(links={"snowflake": "https://app.snowflake.com/"})


@pytest.mark.parametrize(
    ("kind", "template"),
    [
        ("databricks", "https://dbc/{id}"),
        ("dbt", "ftp://git/{path}"),
        ("dataproc", "https://c/{section"),
        ("x", "{id}"),
    ],
)
def test_link_template_is_a_url_with_the_placeholders_needed(kind, template):
    with pytest.raises(ValueError, match=f"`{kind}` should be an URL"):
        Settings(links={kind: template})


def test_query_of_a_system_with_another_kind_of_page_has_no_page():
    stated = facet(externalQueryId="1", source="dbt")
    assert page_of(of_run("externalQuery", stated, links={"dbt": "https://git.example.com/{path}"})) is None


@pytest.mark.parametrize(("leaf", "path"), [("batchId", "batches"), ("jobId", "jobs"), ("sessionId", "interactive")])
def test_dataproc_has_its_page_where_the_region_is_known(leaf, path):
    stated = facet(projectId="shop-prod", **{leaf: "orders-1"})
    links = {"dataproc": "https://console.cloud.google.com/dataproc/{section}/europe-west1/{id}?project={project}"}
    found = of_run("gcp_dataproc", stated, links=links)
    assert page_of(found) == (
        f"https://console.cloud.google.com/dataproc/{path}/europe-west1/orders-1?project=shop-prod"
    )
    assert page_of(of_run("gcp_dataproc", stated)) is None
    assert page_of(of_run("gcp_dataproc", facet(jobId="a"), links=links)) is None


def test_dbt_node_s_page_is_its_file_unless_its_code_has_one():
    stated = facet(original_file_path="models/my orders.sql")
    links = {"dbt": "https://github.com/example/shop/blob/main/{path}"}
    assert page_of(of_job("dbt_node", stated, links=links), JOB) == (
        "https://github.com/example/shop/blob/main/models/my%20orders.sql"
    )
    assert page_of(of_job("dbt_node", stated), JOB) is None
    code = {"dbt_node": stated, "sourceCodeLocation": facet(type="git", url="https://code/x")}
    assert page_of(translate_events(pair(job=code), links=links), JOB) == "https://code/x"


DAG = {"dag": {"dag_id": "daily"}, "dagRun": {"run_id": "r"}, "task": {"task_id": "load"}}
IN_AIRFLOW = {"namespace": UI, "producer": AIRFLOW}
AIRFLOW_FLOW = f"urn:li:dataFlow:(airflow,daily,{UI})"
AIRFLOW_TASK = f"urn:li:dataJob:({AIRFLOW_FLOW},daily.load)"
CODE = {"sourceCodeLocation": facet(type="git", url="https://code/x")}


@pytest.mark.parametrize(
    ("version", "path"),
    [
        ("3.0.1", "dags/daily"),
        ("2.10.0", "dags/daily/grid"),
        ("2.2.0", "graph?dag_id=daily"),
        (None, "dags/daily/grid"),
    ],
)
def test_dag_has_its_page_in_airflow(version, path):
    run = {"airflow": facet(**DAG)}
    if version:
        run["processing_engine"] = facet(name="Airflow", version=version)
    found = translate_events(pair(run=run, **IN_AIRFLOW))
    assert page_of(found, AIRFLOW_FLOW) == f"{UI}/{path}"
    assert page_of(found, AIRFLOW_TASK) is None


def test_airflow_version_of_one_event_applies_in_any_order():
    stated, silent = {"airflow": facet(**DAG)}, {"airflow": facet(**DAG)}
    stated["processing_engine"] = facet(name="Airflow", version="3.0.1")
    events = [event("START", run=stated, **IN_AIRFLOW), event("COMPLETE", run=silent, **IN_AIRFLOW)]
    assert (
        page_of(translate_events(events), AIRFLOW_FLOW)
        == page_of(translate_events(events[::-1]), AIRFLOW_FLOW)
        == f"{UI}/dags/daily"
    )


# -- runs and jobs -----------------------------------------------------------------------------------------------------


def points(found):
    return [(one["timestampMillis"], one["status"]) for one in found.all(DPI, "dataProcessInstanceRunEvent")]


def test_streaming_run_beats_every_five_minutes_by_choice():
    job = {"jobType": facet(processingType="STREAMING", integration="FLINK", jobType="JOB")}
    events = [event("RUNNING", job=job, time=f"2026-11-20T01:{minute:02}:30Z") for minute in (1, 3, 7)]
    assert len(points(translate_events(events))) == 1
    assert [time - START_OF_HOUR for time, _ in points(translate_events(events, runs={"heartbeat": "5m"}))] == [
        0,
        300_000,
    ]


START_OF_HOUR = 1795136400000


def test_run_with_only_other_events_starts_by_setting():
    events = [event("OTHER"), event("OTHER", time=START)]
    assert points(translate_events(events)) == []
    seen = translate_events(events, runs={"other_as": "started"})
    assert points(seen) == [(START_OF_HOUR, "STARTED"), (END_MS, "STARTED")]
    ended = translate_events([*events, event("COMPLETE", time="2026-11-20T02:00:00Z")], runs={"other_as": "started"})
    assert points(ended)[-1][1] == "COMPLETE"


# -- operations and lifecycle ------------------------------------------------------------------------------------------

OVERWRITE = {"lifecycleStateChange": facet(lifecycleStateChange="OVERWRITE")}
COUNTED = {"outputFacets": {"outputStatistics": facet(rowCount=42)}}


def test_overwrite_is_an_update():
    events = pair(outputs=[totals(facets=OVERWRITE)])
    assert translate_events(events).one(TOTALS, "operation")["operationType"] == "UPDATE"


def test_overwrite_statistics_are_a_profile_unless_excluded():
    events = pair(outputs=[totals(facets=OVERWRITE, **COUNTED)])
    assert translate_events(events).one(TOTALS, "datasetProfile")["rowCount"] == 42
    assert not translate_events(events, excluded_metadata=["profiles_of_overwrites"]).has(TOTALS, "datasetProfile")


RENAME = {
    "lifecycleStateChange": facet(
        lifecycleStateChange="RENAME", previousIdentifier={"namespace": POSTGRES, "name": "shop.public.orders"}
    )
}


def test_renamed_dataset_links_its_new_name_or_is_soft_deleted():
    found = translate_events(pair(outputs=[totals(facets=RENAME)]))
    assert found.properties(ORDERS)["renamedTo"] == '{"name":"shop.public.totals","namespace":"postgres://db:5432"}'
    assert not found.has(ORDERS, "status")
    gone = translate_events(pair(outputs=[totals(facets=RENAME)]), lifecycle={"soft_delete": ["drop", "rename"]})
    assert gone.one(ORDERS, "status") == {"removed": True}
    assert "renamedTo" not in gone.properties(ORDERS)
    assert not gone.has(TOTALS, "status")


def test_rename_that_did_not_come_about_removes_nothing():
    events = [event("START", outputs=[totals(facets=RENAME)]), event("FAIL", outputs=[totals(facets=RENAME)])]
    assert not translate_events(events, lifecycle={"soft_delete": ["drop", "rename"]}).has(ORDERS, "status")


def test_dataset_event_renames_but_never_to_itself():
    found = translate_events(dataset_event(totals(facets=RENAME)), lifecycle={"soft_delete": ["drop", "rename"]})
    assert found.one(ORDERS, "status") == {"removed": True}
    itself = translate_events(dataset_event(orders(facets=RENAME)), lifecycle={"soft_delete": ["drop", "rename"]})
    assert not itself.has(ORDERS, "status")


# -- properties, owners, tags ------------------------------------------------------------------------------------------


def test_facets_that_nobody_knows_are_left_out_by_choice():
    found = of_run("acme", facet(a=1), excluded_metadata=["unknown_facets"], report=True)
    assert not any("acme" in key for key in found.properties(DPI))
    assert found.outcomes()["$.run.facets.acme.a"] == ("dropped", "policy:excluded_metadata")
    assert "facet.acme" in of_run("acme", facet(a=1)).properties(DPI)


def test_address_of_a_client_is_left_out_by_choice():
    stated = facet(username="ann", clientIp="10.0.0.7")
    found = of_run("hive_session", stated, excluded_metadata=["ip_addresses"], report=True)
    assert "hive_session.clientIp" not in found.properties(DPI)
    assert found.properties(DPI)["hive_session.username"] == "ann"
    assert found.outcomes()["$.run.facets.hive_session.clientIp"] == ("dropped", "policy:excluded_metadata")
    assert of_run("hive_session", stated).properties(DPI)["hive_session.clientIp"] == "10.0.0.7"


def test_owner_type_maps_to_a_custom_ownership_type():
    own = "urn:li:ownershipType:architect"
    stated = facet(owners=[{"name": "ann", "type": "Architect"}, {"name": "bob", "type": "Other"}])
    found = of_output("ownership", stated, owners={"types": {"Architect": own}})
    owners = found.patched(TOTALS, "ownership")
    assert owners["/owners/urn:li:corpuser:ann/CUSTOM"] == {
        "owner": "urn:li:corpuser:ann",
        "type": "CUSTOM",
        "typeUrn": own,
        "source": {"type": "SERVICE"},
    }
    assert "/owners/urn:li:corpuser:bob/TECHNICAL_OWNER" in owners
    assert found.properties(TOTALS)["ownership.types"] == '{"bob":"Other"}'


def test_tags_of_a_run_are_tags_of_its_job_by_choice():
    stated = facet(tags=[{"key": "team", "value": "shop"}, {"key": "openlineage_client_version", "value": "1"}])
    found = of_run("tags", stated, tags={"of_runs": "job"})
    assert list(found.patched(JOB, "globalTags")) == ["/tags/urn:li:tag:team:shop"]
    assert found.properties(DPI)["tags.team"] == "shop"
    assert not of_run("tags", stated).has(JOB, "globalTags")


def test_dbt_run_tags_are_model_tags_by_setting():
    stated = facet(
        tags=[
            {"key": "pii", "value": "true", "source": "DBT"},
            {"key": "tier", "value": "1", "source": "DBT_META"},
            {"key": "team", "value": "shop", "source": "USER"},
        ]
    )
    events = pair(run={"tags": stated}, inputs=[orders()], outputs=[totals()], producer=DBT)
    found = translate_events(events, dbt={"model_metadata": ["tags"]})
    assert sorted(found.patched(TOTALS, "globalTags")) == ["/tags/urn:li:tag:pii", "/tags/urn:li:tag:tier:1"]
    assert not found.has(ORDERS, "globalTags")
    assert not translate_events(events).has(TOTALS, "globalTags")


# -- dbt and Spark -----------------------------------------------------------------------------------------------------


def test_ephemeral_model_is_a_dataset_by_choice():
    stated = {"dbt_model": facet(config={"materialized": "ephemeral"})}
    events = pair(outputs=[totals(facets=stated)], producer=DBT)
    assert not translate_events(events).entities("dataset")
    assert translate_events(events, temporary={"ephemeral": "keep"}).entities("dataset") == {TOTALS}


@pytest.mark.parametrize("owner", ["ann", "***", None, 7])
def test_model_s_owner_is_its_dataset_s_by_choice(owner):
    stated = facet(config={"materialized": "table", "owner": owner})
    found = of_output("dbt_model", stated, dbt={"model_metadata": ["owners"]})
    assert found.has(TOTALS, "ownership") is (owner == "ann")
    assert not of_output("dbt_model", stated).has(TOTALS, "ownership")


def test_databricks_run_has_its_link_and_name_by_setting():
    inner = {"spark.databricks.job.id": "17", "spark.databricks.job.runId": 42}
    stated = {"environment-properties": {"environment-properties": inner}}
    found = translate_events(
        pair(run=stated),
        links={"databricks": "https://adb-1.2.azuredatabricks.net/jobs/{job}/runs/{run}"},
        spark={"run_name": "databricks"},
    )
    assert page_of(found) == "https://adb-1.2.azuredatabricks.net/jobs/17/runs/42"
    assert found.one(DPI, "dataProcessInstanceProperties")["name"] == "42"
    usual = translate_events(pair(run=stated))
    assert page_of(usual) is None
    assert usual.one(DPI, "dataProcessInstanceProperties")["name"] != "42"


# -- schemas -----------------------------------------------------------------------------------------------------------

COLUMNS = facet(
    fields=[{"name": "a", "type": "jsonb"}, {"name": "b", "type": "struct", "fields": [{"name": "c", "type": "int"}]}]
)


def fields(found):
    return [(one["fieldPath"], *one["type"]["type"]) for one in found.one(TOTALS, "schemaMetadata")["fields"]]


def test_column_type_override_wins():
    assert fields(of_output("schema", COLUMNS))[0] == ("a", "com.linkedin.schema.RecordType")
    found = of_output("schema", COLUMNS, schema={"types": {"JSONB": "MapType"}})
    assert fields(found)[0] == ("a", "com.linkedin.schema.MapType")
    with pytest.raises(ValueError, match="MapType"):
        Settings(schema={"types": {"jsonb": "Map"}})


def test_field_paths_are_of_the_style_of_their_platform():
    assert [path for path, _ in fields(of_output("schema", COLUMNS, schema={"field_paths": {"hive": "v2"}}))] == [
        "a",
        "b",
        "b.c",
    ]
    found = of_output("schema", COLUMNS, schema={"field_paths": {"postgres": "v2"}})
    paths = [path for path, _ in fields(found)]
    assert all(path.startswith("[version=2.0].") for path in paths)
    assert [path.rpartition(".")[2] for path in paths] == ["a", "b", "c"]


def test_schema_of_a_skipped_platform_is_left_to_its_connector():
    found = of_output("schema", COLUMNS, schema={"skip_platforms": ["postgres"]}, report=True)
    assert not found.has(TOTALS, "schemaMetadata")
    assert found.outcomes()["$.outputs[0].facets.schema.fields[0].name"] == ("dropped", "schema-owned")
    assert of_output("schema", COLUMNS, schema={"skip_platforms": ["hive"]}).has(TOTALS, "schemaMetadata")


def test_table_of_types_in_the_users_own_folder_counts(tmp_path):
    table = tmp_path / "tables" / "column_types.yaml"
    table.parent.mkdir()
    text = (MAPPINGS / "tables" / "column_types.yaml").read_text(encoding="utf-8")
    assert "jsonb, " in text
    table.write_text(
        text.replace("jsonb, ", "", 1).replace("names: [bool, ", "names: [bool, jsonb, ", 1), encoding="utf-8"
    )
    found = Bridge(Settings(mappings=tmp_path)).translate(pair(outputs=[totals(facets={"schema": COLUMNS})]))
    (schema,) = [one.value for one in found.proposals if one.aspect_name == "schemaMetadata"]
    assert schema["fields"][0]["type"] == {"type": {"com.linkedin.schema.BooleanType": {}}}


# -- siblings ----------------------------------------------------------------------------------------------------------

TABLE = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.totals,PROD)"
FILES = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/shop/totals,PROD)"


def linked(namespace, name, other_namespace, other_name, kind="TABLE", **settings):
    links = facet(identifiers=[{"namespace": other_namespace, "name": other_name, "type": kind}])
    output = {"namespace": namespace, "name": name, "facets": {"symlinks": links}}
    return translate_events(pair(outputs=[output]), optional_metadata=["siblings"], **settings)


@pytest.mark.parametrize(
    "names",
    [
        ("s3://lake", "shop/totals", "hive://metastore:9083", "shop.totals"),
        ("hive://metastore:9083", "shop.totals", "s3://lake", "shop/totals", "LOCATION"),
    ],
)
@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_table_and_its_files_are_siblings_by_choice(names, profile):
    found = linked(*names, datahub_version=profile)
    assert found.patched(TABLE, "siblings") == {"/siblings/" + FILES.replace("/", "~1"): FILES, "/primary": True}
    assert found.patched(FILES, "siblings") == {f"/siblings/{TABLE}": TABLE, "/primary": False}
    assert found.has(FILES, "datasetProperties")
    assert not any(FILES in one["path"] for one in found.one(JOB, "dataJobInputOutput"))


@pytest.mark.parametrize(
    "names",
    [
        ("kafka://broker:9092", "orders", "kafka://broker:9092", "orders"),
        ("s3://lake", "shop/totals", "file:/lake/iceberg", "shop.totals"),
        ("s3://lake", "shop/totals", "gs://lake", "shop/totals"),
        ("hive://metastore:9083", "shop.totals", "arn:aws:glue:eu-west-1:1", "table/shop/totals"),
    ],
)
def test_other_names_of_one_thing_are_no_siblings(names):
    assert not any(one.aspect_name == "siblings" for one in linked(*names).proposals)


def test_nobody_gets_siblings_who_did_not_ask():
    found = of_output("symlinks", facet(identifiers=[{"namespace": "hive://m:9083", "name": "a.b", "type": "TABLE"}]))
    assert not any(one.aspect_name == "siblings" for one in found.proposals)


# -- containers --------------------------------------------------------------------------------------------------------

LEVELS = facet(
    hierarchy=[
        {"type": "DATABASE", "name": "shop"},
        {"type": "SCHEMA", "name": "public"},
        {"type": "TABLE", "name": "totals"},
    ]
)
# as DataHub's connector makes them with datahub.emitter.mcp_builder.DatabaseKey and SchemaKey
DATABASE = "urn:li:container:ea3682d9b15a15aab92e076074c2394c"
SCHEMA = "urn:li:container:c21bb06e7e33853f85675f9dd7d8c1dd"
PLAIN = "urn:li:container:075d0fa53cf0dcebe1383087986c7773"


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_hierarchy_levels_are_connector_containers_by_setting(profile):
    found = of_output("hierarchy", LEVELS, optional_metadata=["containers"], datahub_version=profile)
    assert found.entities("container") == {DATABASE, SCHEMA}
    assert found.one(DATABASE, "containerProperties") == {
        "customProperties": {"openlineage.level": "DATABASE", "openlineage.platform": "postgres"},
        "name": "shop",
    }
    assert found.one(SCHEMA, "subTypes") == {"typeNames": ["Schema"]}
    assert found.one(SCHEMA, "dataPlatformInstance") == {"platform": "urn:li:dataPlatform:postgres"}
    assert found.one(SCHEMA, "container") == {"container": DATABASE}
    assert not found.has(DATABASE, "container")
    assert found.one(TOTALS, "container") == {"container": SCHEMA}
    assert [step["urn"] for step in found.one(TOTALS, "browsePathsV2")["path"]] == [DATABASE, SCHEMA]
    order = [one.entity_urn for one in found.proposals if one.aspect_name == "containerProperties"]
    assert order == [DATABASE, SCHEMA]


def test_ids_of_containers_are_those_of_datahub():
    builder = pytest.importorskip("datahub.emitter.mcp_builder", reason="acryl-datahub is not installed")
    stated = {"platform": "postgres", "database": "shop", "env": "PROD", "backcompat_env_as_instance": True}
    assert builder.DatabaseKey(**stated).as_urn() == DATABASE
    assert builder.SchemaKey(**stated, schema="public").as_urn() == SCHEMA
    assert builder.DatabaseKey(platform="postgres", database="shop").as_urn() == PLAIN


def test_levels_that_no_recipe_knows_have_ids_of_the_same_form():
    one = facet(hierarchy=[{"type": "DATABASE", "name": "shop"}, {"type": "TABLE", "name": "totals"}])
    found = of_output("hierarchy", one, optional_metadata=["containers"])
    assert found.one(TOTALS, "container") == {"container": PLAIN}
    odd = facet(
        hierarchy=[
            {"type": "WORK_AREA", "name": "w"},
            {"type": "FOLDER", "name": "f"},
            {"type": "X", "name": "y"},
            {"type": "TABLE"},
        ]
    )
    found = of_output("hierarchy", odd, optional_metadata=["containers"])
    words = [found.one(step["urn"], "subTypes")["typeNames"][0] for step in found.one(TOTALS, "browsePathsV2")["path"]]
    assert words == ["Work Area", "Folder", "X"]


@pytest.mark.parametrize(
    "levels", [[], [{"type": "TABLE", "name": "t"}], [{"type": "DATABASE"}, {"type": "TABLE", "name": "t"}]]
)
def test_levels_without_a_name_are_no_containers(levels):
    assert not of_output("hierarchy", facet(hierarchy=levels), optional_metadata=["containers"]).entities("container")


def test_bucket_container_has_its_subtype_and_platform_instance():
    levels = facet(hierarchy=[{"type": "BUCKET", "name": "lake"}, {"type": "FILE", "name": "totals"}])
    naming = {"rules": [{"namespace": "s3://lake", "platform_instance": "eu"}]}
    output = {"namespace": "s3://lake", "name": "totals", "facets": {"hierarchy": levels}}
    found = translate_events(pair(outputs=[output]), optional_metadata=["containers"], naming=naming)
    (bucket,) = found.entities("container")
    assert found.one(bucket, "subTypes") == {"typeNames": ["S3 bucket"]}
    assert found.one(bucket, "dataPlatformInstance")["instance"].endswith(",eu)")
    assert found.one(bucket, "containerProperties")["customProperties"]["openlineage.instance"] == "eu"


def test_nobody_s_datasets_are_placed_who_did_not_ask():
    found = of_output("hierarchy", LEVELS)
    assert not found.entities("container")
    assert not found.has(TOTALS, "container")


def test_event_order_does_not_matter_with_every_setting_enabled():
    settings = {
        "optional_metadata": ["containers", "queries", "siblings"], "lifecycle": {"soft_delete": ["drop", "rename"]},
        "tags": {"of_runs": "job"}, "runs": {"other_as": "started"},
        "column_lineage": {"target": "both"},
    }  # fmt: skip
    run = {
        "tags": facet(tags=[{"key": "team", "value": "shop"}]),
        "nominalTime": facet(nominalStartTime="2026-11-19T00:00:00Z"),
        "jobDependencies": facet(downstream=[{"job": {"namespace": NAMESPACE, "name": "daily.publish"}}]),
    }
    sql = {"sql": facet(query="insert into totals select 1", dialect="postgres")}
    files = {"namespace": "s3://lake", "name": "shop/totals"}
    links = {"symlinks": facet(identifiers=[{"namespace": "hive://m:9083", "name": "shop.totals", "type": "TABLE"}])}
    events = [
        event("START", run=run, inputs=[orders()]),
        event("OTHER", time="2026-11-20T01:00:10Z", job=sql, outputs=[{**files, "facets": links}]),
        event("COMPLETE", run=run, job=sql, outputs=[totals(facets={**RENAME, "hierarchy": LEVELS})]),
        event("FAIL", time="2026-11-20T01:00:40Z", outputs=[totals(facets=OVERWRITE)]),
    ]
    expected = sorted(map(ndjson_line, translate_events(events, **settings).proposals))
    assert {"containerProperties", "queryProperties", "siblings"} <= {
        one.aspect_name for one in translate_events(events, **settings).proposals
    }
    for order in permutations(events):
        assert sorted(map(ndjson_line, translate_events(list(order), **settings).proposals)) == expected
