"""Every leaf that the schema of a facet names has a row in its module."""

from __future__ import annotations

import pytest
from support.schema_fields import leaf_paths, without_row

COMPOSER, ICEBERG = "registry/gcp/composer/facets", "registry/iceberg/facets"
CASES = [
    ("subset", "dataset", "facets/BaseSubsetDatasetFacet.json", "BaseSubsetDatasetFacet"),
    ("datasetType", "dataset", "facets/DatasetTypeDatasetFacet.json", "DatasetTypeDatasetFacet"),
    ("environmentVariables", "run", "facets/EnvironmentVariablesRunFacet.json", "EnvironmentVariablesRunFacet"),
    ("executionParameters", "run", "facets/ExecutionParametersRunFacet.json", "ExecutionParametersRunFacet"),
    ("extractionError", "run", "facets/ExtractionErrorRunFacet.json", "ExtractionErrorRunFacet"),
    ("hierarchy", "dataset", "facets/HierarchyDatasetFacet.json", "HierarchyDatasetFacet"),
    ("jobDependencies", "run", "facets/JobDependenciesRunFacet.json", "JobDependenciesRunFacet"),
    ("gcp_composer_job", "job", f"{COMPOSER}/GcpComposerJobFacet.json", "GcpComposerJobFacet"),
    ("gcp_composer_run", "run", f"{COMPOSER}/GcpComposerRunFacet.json", "GcpComposerRunFacet"),
    ("icebergScanReport", "dataset", f"{ICEBERG}/IcebergScanReportInputDatasetFacet.json", "IcebergScanReportInputDatasetFacet"),
    ("icebergCommitReport", "dataset", f"{ICEBERG}/IcebergCommitReportOutputDatasetFacet.json", "IcebergCommitReportOutputDatasetFacet"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "attach", "schema", "definition"), CASES, ids=[case[0] for case in CASES])
def test_every_leaf_of_the_schema_has_a_row(key, attach, schema, definition):
    assert without_row(key, attach, schema, definition) == []


def test_schemas_are_walked_to_the_end():
    found = leaf_paths(CASES[0][2], CASES[0][3])
    assert ("inputCondition", "left", "field") in found
    assert ("outputCondition", "partitions", 0, "dimensions", "any") in found
    assert ("upstream", 0, "run", "runId") in leaf_paths(CASES[6][2], CASES[6][3])
    assert len(leaf_paths(CASES[10][2], CASES[10][3])) == 30
