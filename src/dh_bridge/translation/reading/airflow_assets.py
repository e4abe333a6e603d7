"""Assets of Airflow by their URIs: the inlets and outlets of tasks.

A URI becomes the pair that Airflow's providers make of it (``convert_asset_to_openlineage`` of common.io, postgres, mysql,
trino, google and amazon), which name no dataset of a system whose provider is not installed. Cosmos makes the URIs of its assets
of such pairs (``construct_dataset_uri`` of 1.15): where a watched dbt task tells no outputs, they are the only ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from dh_bridge.translation.facts import DATASET, INPUT, OUTPUT, Statements
from dh_bridge.translation.reading.airflow import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.context import Place

#: Schemes whose path is database, schema and table; the name has dots instead. Value: the scheme of the namespace.
_TABLES = {
    one: one
    for one in (
        "awsathena", "clickhouse", "cockroachdb", "databricks", "db2", "dremio", "hive", "mariadb", "mssql", "mysql", "oracle",
        "postgres", "presto", "redshift", "singlestore", "snowflake", "spark", "starrocks", "teradata", "timescaledb", "trino",
        "unitycatalog", "vertica",
    )
} | {"postgresql": "postgres", "sqlserver": "mssql"}  # fmt: skip
_BUCKETS = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs"}
#: Schemes whose path is the name as it stands, with its first slash or without.
_PATHS = {"abfs": "", "abfss": "", "dbfs": "/", "hdfs": "/", "kafka": "", "wasb": "", "wasbs": ""}
_LEAVES = ("inlets", "outlets")
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")


def asset_statements(task: dict[str, Any], at: Place) -> Statements:
    """Yield the datasets of inlets and outlets, where the event has no inputs or no outputs of its own."""
    for leaf, own, slot in (("inlets", at.event.inputs, INPUT), ("outlets", at.event.outputs, OUTPUT)):
        for where, uri in () if own else _uris(task, leaf):
            name = at.endpoint(*known) if (known := pair(uri)) is not None else None
            if name is not None and name.endpoint:
                yield at.task, slot, name.endpoint, at.stamp[0]
                yield name.endpoint, DATASET, "", name
                at.reached(where, slot)


def told_twice(task: dict[str, Any]) -> list[str]:
    """Return which of inlets and outlets are Python text beside the list of the same assets, as the provider has it since 2.21."""
    return [leaf for leaf in _LEAVES if isinstance(task.get(leaf), str) and isinstance(task.get(f"{leaf}_list"), list)]


def pair(uri: str) -> tuple[str, str] | None:
    """Return ``(namespace, name)`` of a URI; None for one of a scheme that no system of ours has."""
    try:
        parts = urlsplit(uri.strip())
    except ValueError:
        return None
    scheme, path = parts.scheme.lower(), unquote(parts.path)
    # A name before the host is a user, which is nobody's business, or the container of Azure's storage.
    place = parts.netloc if scheme in _CONTAINERS else parts.netloc.rpartition("@")[2]
    if scheme == "file":
        return (f"file://{place}" if place else "file", path) if path.strip("/") else None
    if scheme == "duckdb":
        return _in_duckdb(f"{place}{path}")
    if not place:
        table = path.removeprefix("bigquery/")
        return ("bigquery", _dotted(table)) if not scheme and table != path and table.count("/") == 2 else None
    if scheme in _BUCKETS:
        return f"{_BUCKETS[scheme]}://{place}", path.removeprefix("/") or "/"
    found = None
    if scheme == "bigquery":
        found = ("bigquery", f"{place}.{_dotted(path)}")
    elif scheme in _TABLES:
        found = (f"{_TABLES[scheme]}://{place}", _dotted(path))
    elif scheme in _PATHS:
        found = (f"{scheme}://{place}", _PATHS[scheme] + path.removeprefix("/"))
    return found if path.strip("/") else None


def _uris(task: dict[str, Any], leaf: str) -> Iterator[tuple[str, str]]:
    """Yield leaf and URI of each asset, of a list or of its Python text: ``"[{'uri': 's3://lake/a', 'extra': {}}]"``.

    The text cannot be read where an ``extra`` has values that are no literals (``Decimal('1.5')``), or where it is long.
    """
    assets = task.get(f"{leaf}_list")
    known = isinstance(assets, list)
    for position, asset in enumerate(assets if isinstance(assets, list) else listed(task.get(leaf))):
        uri = asset.get("uri") if isinstance(asset, dict) else None
        if isinstance(uri, str):
            yield f"task.{leaf}_list[{position}].uri" if known else f"task.{leaf}", uri


def _in_duckdb(text: str) -> tuple[str, str] | None:
    """Return the pair of Cosmos' ``/data/shop.duckdb/shop/main/orders``: a file, and database, schema and table, never with dots."""
    parts = text.split("/")
    file, names = "/".join(parts[:-3]), parts[-3:]
    return (f"duckdb://{file}", ".".join(names)) if file and all(names) and "." not in "".join(names) else None


def _dotted(path: str) -> str:
    return ".".join(part for part in path.split("/") if part)
