"""debezium_config (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, facet, of_run
from support.sample_events import event

from dh_bridge import translate

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


def test_connector_config_is_reduced_to_an_allowlist():
    found = of_run("debezium_config", facet(configs=LINES, more={"a": 1}), report=True)
    properties = found.properties(DPI)
    assert properties["debezium_config"] == KEPT
    assert properties["debezium_config.count"] == "10"
    assert properties["debezium_config.more.a"] == "1"
    assert not any(word in " ".join(properties.values()) for word in ("db.internal", "ann", "****"))
    stated = found.outcomes()
    target = "dataProcessInstanceProperties.customProperties[openlineage.debezium_config]"
    assert stated["$.run.facets.debezium_config.configs[0]"] == ("property", target)
    assert stated["$.run.facets.debezium_config.configs[6]"] == ("dropped", "policy:debezium_config")


def test_empty_fields_are_dropped():
    found = of_run("debezium_config", facet(configs=["tasks.max=1"], additionalProperties={}, more=[]), report=True)
    assert not any(name.endswith(("additionalProperties", "more")) for name in found.properties(DPI))
    leaf = "$.run.facets.debezium_config.additionalProperties"
    assert found.outcomes()[leaf] == ("dropped", "empty")


def test_task_that_is_restarted_shows_so_at_once():
    stated = [("START", 0), ("FAIL", 10), ("FAIL", 12), ("RUNNING", 13)]
    streams = {"jobType": facet(processingType="STREAMING", integration="DEBEZIUM", jobType="TASK")}
    shown = {}
    for config in ({}, {"debezium_config": facet(configs=["tasks.max=1"])}):
        for output in (stated, stated[::-1]):
            found = translate(
                [
                    event(kind, f"2026-11-20T10:00:{second:02}Z", job="shop.0", job_facets=streams, run_facets=config)
                    for kind, second in output
                ]
            )
            runs = [one.value for one in found.proposals if one.aspect_name == "dataProcessInstanceRunEvent"]
            last = max(runs, key=lambda one: one["timestampMillis"])
            shown.setdefault(bool(config), []).append((last["status"], last["attempt"]))
    assert shown == {False: [("COMPLETE", 1)] * 2, True: [("STARTED", 2)] * 2}


def test_early_releases_wrote_a_map():
    found = of_run("debezium_config", facet(configs={"tasks.max": 1, "database.hostname": "db"}), report=True)
    assert found.properties(DPI)["debezium_config"] == '{"tasks.max":1}'
    assert found.properties(DPI)["debezium_config.count"] == "2"
    leaf = '$.run.facets.debezium_config.configs["database.hostname"]'
    assert found.outcomes()[leaf] == ("dropped", "policy:debezium_config")


@pytest.mark.parametrize(
    ("configs", "count"),
    [("name=x", None), (7, None), (None, None), ([], None), ([7, None, {"a": 1}], "3"), ({"name": {"a": 1}}, "1")],
)
def test_other_shapes_give_nothing_away(configs, count):
    properties = of_run("debezium_config", facet(configs=configs)).properties(DPI)
    assert "debezium_config" not in properties
    assert properties.get("debezium_config.count") == count


@pytest.mark.parametrize(
    "configs", [["tasks.max=1", "name=", "database.user=ann"], {"tasks.max": "1", "name": "", "database.user": "ann"}]
)
def test_strict_redaction_keeps_config_names_only(configs):
    found = of_run("debezium_config", facet(configs=configs), redaction="strict", report=True)
    assert found.properties(DPI)["debezium_config"] == '{"name":"","tasks.max":"[REDACTED]"}'
    reasons = sorted(
        reason for path, (_, reason) in found.outcomes().items() if ".configs" in path and "policy" in reason
    )
    assert reasons == ["policy:debezium_config", "policy:redaction"]
