"""subset (input, output)."""

from __future__ import annotations

import json

import pytest
from openlineage.client.generated import base_subset_dataset as client
from support.facet_cases import (
    DPI,
    JOB,
    ORDERS,
    TOTALS,
    client_pair,
    dataset_event,
    event,
    facet,
    job_event,
    of_input,
    orders,
    pair,
    spec,
    totals,
    translate_events,
)

FULL = {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"}


def field(name):
    return {"type": "field", "field": name}


def literal(value):
    return {"type": "literal", "value": value}


def compare(left, right, word="EQUAL"):
    return {"type": "compare", "left": left, "right": right, "comparison": word}


def binary(left, right, operator="AND"):
    return {"type": "binary", "left": left, "right": right, "operator": operator}


def partitions(*dimensions):
    return {"type": "partition", "partitions": [{"dimensions": one} for one in dimensions]}


DATE, SIZE = compare(field("dt"), literal("2024-01-01")), compare(field("x"), literal("3"), "GREATER_THAN")


def reads(condition, **leaves):
    return {"subset": facet(inputCondition=condition, **leaves)}


def writes(condition):
    return {"subset": facet(outputCondition=condition)}


def edge(found, dataset=ORDERS, side="input"):
    return found.patched(JOB, "dataJobInputOutput")[f"/{side}DatasetEdges/{dataset}"].get("properties", {})


def predicate(condition, **settings):
    return edge(translate_events(pair(inputs=[orders(inputFacets=reads(condition))]), **settings)).get(
        "openlineage.subset"
    )


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (DATE, "dt = '2024-01-01'"),
        (SIZE, "x > 3"),
        (binary(DATE, SIZE), "(dt = '2024-01-01') AND (x > 3)"),
        (binary(binary(DATE, SIZE, "OR"), SIZE), "((dt = '2024-01-01') OR (x > 3)) AND (x > 3)"),
        (compare(field("a"), field("b"), "LESS_EQUAL_THAN"), "a <= b"),
        (compare(literal("a"), field("b"), "GREATER_EQUAL_THAN"), "'a' >= b"),
        (compare(field("a"), literal("it's"), "LESS_THAN"), "a < 'it''s'"),
        (compare(field("a"), literal("007")), "a = '007'"),
        (compare(field("a"), literal(2.5)), "a = 2.5"),
        (compare(field("a"), literal(value=True)), "a = true"),
        (compare(field("a"), literal(["x"])), "a = '[\"x\"]'"),
        (compare(field("a"), literal(None)), "a = NULL"),
        (compare(field('odd "one"'), literal("x"), "like"), '"odd ""one""" LIKE \'x\''),
        (compare(field("a"), DATE), "a = (dt = '2024-01-01')"),
        ({"comparison": "EQUAL", "left": {"field": "a"}, "right": {"value": "b"}}, "a = 'b'"),
        ({"type": "compare", "left": field("a")}, "a ? ?"),
        ({"operator": "or", "left": DATE, "right": SIZE}, "(dt = '2024-01-01') OR (x > 3)"),
        ({"type": "binary", "operator": "AND", "left": DATE}, "dt = '2024-01-01'"),
        ({"type": "location", "locations": ["s3://b/x", "s3://b/y"]}, "LOCATION IN ('s3://b/x', 's3://b/y')"),
        ({"locations": ["https://ann:pw@h/x"]}, "LOCATION IN ('https://ann:***@h/x')"),
        (partitions({"dt": "1", "country": "PL"}), "country = 'PL' AND dt = '1'"),
        (partitions({"dt": 1}, {"dt": None}), "(dt = 1) OR (dt = NULL)"),
        ({"partitions": [{"identifier": "p1", "dimensions": {"a": "b"}}]}, "PARTITION 'p1' (a = 'b')"),
        ({"partitions": [{"identifier": "p1"}, {}]}, "PARTITION 'p1'"),
        (partitions(), None),
        ({"locations": []}, None),
        ({"type": "binary", "operator": "AND"}, None),
        ({"type": "compare"}, None),
        ({"type": "magic", "spell": 1}, None),
    ],
)
def test_condition_reads_like_sql_on_edge_and_run(condition, text, profile):
    found = translate_events(
        pair(inputs=[orders(inputFacets=reads(condition))], outputs=[totals()]), datahub_version=profile
    )
    assert edge(found).get("openlineage.subset") == text
    assert found.properties(DPI).get("inputs.subset") == (
        None if text is None else json.dumps({ORDERS: text}, separators=(",", ":"))
    )


def test_condition_columns_are_input_fields_for_inputs_only():
    found = translate_events(
        pair(inputs=[orders(inputFacets=reads(DATE))], outputs=[totals(outputFacets=writes(SIZE))])
    )
    fields = [path for path in found.patched(JOB, "dataJobInputOutput") if path.startswith("/inputDatasetFields/")]
    assert fields == [f"/inputDatasetFields/urn:li:schemaField:({ORDERS},dt)"]
    assert edge(found, TOTALS, "output") == {"openlineage.subset": "x > 3"}
    assert found.properties(DPI)["outputs.subset"] == f'{{"{TOTALS}":"x > 3"}}'


def test_column_too_long_for_a_urn_stays_in_the_predicate():
    found = translate_events(pair(inputs=[orders(inputFacets=reads(compare(field("c" * 500), literal("x"))))]))
    assert not any("schemaField" in path for path in found.patched(JOB, "dataJobInputOutput"))
    assert edge(found)["openlineage.subset"].startswith("ccc")


# -- literals --------------------------------------------------------------------------------------------------------


def test_literals_are_kept_hashed_or_dropped():
    assert predicate(DATE, subset={"literals": "keep"}) == "dt = '2024-01-01'"
    hashed = predicate(DATE, subset={"literals": "hash"})
    assert hashed.startswith("dt = 'sha256:")
    assert hashed != predicate(compare(field("dt"), literal("2024-01-02")), subset={"literals": "hash"})
    found = translate_events(pair(inputs=[orders(inputFacets=reads(DATE))]), report=True, subset={"literals": "drop"})
    assert edge(found)["openlineage.subset"] == "dt = ?"
    path = "$.inputs[0].inputFacets.subset.inputCondition.right.value"
    assert found.outcomes()[path] == ("dropped", "policy:subset.literals")


def test_secrets_are_masked_by_column_name_and_by_shape():
    found = translate_events(
        pair(inputs=[orders(inputFacets=reads(compare(field("password"), literal("hunter2"))))]), report=True
    )
    assert edge(found)["openlineage.subset"] == "password = '[REDACTED]'"
    assert found.outcomes()["$.inputs[0].inputFacets.subset.inputCondition.right.value"] == ("dropped", "secret")
    assert predicate(compare(field("u"), literal("http://a:b@c/?token=d"))) == "u = 'http://a:***@c/?token=***'"
    assert predicate(partitions({"api_key": "k"})) == "api_key = '[REDACTED]'"


# -- partitions of points --------------------------------------------------------------------------------------------

CHECKS = {"dataQualityAssertions": facet(assertions=[{"assertion": "not_null", "success": True, "column": "id"}])}
IN, US = partitions({"country": "IN"}), partitions({"country": "US"})
IN_SPEC = {"partition": '[{"country":"IN"}]', "type": "PARTITION"}
US_SPEC = {"partition": '[{"country":"US"}]', "type": "PARTITION"}


def specs(found, aspect="assertionRunEvent", urn=None):
    rows = [
        one.value for one in found.proposals if one.aspect_name == aspect and (urn is None or one.entity_urn == urn)
    ]
    assert all("timePartition" not in row["partitionSpec"] for row in rows)
    return [row["partitionSpec"] for row in rows]


def written(*conditions, metrics=True, **bags):
    extra = {"dataQualityMetrics": facet(rowCount=5)} if metrics else {}
    outputs = [totals(facets=extra, outputFacets={} if one is None else writes(one), **bags) for one in conditions]
    return translate_events(pair(inputs=[orders()], outputs=outputs))


@pytest.mark.parametrize(
    ("condition", "operation", "profile"),
    [
        (None, FULL, FULL),
        (IN, IN_SPEC, IN_SPEC),
        (
            partitions({"b": 1, "a": "x"}, {"b": 0}),
            *[{"partition": '[{"a":"x","b":1},{"b":0}]', "type": "PARTITION"}] * 2,
        ),
        (
            {"partitions": [{"identifier": "p1", "dimensions": {"a": 1}}]},
            *[{"partition": "p1", "type": "PARTITION"}] * 2,
        ),
        ({"locations": ["s3://b", "s3://a"]}, *[{"partition": '["s3://a","s3://b"]', "type": "PARTITION"}] * 2),
        (SIZE, FULL, {"partition": "x > 3", "type": "QUERY"}),
    ],
)
def test_operation_partition_is_that_of_the_last_event(condition, operation, profile):
    found = written(condition)
    assert specs(found, "operation", TOTALS) == [operation]
    assert specs(found, "datasetProfile", TOTALS) == [profile]


def test_part_is_that_of_the_event_that_ends_the_run():
    stated = [event("START", outputs=[totals(outputFacets=writes(IN))]), event(outputs=[totals()])]
    assert specs(translate_events(stated), "operation") == [FULL]
    stated = [event("START", outputs=[totals()]), event(outputs=[totals(outputFacets=writes(IN))])]
    assert (
        specs(translate_events(stated), "operation") == specs(translate_events(stated[::-1]), "operation") == [IN_SPEC]
    )


def test_partitions_of_one_dataset_are_merged_or_the_full_table():
    assert specs(written(IN, US), "operation", TOTALS) == [
        {"partition": '[{"country":"IN"},{"country":"US"}]', "type": "PARTITION"}
    ]
    assert specs(written(IN, IN), "operation", TOTALS) == [IN_SPEC]
    assert specs(written(IN, None), "operation", TOTALS) == [FULL]
    assert specs(written(IN, SIZE), "operation", TOTALS) == [FULL]


def test_dataset_listed_twice_as_input_has_separate_results():
    inputs = [
        orders(inputFacets={**reads(IN), **CHECKS}),
        orders(facets=CHECKS, inputFacets=reads(US)),
        orders(inputFacets=CHECKS),
    ]
    for order in (inputs, inputs[::-1]):
        found = translate_events(pair(inputs=order))
        assert specs(found) == [FULL, IN_SPEC, US_SPEC]
        assert edge(found)["openlineage.subset"].split(" OR ") in (
            ["(country = 'IN')", "(country = 'US')"],
            ["(country = 'US')", "(country = 'IN')"],
        )
        events = [one for one in found.proposals if one.aspect_name == "assertionRunEvent"]
        assert len({one.entity_urn for one in events}) == len({one.value["timestampMillis"] for one in events}) == 1


def test_each_part_has_its_own_result_and_row_count():
    def entry(condition, success, rows):
        checks = facet(assertions=[{"assertion": "not_null", "success": success, "column": "id"}])
        return orders(
            inputFacets={
                **reads(condition),
                "dataQualityAssertions": checks,
                "dataQualityMetrics": facet(rowCount=rows),
            }
        )

    found = translate_events(pair(inputs=[entry(IN, True, 7), entry(US, False, 9)]))  # noqa: FBT003 - rows of a table
    results = {
        one.value["partitionSpec"]["partition"]: one.value["result"]
        for one in found.proposals
        if one.aspect_name == "assertionRunEvent"
    }
    assert results[IN_SPEC["partition"]] == {"type": "SUCCESS"}
    assert results[US_SPEC["partition"]] == {"type": "FAILURE", "rowCount": 9}


def test_test_of_the_run_is_about_the_part_that_the_event_reads():
    tests = {"test": facet(tests=[{"name": "t", "type": "unique", "status": "pass"}])}
    found = translate_events(event(inputs=[orders(inputFacets=reads(IN))], run=tests))
    assert specs(found) == [IN_SPEC]
    both = {"dataQualityAssertions": facet(assertions=[{"assertion": "unique", "name": "t", "success": True}])}
    found = translate_events(event(inputs=[orders(inputFacets={**both, **reads(IN)})], run=tests))
    assert specs(found) == [IN_SPEC]


def test_subset_of_an_earlier_event_applies_to_its_own_results():
    stated = [event("START", inputs=[orders(inputFacets={**reads(IN), **CHECKS})]), event(inputs=[orders()])]
    assert specs(translate_events(stated)) == [IN_SPEC]
    stated = [event("START", inputs=[orders(inputFacets=CHECKS)]), event(inputs=[orders(inputFacets=reads(IN))])]
    assert specs(translate_events(stated)) == specs(translate_events(stated[::-1])) == [IN_SPEC]
    stated = [
        event("START", inputs=[orders(inputFacets={**reads(IN), **CHECKS})]),
        event(inputs=[orders(inputFacets={**reads(US), **CHECKS})]),
    ]
    assert specs(translate_events(stated)) == [US_SPEC]


def test_malformed_subset_means_the_full_table():
    found = translate_events(
        event(inputs=[orders(inputFacets={"subset": "broken", **CHECKS}), orders(inputFacets=CHECKS)])
    )
    assert specs(found) == [FULL]


# -- odd places and odd facets ---------------------------------------------------------------------------------------


def test_subset_without_a_run_is_on_the_dataset_or_the_edge():
    found = translate_events(dataset_event(orders(facets={**reads(IN), "dataQualityMetrics": facet(rowCount=1)})))
    assert found.properties(ORDERS)["subset"] == "country = 'IN'"
    assert specs(found, "datasetProfile") == [IN_SPEC]
    assert (
        edge(translate_events(job_event(inputs=[orders(inputFacets=reads(IN))])))["openlineage.subset"]
        == "country = 'IN'"
    )


def test_condition_of_the_other_side_is_used_only_alone():
    found = translate_events(pair(outputs=[totals(outputFacets=reads(IN))]))
    assert edge(found, TOTALS, "output")["openlineage.subset"] == "country = 'IN'"
    both = reads(IN, outputCondition=US)
    found = translate_events(pair(inputs=[orders(inputFacets=both)]), report=True)
    assert edge(found)["openlineage.subset"] == "country = 'IN'"
    path = "$.inputs[0].inputFacets.subset.outputCondition.partitions[0].dimensions.country"
    assert found.outcomes()[path] == ("dropped", "no-field:the condition of the other side")


def test_deeply_nested_condition_is_truncated_and_reported():
    deep = DATE
    for _ in range(60):
        deep = binary(deep, SIZE)
    found = translate_events(pair(inputs=[orders(inputFacets=reads(deep))]), report=True)
    assert "(…)" in edge(found)["openlineage.subset"]
    assert ("dropped", "too-large") in found.outcomes().values()


def test_conditions_nested_beyond_reading_cost_only_themselves():
    half = json.dumps(DATE)
    deep = f'{{"type": "binary", "operator": "AND", "right": {half}, "left": ' * 300 + half + "}" * 300
    raw = json.dumps(event(inputs=[orders(inputFacets=reads("HERE")), orders(inputFacets=reads(IN))]))
    found = translate_events(raw.replace('"HERE"', deep).encode())
    assert edge(found)["openlineage.subset"] == "country = 'IN'"


def test_long_predicate_is_truncated_and_malformed_parts_dropped():
    text = predicate({"locations": ["s3://b/" + "x" * 9000]})
    assert len(text) == 4000
    assert "sha256:" in text
    assert predicate({"locations": [{"a": 1}, "s3://b"]}) == "LOCATION IN ('s3://b')"
    assert predicate([]) is None
    found = translate_events(pair(inputs=[orders(inputFacets=reads("all of it"))]), report=True)
    assert found.outcomes()["$.inputs[0].inputFacets.subset.inputCondition"] == ("dropped", "malformed")
    twice = translate_events(
        pair(
            inputs=[
                orders(inputFacets=reads(IN)),
                orders(inputFacets={"subset": 7}),
                orders(inputFacets={"subset": {}}),
            ]
        )
    )
    assert edge(twice)["openlineage.subset"] == "country = 'IN'"


def test_deleted_subset_is_ignored():
    found = translate_events(pair(inputs=[orders(inputFacets=reads(IN, _deleted=True))]), report=True)
    assert "openlineage.subset" not in edge(found)
    path = "$.inputs[0].inputFacets.subset.inputCondition.partitions[0].dimensions.country"
    assert found.outcomes()[path] == ("dropped", "policy:state=none")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("1", "first_name = 'John'"),
        ("2", "(first_name = 'John') AND (last_name = 'Smith')"),
        ("3", "LOCATION IN ('s3://some/bucket/location1', 's3://some/bucket/location2', 's3://some/bucket/location3')"),
        (
            "4",
            (
                "(PARTITION '2024-10-15-PL' (business_date = '2024-10-15' AND country = 'PL'))"
                " OR (business_date = '2024-10-15' AND country = 'DE')"
            ),
        ),
    ],
)
def test_specification_s_documents_are_read(name, text):
    found = of_input("subset", spec("BaseSubsetDatasetFacet", name)["subset"], bag="inputFacets")
    assert edge(found)["openlineage.subset"] == text


def test_client_s_classes_are_read():
    read = client.InputSubsetInputDatasetFacet(
        inputCondition=client.CompareSubsetCondition(
            left=client.FieldBaseCompareExpression(field="a"),
            right=client.LiteralCompareExpression(value="b"),
            comparison="EQUAL",
        )
    )
    wrote = client.OutputSubsetOutputDatasetFacet(
        outputCondition=client.PartitionSubsetCondition(
            partitions=[client.Partition(dimensions={"dt": "d"}, identifier="p")]
        )
    )
    found = translate_events(client_pair(input_facets={"subset": read}, output_facets={"subset": wrote}))
    assert edge(found)["openlineage.subset"] == "a = 'b'"
    assert specs(found, "operation") == [{"partition": "p", "type": "PARTITION"}]
