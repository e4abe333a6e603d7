"""Guids join those of DataHub's own tools."""

from __future__ import annotations

import warnings

import pytest

from dh_bridge.datahub.urns import datahub_guid

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from datahub.emitter import mce_builder
    from datahub.emitter.mcp_builder import DatabaseKey


def test_known_run_has_its_known_guid():
    # computed by acryl-datahub 1.7.0.17 for an Airflow run.
    key = {"cluster": "PROD", "id": "run-uuid", "orchestrator": "airflow"}
    assert datahub_guid(key) == "2a4632e48b7331b41542ec90f32f989c"


@pytest.mark.parametrize(
    "key",
    [
        {},
        {"b": 1, "a": "x"},
        {"name": "Größe 日本"},
        {"nested": {"z": [1, 2.5, True], "a": None}},
        {"text": 'quo"te\n'},
    ],
)
def test_guids_are_those_of_the_sdk(key):
    assert datahub_guid(key) == mce_builder.datahub_guid(key)


def test_guid_omits_none_and_ignores_key_order():
    assert datahub_guid({"b": 2, "a": 1, "c": None}) == datahub_guid({"a": 1, "b": 2})
    database = DatabaseKey(platform="hive", database="db", instance=None, env="PROD")
    assert database.guid() == datahub_guid({"platform": "hive", "database": "db", "instance": None})
