"""storage (dataset)."""

from __future__ import annotations

from openlineage.client.facet_v2 import storage_dataset
from support.facet_cases import TOTALS, client_pair, of_output, spec, told


def test_specification_s_document_is_kept():
    kept = of_output("storage", spec("StorageDatasetFacet")["storage"]).kept(TOTALS)
    assert (kept["storage.storageLayer"], kept["storage.fileFormat"]) == ("delta", "parquet")


def test_client_s_class_is_kept():
    made = storage_dataset.StorageDatasetFacet(storageLayer="iceberg", fileFormat="orc")
    kept = told(client_pair(outputs={"storage": made})).kept(TOTALS)
    assert (kept["storage.storageLayer"], kept["storage.fileFormat"]) == ("iceberg", "orc")
