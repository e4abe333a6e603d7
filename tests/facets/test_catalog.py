"""catalog (dataset)."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import catalog_dataset
from support.facet_cases import TOTALS, client_pair, facet, of_output, translate_events

BODY = {
    "framework": "iceberg",
    "type": "rest",
    "name": "lake",
    "metadataUri": "jdbc:postgresql://ann:secret@db/x?password=p",
    "warehouseUri": "s3://lake",
    "source": "spark",
}


def test_catalogue_facet_is_kept_without_credentials():
    properties = of_output("catalog", facet(**BODY, catalogProperties={"b": "2", "token": "t"})).properties(TOTALS)
    assert properties["catalog.framework"] == "iceberg"
    assert properties["catalog.type"] == "rest"
    assert properties["catalog.name"] == "lake"
    assert properties["catalog.warehouseUri"] == "s3://lake"
    assert properties["catalog.source"] == "spark"
    assert properties["catalog.metadataUri"] == "jdbc:postgresql://ann:***@db/x?password=***"
    assert properties["catalog.catalogProperties"] == '{"b":"2","token":"[REDACTED]"}'


def test_empty_facet_adds_no_properties():
    properties = of_output("catalog", facet(catalogProperties={})).properties(TOTALS)
    assert not any(key.startswith("catalog") for key in properties)


def test_client_s_class_is_read():
    made = catalog_dataset.CatalogDatasetFacet(framework="delta", type="hive", name="main")
    properties = translate_events(client_pair(outputs={"catalog": made})).properties(TOTALS)
    assert (properties["catalog.framework"], properties["catalog.type"], properties["catalog.name"]) == (
        "delta",
        "hive",
        "main",
    )


def test_strict_redaction_keeps_property_names_only():
    body = facet(**BODY, catalogProperties={"b": "2", "empty": "", "token": "t"})
    found = of_output("catalog", body, redaction="strict", report=True)
    properties = found.properties(TOTALS)
    assert properties["catalog.catalogProperties"] == '{"b":"[REDACTED]","empty":"","token":"[REDACTED]"}'
    assert properties["catalog.name"] == "lake"
    path = "$.outputs[0].facets.catalog.catalogProperties"
    assert found.outcomes()[f"{path}.b"] == found.outcomes()[f"{path}.token"] == ("dropped", "policy:redaction")


@pytest.mark.parametrize("rest", [["a", "b"], "a"])
def test_properties_in_another_shape_are_kept_as_they_are(rest):
    properties = of_output("catalog", facet(catalogProperties=rest)).properties(TOTALS)
    assert properties["catalog.catalogProperties"] in ('["a","b"]', "a")


def test_masked_catalogue_properties_are_reported():
    found = of_output("catalog", facet(catalogProperties={"b": "2", "deep": {"token": "t"}}), report=True).outcomes()
    path = "$.outputs[0].facets.catalog.catalogProperties"
    assert found[f"{path}.deep.token"] == ("dropped", "secret")
    assert found[f"{path}.b"] == (
        "property",
        "datasetProperties.customProperties[openlineage.catalog.catalogProperties]",
    )
