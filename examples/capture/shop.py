"""One small shop, told by several producers: its rows, its places and the night they all belong to.

Every capture script imports this module, so that the events join: the Spark application and the dbt run are
children of tasks of `shop_nightly`, and what one producer writes the next one reads under the same name.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

from openlineage.client.uuid import generate_static_uuid

# A neutral folder: file paths are dataset names, and dataset names are what a reader sees.
HOME = Path(os.environ.get("SHOP_HOME", "/tmp/shop"))  # noqa: S108 - the folder stands in the events, so it must be the same everywhere
LAKE = HOME / "lake"
DUCKDB_FILE = HOME / "shop.duckdb"

NAMESPACE = "shop_prod"
PIPELINE = "shop_nightly"
NIGHT = datetime(2026, 11, 21, 2, 0, tzinfo=timezone.utc)
NIGHT_BEFORE = NIGHT - timedelta(days=1)

KAFKA = "kafka://kafka.shop.example:9092"
APP_DB = "postgres://app-db.shop.example:5432"
S3 = "s3://shop-lake"
WAREHOUSE = "postgres://warehouse.shop.example:5432"
DUCKDB = f"duckdb://{DUCKDB_FILE}"


def run_id(job: str, night: datetime = NIGHT, attempt: int = 1) -> str:
    """Run id as Airflow makes it: a UUIDv7 of the logical date and the names, the same at every capture."""
    return str(generate_static_uuid(instant=night, data=f"{NAMESPACE}.{job}.{attempt}".encode()))


CUSTOMERS = [
    # customer_id, name, email, country, signed_up
    (1, "Ada Brook", "ada@example.com", "GB", "2025-01-14"),
    (2, "Bruno Costa", "bruno@example.com", "PT", "2025-02-03"),
    (3, "Chiyo Mori", "chiyo@example.com", "JP", "2025-02-20"),
    (4, "Dagny Lund", "dagny@example.com", "NO", "2025-03-08"),
    (5, "Emeka Obi", "emeka@example.com", "NG", "2025-05-30"),
    (6, "Fleur Petit", "fleur@example.com", "FR", "2025-06-11"),
    (7, "Gustav Weber", "gustav@example.com", "DE", "2025-07-01"),
    (8, "Hana Novak", "hana@example.com", "CZ", "2025-09-17"),
]
CUSTOMER_COLUMNS = {
    "customer_id": "INTEGER",
    "name": "VARCHAR",
    "email": "VARCHAR",
    "country": "VARCHAR",
    "signed_up": "DATE",
}

# Three rows are wrong on purpose, for the tests: 117 was never spelled so, 118 knows no customer, 119 costs less than nothing.
_WRONG = {117: {"status": "shiped"}, 118: {"customer_id": 99}, 119: {"amount": -5.0}}
_STATUS = ("placed", "shipped", "delivered", "returned")


def orders() -> list[tuple[int, int, str, str, float, str]]:
    """Twenty orders: order_id, customer_id, ordered_at, status, amount, note."""
    rows = []
    for number in range(20):
        row = {
            "order_id": 100 + number,
            "customer_id": 1 + number * 3 % 8,
            "ordered_at": f"2026-11-{18 + number % 3} {8 + number % 12:02d}:15:00",
            "status": _STATUS[number * 5 % 4],
            "amount": round(12.5 + number * 7.35, 2),
            "note": "" if number % 4 else "gift wrap",
        }
        row.update(_WRONG.get(100 + number, {}))
        rows.append(tuple(row.values()))
    return rows


ORDER_COLUMNS = {
    "order_id": "INTEGER",
    "customer_id": "INTEGER",
    "ordered_at": "TIMESTAMP",
    "status": "VARCHAR",
    "amount": "DOUBLE",
    "note": "VARCHAR",
}
