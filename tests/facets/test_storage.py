"""storage (dataset)."""

from __future__ import annotations

from openlineage.client.facet_v2 import storage_dataset
from support.facet_cases import TOTALS, client_pair, of_output, spec, translate_events


def test_specification_s_document_is_kept():
    properties = of_output("storage", spec("StorageDatasetFacet")["storage"]).properties(TOTALS)
    assert (properties["storage.storageLayer"], properties["storage.fileFormat"]) == ("delta", "parquet")


def test_client_s_class_is_kept():
    made = storage_dataset.StorageDatasetFacet(storageLayer="iceberg", fileFormat="orc")
    properties = translate_events(client_pair(outputs={"storage": made})).properties(TOTALS)
    assert (properties["storage.storageLayer"], properties["storage.fileFormat"]) == ("iceberg", "orc")
