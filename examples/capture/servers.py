"""What the producers of the shop run on, started beside a capture and ended with it; all of it on this machine.

Java comes from the system or PyPI, Kafka from Maven Central, by the tests' own `realparts` (into `.jars/` of the checkout; needs
`mvn`). Kafka listens on port 9092, which stands in the events.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from realparts.jars import KAFKA, fetched
from realparts.java import FRUGAL, java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The places of the producers: Java finds them all on this machine.
HOSTS = ("localhost", socket.gethostname(), "kafka.shop.example", "app-db.shop.example", "warehouse.shop.example")
BROKER = 9092

KAFKA_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:9093
advertised.listeners=PLAINTEXT://kafka.shop.example:{port}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/kafka
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"


def jvm(folder: Path) -> list[str]:
    """Command of a small Java that finds the shop's places here."""
    hosts = folder / "hosts"
    hosts.write_text("".join(f"127.0.0.1 {name}\n" for name in HOSTS), encoding="utf-8")
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return [java(), *FRUGAL, "-Xmx512m", quiet, f"-Djdk.net.hosts.file={hosts}"]


@contextmanager
def kafka(folder: Path) -> Iterator[None]:
    """Run a broker that keeps what it has in a folder."""
    settings = folder / "server.properties"
    settings.write_text(KAFKA_SETTINGS.format(port=BROKER, folder=folder), encoding="utf-8")
    command = [*jvm(folder), "-cp", f"{fetched(KAFKA)}/*"]
    subprocess.run(
        [*command, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(settings)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    with program("kafka", [*command, "kafka.Kafka", str(settings)], folder):
        wait_for("Kafka", lambda: listens(BROKER), folder)
        yield


@contextmanager
def program(name: str, command: list[str], folder: Path) -> Iterator[None]:
    """Run a program beside; what it says goes into a file of its name."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def wait_for(what: str, there: Callable[[], object], folder: Path) -> None:
    """Return when it is there."""
    for _ in range(240):
        try:
            if there():
                return
        except OSError:
            pass
        time.sleep(0.5)
    sys.exit(f"no {what}: see {folder}/*.log")


@contextmanager
def receiver(kept: Callable[[bytes], bytes], file: Path) -> Iterator[int]:
    """Keep what is sent to a port of this machine, an event a line, as ``kept`` returns it; yield the port."""

    class Kept(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = self.rfile.read(int(self.headers["Content-Length"]))
            with file.open("ab") as lines:
                lines.write(kept(event) + b"\n")
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Kept) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def listens(port: int) -> bool:
    """Return whether somebody listens on a port of this machine."""
    with socket.socket() as door:
        return door.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])
