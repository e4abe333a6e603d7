"""dbt_model (dataset): how the model is built."""

from __future__ import annotations

import pytest
from support.facet_cases import (
    DBT,
    JOB,
    ORDERS,
    TOTALS,
    dataset_event,
    event,
    facet,
    of_input,
    of_output,
    orders,
    pair,
    totals,
    translate_events,
)


def model(materialized=None, **config):
    return facet(
        config={key: value for key, value in {"materialized": materialized, **config}.items() if value is not None}
    )


def test_configuration_is_kept_on_the_dataset_and_its_job():
    body = model("incremental", access="public", incremental={"strategy": "merge", "unique_key": ["id"]})
    found = of_output("dbt_model", facet(**body, version=2))
    for urn in (TOTALS, JOB):
        properties = found.properties(urn)
        assert properties["dbt_model.config.materialized"] == "incremental"
        assert properties["dbt_model.config.access"] == "public"
        assert properties["dbt_model.config.incremental"] == '{"strategy":"merge","unique_key":["id"]}'
        assert properties["dbt_model.version"] == "2"


def test_dbt_model_of_an_input_does_not_describe_the_job():
    found = of_input("dbt_model", model("table"))
    assert found.properties(ORDERS)["dbt_model.config.materialized"] == "table"
    assert not any(key.startswith("dbt_model") for key in found.properties(JOB))
    assert not found.has(ORDERS, "operation")


def test_report_maps_view_subtypes_without_input_properties():
    path = "$.inputs[0].facets.dbt_model.config.materialized"
    for stated, where in (("view", ("mapped", "subTypes.typeNames")), ("table", ("dropped", "policy:materialize"))):
        found = of_input("dbt_model", model(stated), report=True, materialize="outputs")
        assert found.outcomes()[path] == where


@pytest.mark.parametrize(
    ("config", "kind", "inferred"),
    [
        ({"materialized": "table"}, "UPDATE", False),
        ({"materialized": "snapshot"}, "UPDATE", False),
        ({"materialized": "seed"}, "INSERT", False),
        ({"materialized": "incremental"}, "UPDATE", False),
        ({"materialized": "incremental", "incremental": {"strategy": "merge"}}, "UPDATE", False),
        ({"materialized": "incremental", "incremental": {"strategy": "append"}}, "INSERT", False),
        ({"materialized": "incremental", "incremental": "append"}, "UPDATE", False),
        ({"materialized": "view"}, "INSERT", True),
        ({}, "INSERT", True),
    ],
)
def test_materialization_sets_the_operation_type(config, kind, inferred):
    operation = of_output("dbt_model", facet(config=config)).one(TOTALS, "operation")
    assert operation["operationType"] == kind
    assert ("openlineage.operation.inferred" in operation["customProperties"]) is inferred


@pytest.mark.parametrize(
    ("stated", "properties"), [(False, "false"), (0, "0"), ("", ""), (None, None), ({}, None), ([], None)]
)
def test_incremental_configuration_that_is_no_object_is_kept_too(stated, properties):
    found = of_output("dbt_model", facet(config={"access": "public", "incremental": stated}), report=True)
    assert found.properties(TOTALS).get("dbt_model.config.incremental") == properties
    outcome = found.outcomes()["$.outputs[0].facets.dbt_model.config.incremental"][0]
    assert outcome == ("property" if properties is not None else "dropped")


def test_view_is_a_view():
    assert of_output("dbt_model", model("view")).one(TOTALS, "subTypes") == {"typeNames": ["View"]}
    assert not of_output("dbt_model", model("table")).has(TOTALS, "subTypes")


def test_row_count_of_a_rebuilt_table_is_its_profile():
    bag = {"facets": {"dbt_model": model("table")}, "outputFacets": {"outputStatistics": facet(rowCount=12)}}
    assert translate_events(pair(outputs=[totals(**bag)])).one(TOTALS, "datasetProfile")["rowCount"] == 12
    bag["facets"] = {"dbt_model": model("incremental")}
    assert not translate_events(pair(outputs=[totals(**bag)])).has(TOTALS, "datasetProfile")


def test_dataset_event_sets_model_properties_without_operation():
    found = translate_events(dataset_event(totals(facets={"dbt_model": model("table")})))
    assert found.properties(TOTALS)["dbt_model.config.materialized"] == "table"
    assert not found.has(TOTALS, "operation")


@pytest.mark.parametrize("config", ["table", None, []])
def test_config_without_materialization_is_ignored(config):
    assert of_output("dbt_model", facet(config=config)).has(TOTALS, "operation")


def test_ephemeral_model_is_no_dataset_and_its_edge_is_withheld():
    """The models that it is made of stay what column lineage says."""
    hidden = {
        **orders(facets={"dbt_model": model("ephemeral"), "schema": facet(fields=[{"name": "a", "type": "int"}])})
    }
    source = {"namespace": "postgres://db:5432", "name": "shop.public.raw", "field": "a"}
    through = facet(fields={"a": {"inputFields": [source]}})
    found = translate_events(
        pair(inputs=[hidden], outputs=[totals(facets={"columnLineage": through})], producer=DBT), report=True
    )
    raw = ORDERS.replace("orders", "raw")
    assert found.entities("dataset") == {TOTALS, raw}
    flow = "urn:li:dataFlow:(dbt,daily,shop)"
    io = found.patched(f"urn:li:dataJob:({flow},daily.load)", "dataJobInputOutput")
    assert {path for path in io if "Edges" in path} == {f"/inputDatasetEdges/{raw}", f"/outputDatasetEdges/{TOTALS}"}
    outcomes = found.outcomes()
    for leaf in ("namespace", "name", "facets.dbt_model.config.materialized", "facets.schema.fields[0].name"):
        assert outcomes[f"$.inputs[0].{leaf}"] == ("dropped", "ephemeral")


def test_ephemeral_model_is_no_output_and_no_source_of_columns():
    hidden = totals(facets={"dbt_model": model("Ephemeral")})
    lineage = facet(fields={"a": {"inputFields": [{**totals(), "field": "a"}]}})
    found = translate_events(
        pair(inputs=[hidden], outputs=[hidden, orders(facets={"columnLineage": lineage})], producer=DBT), report=True
    )
    assert found.entities("dataset") == {ORDERS}
    path = "$.outputs[1].facets.columnLineage.fields.a.inputFields[0].field"
    assert found.outcomes()[path] == ("dropped", "ephemeral")


@pytest.mark.parametrize("broken", ["<<non-serializable: x>>", facet(config="ephemeral"), facet(config=["ephemeral"])])
def test_only_the_configuration_makes_a_model_ephemeral(broken):
    assert ORDERS in translate_events(event(inputs=[orders(facets={"dbt_model": broken})], producer=DBT)).entities(
        "dataset"
    )


def made_of(source, producer=DBT, inputs=(), **settings):
    """An output whose column ``a`` was made of one of ``source``, as the SQL that dbt compiled names it."""
    field = {"namespace": "postgres://db:5432", "name": source, "field": "a"}
    lineage = facet(fields={"a": {"inputFields": [field]}})
    outputs = [totals(facets={"columnLineage": lineage})]
    found = translate_events(pair(inputs=list(inputs), outputs=outputs, producer=producer), report=True, **settings)
    return found, found.outcomes()["$.outputs[0].facets.columnLineage.fields.a.inputFields[0].field"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [("src", "phantom"), ("generate_series", "phantom"), ("__dbt__cte__stg_orders", "ephemeral")],
)
def test_column_lineage_source_without_a_schema_is_a_cte(source, reason):
    found, outcome = made_of(source, inputs=[orders()])
    assert outcome == ("dropped", reason)
    assert found.entities("dataset") == {ORDERS, TOTALS}
    assert not any("fineGrained" in path for path in found.patched(found_job(found), "dataJobInputOutput"))


def found_job(found):
    (job,) = found.entities("dataJob")
    return job


def test_column_lineage_source_with_a_schema_is_a_dataset():
    for source, producer in (("raw.orders", DBT), ("src", "https://example.com/own")):
        found, outcome = made_of(source, producer)
        assert outcome[0] == "mapped"
        assert len(found.entities("dataset")) == 2, source


def test_column_lineage_source_that_is_an_input_is_a_dataset():
    source = {"namespace": "postgres://db:5432", "name": "src"}
    assert made_of("src", inputs=[source])[1][0] == "mapped"


@pytest.mark.parametrize(("ephemeral", "outcome"), [("skip", ("dropped", "ephemeral")), ("keep", "mapped")])
def test_ephemeral_model_is_known_by_its_name_in_the_query(ephemeral, outcome):
    hidden = orders(facets={"dbt_model": model("ephemeral")})
    found, stated = made_of("__dbt__cte__orders", inputs=[hidden], temporary={"ephemeral": ephemeral})
    assert stated == outcome or stated[0] == outcome
    assert (ORDERS in found.entities("dataset")) is (ephemeral == "keep")
    elsewhere = {**hidden, "namespace": "postgres://other:5432"}
    assert made_of("__dbt__cte__orders", inputs=[elsewhere], temporary={"ephemeral": ephemeral})[1][0] == "dropped"


AUDIT = {"namespace": "postgres://db:5432", "name": "shop.analytics_dbt_test__audit.not_null_orders_id"}
AUDIT_URN = ORDERS.replace("public.orders", "analytics_dbt_test__audit.not_null_orders_id")


def audit(output, job_type="TEST", producer=DBT):
    integration = "DBT" if producer == DBT else "OWN"
    facets = {"jobType": facet(processingType="BATCH", integration=integration, jobType=job_type)}
    return translate_events(pair(job=facets, inputs=[orders()], outputs=[output], producer=producer), report=True)


def test_audit_table_of_a_dbt_test_is_withheld_as_a_phantom():
    found = audit({**AUDIT, "facets": {"dbt_model": model("test")}})
    assert found.entities("dataset") == {ORDERS}
    assert found.outcomes()["$.outputs[0].name"] == ("dropped", "phantom")
    assert found.outcomes()["$.outputs[0].facets.dbt_model.config.materialized"] == ("dropped", "phantom")
    assert not any(one.aspect_name == "dataProcessInstanceOutput" for one in found.proposals)


def test_audit_table_with_a_schema_exists():
    schema = facet(fields=[{"name": "id", "type": "int"}])
    assert AUDIT_URN in audit({**AUDIT, "facets": {"schema": schema}}).entities("dataset")


@pytest.mark.parametrize(
    ("output", "job_type", "producer"),
    [(AUDIT, "MODEL", DBT), (AUDIT, "TEST", "https://example.com/x"), (totals(), "TEST", DBT)],
)
def test_nothing_else_is_a_phantom(output, job_type, producer):
    assert len(audit(output, job_type, producer).entities("dataset")) == 2


def test_input_in_an_audit_schema_is_read_and_no_phantom():
    facets = {"jobType": facet(jobType="TEST")}
    assert AUDIT_URN in translate_events(pair(job=facets, inputs=[AUDIT], producer=DBT)).entities("dataset")


def test_dbt_test_is_recognised_by_its_node_name():
    name = "test.shop.not_null_orders_id.abc"
    assert translate_events(pair(inputs=[orders()], outputs=[AUDIT], producer=DBT, name=name)).entities("dataset") == {
        ORDERS
    }


FIELDS = [{"name": "Day", "type": "date"}, {"name": "id", "type": "int"}]


def partitioned(partition, fields=FIELDS, **settings):
    body = {"dbt_model": model("incremental", incremental={"partition_by": partition}), "schema": facet(fields=fields)}
    found = translate_events(pair(outputs=[totals(facets=body)]), report=True, **settings)
    columns = found.one(TOTALS, "schemaMetadata")["fields"]
    return found, [one["fieldPath"] for one in columns if one.get("isPartitioningKey")]


@pytest.mark.parametrize(
    ("partition", "keys"),
    [
        ({"field": "Day", "data_type": "date", "granularity": "day"}, ["Day"]),
        ({"field": "id", "columns": ["Day", 7]}, ["Day", "id"]),
        ({"field": "gone"}, []),
        ({"field": None}, []),
        ({"field": ["Day"]}, []),
        ("Day", []),
    ],
)
def test_partition_column_of_a_model_is_a_partitioning_key(partition, keys):
    found, marked = partitioned(partition)
    assert marked == keys
    assert "partition_by" in found.properties(TOTALS)["dbt_model.config.incremental"]


def test_nested_column_of_the_same_name_is_no_partitioning_key():
    nested = [{"name": "v", "type": "struct", "fields": [{"name": "Day", "type": "date"}]}, *FIELDS]
    assert partitioned({"field": "Day"}, nested)[1] == ["Day"]
    assert partitioned({"field": "v.Day"}, nested)[1] == []
    paths = {"field_paths": {"postgres": "v2"}}
    assert partitioned({"field": "Day"}, nested, schema=paths)[1] == ["[version=2.0].[type=date].Day"]


def test_report_names_the_key():
    leaf = "$.outputs[0].facets.dbt_model.config.incremental.partition_by.{}"
    stated = partitioned({"field": "Day", "granularity": "day"})[0].outcomes()
    assert stated[leaf.format("field")] == ("mapped", "schemaMetadata.fields[].isPartitioningKey")
    assert stated[leaf.format("granularity")][0] == "property"


@pytest.mark.parametrize("bags", [("facets", "outputFacets"), ("outputFacets", "facets"), ("facets", "facets")])
def test_partition_columns_without_a_match_are_kept(bags):
    partition = {"field": "gone", "columns": ["DAY", "id", 7]}
    body = {bag: {} for bag in bags}
    body[bags[0]]["dbt_model"] = model("incremental", incremental={"partition_by": partition})
    body[bags[1]]["schema"] = facet(fields=FIELDS)
    leaf = f"$.outputs[0].{bags[0]}.dbt_model.config.incremental.partition_by.{{}}"
    property_ = "customProperties[openlineage.dbt_model.config.incremental]"
    for settings, aspect in (({}, "datasetProperties"), ({"materialize": "none"}, "dataJobInfo")):
        stated = translate_events(pair(outputs=[totals(**body)]), report=True, **settings).outcomes()
        for name in ("field", "columns[0]", "columns[2]"):
            assert stated[leaf.format(name)] == ("property", f"{aspect}.{property_}")
    stated = translate_events(pair(outputs=[totals(**body)]), report=True).outcomes()
    assert stated[leaf.format("columns[1]")] == ("mapped", "schemaMetadata.fields[].isPartitioningKey")


def test_configuration_that_is_no_object_is_kept():
    assert of_output("dbt_model", facet(config=["view"])).properties(TOTALS)["dbt_model.config"] == '["view"]'
