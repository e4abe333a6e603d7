"""columnLineage (dataset): pairs of columns on the job; columns that touch the whole output as its input fields."""

from __future__ import annotations

import json

import pytest
from openlineage.client.facet_v2 import column_lineage_dataset
from support.facet_cases import (
    DPI,
    FLOW,
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

from dh_bridge.lineage.transformations import Transformation, operation_and_description, operation_of


def column(field, *transformations, **more):
    return {**orders(), "field": field, "transformations": list(transformations), **more}


def direct(subtype="IDENTITY", **more):
    return {"type": "DIRECT", "subtype": subtype, **more}


def indirect(subtype="FILTER", **more):
    return {"type": "INDIRECT", "subtype": subtype, **more}


def lineage(fields=None, dataset=None):
    body = {"fields": {name: {"inputFields": sources} for name, sources in (fields or {}).items()}}
    return facet(**body, **({"dataset": dataset} if dataset is not None else {}))


def field(urn, name):
    return f"urn:li:schemaField:({urn},{name})"


def entry(down, operation, up, target=TOTALS, source=ORDERS):
    return f"/fineGrainedLineages/{operation}/{field(target, down)}/NONE/{field(source, up)}"


def entries(found):
    io = found.patched(JOB, "dataJobInputOutput")
    return {path for path in io if path.startswith("/fineGrainedLineages/")}


def test_column_pairs_are_separate_entries_without_a_query():
    found = of_output(
        "columnLineage", lineage({"total": [column("amount", direct("AGGREGATION"))], "id": [column("id", direct())]})
    )
    io = found.patched(JOB, "dataJobInputOutput")
    assert entries(found) == {entry("total", "DIRECT:AGGREGATION", "amount"), entry("id", "DIRECT:IDENTITY", "id")}
    assert {value["confidenceScore"] for path, value in io.items() if path.startswith("/fine")} == {1.0}


@pytest.mark.parametrize(
    ("transformations", "legacy", "operation"),
    [
        ([direct()], None, "DIRECT:IDENTITY"),
        ([direct("transformation", masking=True)], None, "DIRECT:TRANSFORMATION+MASKED"),
        ([indirect("JOIN"), direct()], None, "DIRECT:IDENTITY,INDIRECT:JOIN"),
        ([direct(), direct()], None, "DIRECT:IDENTITY"),
        ([{"type": "DIRECT"}], None, "DIRECT"),
        ([{"subtype": "IDENTITY"}], None, "DIRECT:IDENTITY"),
        ([{"masking": True}], None, "DIRECT+MASKED"),
        ([], "IDENTITY", "DIRECT:IDENTITY"),
        ([{}], "masked", "DIRECT:TRANSFORMATION+MASKED"),
        (None, "", None),
        (None, None, None),
        ([direct()], "MASKED", "DIRECT:IDENTITY"),
    ],
)
def test_operation_lists_sorted_canonical_transformations(transformations, legacy, operation):
    made = None if transformations is None else [Transformation(**one) for one in transformations]
    assert operation_of(made, legacy) == operation


@pytest.mark.parametrize("digits", [4, 5, 6, 7])
def test_operation_has_complete_transformations_up_to_200_chars(digits):
    words = [f"DIRECT:S{number:0{digits}}" for number in range(100)]
    made = [Transformation(type="DIRECT", subtype=word.partition(":")[2]) for word in words]
    found = operation_of(made) or ""
    held = found.split(",")
    assert held == words[: len(held)]
    assert len(found) <= 200 < len(f"{found},{words[len(held)]}")


@pytest.mark.parametrize("more", [[], [Transformation(type="DIRECT", subtype="Z" * 300)]])
def test_word_too_long_for_an_operation_is_cut(more):
    made = [Transformation(type="DIRECT", subtype="A" * 300, masking=True), *more]
    assert operation_of(made) == operation_and_description(made, None, None)[0] == "DIRECT:" + "A" * 193


def test_operation_with_a_long_transformation_has_no_other():
    first = "A" * 193
    made = [Transformation(type="DIRECT", subtype=subtype) for subtype in (first, "B")]
    assert operation_of(made) == f"DIRECT:{first}"


def test_column_entry_without_a_transformation_is_none():
    assert entries(of_output("columnLineage", lineage({"a": [column("b")]}))) == {entry("a", "NONE", "b")}


def test_empty_legacy_transformation_is_no_operation():
    body = facet(
        fields={"a": {"inputFields": [column("b")], "transformationType": "", "transformationDescription": ""}}
    )
    found = of_output("columnLineage", body)
    assert entries(found) == {entry("a", "NONE", "b")}
    assert "columnLineage.descriptions" not in found.properties(JOB)


def test_descriptions_are_kept_on_the_job_never_in_a_path():
    sources = [column("b", direct(description="sum of / b"))]
    body = facet(fields={"a": {"inputFields": sources, "transformationDescription": "old words"}})
    found = of_output("columnLineage", body)
    assert "sum of / b; old words" in found.properties(JOB)["columnLineage.descriptions"]
    assert not any("sum of" in path for path in found.patched(JOB, "dataJobInputOutput"))


def test_entry_description_is_used_if_transformations_have_none():
    body = facet(fields={"a": {"inputFields": [column("b")], "transformationDescription": "old words"}})
    assert "old words" in of_output("columnLineage", body).properties(JOB)["columnLineage.descriptions"]


TRINO = {"namespace": "trino://t:8080", "name": "shop.public.orders"}
OTHER = "urn:li:dataset:(urn:li:dataPlatform:trino,shop.public.orders,PROD)"


def described(found):
    return json.loads(found.properties(JOB)["columnLineage.descriptions"])


def pair_of(up, down="a", target=TOTALS, source=ORDERS):
    return f"{field(target, down)}<-{field(source, up)}"


def test_descriptions_distinguish_inputs_of_equal_name():
    sources = [column("b", direct(description="ours")), column("b", direct(description="theirs"), **TRINO)]
    sources += [column("c", direct(description="alone"))]
    whole = [column("d", indirect(description=stated), **more) for stated, more in (("yes", {}), ("no", TRINO))]
    for fields, dataset in ((sources, whole), (sources[::-1], whole[::-1])):
        assert described(of_output("columnLineage", lineage({"a": fields}, dataset))) == {
            pair_of("b"): "ours",
            pair_of("b", source=OTHER): "theirs",
            "shop.public.totals.a<-shop.public.orders.c": "alone",
            f"{TOTALS}<-{field(ORDERS, 'd')}": "yes",
            f"{TOTALS}<-{field(OTHER, 'd')}": "no",
        }


def test_descriptions_distinguish_outputs_of_equal_name():
    stated = [lineage({"a": [column("b", direct(description=words))]}) for words in ("ours", "theirs")]
    copy = {**TRINO, "name": "shop.public.totals"}
    outputs = [totals(facets={"columnLineage": stated[0]}), {**copy, "facets": {"columnLineage": stated[1]}}]
    target = OTHER.replace("orders", "totals")
    for one in (outputs, outputs[::-1]):
        found = translate_events(pair(inputs=[orders()], outputs=one))
        assert described(found) == {pair_of("b"): "ours", pair_of("b", target=target): "theirs"}


def test_descriptions_of_a_repeated_pair_are_joined():
    sources = [column("b", direct(description=words)) for words in ("first", "second", "first", "third")]
    found = of_output("columnLineage", lineage({"a": sources}))
    assert described(found) == {"shop.public.totals.a<-shop.public.orders.b": "first; second; third"}


@pytest.mark.parametrize(
    ("kind", "sources", "outcome"),
    [
        ("MASKED", [column("b")], "mapped"),
        ("MASKED", [column("b", direct()), column("c")], "mapped"),
        ("MASKED", [column("b", direct())], "duplicate-of:transformations"),
        ("HASHED", [column("b")], "no-field:neither IDENTITY nor MASKED"),
        ("MASKED", [], "no-field:no input column"),
        ("", [column("b")], "empty"),
    ],
)
def test_legacy_transformation_type_has_its_outcome_reported(kind, sources, outcome):
    body = facet(fields={"a": {"inputFields": sources, "transformationType": kind}})
    found = of_output("columnLineage", body, report=True)
    history_of = found.outcomes()["$.outputs[0].facets.columnLineage.fields.a.transformationType"]
    assert outcome in history_of


def test_dataset_wide_columns_are_input_fields_and_on_the_edge():
    found = of_output("columnLineage", lineage({}, [column("day", indirect("FILTER")), column("id", indirect("JOIN"))]))
    io = found.patched(JOB, "dataJobInputOutput")
    assert not entries(found)
    assert {path for path in io if path.startswith("/inputDatasetFields/")} == {
        f"/inputDatasetFields/{field(ORDERS, 'day')}",
        f"/inputDatasetFields/{field(ORDERS, 'id')}",
    }
    properties = io[f"/inputDatasetEdges/{ORDERS}"]["properties"]
    assert properties == {"openlineage.columnLineage.indirect": "day:FILTER,id:JOIN"}


def test_column_indirect_for_every_output_is_collapsed():
    each = column("day", indirect())
    found = of_output(
        "columnLineage", lineage({"a": [column("a", direct()), each], "b": [column("b", direct()), each]})
    )
    assert entries(found) == {entry("a", "DIRECT:IDENTITY", "a"), entry("b", "DIRECT:IDENTITY", "b")}
    io = found.patched(JOB, "dataJobInputOutput")
    assert f"/inputDatasetFields/{field(ORDERS, 'day')}" in io


def test_column_indirect_for_one_output_keeps_its_entry():
    found = of_output("columnLineage", lineage({"a": [column("day", indirect())], "b": [column("b", direct())]}))
    assert entry("a", "INDIRECT:FILTER", "day") in entries(found)


@pytest.mark.parametrize(("mode", "run_properties"), [("keep", True), ("drop", False)])
def test_indirect_columns_are_kept_or_dropped_by_setting(mode, run_properties):
    body = lineage(
        {
            "a": [column("a", direct()), column("day", indirect())],
            "b": [column("b", direct()), column("day", indirect())],
        },
        [column("id", indirect("SORT"))],
    )
    found = of_output("columnLineage", body, column_lineage={"indirect": mode}, report=True)
    assert (entry("a", "INDIRECT:FILTER", "day") in entries(found)) is run_properties
    assert (f"/inputDatasetFields/{field(ORDERS, 'id')}" in found.patched(JOB, "dataJobInputOutput")) is run_properties
    outcome = found.outcomes()["$.outputs[0].facets.columnLineage.dataset[0].field"]
    assert outcome == (
        ("mapped", "dataJobInputOutput.inputDatasetFields")
        if run_properties
        else ("dropped", "policy:column_lineage.indirect")
    )


def test_dataset_that_only_column_lineage_names_is_an_input_too():
    hidden = {**orders(name="shop.public.hidden"), "name": "shop.public.hidden", "field": "x"}
    urn = ORDERS.replace("orders", "hidden")
    found = of_output("columnLineage", lineage({"a": [hidden]}))
    assert f"/inputDatasetEdges/{urn}" in found.patched(JOB, "dataJobInputOutput")
    assert found.one(DPI, "dataProcessInstanceInput") == {"inputs": sorted([ORDERS, urn])}
    assert found.properties(urn)["name"] == "shop.public.hidden"


def test_lineage_to_a_column_that_the_schema_lacks_is_withheld():
    bag = {
        "columnLineage": lineage({"_0": [column("x", direct())], "total": [column("amount", direct())]}),
        "schema": facet(fields=[{"name": "total", "type": "int"}, {"name": "item", "type": "struct"}]),
    }
    found = translate_events(pair(inputs=[orders()], outputs=[totals(facets=bag)]), report=True)
    assert entries(found) == {entry("total", "DIRECT:IDENTITY", "amount")}
    outcomes = found.outcomes()
    start = "$.outputs[0].facets.columnLineage.fields"
    assert outcomes[f"{start}._0.inputFields[0].field"] == ("dropped", "no-such-column")
    assert outcomes[f"{start}.total.inputFields[0].field"] == ("mapped", "dataJobInputOutput.fineGrainedLineages")


@pytest.mark.parametrize(
    ("has", "stated", "written"),
    [
        (["ID", "total"], "id", "ID"),
        (["id", "ID"], "ID", "ID"),
        (["Item"], "ITEM.id", "Item.id"),
        (["ID", "Id"], "id", None),
    ],
)
def test_sql_column_lineage_matches_schema_columns_in_any_case(has, stated, written):
    """So do dbt and Airflow of Snowflake: the schema is the catalogue's, the lineage a parser's."""
    bag = {
        "columnLineage": lineage({stated: [column("amount", direct())]}),
        "schema": facet(fields=[{"name": name, "type": "int"} for name in has]),
    }
    found = translate_events(pair(inputs=[orders()], outputs=[totals(facets=bag)]))
    expected = {entry(written, "DIRECT:IDENTITY", "amount")} if written else set()
    assert entries(found) == expected


def test_case_insensitive_platform_matches_columns_in_any_case():
    table = {"namespace": "snowflake://acme", "name": "DB.S.T"}
    bag = {
        "columnLineage": lineage({"id": [column("amount", direct())]}),
        "schema": facet(fields=[{"name": name, "type": "int"} for name in ("ID", "Id")]),
    }
    found = translate_events(pair(inputs=[orders()], outputs=[{**table, "facets": bag}]))
    urn = "urn:li:dataset:(urn:li:dataPlatform:snowflake,db.s.t,PROD)"
    assert entries(found) == {entry("id", "DIRECT:IDENTITY", "amount", target=urn)}


@pytest.mark.parametrize("report", [False, True])
def test_sql_column_lineage_matches_input_tables_in_any_case(report):
    """So does Airflow: `INSERT INTO totals SELECT AMOUNT FROM PUBLIC.ORDERS` of Postgres, whose catalogue has them in lower case."""
    has = {"schema": facet(fields=[{"name": name, "type": "int"} for name in ("amount", "day")])}
    stated = {"namespace": orders()["namespace"], "name": "shop.PUBLIC.ORDERS"}
    body = lineage(
        {"TOTAL": [{**stated, "field": "AMOUNT", "transformations": [direct()]}]}, [{**stated, "field": "DAY"}]
    )
    bag = {"columnLineage": body, "schema": facet(fields=[{"name": "total", "type": "int"}])}
    found = translate_events(pair(inputs=[orders(facets=has)], outputs=[totals(facets=bag)]), report=report)
    assert entries(found) == {entry("total", "DIRECT:IDENTITY", "amount")}
    assert found.one(DPI, "dataProcessInstanceInput") == {"inputs": [ORDERS]}
    assert f"/inputDatasetFields/{field(ORDERS, 'day')}" in found.patched(JOB, "dataJobInputOutput")


def test_table_that_two_of_the_event_may_be_is_its_own():
    pairs = lineage({"total": [{"namespace": orders()["namespace"], "name": "shop.public.ORDERS", "field": "a"}]})
    two = [orders(), {**orders(), "name": "shop.PUBLIC.orders"}]
    found = translate_events(pair(inputs=two, outputs=[totals(facets={"columnLineage": pairs})]))
    assert entries(found) == {entry("total", "NONE", "a", source=ORDERS.replace("orders", "ORDERS"))}


def test_list_without_types_is_no_list_of_all_columns():
    """dbt states the columns that somebody documented."""
    bag = {
        "columnLineage": lineage({"total": [column("amount", direct())]}),
        "schema": facet(fields=[{"name": "id", "description": "The id"}]),
    }
    found = translate_events(pair(inputs=[orders()], outputs=[totals(facets=bag)]))
    assert entries(found) == {entry("total", "DIRECT:IDENTITY", "amount")}


def test_lineage_to_an_unknown_schema_s_column_is_written():
    assert entries(of_output("columnLineage", lineage({"_0": [column("x", direct())]}))) == {
        entry("_0", "DIRECT:IDENTITY", "x")
    }


def test_lineage_to_a_nested_column_is_that_of_its_parent():
    bag = {
        "columnLineage": lineage({"item.id": [column("x", direct())]}),
        "schema": facet(fields=[{"name": "item", "type": "struct", "fields": [{"name": "id", "type": "int"}]}]),
    }
    found = translate_events(pair(inputs=[orders()], outputs=[totals(facets=bag)]))
    assert entries(found) == {entry("item.id", "DIRECT:IDENTITY", "x")}


@pytest.mark.parametrize(
    "source", [{**orders(), "field": ""}, {"namespace": "", "name": "", "field": "x"}, {"field": "x"}, {}]
)
def test_input_that_names_no_column_or_dataset_is_withheld(source):
    found = of_output("columnLineage", lineage({"a": [source, column("b", direct())]}, [source]), report=True)
    assert entries(found) == {entry("a", "DIRECT:IDENTITY", "b")}
    if source.get("field") is not None:
        path = "$.outputs[0].facets.columnLineage.fields.a.inputFields[0].field"
        assert found.outcomes()[path][0] == "dropped"


def test_on_an_input_it_is_kept_and_draws_nothing():
    found = of_input("columnLineage", lineage({"a": [column("b", direct())]}))
    assert not entries(found)
    assert found.properties(ORDERS)["columnLineage"] == (
        '{"fields":{"a":{"inputFields":[{"field":"b","name":"shop.public.orders","namespace":"postgres://db:5432",'
        '"transformations":[{"subtype":"IDENTITY","type":"DIRECT"}]}]}}}'
    )


def test_dataset_event_column_lineage_is_on_the_dataset():
    body = facet(
        fields={
            "a": {"inputFields": [column("b", direct(description="why"))]},
            "c": {"inputFields": [{**totals(), "field": "a"}]},
        },
        dataset=[column("day", indirect())],
    )
    found = translate_events(dataset_event(totals(facets={"columnLineage": body})))
    upstream = found.patched(TOTALS, "upstreamLineage")
    assert upstream[f"/upstreams/{ORDERS}"]["dataset"] == ORDERS
    assert upstream[f"/upstreams/{ORDERS}"]["type"] == "TRANSFORMED"
    assert entry("a", "DIRECT:IDENTITY", "b") in upstream
    assert not any(path.startswith(f"/upstreams/{TOTALS}") for path in upstream)
    assert "why" in found.properties(TOTALS)["columnLineage.descriptions"]
    assert found.entities("dataJob") == set()


def test_flow_level_column_lineage_is_on_the_flow_job():
    body = lineage({"a": [column("b", direct(description="why"))]})
    found = translate_events(pair(inputs=[orders()], outputs=[totals(facets={"columnLineage": body})], name="daily"))
    twin = f"urn:li:dataJob:({FLOW},daily)"
    assert entry("a", "DIRECT:IDENTITY", "b") in found.patched(twin, "dataJobInputOutput")
    assert "why" in found.properties(FLOW)["columnLineage.descriptions"]


def test_odd_columns_are_escaped_in_urns_and_paths():
    found = of_output("columnLineage", lineage({"sum(a,b)/~": [column("a b", direct())]}))
    assert entries(found) == {
        f"/fineGrainedLineages/DIRECT:IDENTITY/urn:li:schemaField:({TOTALS},sum%28a%2Cb%29~1~0)/NONE/{field(ORDERS, 'a b')}"
    }


@pytest.mark.parametrize(
    "body",
    [facet(fields={}), facet(fields=None), facet(fields=None, dataset=[]), facet(fields={"a": {"inputFields": None}})],
)
def test_empty_column_lineage_has_no_entries(body):
    assert not entries(of_output("columnLineage", body))


def test_lenient_types_are_mended_and_unknown_leaves_kept():
    body = facet(
        fields={"a": {"inputFields": [column("b", direct(masking="true"), more=1), None]}, "c": 7}, extra={"x": 1}
    )
    found = of_output("columnLineage", body, report=True)
    assert entries(found) == {entry("a", "DIRECT:IDENTITY+MASKED", "b")}
    run_properties = found.properties(TOTALS)
    assert run_properties["columnLineage.extra"] == '{"x":1}'
    assert run_properties["columnLineage.fields.a.inputFields.more"] == "1"
    assert found.outcomes()["$.outputs[0].facets.columnLineage.fields.c"] == ("dropped", "malformed")


def test_column_lineage_repeated_for_another_output_is_written():
    body = lineage({"a": [column("b", direct())]})
    other = {**totals(facets={"columnLineage": body}), "name": "shop.public.other"}
    found = translate_events(pair(inputs=[orders()], outputs=[totals(facets={"columnLineage": body}), other]))
    urn = TOTALS.replace("totals", "other")
    assert entries(found) == {entry("a", "DIRECT:IDENTITY", "b"), entry("a", "DIRECT:IDENTITY", "b", target=urn)}


def test_specification_s_first_document_is_read():
    found = translate_events(pair(outputs=[totals(facets=spec("ColumnLineageDatasetFacet", "1"))]))
    paths = entries(found)
    assert len([path for path in paths if "/DIRECT:IDENTITY/" in path]) == 4
    # the join keys touch every column: they are the job's input fields
    assert not any("INDIRECT" in path for path in paths)
    io = found.patched(JOB, "dataJobInputOutput")
    fields = {path for path in io if path.startswith("/inputDatasetFields/")}
    assert {path.rpartition(",")[2] for path in fields} == {"ID)", "CUSTOMERS_ID)"}


def test_specification_s_second_document_is_read():
    found = translate_events(pair(outputs=[totals(facets=spec("ColumnLineageDatasetFacet", "2"))]))
    people = "urn:li:dataset:(urn:li:dataPlatform:s3,test-bucket/iceberg_warehouse/some-database/people,PROD)"
    assert entries(found) == {
        entry(down, operation, up, source=people.replace("/", "~1"))
        for down, operation, up in (
            ("id", "DIRECT:IDENTITY", "id"),
            ("firstName", "DIRECT:IDENTITY", "first_name"),
            ("lastName", "DIRECT:IDENTITY", "last_name"),
            ("ageNextYear", "DIRECT:TRANSFORMATION", "age"),
        )
    }
    edge = found.patched(JOB, "dataJobInputOutput")[f"/inputDatasetEdges/{people.replace('/', '~1')}"]
    assert edge["properties"]["openlineage.columnLineage.indirect"] == "age:FILTER,first_name:SORT,last_name:SORT"


def test_client_s_classes_are_read():
    made = column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            "a": column_lineage_dataset.Fields(
                inputFields=[
                    column_lineage_dataset.InputField(
                        "postgres://db:5432",
                        "shop.public.orders",
                        "b",
                        [column_lineage_dataset.Transformation("DIRECT", "TRANSFORMATION", "b + 1", masking=False)],
                    )
                ]
            )
        }
    )
    found = translate_events(client_pair(outputs={"columnLineage": made}))
    assert entries(found) == {entry("a", "DIRECT:TRANSFORMATION", "b")}
    assert "b + 1" in found.properties(JOB)["columnLineage.descriptions"]


def too_large(found, position=0):
    start = f"$.outputs[{position}].facets.columnLineage."
    return {
        path.removeprefix(start)
        for path, stated in found.outcomes().items()
        if stated == ("dropped", "too-large") and path.startswith(start)
    }


@pytest.mark.parametrize("settings", [{}, {"column_lineage": {"target": "dataset"}}])
def test_column_pairs_beyond_the_limit_are_reported(settings):
    # an odd name, so that paths are escaped; operations come first in the order
    sources = {f"c{number}": [column(f"c{number}", direct())] for number in range(1150)}
    sources |= {
        f"d~{number}": [column("a", direct("AGGREGATION")), column("b", {"subtype": "X"})] for number in range(400)
    }
    sources |= {f"e{number}": [column("a"), column("b", direct("ZZZ", description="why"))] for number in range(100)}
    found = of_output("columnLineage", lineage(sources), report=True, **settings)
    urn, aspect = (TOTALS, "upstreamLineage") if settings else (JOB, "dataJobInputOutput")
    written = {path for path in found.patched(urn, aspect) if path.startswith("/fineGrainedLineages/")}
    assert len(written) == 2000
    lost = too_large(found)
    places = {f"fields.{name}.inputFields[{number}]" for name, one in sources.items() for number in range(len(one))}
    assert len([place for place in places if f"{place}.field" in lost]) == len(places) - 2000
    for name, stated in sources.items():
        for number, source in enumerate(stated):
            words = operation_of_column(source)
            down = field(TOTALS, name).replace("~", "~0")
            path = f"/fineGrainedLineages/{words}/{down}/NONE/{field(ORDERS, source['field'])}"
            place = f"fields.{name}.inputFields[{number}]"
            assert (f"{place}.field" in lost) is (path not in written), path
            assert (f"{place}.transformations[0].subtype" in lost) is (path not in written and words != "NONE")
            assert not {f"{place}.namespace", f"{place}.name", f"{place}.transformations[0].description"} & lost


def operation_of_column(source):
    return f"DIRECT:{source['transformations'][0]['subtype']}" if source["transformations"] else "NONE"


def test_dataset_wide_columns_do_not_count_as_pairs():
    sources = {f"c{number}": [column(f"c{number}"), column("day", indirect())] for number in range(2010)}
    found = of_output("columnLineage", lineage(sources), report=True)
    assert len(entries(found)) == 2000
    assert f"/inputDatasetFields/{field(ORDERS, 'day')}" in found.patched(JOB, "dataJobInputOutput")
    lost = too_large(found)
    assert len(lost) == 10
    assert all(path.endswith("inputFields[0].field") for path in lost)


def test_legacy_type_of_an_entry_is_lost_with_its_last_pair():
    body = lineage({f"c{number:04}": [column("a"), column("b")] for number in range(1001)})
    for entry_of in body["fields"].values():
        entry_of["transformationType"] = "IDENTITY"
    body["fields"]["c1000"]["inputFields"].append(column("c"))
    body["fields"]["c0999"]["inputFields"].append(column("c"))
    lost = too_large(of_output("columnLineage", body, report=True))
    assert lost == {
        "fields.c0999.inputFields[2].field",
        *(f"fields.c1000.inputFields[{number}].field" for number in range(3)),
        "fields.c1000.transformationType",
    }


def test_malformed_lineage_of_an_input_is_kept_as_property():
    body = facet(fields={"id": {"inputFields": [{"namespace": "n", "name": ["t"], "field": "id"}]}})
    found = of_input("columnLineage", body, report=True)
    path = "$.inputs[0].facets.columnLineage.fields.id.inputFields[0].name[0]"
    assert found.outcomes()[path][0] == "property"
    assert '"name":["t"]' in found.properties(ORDERS)["columnLineage"]


SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"


def stated(kind, inputs, producer=SPARK, **more):
    lineage = facet(fields={"id": {"inputFields": [{"namespace": "s3://lake", "name": "shop.db/raw", "field": "id"}]}})
    return event(kind, inputs=inputs, outputs=[totals(facets={"columnLineage": lineage})], producer=producer, **more)


RAW = {"namespace": "hive://metastore:9083", "name": "shop.raw", "type": "TABLE"}
FILES = {"namespace": "s3://lake", "name": "shop.db/raw", "facets": {"symlinks": facet(identifiers=[RAW])}}


def test_spark_running_event_uses_the_inputs_of_the_start():
    """Jobs over Iceberg: columnLineage says files, the inputs of START and COMPLETE say what a metastore calls them."""
    events = [
        stated("START", [FILES], time="2026-11-20T01:00:00Z"),
        stated("RUNNING", [], time="2026-11-20T01:00:10Z"),
        stated("COMPLETE", [FILES]),
    ]
    for order in (events, events[::-1]):
        found = translate_events(*order)
        assert found.entities("dataset") == {TOTALS, "urn:li:dataset:(urn:li:dataPlatform:hive,shop.raw,PROD)"}
    outcomes = translate_events(events[1], report=True).outcomes()
    where = "$.outputs[0].facets.columnLineage.fields.id.inputFields[0].name"
    assert outcomes[where] == ("dropped", "duplicate-of:START")


@pytest.mark.parametrize(
    "only",
    [
        stated("START", []),
        stated("COMPLETE", []),
        stated("RUNNING", [orders()]),
        stated("RUNNING", [], "https://example.com/own"),
    ],
)
def test_dataset_known_only_from_column_lineage_is_written(only):
    assert "urn:li:dataset:(urn:li:dataPlatform:s3,lake/shop.db/raw,PROD)" in translate_events(only).entities("dataset")
