"""version (dataset)."""

from __future__ import annotations

from openlineage.client.facet_v2 import dataset_version_dataset
from support.facet_cases import (
    DPI,
    JOB,
    ORDERS,
    TOTALS,
    client_pair,
    dataset_event,
    facet,
    of_input,
    of_output,
    spec,
    totals,
    translate_events,
)

BODY = facet(datasetVersion="42")


def test_written_version_is_on_dataset_edge_and_run():
    found = of_output("version", BODY)
    assert found.properties(TOTALS)["version.datasetVersion"] == "42"
    edge = found.patched(JOB, "dataJobInputOutput")[f"/outputDatasetEdges/{TOTALS}"]
    assert edge["properties"] == {"openlineage.version.datasetVersion": "42"}
    assert found.properties(DPI)["outputs.version"] == f'{{"{TOTALS}":"42"}}'


def test_version_that_was_read_likewise():
    found = of_input("version", BODY)
    edge = found.patched(JOB, "dataJobInputOutput")[f"/inputDatasetEdges/{ORDERS}"]
    assert edge["properties"] == {"openlineage.version.datasetVersion": "42"}
    assert found.properties(DPI)["inputs.version"] == f'{{"{ORDERS}":"42"}}'


def test_dataset_event_s_version_is_the_dataset_s():
    found = translate_events(dataset_event(totals(facets={"version": facet(datasetVersion=7)})))
    assert found.properties(TOTALS)["version.datasetVersion"] == "7"


def test_empty_facet_adds_no_properties():
    found = of_output("version", facet(datasetVersion=None))
    assert "version.datasetVersion" not in found.properties(TOTALS)


def test_specification_s_document_is_read():
    assert (
        of_output("version", spec("DatasetVersionDatasetFacet")["version"]).properties(TOTALS)["version.datasetVersion"]
        == "2"
    )


def test_client_s_class_is_read():
    made = dataset_version_dataset.DatasetVersionDatasetFacet("3")
    assert translate_events(client_pair(outputs={"version": made})).properties(TOTALS)["version.datasetVersion"] == "3"
