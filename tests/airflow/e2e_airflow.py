"""A real Airflow, 3 and then 2.10, calls our callbacks, and the embedded catalogue holds what came of it (``make e2e``).

Its scheduler (and in 3 its server and its DAG processor) runs both DAGs of examples/airflow: tasks that succeed, fail, are tried
again, are mapped and skip themselves. Then the same DAGs run for the same day under Airflow's OpenLineage provider: the callbacks
keep silent, the provider's events give the same flows, jobs and runs, and its transport writes what `emit` makes of them. At last DataHub is down, and no task notices.
"""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.real_airflow import ROOT, Airflow2, Airflow3

from dh_bridge import Bridge
from dh_bridge.airflow.run_ids import dag_run_id, task_run_id
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.errors import SinkError

pytestmark = pytest.mark.slow

VERSIONS = {"3": (Airflow3, ROOT / ".venv-airflow"), "2": (Airflow2, ROOT / ".venv-airflow2")}
DAY = datetime(2026, 1, 2, tzinfo=timezone.utc)
NAMESPACE = "shop-airflow"
FLOW = f"urn:li:dataFlow:(airflow,%s,{NAMESPACE})"
TOOLS = {f"urn:li:dataProcessInstance:01941f29-7c00-7000-8000-00000000000{number}" for number in (1, 2)}
# run -> what is sent for it
RUNS = {
    ("shop_nightly",): [("STARTED", 1, None), ("COMPLETE", 1, "SUCCESS")],
    ("shop_nightly", "extract"): [("STARTED", 1, None), ("COMPLETE", 1, "SUCCESS")],
    ("shop_nightly", "load", 1): [("STARTED", 1, None), ("COMPLETE", 1, "UP_FOR_RETRY")],
    ("shop_nightly", "load", 2): [("STARTED", 2, None), ("COMPLETE", 2, "SUCCESS")],
    ("shop_nightly", "refresh", 1, 0): [("STARTED", 1, None), ("COMPLETE", 1, "SUCCESS")],
    ("shop_nightly", "refresh", 1, 1): [("STARTED", 1, None), ("COMPLETE", 1, "SUCCESS")],
    ("shop_nightly", "report"): [("STARTED", 1, None), ("COMPLETE", 1, "SUCCESS")],
    ("shop_nightly", "emit"): [("STARTED", 1, None), ("COMPLETE", 1, "SUCCESS")],
    ("shop_audit",): [("STARTED", 1, None), ("COMPLETE", 1, "FAILURE")],
    ("shop_audit", "check"): [("STARTED", 1, None), ("COMPLETE", 1, "FAILURE")],
    ("shop_audit", "publish"): [("STARTED", 1, None), ("COMPLETE", 1, "SKIPPED")],
}
TASKS = [run for run in RUNS if len(run) > 1]


@pytest.fixture(scope="session", params=VERSIONS, ids=lambda number: f"airflow{number}")
def at_home(request, tmp_path_factory):
    """Return what gives an Airflow with an empty database, at home in a folder that is not there yet."""
    kind, venv = VERSIONS[request.param]
    if not (venv / "bin" / "airflow").exists():
        pytest.skip(f"{venv.name} has no Airflow: {request.param} needs an older Python")
    empty = tmp_path_factory.mktemp(f"airflow{request.param}") / "empty"
    kind(venv, empty).run("airflow", "db", "migrate", name="migrate")

    def settled(home):
        shutil.copytree(empty, home)
        return kind(venv, home)

    return settled


@pytest.fixture
def airflow(at_home, tmp_path):
    found = at_home(tmp_path / "home")
    yield found
    found.stop()


@pytest.fixture(scope="session")
def scheduled(at_home, tmp_path_factory):
    """Let the scheduler run both DAGs; return the catalogue, Airflow's states of the tasks, and the logs."""
    home = tmp_path_factory.mktemp("scheduled") / "home"
    airflow = at_home(home)
    try:
        airflow.start(DH_BRIDGE_AIRFLOW__TO=f"catalog:{home / 'shop.db'}", DH_BRIDGE_AIRFLOW__TIMEOUT="9.9")
        airflow.trigger(DAY, "shop_nightly", "shop_audit")
        dag_runs = [run_urn("shop_nightly"), run_urn("shop_audit")]
        airflow.until(lambda: all(ended(home / "shop.db", urn) for urn in dag_runs), 600, "both DAG runs are sent")
        return home / "shop.db", airflow.states(), airflow.logs()
    finally:
        airflow.stop()


@pytest.fixture(scope="session")
def catalog(scheduled):
    with Catalog(scheduled[0], readonly=True) as found:
        yield found


def run_urn(dag, task=None, try_number=1, map_index=-1):
    if task is None:
        found = dag_run_id(NAMESPACE, dag, DAY, 0)
    else:
        found = task_run_id(NAMESPACE, dag, task, DAY, try_number=try_number, map_index=map_index)
    return f"urn:li:dataProcessInstance:{found}"


def ended(file, urn):
    if not Path(file).exists():
        return False
    try:
        with Catalog(file, readonly=True) as catalog:
            return any(one["status"] == "COMPLETE" for one in catalog.timeseries(urn, "dataProcessInstanceRunEvent"))
    except SinkError:  # it is being made
        return False


def history(catalog, urn):
    points = catalog.timeseries(urn, "dataProcessInstanceRunEvent")
    return [(one["status"], one["attempt"], one.get("result", {}).get("type")) for one in points]


def job_urn(dag, task):
    return f"urn:li:dataJob:({FLOW % dag},{dag}.{task})"


def aspect(catalog, urn, name):
    return catalog.aspects(urn)[name]


def edges(catalog, dag, task, field):
    found = catalog.aspects(job_urn(dag, task)).get("dataJobInputOutput", {}).get(field, [])
    return sorted(edge["destinationUrn"] for edge in found)


def test_airflow_itself_saw_what_the_dags_do(scheduled):
    _, states, _ = scheduled
    assert states == {
        ("shop_nightly", "extract", -1): "success", ("shop_nightly", "load", -1): "success",
        ("shop_nightly", "refresh", 0): "success", ("shop_nightly", "refresh", 1): "success",
        ("shop_nightly", "report", -1): "success", ("shop_nightly", "emit", -1): "success",
        ("shop_audit", "check", -1): "failed", ("shop_audit", "publish", -1): "skipped",
    }  # fmt: skip


@pytest.mark.parametrize("run", RUNS, ids=lambda run: ".".join(map(str, run)))
def test_every_try_and_every_dag_run_has_its_history(run, catalog):
    assert history(catalog, run_urn(*run)) == RUNS[run]


def test_catalogue_has_no_unexpected_runs(catalog):
    assert set(catalog.entities("dataProcessInstance")) == {run_urn(*run) for run in RUNS} | TOOLS


@pytest.mark.parametrize("run", TASKS, ids=lambda run: ".".join(map(str, run)))
def test_task_belongs_to_its_dag_run_and_its_job(run, catalog):
    found = aspect(catalog, run_urn(*run), "dataProcessInstanceRelationships")
    assert (found["parentInstance"], found["parentTemplate"]) == (run_urn(run[0]), job_urn(*run[:2]))


def test_mapped_task_is_named_by_its_index(catalog):
    for index in (0, 1):
        found = aspect(catalog, run_urn("shop_nightly", "refresh", 1, index), "dataProcessInstanceProperties")
        assert found["name"] == f"shop_nightly_1[{index}] #1"
        assert found["customProperties"]["openlineage.airflow.taskInstance.map_index"] == str(index)


ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.staging.orders,PROD)"
RAW = "urn:li:dataset:(urn:li:dataPlatform:s3,shop-lake/raw/orders,PROD)"
REPORT = "urn:li:dataset:(urn:li:dataPlatform:file,/tmp/shop/report.csv,PROD)"


@pytest.mark.parametrize(
    ("dag", "task", "inputs", "outputs", "after"),
    [
        ("shop_nightly", "extract", [], [RAW], []),
        ("shop_nightly", "load", [RAW], [ORDERS], ["extract"]),
        ("shop_nightly", "refresh", [ORDERS], [], ["load"]),
        ("shop_nightly", "report", [ORDERS], [REPORT], ["load"]),
        ("shop_nightly", "emit", [], [], ["report"]),
        ("shop_audit", "check", [ORDERS], [], []),
        ("shop_audit", "publish", [], [], []),
    ],
)
def test_inlets_outlets_and_upstream_tasks_are_lineage(dag, task, inputs, outputs, after, catalog):
    assert edges(catalog, dag, task, "inputDatasetEdges") == inputs
    assert edges(catalog, dag, task, "outputDatasetEdges") == outputs
    assert edges(catalog, dag, task, "inputDatajobEdges") == [job_urn(dag, one) for one in after]


def test_error_message_has_its_stack_trace(catalog):
    for run, error in (
        (("shop_audit", "check"), "ValueError: 3 orders have no customer"),
        (("shop_nightly", "load", 1), "ConnectionError: the warehouse restarts"),
    ):
        stated = aspect(catalog, run_urn(*run), "dataProcessInstanceProperties")["customProperties"]
        assert stated["openlineage.errorMessage.message"] == error.partition(": ")[2]
        assert "shop.py" in stated["openlineage.errorMessage.stackTrace"]
        assert stated["openlineage.errorMessage.stackTrace"].endswith(f"{error}\n")


def test_owners_tags_and_documentation_are_written(catalog):
    job = catalog.aspects(job_urn("shop_nightly", "load"))
    flow = catalog.aspects(FLOW % "shop_nightly")
    for found in (job, flow):
        assert {one["owner"] for one in found["ownership"]["owners"]} == {
            "urn:li:corpuser:alice",
            "urn:li:corpuser:data-team",
        }
        assert {one["tag"] for one in found["globalTags"]["tags"]} == {"urn:li:tag:shop", "urn:li:tag:tier:1"}
    assert flow["dataFlowInfo"]["description"] == "Orders into the warehouse"
    assert job["dataJobInfo"]["description"].startswith("Load the orders")


def test_command_delivers_in_a_task_and_in_a_callback(catalog):
    in_task, in_callback = sorted(TOOLS)
    assert history(catalog, in_task) == [("COMPLETE", 1, "SUCCESS")]
    assert history(catalog, in_callback) == [("COMPLETE", 1, "FAILURE")]


def entities(catalog_or_proposals):
    return {
        urn
        for urn in catalog_or_proposals
        if urn.startswith(("urn:li:dataFlow:", "urn:li:dataJob:", "urn:li:dataProcess"))
    }


def test_callbacks_beside_the_provider_send_nothing(airflow, catalog):
    output, sent = airflow.home / "provider.ndjson", airflow.home / "sent.db"
    transports = {
        "file": {"type": "file", "log_file_path": str(output), "append": True},
        "datahub": {"type": "dh_bridge.transport.DataHubTransport", "to": f"catalog:{sent}"},
    }
    text = airflow.test(
        DAY, "shop_nightly", "shop_audit", name="provider", DH_BRIDGE_AIRFLOW__TO=f"catalog:{airflow.home / 'shop.db'}",
        AIRFLOW__OPENLINEAGE__TRANSPORT=json.dumps({"type": "composite", "transports": transports}),
    )  # fmt: skip
    assert "emit_on_success sends nothing: Airflow's OpenLineage provider is enabled and reports every run" in text
    ours = {urn for urn in entities(catalog.entities()) if urn not in TOOLS and ",tools)" not in urn}
    theirs = entities(
        one.entity_urn for one in Bridge().translate(output.read_text(encoding="utf-8").splitlines()).proposals
    )
    assert theirs == ours
    emitted = airflow.home / "emitted.db"
    done = CliRunner().invoke(commands, ["emit", str(output), "--to", f"catalog:{emitted}"])
    assert done.exit_code == 0, done.stderr
    with Catalog(sent, readonly=True) as transported, Catalog(emitted, readonly=True) as read:
        assert list(dump_catalog(transported)) == list(dump_catalog(read))


def test_outage_of_datahub_fails_no_task(airflow):
    text = airflow.test(
        DAY, "shop_nightly", name="outage", DH_BRIDGE_AIRFLOW__TO="rest:http://127.0.0.1:9",
        DH_BRIDGE_AIRFLOW__TIMEOUT="0.5", DH_BRIDGE_REST__RETRIES="0",
    )  # fmt: skip
    assert "shop_nightly ended as success" in text
    assert "shop_nightly.load (try 2): not sent to DataHub" in text
