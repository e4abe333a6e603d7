"""Events that other projects publish: nothing crashes, and each dataset is of the platform that a review found right."""

from __future__ import annotations

import json

import pytest
from support.public_data import WILD, needs_wild

from dh_bridge import Bridge, Settings
from dh_bridge.naming.datasets import dataset_name, datasets_of
from dh_bridge.openlineage.read import read_events

FILES = sorted(path for path in WILD.rglob("*") if path.suffix in {".json", ".ndjson"}) if WILD.is_dir() else []
BRIDGE = Bridge(Settings())
PLATFORMS = {
    "abfss": {"abs"}, "arn": {"glue"}, "aws": {"glue"}, "awsathena": {"athena"}, "azurekusto": {"kusto"}, "bigquery": {"bigquery"},
    "custom": {"external"}, "databricks": {"databricks"}, "dataproc_metastore": {"dataproc-metastore"}, "dbfs": {"dbfs"}, "file": {"file"},
    "gs": {"gcs"}, "hdfs": {"hdfs"}, "kafka": {"kafka"}, "mysql": {"mysql"}, "postgres": {"postgres"}, "postgresql": {"postgres"},
    "pubsub": {"pubsub"}, "redshift": {"redshift"}, "s3": {"s3", "glue"}, "s3a": {"s3"}, "snaplogic": {"snaplogic"},
    "snowflake": {"snowflake"}, "sqlserver": {"mssql"},
}  # fmt: skip
"""Scheme or bare namespace -> platforms of its datasets, reviewed by hand; a path has that of the table that it is a symlink of."""
TOYS = {
    "backyard", "cupboard", "grandmas.kitchen", "ins", "laurents-orchard", "my-namespace", "ons", "python_client",
}  # fmt: skip
NO_DATASETS = {
    "postgres://128.168.0.1:5432/test-db": "no-dataset",
    "azurecosmos://test-account.documents.azure.com/dbs/test-db": "malformed",
}


def test_event_collection_has_more_than_100_files():
    if not FILES:
        pytest.skip("no events of other projects")
    assert len(FILES) > 100


@needs_wild
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_collected_events_get_the_right_platforms(path):
    items = list(read_events([str(path)]))
    for item in items:
        if not hasattr(item, "inputs"):
            continue  # some are templates and no events: a dead letter is right
        translation = BRIDGE.translate(item)
        assert translation.rejected == []
        for dataset in datasets_of(item, BRIDGE.options.naming):
            name = dataset_name(dataset, BRIDGE.options.naming)
            if dataset.namespace in NO_DATASETS:
                assert (name.endpoint, name.skip) == (None, NO_DATASETS[dataset.namespace])
            elif dataset.namespace in TOYS:
                assert name.platform == "unknown"
            else:
                assert name.platform in PLATFORMS[dataset.namespace.partition(":")[0].lower()], json.dumps(
                    name.namespace
                )
                assert name.skip is None
