"""Queries as entities of their own (``optional_metadata: [queries]``)."""

from __future__ import annotations

import hashlib
import json

import pytest
from support.report_truth import golden, lies
from support.sample_events import aspects, dataset, event, examples, job_event, one, packed
from support.value_tables import TABLES, document

from dh_bridge import Bridge, Settings
from dh_bridge.aggregate.queries import urn_of_query
from dh_bridge.datahub.profiles import known_profiles
from dh_bridge.naming.reader import load_readers

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.orders,PROD)"
TOTALS = "urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.totals,PROD)"
LAKE = "urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.lake,PROD)"
TEXT = "insert into totals\nselect sum(a) from orders"
FIELDS = {"a": {"inputFields": [{**dataset("d.s.orders"), "field": "a"}]}}
COLUMNS = {"columnLineage": {"fields": FIELDS}}


def translate_events(*events, **settings):
    found = Bridge(Settings(optional_metadata=["queries"], **{"datahub_version": "1.7", **settings})).translate(
        packed(events)
    )
    assert found.rejected == []
    return found


def run(run_id="a", second=0, sql=TEXT, *, dialect=None, inputs=("orders",), outputs=("totals",), **parts):
    """Return START and COMPLETE of a run with a statement."""
    stated = {"query": sql} if dialect is None else {"query": sql, "dialect": dialect}
    parts.setdefault("job_facets", {"sql": stated})
    return [
        event(
            kind,
            f"2026-11-20T10:00:{second + late:02}Z",
            run=f"018cc251-f400-734d-88b3-1e3d63fe621{run_id}",
            inputs=[dataset(f"d.s.{name}") for name in inputs],
            outputs=[dataset(f"d.s.{name}") for name in outputs],
            **parts,
        )
        for kind, late in (("START", 0), ("COMPLETE", 5))
    ]


def subjects(found):
    return [subject["entity"] for subject in one(found, "querySubjects")["subjects"]]


def names(found):
    """Return the queries that column lineage names, of jobs and of datasets."""
    paths = [o["path"] for p in found.proposals if p.change_type == "PATCH" for o in p.value]
    return {path.split("/")[4] for path in paths if path.startswith("/fineGrainedLineages/")}


# -- what a query is ---------------------------------------------------------------------------------------------------


def test_nobody_gets_queries_who_did_not_ask():
    found = Bridge(Settings(datahub_version="1.7")).translate(packed(run()))
    assert "query" not in {p.entity_type for p in found.proposals}
    assert "queries" not in one(found, "operation")
    assert b"urn:li:query" not in b"".join(json.dumps(p.value).encode() for p in found.proposals)


def test_query_has_statement_times_and_subjects():
    found = translate_events(*run(dialect="PostgreSQL"))
    (urn,) = {p.entity_urn for p in found.proposals if p.entity_type == "query"}
    assert urn == urn_of_query(TEXT, "postgresql")
    assert one(found, "queryProperties") == {
        "customProperties": {
            "openlineage.sql.dialect": "PostgreSQL",
            "openlineage.sql.sha256": hashlib.sha256(TEXT.encode()).hexdigest(),
        },
        "statement": {"value": TEXT, "language": "SQL"},
        "source": "SYSTEM",
        "created": {"time": 1795168800000, "actor": "urn:li:corpuser:datahub"},
        "lastModified": {"time": 1795168805000, "actor": "urn:li:corpuser:datahub"},
    }
    assert subjects(found) == [ORDERS, TOTALS]
    assert one(found, "dataPlatformInstance", urn) == {"platform": "urn:li:dataPlatform:postgres"}


@pytest.mark.parametrize("profile", known_profiles())
def test_queries_match_the_schemas_of_every_datahub_version(profile):
    found = translate_events(
        *(json.loads(one.raw) for one in examples()), datahub_version=profile, column_lineage={"target": "both"}
    )
    properties = aspects(found, "queryProperties")
    assert len(properties) > 5
    assert all(("customProperties" in stated) is (profile >= "1.0") for stated in properties)
    linked = [stated for stated in aspects(found, "operation") if "queries" in stated]
    assert bool(linked) is (profile >= "1.1")


def test_query_urn_depends_on_dialect_but_not_on_white_space():
    assert urn_of_query("select  1 ;", None) == urn_of_query("select\n1", None)
    assert urn_of_query("select 1", None) != urn_of_query("select 2", None)
    assert urn_of_query("select 1", "hive") not in (urn_of_query("select 1", None), urn_of_query("select 1", "trino"))


def test_dialect_that_is_nobody_s_own_names_no_platform():
    found = translate_events(*run(dialect="ansi"))
    assert not [p for p in found.proposals if (p.entity_type, p.aspect_name) == ("query", "dataPlatformInstance")]


def test_sql_dialect_platforms_are_those_of_the_naming_systems():
    platforms = {reader.platform for reader in load_readers()}
    rows = document("sql_dialects")["dialects"]
    assert {row["platform"] for row in rows} <= platforms | {"spark"}
    words = [word for row in rows for word in row["words"]]
    assert len(words) == len(set(words))
    assert TABLES.sql_dialects.platform("T-SQL") == "mssql"


def test_run_s_user_is_its_actor():
    facets = {"spark_applicationDetails": {"userName": "ann"}}
    assert (
        one(translate_events(*run(run_facets=facets)), "queryProperties")["created"]["actor"] == "urn:li:corpuser:ann"
    )


def test_query_statement_is_redacted_and_truncated():
    found = translate_events(*run(sql="copy x from postgres://ann:hidden@db/x " + "," * 120_000))
    text = one(found, "queryProperties")["statement"]["value"]
    assert "hidden" not in text
    assert len(text) <= 100_000


def test_sql_as_source_code_is_a_query_too():
    assert one(
        translate_events(*run(job_facets={"sourceCode": {"language": "sql", "sourceCode": "select 1"}})),
        "queryProperties",
    )["statement"] == {"value": "select 1", "language": "SQL"}


def test_flow_level_query_has_the_datasets_of_its_flow_job():
    found = translate_events(*run(job="nightly"))
    assert subjects(found) == [ORDERS, TOTALS]


def test_query_text_is_the_last_and_longest_of_its_run():
    events = run(sql="select a")
    events[0]["job"]["facets"]["sql"]["query"] = "select a, b from c"
    assert one(translate_events(*events), "queryProperties")["statement"]["value"] == "select a, b from c"


# -- what many runs make of it -----------------------------------------------------------------------------------------


def test_runs_of_one_query_share_one_entity_with_all_datasets():
    events = [*run("a", 0), *run("b", 20, TEXT + " ;", outputs=("lake",), job="etl.copy")]
    for order in (events, events[::-1], [*events[1::2], *events[::2]]):
        found = translate_events(*order)
        stated = one(found, "queryProperties")
        assert stated["statement"]["value"] == TEXT + " ;"
        assert (stated["created"]["time"], stated["lastModified"]["time"]) == (1795168800000, 1795168825000)
        assert subjects(found) == [LAKE, ORDERS, TOTALS]


def test_query_subjects_are_kept_apart_by_job_of_one_run():
    first, _ = run(job="app.a", outputs=("lake",))
    _, last = run(job="app.b", sql="delete from totals", inputs=())
    found = translate_events(first, last)
    about = {p.entity_urn: {s["entity"] for s in p.value["subjects"]} for p in found.proposals if p.aspect_name == "querySubjects"}  # fmt: skip
    assert about == {urn_of_query(TEXT, None): {LAKE, ORDERS}, urn_of_query("delete from totals", None): {TOTALS}}
    linked = {p.entity_urn: p.value["queries"] for p in found.proposals if p.aspect_name == "operation"}
    assert linked == {LAKE: [urn_of_query(TEXT, None)], TOTALS: [urn_of_query("delete from totals", None)]}


def test_query_without_its_start_event_keeps_stored_subjects():
    found = translate_events(run()[1])
    assert not aspects(found, "querySubjects")
    assert one(found, "queryProperties")["statement"]["value"] == TEXT


def test_job_event_creates_its_query():
    found = translate_events(job_event(job_facets={"sql": {"query": TEXT}}, inputs=[dataset("d.s.orders")]))
    assert subjects(found) == [ORDERS]
    assert not aspects(found, "operation")


def test_dataset_that_lineage_runs_through_is_no_subject():
    found = translate_events(*run(), temporary={"datasets": ["*.orders"]})
    assert subjects(found) == [TOTALS]


# -- who names it ------------------------------------------------------------------------------------------------------


def with_columns(*events):
    for stated in events:
        stated["outputs"][0]["facets"] = COLUMNS
    return events


def test_column_lineage_upstreams_and_operations_name_the_query():
    found = translate_events(*with_columns(*run()), column_lineage={"target": "both"})
    urn = urn_of_query(TEXT, None)
    assert names(found) == {urn}
    (upstream,) = [o["value"] for o in one(found, "upstreamLineage") if o["path"].startswith("/upstreams/")]
    assert upstream["query"] == urn
    assert one(found, "operation", TOTALS)["queries"] == [urn]


def test_upstreams_of_inputs_and_outputs_name_it_too():
    found = translate_events(*run(), column_lineage={"target": "dataset"})
    (upstream,) = [o["value"] for o in one(found, "upstreamLineage")]
    assert upstream["query"] == urn_of_query(TEXT, None)


def test_edges_without_sql_name_no_query():
    events = with_columns(*run(), *run("b", 20, job_facets={}))
    assert names(translate_events(*events)) == {urn_of_query(TEXT, None), "NONE"}
    assert names(translate_events(*with_columns(*run(job_facets={})))) == {"NONE"}


def test_output_of_two_queries_names_both_but_upstream_none():
    first, _ = run(job="app.a")
    _, last = run(job="app.b", sql="delete from totals")
    found = translate_events(first, last, column_lineage={"target": "dataset"})
    assert one(found, "operation", TOTALS)["queries"] == sorted(
        [urn_of_query(TEXT, None), urn_of_query("delete from totals", None)]
    )
    assert all("query" not in o["value"] for o in one(found, "upstreamLineage"))


# -- the report --------------------------------------------------------------------------------------------------------


def test_older_server_s_report_names_the_query_for_the_statement():
    found = Bridge(Settings(optional_metadata=["queries"], datahub_version="0.15.0")).translate(
        packed(run()), report=True
    )
    lines = {line["path"]: line["target"] for line in found.report.lines()}
    assert lines["$.job.facets.sql.query"] == "queryProperties.statement"


@pytest.mark.parametrize("profile", ["0.15.0 with queries", "1.7 with queries"])
def test_report_of_queries_matches_the_written_aspects(profile):
    sql = [case for case in golden() if case[0].startswith(("sql.", "sourceCode.", "airflow.", "dbt.", "trino."))]
    assert len(sql) >= 4
    found, tried = lies(sql, 1, whole=True, profile=profile)
    assert found == []
    assert tried["mapped"] > 10
