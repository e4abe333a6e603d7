"""Debezium on Kafka Connect: a table of PostgreSQL into a topic, and from there into another database, by two connectors.

Maven Central brings Connect, the connectors and what tells of them, PyPI brings PostgreSQL. All listen on loopback, PostgreSQL on
port 5432, which stands in the events.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pgserver
import servers
import shop
from realparts.jars import Jars, fetched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONNECT = Jars(
    "connect",
    (
        "org.apache.kafka:connect-runtime:4.3.1",
        "org.apache.kafka:connect-json:4.3.1",
        "org.slf4j:slf4j-simple:1.7.36",
    ),
)
CONNECTORS = {
    name: Jars(
        f"debezium-{name}", (f"io.debezium:debezium-connector-{name}:3.5.0.Final",), archive=("tar.gz", "plugin")
    )
    for name in ("postgres", "jdbc")
}
OPENLINEAGE = Jars(
    "debezium-openlineage", ("io.debezium:debezium-openlineage-core:3.5.0.Final",), archive=("tar.gz", "libs")
)
PROGRAMS = Path(pgserver.__file__).parent / "pginstall" / "bin"
HOME = shop.HOME / "debezium"
DATA = HOME / "postgres"
REST = 8083

WORKER_SETTINGS = f"""
bootstrap.servers=kafka.shop.example:9092
listeners=http://127.0.0.1:{REST}
plugin.path={HOME}/plugins
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.storage.file.filename={HOME}/offsets
offset.flush.interval.ms=1000
"""
TOLD = {
    "openlineage.integration.enabled": "true",
    "openlineage.integration.config.file.path": f"{HOME}/openlineage.yml",
    "openlineage.integration.job.namespace": shop.NAMESPACE,
    "openlineage.integration.dataset.kafka.bootstrap.servers": "kafka.shop.example:9092",
}
# The topics are named as the transform of OpenLineage finds them: it comes last.
SOURCE = TOLD | {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "app-db.shop.example",
    "database.port": "5432",
    "database.user": "shop",
    "database.dbname": "app",
    "plugin.name": "pgoutput",
    "topic.prefix": "shop_cdc",
    "table.include.list": "public.orders",
    "retriable.restart.connector.wait.ms": "1000",
    "openlineage.integration.job.description": "Changes of the shop's orders",
    "transforms": "unwrap,route,openlineage",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": r"shop_cdc\.public\.(.*)",
    "transforms.route.replacement": "shop.$1",
    "transforms.openlineage.type": "io.debezium.transforms.openlineage.OpenLineage",
}
SINK = TOLD | {
    "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
    "connection.url": "jdbc:postgresql://warehouse.shop.example:5432/shop?user=shop",
    "connection.username": "shop",
    "connection.password": "none",
    "topics": "shop.orders",
    "collection.name.format": "staging.orders",
    "insert.mode": "upsert",
    "primary.key.mode": "record_key",
    "openlineage.integration.job.description": "Orders into the warehouse",
    "openlineage.integration.job.tags": "tier=1,team=data-platform",
    "openlineage.integration.job.owners": "data-team=maintainer,Ann Lee=Data Engineer",
}
COLUMNS = "(order_id int primary key, customer_id int, status text, amount numeric(10, 2))"


def main(sent: Path) -> None:
    """Write `debezium.ndjson`: what the tasks of the connectors told of themselves, their tables and topics."""
    events = Events(sent / "debezium.ndjson")
    lay_out(events.file)
    worker = [*servers.jvm(HOME), "-cp", f"{fetched(CONNECT)}/*", "org.apache.kafka.connect.cli.ConnectStandalone"]
    with ExitStack() as running:
        running.enter_context(postgres())
        running.enter_context(servers.kafka(HOME))
        running.enter_context(servers.program("connect", [*worker, str(HOME / "worker.properties")], HOME))
        servers.wait_for("Connect", lambda: isinstance(answered("GET", "connectors"), list), HOME)
        work(events)


def work(events: Events) -> None:
    """Copy; cut the source's connection; change the table, which the sink does not bear; end the source."""
    sql("app", f"create table orders {COLUMNS}")
    sql("app", "insert into orders values (100, 1, 'placed', 12.5)")
    sql("shop", f"create schema staging; create table staging.orders {COLUMNS}")

    answered("PUT", "connectors/orders-cdc/config", SOURCE)
    events.wait("topic", lambda event: event["outputs"])
    sql("app", "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'walsender'")
    events.wait("failure", lambda event: event["eventType"] == "FAIL", 2)
    answered("PUT", "connectors/orders-warehouse/config", SINK)
    events.wait("row in the warehouse", lambda event: is_of(event, "orders-warehouse.0") and event["outputs"])
    sql(
        "app",
        "alter table orders add column note text; insert into orders values (101, 1, 'placed', 19.85, 'gift wrap')",
    )
    events.wait(
        "end of the sink", lambda event: is_of(event, "orders-warehouse.0") and event["eventType"] == "COMPLETE"
    )
    answered("PUT", "connectors/orders-cdc/stop")
    events.wait("end of the source", lambda event: is_of(event, "shop_cdc.0") and event["eventType"] == "COMPLETE")


class Events:
    """The events that were sent so far."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def all(self) -> list[dict[str, Any]]:
        """Return them; the last line may be on its way."""
        lines = self.file.read_text(encoding="utf-8").split("\n") if self.file.exists() else [""]
        return [json.loads(line) for line in lines[:-1]]

    def wait(self, what: str, wanted: Callable[[dict[str, Any]], object], number: int = 1) -> None:
        """Return when so many of them are wanted ones."""
        servers.wait_for(what, lambda: sum(bool(wanted(event)) for event in self.all()) >= number, HOME)


def is_of(event: dict[str, Any], job: str) -> bool:
    """Return whether an event is of a job."""
    return bool(event["job"]["name"] == job)


def lay_out(events: Path) -> None:
    """Write the settings, and give each connector what tells of it."""
    shutil.rmtree(HOME, ignore_errors=True)
    for name, jars in CONNECTORS.items():
        for folder in (fetched(jars), fetched(OPENLINEAGE)):
            shutil.copytree(next(folder.iterdir()), HOME / "plugins" / name, dirs_exist_ok=True)
    files = {
        "worker.properties": WORKER_SETTINGS,
        "openlineage.yml": f"transport: {{type: file, location: {events}}}",
    }
    for name, text in files.items():
        (HOME / name).write_text(text, encoding="utf-8")


@contextmanager
def postgres() -> Iterator[None]:
    """Serve a PostgreSQL with the databases of the application and of the warehouse."""
    # PostgreSQL refuses to run as root.
    nobody = pwd.getpwnam("nobody")
    user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    DATA.mkdir()
    if user:
        shutil.chown(DATA, user["user"], user["group"])

    def command(name: str, *options: str | Path) -> None:
        subprocess.run([PROGRAMS / name, *options], check=True, cwd=DATA, stdout=subprocess.DEVNULL, **user)

    control = ("pg_ctl", "-D", DATA / "data", "-w")
    options = f"-p 5432 -k {DATA} -c listen_addresses=127.0.0.1 -c wal_level=logical"
    command("initdb", "-D", DATA / "data", "-A", "trust", "-U", "shop", "-E", "UTF8")
    command(*control, "-o", options, "-l", DATA / "log", "start")
    try:
        for name in ("app", "shop"):
            sql("postgres", f"create database {name}")
        yield
    finally:
        command(*control, "-m", "immediate", "stop")


def sql(database: str, statements: str) -> None:
    """Run statements in a database, all of them in one transaction."""
    command = [PROGRAMS / "psql", f"postgresql://shop@127.0.0.1:5432/{database}", "-q", "-v", "ON_ERROR_STOP=1"]
    subprocess.run([*command, "-c", statements], check=True, stdout=subprocess.DEVNULL)


def answered(method: str, path: str, body: dict[str, str] | None = None) -> Any:
    """Return what Connect answers."""
    request = Request(
        f"http://127.0.0.1:{REST}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=90) as answer:  # noqa: S310 - of the worker on this machine
        return json.loads(answer.read() or b"null")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
