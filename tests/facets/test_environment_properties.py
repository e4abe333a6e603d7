"""environment-properties (run): the Databricks environment."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, facet, of_run

INNER = {
    "orgId": "42",
    "spark.databricks.job.id": "7",
    "user": "ann@example.com",
    "spark.databricks.clusterUsageTags.clusterAllTags": '[{"key":"a"}]',
    "mountPoints": [{"mountPoint": "/mnt/x", "source": "abfss://c@a.dfs.core.windows.net"}] * 2,
    "some.token": "secret",
}


def test_environment_is_kept_without_secrets_and_mounts():
    found = of_run("environment-properties", facet(**{"environment-properties": INNER}), report=True)
    properties = found.properties(DPI)
    assert properties["environment-properties.orgId"] == "42"
    assert properties["environment-properties.spark.databricks.job.id"] == "7"
    assert properties["environment-properties.mountPoints.count"] == "2"
    assert properties["environment-properties.some.token"] == "[REDACTED]"
    assert not any("abfss" in value for value in properties.values())
    path = "$.run.facets.environment-properties.environment-properties.mountPoints[0].source"
    assert found.outcomes()[path] == ("dropped", "too-large")


def test_user_is_the_user_of_the_run():
    found = of_run("environment-properties", facet(**{"environment-properties": INNER}))
    created = found.one(DPI, "dataProcessInstanceProperties")["created"]
    assert created["actor"] == "urn:li:corpuser:ann@example.com"
    assert found.properties(DPI)["user"] == "ann@example.com"


@pytest.mark.parametrize(
    "body", [facet(), facet(**{"environment-properties": {}}), facet(**{"environment-properties": 7})]
)
def test_empty_facet_has_no_effect(body):
    found = of_run("environment-properties", body)
    assert found.one(DPI, "dataProcessInstanceProperties")["created"]["actor"] == "urn:li:corpuser:datahub"


def test_leaves_outside_the_inner_object_are_read_too():
    assert of_run("environment-properties", facet(orgId="1")).properties(DPI)["environment-properties.orgId"] == "1"


def test_strict_redaction_keeps_names_and_the_user_only():
    key = "environment-properties"
    found = of_run(key, facet(**{key: INNER}, more="m"), redaction="strict", report=True)
    properties = found.properties(DPI)
    assert properties[f"{key}.orgId"] == properties[f"{key}.spark.databricks.job.id"] == "[REDACTED]"
    assert properties["user"] == properties[f"{key}.user"] == "ann@example.com"
    assert properties[f"{key}.more"] == "m"
    assert properties[f"{key}.mountPoints.count"] == "2"
    output = found.outcomes()
    assert output[f"$.run.facets.{key}.{key}.orgId"] == ("dropped", "policy:redaction")
    assert output[f"$.run.facets.{key}.{key}.user"][0] == "mapped"


def test_outer_fields_are_kept_unless_the_inner_object_has_them():
    key = "environment-properties"
    found = of_run(key, facet(**{key: {"orgId": "42"}}, orgId="1", more="m"), report=True)
    assert found.properties(DPI)[f"{key}.orgId"] == "42"
    assert found.properties(DPI)[f"{key}.more"] == "m"
    assert found.outcomes()[f"$.run.facets.{key}.orgId"] == ("dropped", f"duplicate-of:{key}.orgId")


def test_mount_points_that_are_no_list_are_kept():
    body = facet(**{"environment-properties": {"mountPoints": "none"}})
    assert of_run("environment-properties", body).properties(DPI)["environment-properties.mountPoints"] == "none"
