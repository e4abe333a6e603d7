"""debezium_config (run)."""

from __future__ import annotations

import pytest
from facet_cases import DPI, facet, of_run

LINES = [
    "connector.class=io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix = shop",
    "table.include.list=public.orders,public.items",
    "tasks.max=1",
    "snapshot.mode=initial",
    "name=postgresql://u:pw@db",
    "database.hostname=db.internal",
    "database.user=ann",
    "database.password=********",
    "no sign",
]
KEPT = (
    '{"connector.class":"io.debezium.connector.postgresql.PostgresConnector","name":"postgresql://u:***@db",'
    '"snapshot.mode":"initial","table.include.list":"public.orders,public.items","tasks.max":"1","topic.prefix":"shop"}'
)


def test_only_what_tells_the_connector_and_its_tables_is_kept():
    found = of_run("debezium_config", facet(configs=LINES, more={"a": 1}), report=True)
    kept = found.kept(DPI)
    assert kept["debezium_config"] == KEPT
    assert kept["debezium_config.count"] == "10"
    assert kept["debezium_config.more.a"] == "1"
    assert not any(word in " ".join(kept.values()) for word in ("db.internal", "ann", "****"))
    said = found.verdicts()
    target = "dataProcessInstanceProperties.customProperties[openlineage.debezium_config]"
    assert said["$.run.facets.debezium_config.configs[0]"] == ("kept", target)
    assert said["$.run.facets.debezium_config.configs[6]"] == ("withheld", "policy:debezium_config")


def test_early_releases_wrote_a_map():
    found = of_run("debezium_config", facet(configs={"tasks.max": 1, "database.hostname": "db"}), report=True)
    assert found.kept(DPI)["debezium_config"] == '{"tasks.max":1}'
    assert found.kept(DPI)["debezium_config.count"] == "2"
    leaf = '$.run.facets.debezium_config.configs["database.hostname"]'
    assert found.verdicts()[leaf] == ("withheld", "policy:debezium_config")


@pytest.mark.parametrize(
    ("configs", "count"),
    [("name=x", None), (7, None), (None, None), ([], None), ([7, None, {"a": 1}], "3"), ({"name": {"a": 1}}, "1")],
)
def test_other_shapes_give_nothing_away(configs, count):
    kept = of_run("debezium_config", facet(configs=configs)).kept(DPI)
    assert "debezium_config" not in kept
    assert kept.get("debezium_config.count") == count


@pytest.mark.parametrize(
    "configs", [["tasks.max=1", "name=", "database.user=ann"], {"tasks.max": "1", "name": "", "database.user": "ann"}]
)
def test_strict_redaction_keeps_names_only_and_tells(configs):
    found = of_run("debezium_config", facet(configs=configs), redaction="strict", report=True)
    assert found.kept(DPI)["debezium_config"] == '{"name":"","tasks.max":"[REDACTED]"}'
    reasons = sorted(
        reason for path, (_, reason) in found.verdicts().items() if ".configs" in path and "policy" in reason
    )
    assert reasons == ["policy:debezium_config", "policy:redaction"]
