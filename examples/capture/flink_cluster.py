"""A session cluster of the Flink that pyflink brings, for captures: one JobManager, one TaskManager; all JVMs listen on loopback."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyflink
import servers
import shop

if TYPE_CHECKING:
    from collections.abc import Iterator

FLINK = Path(pyflink.__file__).parent
HOME = shop.HOME / "flink"
ORDERS = HOME / "orders"
SETTINGS = """
jobmanager.rpc: {{address: localhost, port: {rpc}}}
rest: {{address: localhost, bind-address: localhost, port: {rest}, bind-port: {rest}}}
taskmanager: {{host: localhost, bind-host: localhost, numberOfTaskSlots: 2}}
parallelism.default: 1
execution.target: remote
openlineage.transport: {{type: file, location: {events}}}
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


class Cluster(NamedTuple):
    """A cluster that runs, and the jars that stand beside Flink's own."""

    jars: Path

    def submit(self, job: Path, *arguments: object) -> None:
        """Let `flink run` submit a program."""
        command = [*_jvm(), "-cp", f"{FLINK}/lib/*:{self.jars}/*:{FLINK}/opt/*"]
        command += ["org.apache.flink.client.cli.CliFrontend", "run"]
        command += ["-pyclientexec", sys.executable, "-pyexec", sys.executable, "-py", str(job), *map(str, arguments)]
        folders = {"FLINK_CONF_DIR": str(HOME / "conf"), "FLINK_OPT_DIR": str(FLINK / "opt")}
        subprocess.run(command, check=True, cwd=HOME, env=os.environ | folders)


@contextmanager
def cluster(jars: Path, events: Path, settings: str) -> Iterator[Cluster]:
    """Run a Kafka and a cluster with more ``settings``; the shop's orders lie in a file for it."""
    rest = _lay_out(events, settings)
    memory = [part for key, value in MEMORY.items() for part in ("-D", f"{key}={value}")]
    with ExitStack() as running:
        running.enter_context(servers.kafka(HOME))
        for name, entry, more in (
            ("jobmanager", "entrypoint.StandaloneSessionClusterEntrypoint", []),
            ("taskmanager", "taskexecutor.TaskManagerRunner", memory),
        ):
            command = [*_jvm(), "-cp", f"{FLINK}/lib/*:{jars}/*", f"org.apache.flink.runtime.{entry}"]
            command += ["--configDir", str(HOME / "conf"), *more]
            running.enter_context(servers.program(name, command, HOME))
        servers.wait_for("JobManager", lambda: servers.listens(rest), HOME)
        yield Cluster(jars)


def told(events: Path, kinds: tuple[str, ...]) -> int:
    """Count the events of some types that were sent."""
    lines = events.read_text(encoding="utf-8").splitlines() if events.exists() else []
    return sum(json.loads(line)["eventType"] in kinds for line in lines)


def await_events(events: Path, kinds: tuple[str, ...], number: int) -> None:
    """Wait until so many events of these types were sent: listeners send in their own time."""
    for _ in range(240):
        if told(events, kinds) >= number:
            return
        time.sleep(0.25)
    sys.exit(f"fewer than {number} events of {kinds} in a minute")


def _lay_out(events: Path, settings: str) -> int:
    """Write the settings and the file of orders; return the port of Flink's REST API."""
    shutil.rmtree(HOME, ignore_errors=True)
    (HOME / "conf").mkdir(parents=True)
    ORDERS.mkdir()
    rpc, rest = servers.free_port(), servers.free_port()
    text = SETTINGS.format(rpc=rpc, rest=rest, events=events) + settings
    (HOME / "conf" / "config.yaml").write_text(text, encoding="utf-8")
    with (ORDERS / "orders.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(shop.orders())
    return rest


def _jvm() -> list[str]:
    """Command of a Java for Flink."""
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
    return [*servers.jvm(HOME), *opened, "-Dlog4j2.level=WARN"]
