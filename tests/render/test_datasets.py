"""dataset, field by field."""

from __future__ import annotations

import pytest
from support.facet_cases import (
    DATAHUB,
    DPI,
    END_MS,
    ORDERS,
    TOTALS,
    dataset_event,
    event,
    facet,
    orders,
    pair,
    totals,
    translate_events,
)


def test_every_named_dataset_exists_with_namespace_and_name():
    found = translate_events(pair(inputs=[orders()], outputs=[totals()]))
    for urn, name in ((ORDERS, "orders"), (TOTALS, "totals")):
        assert found.properties(urn) == {"namespace": "postgres://db:5432", "name": f"shop.public.{name}"}
        assert not found.has(urn, "dataPlatformInstance")
        assert not found.has(urn, "status")


@pytest.mark.parametrize(
    ("materialize", "datasets"), [("all", {ORDERS, TOTALS}), ("outputs", {TOTALS}), ("none", set())]
)
def test_which_datasets_are_written_is_a_setting(materialize, datasets):
    found = translate_events(pair(inputs=[orders()], outputs=[totals()]), materialize=materialize)
    assert {one.entity_urn for one in found.proposals if one.aspect_name == "datasetProperties"} == datasets
    assert found.one(DPI, "dataProcessInstanceInput") == {"inputs": [ORDERS]}


def test_credentials_in_a_namespace_are_never_kept():
    dataset = {"namespace": "postgres://ann:secret@db:5432", "name": "shop.public.orders"}
    found = translate_events(pair(inputs=[dataset]))
    assert "secret" not in str([one.value for one in found.proposals])
    assert found.properties(ORDERS)["namespace"] == "postgres://db:5432"


def test_platform_instance_is_written_if_a_rule_sets_one():
    found = translate_events(
        pair(outputs=[totals()]), naming={"rules": [{"namespace": "postgres://db:5432", "platform_instance": "eu"}]}
    )
    (urn,) = found.entities("dataset")
    assert found.one(urn, "dataPlatformInstance") == {
        "platform": "urn:li:dataPlatform:postgres",
        "instance": "urn:li:dataPlatformInstance:(urn:li:dataPlatform:postgres,eu)",
    }


def test_dataset_event_writes_all_dataset_aspects():
    facets = {
        "schema": facet(fields=[{"name": "a", "type": "int"}]),
        "documentation": facet(description="All"),
        "ownership": facet(owners=[{"name": "ann"}]),
        "tags": facet(tags=[{"key": "x"}]),
        "dataQualityMetrics": facet(rowCount=1),
    }
    found = translate_events(dataset_event(totals(facets=facets)))
    names = {one.aspect_name for one in found.proposals if one.entity_urn == TOTALS}
    assert names == {"datasetProperties", "schemaMetadata", "ownership", "globalTags", "datasetProfile"}
    assert not found.entities("dataJob") | found.entities("dataProcessInstance") | found.entities("dataFlow")


def test_dataset_event_s_upstreams_carry_its_time():
    lineage = facet(fields={"a": {"inputFields": [{**orders(), "field": "b"}]}})
    upstream = translate_events(dataset_event(totals(facets={"columnLineage": lineage}))).patched(
        TOTALS, "upstreamLineage"
    )
    assert upstream[f"/upstreams/{ORDERS}"] == {
        "auditStamp": {"time": END_MS, "actor": DATAHUB},
        "dataset": ORDERS,
        "type": "TRANSFORMED",
    }


def test_bag_of_the_specification_wins():
    bags = {
        "facets": {"documentation": facet(description="right")},
        "inputFacets": {"documentation": facet(description="wrong")},
    }
    assert (
        translate_events(pair(inputs=[orders(**bags)])).patched(ORDERS, "datasetProperties")["/description"] == "right"
    )


def test_output_facet_overrides_the_input_facet():
    def stated(text):
        return {"documentation": facet(description=text)}

    found = translate_events(pair(inputs=[orders(facets=stated("read"))], outputs=[orders(facets=stated("written"))]))
    assert found.patched(ORDERS, "datasetProperties")["/description"] == "written"


def test_removed_dataset_is_never_revived_by_being_named():
    """``removed: false`` would undelete what people deleted."""
    for word in ("CREATE", "OVERWRITE", "ALTER"):
        bag = {"lifecycleStateChange": facet(lifecycleStateChange=word)}
        assert not translate_events(event("START"), event(outputs=[totals(facets=bag)])).has(TOTALS, "status")


def test_schema_is_rendered_again_when_its_fields_change():
    one = translate_events(pair(outputs=[totals(facets={"schema": facet(fields=[{"name": "a", "type": "int"}])})]))
    two = translate_events(pair(outputs=[totals(facets={"schema": facet(fields=[{"name": "b", "type": "int"}])})]))
    again = translate_events(pair(outputs=[totals(facets={"schema": facet(fields=[{"name": "a", "type": "int"}])})]))
    paths = [found.one(TOTALS, "schemaMetadata")["fields"][0]["fieldPath"] for found in (one, two, again)]
    assert paths == ["a", "b", "a"]


def test_long_name_is_cut_and_stays_within_the_limit():
    long = {"namespace": "s3://bucket", "name": "a/" * 500 + "x"}
    found = translate_events(pair(outputs=[long]))
    (urn,) = found.entities("dataset")
    assert len(urn) <= 512
    assert found.properties(urn)["name"].startswith("a/a/")


@pytest.mark.parametrize(
    ("namespace", "name", "choice", "expected"),
    [
        ("bigquery", "shop.sales.orders", ["dataplex_fqn"], "bigquery:shop.sales.orders"),
        ("bigquery", "shop.sales.orders", [], None),
        ("acme://host", "orders", ["dataplex_fqn"], None),
    ],
)
def test_dataplex_name_is_a_property_by_setting(namespace, name, choice, expected):
    dataset = {"namespace": namespace, "name": name}
    found = translate_events(dataset_event(dataset), optional_metadata=choice)
    urns = [one.entity_urn for one in found.proposals if one.aspect_name == "datasetProperties"]
    assert found.properties(urns[0]).get("dataplex.fqn") == expected
