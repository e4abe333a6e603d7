"""catalog (dataset)."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import catalog_dataset
from support.facet_cases import TOTALS, client_pair, facet, of_output, told

BODY = {
    "framework": "iceberg",
    "type": "rest",
    "name": "lake",
    "metadataUri": "jdbc:postgresql://ann:secret@db/x?password=p",
    "warehouseUri": "s3://lake",
    "source": "spark",
}


def test_catalogue_facet_is_kept_without_credentials():
    kept = of_output("catalog", facet(**BODY, catalogProperties={"b": "2", "token": "t"})).kept(TOTALS)
    assert kept["catalog.framework"] == "iceberg"
    assert kept["catalog.type"] == "rest"
    assert kept["catalog.name"] == "lake"
    assert kept["catalog.warehouseUri"] == "s3://lake"
    assert kept["catalog.source"] == "spark"
    assert kept["catalog.metadataUri"] == "jdbc:postgresql://ann:***@db/x?password=***"
    assert kept["catalog.catalogProperties"] == '{"b":"2","token":"[REDACTED]"}'


def test_empty_facet_adds_no_properties():
    kept = of_output("catalog", facet(catalogProperties={})).kept(TOTALS)
    assert not any(key.startswith("catalog") for key in kept)


def test_client_s_class_is_read():
    made = catalog_dataset.CatalogDatasetFacet(framework="delta", type="hive", name="main")
    kept = told(client_pair(outputs={"catalog": made})).kept(TOTALS)
    assert (kept["catalog.framework"], kept["catalog.type"], kept["catalog.name"]) == ("delta", "hive", "main")


def test_strict_redaction_keeps_property_names_only():
    body = facet(**BODY, catalogProperties={"b": "2", "empty": "", "token": "t"})
    found = of_output("catalog", body, redaction="strict", report=True)
    kept = found.kept(TOTALS)
    assert kept["catalog.catalogProperties"] == '{"b":"[REDACTED]","empty":"","token":"[REDACTED]"}'
    assert kept["catalog.name"] == "lake"
    path = "$.outputs[0].facets.catalog.catalogProperties"
    assert found.outcomes()[f"{path}.b"] == found.outcomes()[f"{path}.token"] == ("dropped", "policy:redaction")


@pytest.mark.parametrize("rest", [["a", "b"], "a"])
def test_properties_in_another_shape_are_kept_as_they_are(rest):
    kept = of_output("catalog", facet(catalogProperties=rest)).kept(TOTALS)
    assert kept["catalog.catalogProperties"] in ('["a","b"]', "a")


def test_masked_catalogue_properties_are_reported():
    found = of_output("catalog", facet(catalogProperties={"b": "2", "deep": {"token": "t"}}), report=True).outcomes()
    path = "$.outputs[0].facets.catalog.catalogProperties"
    assert found[f"{path}.deep.token"] == ("dropped", "secret")
    assert found[f"{path}.b"] == (
        "property",
        "datasetProperties.customProperties[openlineage.catalog.catalogProperties]",
    )
