"""Names in whole events: facets that name a dataset, queries, untyped columns, names that lack a level, doubles."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from click.testing import CliRunner
from support.facet_cases import SPARK, dataset_event, event, facet, pair, translate_events

from dh_bridge.checking import check_events
from dh_bridge.cli import commands
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.settings import Settings


def urn(text):
    platform, _, name = text.partition(",")
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def written(found):
    return {proposal.entity_urn for proposal in found.proposals if proposal.entity_type == "dataset"}


def dataset(namespace, name, **facets):
    return {"namespace": namespace, "name": name, "facets": facets}


def table(namespace, name):
    return facet(identifiers=[{"namespace": namespace, "name": name, "type": "TABLE"}])


def findings(*events):
    return check_events([parse_event(json.dumps(body).encode(), "here") for body in events], Settings()).findings()


def run(*arguments):
    return CliRunner().invoke(commands, list(arguments), prog_name="dh-bridge")


LOCATED = [
    ("shop", "/data/sums.parquet", "/data/sums.parquet", "file,/data/sums.parquet"),
    ("shop", "sums.parquet", "s3://lake/out/sums.parquet", "s3,lake/out/sums.parquet"),
    ("shop", "sums.parquet", "s3://lake/out", "s3,lake/out/sums.parquet"),
    ("shop", "out/sums", "file:///data/out/sums", "file,/data/out/sums"),
    ("shop", "public.sums", "postgresql://u:p@h:5432/crm", "postgres,crm.public.sums"),
    ("shop", "sums", "mysql://h/crm", "mysql,crm.sums"),
    ("shop", "sums", "bigquery:acme-eu.raw.sums", "bigquery,acme-eu.raw.sums"),
]


@pytest.mark.parametrize(("namespace", "name", "uri", "expected"), LOCATED)
def test_dataset_of_an_unknown_namespace_follows_its_source(namespace, name, uri, expected):
    found = translate_events(pair(outputs=[dataset(namespace, name, dataSource=facet(name="node", uri=uri))]))
    assert written(found) == {urn(expected)}


METALAKES = [
    ("iceberg", "lake_catalog.crm.buyers", "iceberg,crm.buyers"),
    ("iceberg", "crm.buyers", "iceberg,crm.buyers"),
    ("hive", "hive_catalog.crm.buyers", "hive,crm.buyers"),
    ("paimon", "paimon_catalog.crm.buyers", "unknown,metalake/paimon_catalog.crm.buyers"),
]


@pytest.mark.parametrize(("framework", "name", "expected"), METALAKES)
def test_table_of_gravitino_is_that_of_its_catalogue(framework, name, expected):
    found = translate_events(
        pair(outputs=[dataset("metalake", name, catalog=facet(framework=framework, type="rest", name="c"))])
    )
    assert written(found) == {urn(expected)}


@pytest.mark.parametrize(
    ("namespace", "name", "uri", "expected"),
    [
        ("shop", "sums", "", "unknown,shop/sums"),
        ("shop", "sums", "node", "unknown,shop/sums"),
        ("shop", "sums", "acme://x", "unknown,shop/sums"),
        ("shop", "sums", "postgres://h:5432", "unknown,shop/sums"),
        ("s3://lake", "out/sums", "/data/sums", "s3,lake/out/sums"),
        ("postgres://h", "crm.public.sums", "mysql://h/crm", "postgres,crm.public.sums"),
    ],
)
def test_source_does_not_rename_known_datasets(namespace, name, uri, expected):
    found = translate_events(pair(outputs=[dataset(namespace, name, dataSource=facet(name="node", uri=uri))]))
    assert written(found) == {urn(expected)}


def test_emit_and_check_say_that_only_a_facet_places_a_name(tmp_path):
    file = tmp_path / "events.json"
    source = facet(name="node", uri="/data/sums.parquet")
    file.write_text(json.dumps(event(outputs=[dataset("shop", "/data/sums.parquet", dataSource=source)])))
    text = "namespace is unknown and only facets name the dataset"
    assert f"noted {text}" in run("emit", str(file), "--to", f"catalog:{tmp_path / 'c.db'}").stderr
    assert text in run("check", str(file)).stdout


def test_name_resolved_in_some_events_is_a_finding():
    events = [
        event(outputs=[dataset("shop", "/data/sums.parquet", dataSource=facet(name="n", uri="/data/sums.parquet"))]),
        event(inputs=[dataset("shop", "/data/sums.parquet")], run_id="01938a9c-0000-7000-8000-000000000002"),
    ]
    for order in permutations(events):
        (finding,) = [found for found in findings(*order) if found.kind == "double-name"]
        assert finding.value == {
            "namespace": "shop",
            "name": "/data/sums.parquet",
            "rename": "/data/sums.parquet",
            "platform": "file",
        }


ICEBERG = facet(framework="iceberg", type="jdbc", name="lake", warehouseUri="s3://lake/wh")
SYMLINKS = [
    ({"symlinks": table("arn:aws:glue:eu-west-1:210987654321/", "table/crm/buyers")}, "glue,crm.buyers"),
    ({"symlinks": table("postgres://cat:5432/iceberg", "crm.buyers"), "catalog": ICEBERG}, "iceberg,crm.buyers"),
    ({"symlinks": table("mysql://cat:3306/ice", "crm.buyers"), "catalog": ICEBERG}, "iceberg,crm.buyers"),
    ({"symlinks": table("sqlite:///cat.db", "crm.buyers"), "catalog": ICEBERG}, "iceberg,crm.buyers"),
    ({"symlinks": table("http://rest:8181", "crm.buyers"), "catalog": ICEBERG}, "iceberg,crm.buyers"),
    ({"symlinks": table("hive://meta:9083", "crm.buyers"), "catalog": ICEBERG}, "hive,crm.buyers"),
    ({"symlinks": table("s3://lake/wh", "crm.buyers"), "catalog": ICEBERG}, "s3,lake/wh/crm/buyers"),
    ({"symlinks": table("postgres://cat:5432/iceberg", "crm.buyers")}, "s3,lake/wh/crm/buyers"),
]


@pytest.mark.parametrize(("facets", "expected"), SYMLINKS)
def test_path_is_the_table_that_its_catalogue_names(facets, expected):
    found = translate_events(pair(outputs=[dataset("s3://lake", "wh/crm/buyers", **facets)], producer=SPARK))
    assert written(found) == {urn(expected)}


def test_path_named_by_a_catalogue_is_a_finding_with_a_rule():
    path, name = "s3://lake", "wh/crm/buyers"
    events = [
        event(outputs=[dataset(path, name, symlinks=table("s3://lake/wh", "crm.buyers"))]),
        event(inputs=[dataset(path, name, symlinks=table("arn:aws:glue:eu-west-1:210987654321", "table/crm/buyers"))]),
    ]
    for order in permutations(events):
        (finding,) = [found for found in findings(*order) if found.kind == "double-name"]
        found = translate_events(list(order), naming={"rules": [finding.value]})
        assert written(found) == {urn("glue,crm.buyers")}


def test_two_paths_of_one_table_are_a_finding_with_a_rule():
    symlink = table("dbfs:/user/hive/warehouse", "crm.buyers")
    events = [
        event(outputs=[dataset("dbfs", "/mnt/old/buyers", symlinks=symlink)]),
        event(inputs=[dataset("dbfs", "/mnt/new/buyers", symlinks=symlink)]),
    ]
    for order in permutations(events):
        (finding,) = [found for found in findings(*order) if found.kind == "double-name"]
        assert len(written(translate_events(list(order), naming={"rules": [finding.value]}))) == 1


def test_dataset_with_one_name_is_no_finding():
    events = [event(outputs=[dataset("s3://lake", "a", symlinks=table("hive://m", "crm.a"))])] * 2
    assert not [found for found in findings(*events) if found.kind == "double-name"]


def test_query_names_make_no_dataset_and_are_counted(tmp_path):
    lineage = facet(
        fields={
            "id": {"inputFields": [{"namespace": "postgres://p", "name": "(select id from x) q", "field": "id"}]},
        }
    )
    events = pair(
        inputs=[
            dataset("postgres://p", "crm.(select id, name from crm.buyers) tmp"),
            dataset("postgres://p", "COMPLEX"),
            dataset("mysql://m", "(SELECT a FROM crm.buyers) AS t"),
        ],
        outputs=[dataset("s3://lake", "out", columnLineage=lineage)],
    )
    assert written(translate_events(events)) == {urn("s3,lake/out")}
    file = tmp_path / "events.json"
    file.write_text(json.dumps(events))
    result = run("emit", str(file), "--to", f"catalog:{tmp_path / 'c.db'}")
    assert "left out by name: a query: 6" in result.stderr
    assert "policy:query" in run("explain", str(file)).stdout


def fields_of(found, name):
    (schema,) = found.all(urn(name), "schemaMetadata")
    return [(field["fieldPath"], next(iter(field["type"]["type"]))) for field in schema["fields"]]


NULL, NUMBER = "com.linkedin.schema.NullType", "com.linkedin.schema.NumberType"
UNTYPED = facet(fields=[{"name": "id"}, {"name": "day"}])
TYPED = facet(fields=[{"name": "id", "type": "int"}])


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        ("shop", "in.orders", "unknown,shop/in.orders"),
        ("acme://h", "orders", "unknown,acme://h/orders"),
        ("milvus://m", "crm.vectors", "milvus,crm.vectors"),
        ("box://h/1", "docs/a", "box,1/docs/a"),
        ("cos://lake.eu-de", "raw", "cos,lake/raw"),
    ],
)
def test_untyped_columns_are_null_types_without_a_connector(namespace, name, expected):
    found = translate_events(pair(outputs=[dataset(namespace, name, schema=UNTYPED)]))
    assert fields_of(found, expected) == [("id", NULL), ("day", NULL)]


@pytest.mark.parametrize(
    ("namespace", "name"), [("postgres://p", "crm.public.t"), ("s3://lake", "x"), ("kafka://k", "t")]
)
def test_untyped_columns_are_no_schema_with_a_connector(namespace, name):
    found = translate_events(pair(outputs=[dataset(namespace, name, schema=UNTYPED)]))
    assert not [proposal for proposal in found.proposals if proposal.aspect_name == "schemaMetadata"]


def test_types_count_before_columns_without_in_every_order():
    events = [
        dataset_event(dataset("shop", "in.orders", schema=TYPED), time="2026-11-20T01:00:00Z"),
        dataset_event(dataset("shop", "in.orders", schema=UNTYPED), time="2026-11-20T02:00:00Z"),
    ]
    for order in permutations(events):
        assert fields_of(translate_events(list(order)), "unknown,shop/in.orders") == [("id", NUMBER)]


SHORT = [
    dataset("postgres://p:5432", "public.buyers"),
    dataset("snowflake://acct", "ETL.REPORT"),
    dataset("trino://t:8080", "crm.buyers"),
    dataset("postgres://p:5432", "None.public.sellers"),
]


@pytest.fixture
def short_names(tmp_path):
    file = tmp_path / "events.json"
    file.write_text(json.dumps(event(inputs=SHORT)))
    return str(file)


def test_names_lacking_a_level_are_one_finding_with_a_setting(short_names, tmp_path):
    stderr = run("emit", short_names, "--to", f"catalog:{tmp_path / 'c.db'}").stderr
    assert "noted name lacks the database: set default_database in a rule of naming.rules: 1" in stderr
    assert "noted name lacks the catalog: set default_database in a rule of naming.rules: 1" in stderr


def test_check_names_each_server_once(short_names):
    result = run("check", short_names)
    assert result.exit_code == 1
    assert "Names that lack a level [incomplete-name: 3 findings]" in result.stdout
    assert result.stdout.count(" of postgres://p:5432 without database") == 1
    assert (
        "of snowflake://acct without database: what a connector writes has another name (ETL.REPORT)" in result.stdout
    )


def test_check_proposes_a_rule_for_each_server(short_names):
    page = run("check", short_names, "--rules", "-").stdout
    assert "{namespace: postgres://p:5432, default_database: DATABASE}" in page
    assert "{namespace: trino://t:8080, default_database: CATALOG}" in page


def test_urn_command_shows_level_endpoint_and_finding():
    row = json.loads(run("urn", "postgres://p:5432", "public.buyers", "--json").stdout)
    assert (row["level"], row["endpoint"]) == ("schema", urn("postgres,public.buyers"))
    assert row["finding"] == "name lacks the database: set default_database in a rule of naming.rules"
    assert "finding" not in json.loads(run("urn", "postgres://p:5432/crm", "public.buyers", "--json").stdout)


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("postgres://p:5432", "public.buyers"),
        ("bigquery://acme-eu", "raw.clicks"),
        ("s3://lake/raw", "x.csv"),
        ("bigquery:acme-eu.raw.clicks", ""),
        ("couchbase://c", "a.b.c"),
        ("mssql://h", "crm..buyers"),
        ("postgres://p:5432/crm", ""),
        ("postgres://p:5432", "(select 1 from x) q"),
    ],
)
def test_urn_and_explain_agree_with_what_is_written(namespace, name, tmp_path):
    row = json.loads(run("urn", namespace, name, "--json").stdout)
    events = pair(outputs=[dataset(namespace, name)])
    found = translate_events(events)
    assert written(found) == ({row["endpoint"]} if row["endpoint"] else set())
    file = tmp_path / "events.json"
    file.write_text(json.dumps(events))
    assert str(row["endpoint"] or row["skip"]) in run("explain", str(file)).stdout
