"""``emit --to kafka:BROKERS`` on a real broker, as docs/delivery.md prints it; its settings, its exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.kafka_proposals import read

ROOT = Path(__file__).resolve().parents[2]
EVENTS = ROOT / "examples" / "events"
TOPIC = "MetadataChangeProposal_v1"


@pytest.fixture
def topic(kafka):
    return kafka.topic("proposals")


@pytest.fixture(autouse=True)
def _no_server_of_anybody(monkeypatch):
    for name in ("DATAHUB_GMS_URL", "DATAHUB_GMS_HOST", "KAFKA_SCHEMAREGISTRY_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.kafka
def test_all_that_is_translated_arrives_with_its_run(run, kafka, registry, topic):
    result = run(
        *("emit", str(EVENTS), "--to", f"kafka:{kafka.bootstrap}", "--run-id", "mine"),
        *("--set", f"kafka.topic={topic}", "--set", f"kafka.registry.url={registry.url}"),
    )
    assert result.exit_code == 0, result.stderr
    messages = kafka.messages(topic)
    output = run("translate", str(EVENTS)).stdout.splitlines()
    assert [(mcp.entityUrn, mcp.aspectName, mcp.systemMetadata.runId) for mcp in read(messages, registry.url)] == [
        (line["entityUrn"], line["aspectName"], "mine") for line in map(json.loads, output)
    ]
    assert result.stderr.splitlines()[-1].split() == ["delivered", f"{len(messages):,}"]


@pytest.mark.kafka
def test_lines_of_the_page_run_as_printed(kafka, registry, tmp_path):
    page = (ROOT / "docs" / "delivery.md").read_text(encoding="utf-8")
    block = re.search(r"^## Kafka\n.+?```console\n(.+?)```", page, re.DOTALL | re.MULTILINE)[1]
    lines = [line.removeprefix("$ ") for line in block.splitlines()]
    assert len(lines) == 2
    if TOPIC not in kafka.admin().list_topics(timeout=30).topics:
        kafka.make(TOPIC)
    present = len(kafka.messages(TOPIC))
    shutil.copy(next(EVENTS.rglob("*.ndjson")), tmp_path / "my_events.ndjson")
    script = "\n".join(lines)
    ours = script.replace("localhost:9092", kafka.bootstrap).replace("http://localhost:8081 ", f"{registry.url} ")
    assert ours.count("127.0.0.1") == 2
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", ours],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert "delivered" in done.stderr
    assert len(kafka.messages(TOPIC)) > present


@pytest.mark.kafka
def test_queued_proposals_are_sent_when_the_registry_is_back(run, kafka, registry, topic):
    def emitted(url):
        return run(
            *("emit", str(EVENTS), "--to", f"kafka:{kafka.bootstrap}", "--ledger", "ledger.db"),
            *("--set", f"kafka.topic={topic}", "--set", f"kafka.registry.url={url}"),
        )

    waiting = emitted("http://127.0.0.1:1")
    assert waiting.exit_code == 3
    assert kafka.messages(topic) == []
    assert emitted(registry.url).exit_code == 0
    number = int(waiting.stderr.splitlines()[-1].split()[1].replace(",", ""))
    found = {(mcp.entityUrn, mcp.aspectName, mcp.changeType) for mcp in read(kafka.messages(topic), registry.url)}
    assert waiting.stderr.splitlines()[-1].split()[0] == "waiting"
    assert len(kafka.messages(topic)) >= number > 500
    assert len(found) > 500
    assert run("queue", "list", "ledger.db", "--json").stdout == ""


@pytest.mark.kafka
def test_example_of_queue_import_runs_as_printed(run, kafka, tmp_path):
    example = re.search(r"^ +(dh-bridge queue import kafka.+)$", run("queue", "import", "--help").stdout, re.MULTILINE)[
        1
    ]
    topic = "FailedMetadataChangeProposal_v1"
    if topic not in kafka.admin().list_topics(timeout=30).topics:
        kafka.make(topic)
    script = example.replace("localhost:9092", kafka.bootstrap)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = os.environ | {"PATH": path}
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, capture_output=True, text=True, check=False, env=environ
    )
    assert (done.returncode, done.stderr) == (0, "0 refused\n")
    assert (tmp_path / "refused.ndjson").read_bytes() == b""


def test_brokers_that_do_not_answer_are_exit_code_3(run):
    result = run(
        *("emit", str(EVENTS), "--to", "kafka:127.0.0.1:1", "--set", "kafka.timeout=0.1"),
        *("--set", "kafka.registry.url=http://127.0.0.1:1"),
    )
    assert result.exit_code == 3
    assert "schema registry http://127.0.0.1:1: connection failed (set kafka.registry.url or" in result.stderr


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("kafka:", "no Kafka broker is set"),
        ("kafka:localhost", "host:port"),
        ("kafka:http://localhost:9092", "host:port"),
        ("kafka:a:9092,,b:9092", "host:port"),
    ],
)
def test_target_that_names_no_broker_is_exit_code_2(run, target, reason):
    result = run("emit", str(EVENTS), "--to", target)
    assert result.exit_code == 2
    assert reason in result.stderr


def test_format_is_refused(run):
    result = run("emit", str(EVENTS), "--to", "kafka:localhost:9092", "--format", "json")
    assert (result.exit_code, "not supported by kafka:" in result.stderr) == (2, True)


SECRET = "s3cr3t-of-ann"  # noqa: S105 - of nobody
AREA = {
    "kafka": {
        "bootstrap": "b:9092",
        "registry": {
            "url": "http://r:8081",
            "config": {"basic.auth.user.info": f"ann:{SECRET}", "bearer.auth.token": SECRET},
        },
        "producer": {
            "security.protocol": "SASL_SSL",
            "sasl.username": "ann",
            "sasl.password": SECRET,
            "ssl.key.password": SECRET,
            "ssl.key.pem": SECRET,
            "ssl.keystore.password": SECRET,
            "sasl.oauthbearer.client.secret": SECRET,
            "sasl.oauthbearer.config": SECRET,
        },
    }
}  # fmt: skip


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_settings_are_shown_without_their_secrets(run, tmp_path, more):
    (tmp_path / "dh_bridge.yml").write_text(yaml.safe_dump(AREA))
    result = run("config", "show", "--given", *more)
    assert result.exit_code == 0
    assert SECRET not in result.stdout
    assert "SASL_SSL" in result.stdout
    assert "http://r:8081" in result.stdout


def test_unknown_registry_option_lists_the_known_ones(run):
    result = run("config", "check", "--set", "kafka.registry.config={user: ann}")
    assert result.exit_code == 2
    assert "`kafka.registry.config` has no option user (known are basic.auth.user.info, " in result.stderr


def test_misspelt_setting_is_named(run):
    result = run("config", "check", "--set", "kafka.registery.url=http://r:8081")
    assert result.exit_code == 2
    assert "kafka.registery" in result.stderr
