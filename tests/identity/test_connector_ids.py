"""Rules alone can meet the ids that DataHub's own tools write (identity_vectors.yaml, datahub_tools)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dh_bridge.identity import Identity
from dh_bridge.settings.identity import IdentitySettings

DOCUMENT = yaml.safe_load(Path(__file__).with_name("identity_vectors.yaml").read_text(encoding="utf-8"))
TOOLS = {tool["case"]: tool["values"] for tool in DOCUMENT["datahub_tools"]}
OL = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration"
FIRST_DOT = r"(?P<f>[^.]+)(?:\.(?P<t>.+))?"

CASES = [
    (
        "airflow instance=None",
        "default",
        "my_dag.grp.load",
        f"{OL}/airflow",
        {"flow": "{f}", "job": "{t}", "cluster": "prod"},
    ),
    (
        "airflow instance=west",
        "default",
        "my_dag.grp.load",
        f"{OL}/airflow",
        {"flow": "{f}", "job": "{t}", "cluster": "prod", "instance": "west"},
    ),
    (
        "prefect instance=None",
        "x",
        "etl-flow.extract",
        f"{OL}/prefect",
        {"flow": "{f}", "job": "flows.{t}", "cluster": "PROD"},
    ),
    (
        "prefect instance=ws",
        "x",
        "etl-flow.extract",
        "https://github.com/PrefectHQ/prefect",
        {"flow": "{f}", "job": "flows.{t}", "cluster": "PROD", "instance": "ws"},
    ),
    (
        "dagster",
        "my_repo",
        "daily_job.load_op",
        f"{OL}/dagster",
        {"flow": "repo_mod/{f}", "job": "repo_mod/{t}", "cluster": "PROD"},
    ),
    ("flink source instance=None", "flink-jobs", "orders_enrich", f"{OL}/flink", {"cluster": "PROD"}),
    (
        "flink source instance=flink-eu",
        "flink-jobs",
        "orders_enrich",
        f"{OL}/flink",
        {"cluster": "PROD", "instance": "flink-eu"},
    ),
    ("fivetran", "fivetran://x", "calendar_elected", None, {"cluster": "PROD"}),
    (
        "nifi",
        "nifi://x",
        "803ebb92-017d-1000-2961-4bdaa27a3ba0.91d59f03-1c2b-3f3f-48bc-f89296a328bd",
        None,
        {"flow": "{f}", "job": "{t}", "cluster": "PROD"},
    ),
]


@pytest.mark.parametrize(("case", "namespace", "name", "producer", "rule"), CASES, ids=[case[0] for case in CASES])
def test_rule_meets_the_tool(case, namespace, name, producer, rule):
    identity = Identity(IdentitySettings(rules=[{"name": FIRST_DOT, **rule}]))
    job = identity.job(namespace, name, producer)
    expected = TOOLS[case]
    assert [job.flow_urn, job.job_urn] == expected[:2]
    written = [value for value in expected if value.startswith("urn:li:dataPlatformInstance:")]
    if written:
        assert [identity.platform_instance(job)] == written


def test_connector_meets_datahubs_kafka_connect_source():
    rules = [{"name": r"(?P<c>[^.]+)\.(?P<t>.+)", "flow": "{c}", "job": "{t}", "cluster": "PROD"}]
    job = Identity(IdentitySettings(rules=rules)).job("kafka-connect://x", "pg-connector.inventory.public.orders", None)
    assert [job.flow_urn, job.job_urn] == TOOLS["kafka-connect"][:2]
