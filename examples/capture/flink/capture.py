"""Flink SQL under OpenLineage's listener, on a session cluster and a real Kafka: jobs that end, fail and are cancelled.

PyPI brings Flink itself (pyflink), Maven Central its connectors, the listener and Kafka, by the tests' own `realparts.jars`
(into `.jars/` of the checkout; needs `mvn`). All JVMs listen on loopback, Kafka on port 9092.
"""

from __future__ import annotations

import csv
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyflink
import shop

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))

from realparts.jars import KAFKA, Jars, fetched
from realparts.java import FRUGAL, java

if TYPE_CHECKING:
    from collections.abc import Iterator

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
# The places of the other producers; Java finds them all on this machine. Nobody serves the warehouse: that job fails.
HOSTS = ("localhost", socket.gethostname(), "kafka.shop.example", "warehouse.shop.example")

KAFKA_SETTINGS = f"""
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
advertised.listeners=PLAINTEXT://kafka.shop.example:9092
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={HOME}/kafka
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
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
    broker = ["-cp", f"{fetched(KAFKA)}/*"]
    settings = str(HOME / "server.properties")
    cluster_id = "MkU3OEVBNTcwNTJENDM2Qk"
    subprocess.run(
        [*jvm(), *broker, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", settings],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    with ExitStack() as running:
        running.enter_context(program("kafka", [*jvm(), *broker, "kafka.Kafka", settings]))
        running.enter_context(program("jobmanager", flink("StandaloneSessionClusterEntrypoint")))
        memory = [part for key, value in MEMORY.items() for part in ("-D", f"{key}={value}")]
        running.enter_context(program("taskmanager", [*flink("TaskManagerRunner"), *memory]))
        for port in (9092, rest):
            wait_for(port)
        submit(events)


def lay_out(events: Path) -> int:
    """Write the settings and the file of orders; return the port of Flink's REST API."""
    shutil.rmtree(HOME, ignore_errors=True)
    (HOME / "conf").mkdir(parents=True)
    (HOME / "orders").mkdir()
    (HOME / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in HOSTS), encoding="utf-8")
    (HOME / "server.properties").write_text(KAFKA_SETTINGS, encoding="utf-8")
    rpc, rest = free_port(), free_port()
    (HOME / "conf" / "config.yaml").write_text(
        FLINK_SETTINGS.format(rpc=rpc, rest=rest, events=events, namespace=shop.NAMESPACE), encoding="utf-8"
    )
    with (HOME / "orders" / "orders.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(shop.orders())
    return rest


def jvm() -> list[str]:
    """Command of a small Java that finds the shop's places here."""
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
    quiet = ["-Dlog4j2.level=WARN", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    return [java(), *FRUGAL, "-Xmx512m", *opened, *quiet, f"-Djdk.net.hosts.file={HOME}/hosts"]


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


@contextmanager
def program(name: str, command: list[str]) -> Iterator[None]:
    """Run a program beside; what it says goes into a file of its name."""
    with (HOME / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=HOME)
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


def wait_for(port: int) -> None:
    """Return when somebody listens on a port of this machine."""
    for _ in range(120):
        with socket.socket() as door:
            if door.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    sys.exit(f"nobody listens on port {port}: see {HOME}/*.log")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
