"""Flink SQL under OpenLineage's listener, on a session cluster and a real Kafka: jobs that end, fail and are cancelled.

PyPI brings Flink itself (pyflink), Maven Central its connectors and the listener. All JVMs listen on loopback.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pyflink
import servers
import shop
from realparts.jars import Jars, fetched

CONNECTORS = Jars(
    "flink-2.2",
    (
        "io.openlineage:openlineage-flink:1.53.0",
        "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2",
        "org.apache.flink:flink-connector-jdbc-core:4.0.0-2.0",
        "org.apache.flink:flink-connector-jdbc-postgres:4.0.0-2.0",
        "org.postgresql:postgresql:42.7.4",
    ),
    alone=True,  # Flink's own jars are pyflink's
)
FLINK = Path(pyflink.__file__).parent
HOME = shop.HOME / "flink"
# The client tells the START, the JobManager all that follows: so it is only where detached jobs are tracked.
FLINK_SETTINGS = """
jobmanager.rpc: {{address: localhost, port: {rpc}}}
rest: {{address: localhost, bind-address: localhost, port: {rest}, bind-port: {rest}}}
taskmanager: {{host: localhost, bind-host: localhost, numberOfTaskSlots: 2}}
parallelism.default: 1
execution.target: remote
execution.job-status-changed-listeners: io.openlineage.flink.listener.OpenLineageJobStatusChangedListenerFactory
openlineage.transport: {{type: file, location: {events}}}
openlineage.job.namespace: {namespace}
openlineage.trackingIntervalInSeconds: 2
openlineage.flink.enableDetachedJobTracking: true
"""
# What Flink's shell scripts work out for a TaskManager, which does not start without.
MEMORY = {
    "taskmanager.cpu.cores": "2.0",
    "taskmanager.memory.framework.heap.size": "128mb",
    "taskmanager.memory.framework.off-heap.size": "128mb",
    "taskmanager.memory.task.heap.size": "256mb",
    "taskmanager.memory.task.off-heap.size": "0b",
    "taskmanager.memory.managed.size": "128mb",
    "taskmanager.memory.network.min": "64mb",
    "taskmanager.memory.network.max": "64mb",
    "taskmanager.memory.jvm-metaspace.size": "256mb",
    "taskmanager.memory.jvm-overhead.min": "64mb",
    "taskmanager.memory.jvm-overhead.max": "64mb",
}
OPENED = (
    "lang",
    "lang.reflect",
    "net",
    "io",
    "nio",
    "text",
    "time",
    "util",
    "util.concurrent",
    "util.concurrent.atomic",
)


def main(sent: Path) -> None:
    """Write `flink.ndjson`: what the client and the JobManager told of the jobs in jobs.py."""
    events = sent / "flink.ndjson"
    rest = lay_out(events)
    memory = [part for key, value in MEMORY.items() for part in ("-D", f"{key}={value}")]
    with ExitStack() as running:
        running.enter_context(servers.kafka(HOME))
        running.enter_context(servers.program("jobmanager", flink("StandaloneSessionClusterEntrypoint"), HOME))
        running.enter_context(servers.program("taskmanager", [*flink("TaskManagerRunner"), *memory], HOME))
        servers.wait_for("JobManager", lambda: servers.listens(rest), HOME)
        submit(events)  # nobody serves the warehouse: one of the jobs fails


def lay_out(events: Path) -> int:
    """Write the settings and the file of orders; return the port of Flink's REST API."""
    shutil.rmtree(HOME, ignore_errors=True)
    (HOME / "conf").mkdir(parents=True)
    (HOME / "orders").mkdir()
    rpc, rest = servers.free_port(), servers.free_port()
    (HOME / "conf" / "config.yaml").write_text(
        FLINK_SETTINGS.format(rpc=rpc, rest=rest, events=events, namespace=shop.NAMESPACE), encoding="utf-8"
    )
    with (HOME / "orders" / "orders.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(shop.orders())
    return rest


def jvm() -> list[str]:
    """Command of a Java for Flink."""
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
    return [*servers.jvm(HOME), *opened, "-Dlog4j2.level=WARN"]


def flink(entry: str) -> list[str]:
    """Command of a part of the cluster."""
    package = "taskexecutor" if entry == "TaskManagerRunner" else "entrypoint"
    jars = f"{FLINK}/lib/*:{fetched(CONNECTORS)}/*"
    return [*jvm(), "-cp", jars, f"org.apache.flink.runtime.{package}.{entry}", "--configDir", str(HOME / "conf")]


def submit(events: Path) -> None:
    """Let `flink run` submit jobs.py."""
    jars = f"{FLINK}/lib/*:{fetched(CONNECTORS)}/*:{FLINK}/opt/*"
    job = [str(Path(__file__).with_name("jobs.py")), str(HOME / "orders"), str(events)]
    command = [*jvm(), "-cp", jars, "org.apache.flink.client.cli.CliFrontend", "run"]
    command += ["-pyclientexec", sys.executable, "-pyexec", sys.executable, "-py", *job]
    folders = {"FLINK_CONF_DIR": str(HOME / "conf"), "FLINK_OPT_DIR": str(FLINK / "opt")}
    subprocess.run(command, check=True, cwd=HOME, env=os.environ | folders)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
