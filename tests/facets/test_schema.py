"""schema (dataset)."""

from __future__ import annotations

import re

import pytest
from openlineage.client.facet_v2 import schema_dataset
from support.facet_cases import (
    DPI,
    JOB,
    ORDERS,
    TOTALS,
    client_pair,
    dataset_event,
    event,
    facet,
    of_input,
    of_output,
    orders,
    pair,
    spec,
    totals,
    translate_events,
)
from support.sample_events import SPARK, dataset


def fields(*members, **more):
    return facet(fields=list(members), **more)


ID = {"name": "id", "type": "BIGINT", "description": "key", "ordinal_position": 2}
DAY = {"name": "day", "type": "date", "ordinal_position": 1}


def kind(found):
    return next(iter(found["type"]["type"])).rpartition(".")[2]


def test_schema_of_a_dataset_field_by_field():
    schema = of_output("schema", fields(ID, DAY)).one(TOTALS, "schemaMetadata")
    assert schema["schemaName"] == "shop.public.totals"
    assert schema["platform"] == "urn:li:dataPlatform:postgres"
    assert (schema["version"], schema["hash"]) == (0, "")
    assert schema["platformSchema"] == {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}}
    day, key = schema["fields"]
    assert (day["fieldPath"], kind(day), day["nativeDataType"], day["nullable"]) == ("day", "DateType", "date", True)
    assert (key["fieldPath"], kind(key), key["nativeDataType"], key["description"]) == (
        "id",
        "NumberType",
        "BIGINT",
        "key",
    )


def test_inputs_and_dataset_events_have_schemas_too():
    assert of_input("schema", fields(ID)).has(ORDERS, "schemaMetadata")
    assert translate_events(dataset_event(totals(facets={"schema": fields(ID)}))).has(TOTALS, "schemaMetadata")


@pytest.mark.parametrize(
    ("write", "inputs", "outputs"), [("all", True, True), ("outputs", False, True), ("never", False, False)]
)
def test_which_schemas_are_written_is_a_setting(write, inputs, outputs):
    bag = {"schema": fields(ID)}
    found = translate_events(pair(inputs=[orders(facets=bag)], outputs=[totals(facets=bag)]), schema={"write": write})
    assert found.has(ORDERS, "schemaMetadata") is inputs
    assert found.has(TOTALS, "schemaMetadata") is outputs


def test_list_without_types_is_a_projection_not_a_schema():
    found = of_input("schema", fields({"name": "a"}, {"name": "b", "type": ""}))
    assert not found.has(ORDERS, "schemaMetadata")
    io = found.patched(JOB, "dataJobInputOutput")
    assert f"/inputDatasetFields/urn:li:schemaField:({ORDERS},a)" in io
    assert f"/inputDatasetFields/urn:li:schemaField:({ORDERS},b)" in io


def test_untyped_output_columns_are_no_schema():
    found = of_output("schema", fields({"name": "a"}), report=True)
    assert not found.has(TOTALS, "schemaMetadata")
    path = "$.outputs[0].facets.schema.fields[0].name"
    assert found.outcomes()[path] == ("dropped", "no-field:untyped-projection")


TRINO = "https://github.com/trinodb/trino/plugin/trino-openlineage"
WHOLE = fields(ID, DAY)


def of_statement(sql, schema, time="2026-11-20T01:00:30Z", producer=TRINO):
    job = {"sql": facet(query=sql)} if sql else {}
    return event(outputs=[totals(facets={"schema": schema})], job=job, time=time, producer=producer)


@pytest.mark.parametrize(
    "sql", ["insert into totals (day) select 1", "UPDATE totals SET day = 1", "merge into totals", None]
)
def test_trino_update_columns_are_no_table_schema(sql):
    found = translate_events(of_statement(sql, fields(DAY)), report=True)
    assert not found.has(TOTALS, "schemaMetadata")
    path = "$.outputs[0].facets.schema.fields[0].type"
    assert found.outcomes()[path] == ("dropped", "no-field:projection")


@pytest.mark.parametrize(
    "sql", ["create table totals as select 1", "insert into totals select 1", "refresh materialized view totals"]
)
def test_schema_is_written_by_create_and_insert_without_columns(sql):
    found = translate_events(of_statement(sql, WHOLE))
    assert [field["fieldPath"] for field in found.one(TOTALS, "schemaMetadata")["fields"]] == ["day", "id"]


def test_update_statement_keeps_the_known_schema():
    events = [
        of_statement("create table totals as select 1", WHOLE),
        of_statement("update totals set day = 1", fields(DAY), time="2026-11-20T02:00:30Z"),
    ]
    for order in (events, events[::-1]):
        found = translate_events(*order)
        assert len(found.one(TOTALS, "schemaMetadata")["fields"]) == 2


TOPIC = "urn:li:dataset:(urn:li:dataPlatform:kafka,shop.orders,PROD)"
FOLDER = "urn:li:dataset:(urn:li:dataPlatform:file,/lake/shop/orders,PROD)"


def of_spark(name, namespace, columns, producer=SPARK, **facets):
    schema = fields(*({"name": column, "type": "string"} for column in columns.split()))
    read = dataset(name, namespace, facets={"schema": schema, **facets})
    return translate_events(event(inputs=[read], producer=producer), report=True)


READ = "key value topic partition offset timestamp timestampType"


@pytest.mark.parametrize("columns", [READ, f"{READ} headers", "key value"])
def test_columns_of_sparks_kafka_source_are_no_schema_of_a_topic(columns):
    found = of_spark("shop.orders", "kafka://b:9092", columns)
    assert not found.has(TOPIC, "schemaMetadata")
    path = "$.inputs[0].facets.schema.fields[0].name"
    assert found.outcomes()[path] == ("dropped", "no-field:frame")


@pytest.mark.parametrize(("columns", "producer"), [("key value sku", SPARK), ("key value", TRINO)])
def test_schema_of_other_topics_and_producers_is_written(columns, producer):
    found = of_spark("shop.orders", "kafka://b:9092", columns, producer)
    assert len(found.one(TOPIC, "schemaMetadata")["fields"]) == len(columns.split())


def symlink(name):
    return facet(identifiers=[{"namespace": "file:/lake", "name": name, "type": "TABLE"}])


def test_columns_of_icebergs_metadata_are_no_schema_of_the_table():
    stated = of_spark(
        "/lake/shop/orders", "file", "committed_at snapshot_id", symlinks=symlink("shop.orders.snapshots")
    )
    assert not stated.has(FOLDER, "schemaMetadata")
    path = "$.inputs[0].facets.schema.fields[0].name"
    assert stated.outcomes()[path] == ("dropped", "no-field:metadata-table")


@pytest.mark.parametrize(
    "named", [symlink("shop.orders"), symlink("orders.files.shop"), facet(identifiers=["x", {"name": None}]), facet()]
)
def test_schema_of_a_table_with_another_name_is_kept(named):
    found = of_spark("/lake/shop/orders", "file", "id day", symlinks=named)
    assert len(found.one(FOLDER, "schemaMetadata")["fields"]) == 2


def test_schema_of_the_output_wins_for_a_table_read_and_written():
    """Iceberg's UPDATE reads the columns of its files, too: no column of the table."""
    hidden = fields(ID, DAY, {"name": "_file", "type": "string"})
    stated = event(inputs=[totals(facets={"schema": hidden})], outputs=[totals(facets={"schema": WHOLE})])
    found = translate_events(stated, report=True)
    assert [field["fieldPath"] for field in found.one(TOTALS, "schemaMetadata")["fields"]] == ["day", "id"]
    outcomes = found.outcomes()
    assert outcomes["$.inputs[0].facets.schema.fields[2].name"] == ("dropped", "duplicate-of:$.outputs[0]")
    assert outcomes["$.outputs[0].facets.schema.fields[1].name"] == ("mapped", "schemaMetadata.fields")


ICEBERG = {"storage": facet(storageLayer="iceberg", fileFormat="parquet")}
HIDDEN = "_spec_id _partition _file _pos _deleted _row_id _last_updated_sequence_number"


def columns(found, urn=FOLDER):
    return [field["fieldPath"] for field in found.one(urn, "schemaMetadata")["fields"]]


@pytest.mark.parametrize("bag", [ICEBERG, {"catalog": facet(framework="iceberg")}])
def test_iceberg_metadata_columns_are_not_in_the_schema(bag):
    found = of_spark("/lake/shop/orders", "file", f"id day {HIDDEN}", **bag)
    assert columns(found) == ["id", "day"]
    assert found.outcomes()["$.inputs[0].facets.schema.fields[1].name"] == ("mapped", "schemaMetadata.fields")
    assert found.outcomes()["$.inputs[0].facets.schema.fields[2].type"] == ("dropped", "no-field:hidden-column")


def test_table_that_has_such_columns_keeps_them():
    assert columns(of_spark("/lake/shop/orders", "file", "id _file")) == ["id", "_file"]
    assert columns(of_spark("/lake/shop/orders", "file", "_file id", **ICEBERG)) == ["_file", "id"]
    assert columns(of_spark("/lake/shop/orders", "file", "id _file", TRINO, **ICEBERG)) == ["id", "_file"]


def test_schema_is_not_written_for_metadata_columns_alone():
    assert not of_spark("/lake/shop/orders", "file", "_file _pos", **ICEBERG).has(FOLDER, "schemaMetadata")


def test_same_schema_is_another_where_it_hides_nothing():
    stated = fields(*({"name": column, "type": "string"} for column in ("id", "_file")))
    plain = dataset("/lake/shop/files", "file", facets={"schema": stated})
    hiding = dataset("/lake/shop/orders", "file", facets={"schema": stated, **ICEBERG})
    for inputs in ([plain, hiding] * 3, [hiding, plain] * 3):
        found = translate_events(event(inputs=inputs, producer=SPARK))
        assert columns(found) == ["id"]
        assert columns(found, FOLDER.replace("orders", "files")) == ["id", "_file"]


ABOUT_FILES = "file_path file_name file_size file_block_start file_block_length file_modification_time row_index"


def of_files(*members, last="_metadata"):
    inside = [{"name": name, "type": "string"} for name in members]
    body = fields({"name": "id", "type": "long"}, {"name": last, "type": "struct", "fields": inside})
    return translate_events(
        event(inputs=[dataset("/lake/shop/orders", "file", facets={"schema": body})], producer=SPARK)
    )


def test_file_metadata_members_are_not_in_the_schema():
    """`select *, _metadata.file_name`: Spark states the members that are selected."""
    assert columns(of_files("file_name")) == columns(of_files("file_path", "file_size")) == ["id"]
    whole = ["id", "_metadata", *(f"_metadata.{member}" for member in ABOUT_FILES.split())]
    assert columns(of_files(*ABOUT_FILES.split())) == whole  # may be a column: `select *, _metadata` makes one
    assert "_metadata.source" in columns(of_files("file_name", "source"))
    assert "about.file_name" in columns(of_files("file_name", last="about"))


@pytest.mark.parametrize("written", [None, {"fields": "a"}, {"fields": [{"name": "id"}]}])
def test_schema_of_the_input_is_used_if_the_output_has_none(written):
    bag = {} if written is None else {"schema": facet(**written)}
    stated = event(inputs=[totals(facets={"schema": WHOLE})], outputs=[totals(facets=bag)])
    found = translate_events(stated, report=True)
    assert len(found.one(TOTALS, "schemaMetadata")["fields"]) == 2
    assert found.outcomes()["$.inputs[0].facets.schema.fields[0].name"] == ("mapped", "schemaMetadata.fields")


def test_schema_from_other_producers_ignores_the_sql_statement():
    found = translate_events(of_statement("update totals set day = 1", WHOLE, producer="https://github.com/x/y"))
    assert found.has(TOTALS, "schemaMetadata")


def test_later_typed_schema_wins_and_an_untyped_one_never():
    events = [
        event("START", outputs=[totals(facets={"schema": fields(ID)})]),
        event("RUNNING", outputs=[totals(facets={"schema": fields(ID, DAY)})], time="2026-11-20T01:00:10Z"),
        event(outputs=[totals(facets={"schema": fields({"name": "id"})})]),
    ]
    for order in (events, events[::-1]):
        assert len(translate_events(order).one(TOTALS, "schemaMetadata")["fields"]) == 2


def test_nested_fields_hang_on_their_parents():
    item = {
        "name": "item",
        "type": "struct",
        "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}],
    }
    many = {
        "name": "many",
        "type": "array",
        "fields": [{"name": "_element", "type": "struct", "fields": [{"name": "x", "type": "int"}]}],
    }
    schema = of_output("schema", fields(item, many)).one(TOTALS, "schemaMetadata")
    assert [field["fieldPath"] for field in schema["fields"]] == ["item", "item.id", "item.name", "many", "many.x"]


def test_nested_types_are_expanded_unless_excluded():
    body = fields({"name": "a", "type": "array<struct<b:int>>"})
    opened = of_output("schema", body).one(TOTALS, "schemaMetadata")["fields"]
    assert [field["fieldPath"] for field in opened] == ["a", "a.b"]
    shut = of_output("schema", body, excluded_metadata=["nested_fields"]).one(TOTALS, "schemaMetadata")["fields"]
    assert [field["fieldPath"] for field in shut] == ["a"]


@pytest.mark.parametrize("body", [fields(), facet(fields=None), facet(), facet(fields="x"), facet(fields=[None, 7])])
def test_empty_schema_is_no_statement(body):
    assert not of_output("schema", body).has(TOTALS, "schemaMetadata")


def test_lenient_types_are_mended_and_unknown_leaves_kept():
    body = fields({"name": 7, "type": "int", "nullable": False}, {"name": "b", "type": "int", "ordinal_position": "1"})
    found = of_output("schema", body)
    assert {field["fieldPath"] for field in found.one(TOTALS, "schemaMetadata")["fields"]} == {"7", "b"}
    assert found.properties(TOTALS)["schema.fields.nullable"] == "false"


def test_columns_follow_the_case_of_their_system():
    dataset = {
        "namespace": "snowflake://acc",
        "name": "DB.S.T",
        "facets": {"schema": fields({"name": "ID", "type": "NUMBER"})},
    }
    found = translate_events(pair(outputs=[dataset]))
    (schema,) = [one.value for one in found.proposals if one.aspect_name == "schemaMetadata"]
    assert schema["fields"][0]["fieldPath"] == "id"


def test_same_bytes_on_two_platforms_are_two_schemas():
    body = fields({"name": "A", "type": "bit"})
    mssql = {"namespace": "mssql://h:1433", "name": "d.s.t", "facets": {"schema": body}}
    found = translate_events(
        pair(
            outputs=[
                totals(facets={"schema": body}),
                mssql,
                {**totals(facets={"schema": body}), "name": "shop.public.x"},
            ]
        )
    )
    platforms = sorted(one.value["platform"] for one in found.proposals if one.aspect_name == "schemaMetadata")
    assert platforms == ["urn:li:dataPlatform:mssql", "urn:li:dataPlatform:postgres", "urn:li:dataPlatform:postgres"]


def test_specification_s_document_is_read():
    schema = of_output("schema", spec("SchemaDatasetFacet")["schema"]).one(TOTALS, "schemaMetadata")
    # the union of two types needs paths of the second version, and one schema never mixes them
    assert all(field["fieldPath"].startswith("[version=2.0]") for field in schema["fields"])
    by_path = {}
    for field in schema["fields"]:
        by_path.setdefault(re.sub(r"\[[^]]*\]\.?", "", field["fieldPath"]), field)
    assert list(by_path)[:4] == ["user_id", "counterparty_id", "currency", "amount"]
    assert kind(by_path["phones"]) == "ArrayType"
    assert {
        "addresses.type",
        "addresses.country",
        "addresses.zip",
        "addresses.state",
        "addresses.street",
    } <= by_path.keys()
    assert by_path["addresses.zip"]["description"] == "Zip code"
    assert kind(by_path["custom_properties"]) == "MapType"


def test_client_s_classes_are_read():
    made = schema_dataset.SchemaDatasetFacet(
        fields=[schema_dataset.SchemaDatasetFacetFields("a", "int", "first", fields=[], ordinal_position=1)]
    )
    found = translate_events(client_pair(outputs={"schema": made}))
    (field,) = found.one(TOTALS, "schemaMetadata")["fields"]
    assert (field["fieldPath"], field["description"]) == ("a", "first")
    assert found.has(DPI, "dataProcessInstanceOutput")


def nested(levels):
    inside = {"name": f"n{levels}", "type": "int"}
    for level in range(levels - 1, 0, -1):
        inside = {"name": f"n{level}", "type": "struct", "fields": [inside]}
    return inside


def reasons(found):
    start = "$.outputs[0].facets.schema."
    return {path.removeprefix(start): stated for path, stated in found.outcomes().items() if path.startswith(start)}


def test_columns_beyond_3000_are_too_large_and_counted():
    many = fields(*[{"name": f"c{number}", "type": "int"} for number in range(3010)])
    found = of_output("schema", many, report=True)
    written = {field["fieldPath"] for field in found.one(TOTALS, "schemaMetadata")["fields"]}
    assert len(written) == 3000
    assert found.properties(TOTALS)["schema.fields"] == "3010"
    stated = reasons(found)
    for number in range(3010):
        lost = f"c{number}" not in written
        for leaf in ("name", "type"):
            outcome, reason = stated[f"fields[{number}].{leaf}"]
            assert outcome == ("dropped" if lost else "mapped")
            assert (reason == "too-large") is lost


def test_columns_beyond_the_depth_limit_are_too_large():
    found = of_output("schema", fields(ID, nested(17), DAY | {"ordinal_position": 3}), report=True)
    assert len(found.one(TOTALS, "schemaMetadata")["fields"]) == 17
    assert found.properties(TOTALS)["schema.fields"] == "19"
    lost = {path for path, stated in reasons(found).items() if stated == ("dropped", "too-large")}
    deep = "fields[1]" + ".fields[0]" * 15
    assert lost == {f"{deep}.name", f"{deep}.type", f"{deep}.fields[0].name", f"{deep}.fields[0].type"}


def test_columns_beyond_the_limit_are_the_last_by_ordinal():
    many = [{"name": f"c{number}", "type": "int", "ordinal_position": 4000 - number} for number in range(3001)]
    found = of_output("schema", fields(*many), report=True)
    lost = {path for path, stated in reasons(found).items() if stated == ("dropped", "too-large")}
    assert lost == {"fields[0].name", "fields[0].type", "fields[0].ordinal_position"}


def test_schema_within_the_caps_has_no_count():
    found = of_output("schema", fields(ID, nested(14), ID), report=True)
    assert "schema.fields" not in found.properties(TOTALS)
    assert "too-large" not in {reason for _, reason in found.outcomes().values()}


def col(name, kind="int", *inside, **more):
    return {"name": name, "type": kind, **({"fields": list(inside)} if inside else {}), **more}


KEY = col("id", "BIGINT")
LEFT_OUT = {
    "a nameless column, with what is in it": (
        [KEY, col("", "struct", col("x"))],
        {"fields[1].name": "malformed", "fields[1].type": "malformed", "fields[1].fields[0].name": "malformed",
         "fields[1].fields[0].type": "malformed"},
    ),
    "a column that stands there twice": (
        [col("x", description="d"), KEY, col("x", description="e")],
        {f"fields[2].{leaf}": "duplicate-of:x" for leaf in ("name", "type", "description")},
    ),
    "one of a container that is neither key nor value": (
        [col("m", "map", col("key", "string"), col("stray", "int", ordinal_position=3), col("value", "int"))],
        {f"fields[0].fields[1].{leaf}": "malformed" for leaf in ("name", "type", "ordinal_position")},
    ),
    "an unknown leaf of a column that is left out": (
        [KEY, col("id", "BIGINT", kind_of_mine="m")], {"fields[1].name": "duplicate-of:id", "fields[1].type": "duplicate-of:id"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "lost"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_dropped_schema_fields_are_reported_by_path(columns, lost):
    found = of_output("schema", fields(*columns), report=True)
    stated = {path: reason for path, (outcome, reason) in reasons(found).items() if outcome == "dropped"}
    assert {path: reason for path, reason in stated.items() if not path.startswith("_")} == lost


def test_schema_count_is_removed_by_a_later_schema_within_limits():
    many = fields(*[{"name": f"c{number}", "type": "int"} for number in range(3010)])
    start = event("START", outputs=[totals(facets={"schema": many})])
    assert translate_events(start).properties(TOTALS)["schema.fields"] == "3010"
    end = event("COMPLETE", outputs=[totals(facets={"schema": fields(ID)})])
    assert "schema.fields" not in translate_events(start, end).properties(TOTALS)
