"""Our guids, shards and cases are those of DataHub's own code."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dh_bridge.naming import Naming
from dh_bridge.naming.normalize import strip_bigquery_decorator, strip_bigquery_shard
from dh_bridge.settings.naming import NamingSettings

audit = pytest.importorskip(
    "datahub.ingestion.source.bigquery_v2.bigquery_audit", reason="needs acryl-datahub (extra datahub)"
)
builder = pytest.importorskip("datahub.emitter.mcp_builder", reason="needs acryl-datahub (extra datahub)")
NAMING = Naming(NamingSettings())
PIECES = st.sampled_from(["t", "events", "_", "$", "20240131", "20241399", "2024", "*", "1", "@1624046611000", "é"])


@given(st.lists(PIECES, min_size=1, max_size=5).map("".join))
def test_bigquery_tables_are_trimmed_as_by_the_bigquery_source(table):
    assume("*" not in table or not {"@", "$"} & set(table))  # a wildcard has no decorator
    theirs = audit.BigqueryTableIdentifier("p", "d", table).get_table_display_name()
    assert strip_bigquery_shard(strip_bigquery_decorator(table), "d") == theirs


def test_containers_are_those_of_the_sdk():
    shop = {"database": "shop", "platform": "postgres", "env": "PROD", "backcompat_env_as_instance": True}
    keys = [builder.SchemaKey(schema="public", **shop), builder.DatabaseKey(**shop)]
    assert list(NAMING("postgres://h", "shop.public.t").containers) == [key.as_urn() for key in keys]
    folder = builder.FolderKey(platform="s3", folder_abs_path="b/a", env="PROD", backcompat_env_as_instance=True)
    assert NAMING("s3://b", "a/x").containers[0] == folder.as_urn()
