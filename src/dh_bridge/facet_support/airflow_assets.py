"""Assets of Airflow by their URIs: the inlets and outlets of tasks.

A URI is converted to the namespace and name that Airflow's providers make of it (``convert_asset_to_openlineage`` of common.io,
postgres, mysql, trino, google and amazon). Airflow itself omits datasets of systems whose provider is not installed.
Cosmos makes the URIs of its assets from such pairs (``construct_dataset_uri`` of 1.15). If a watched dbt task has no outputs,
these URIs are the only ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from dh_bridge.facet_support.airflow import parse_list
from dh_bridge.model.facts import DATASET, INPUT, OUTPUT, Facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.facet_support.context import FacetContext

#: Schemes whose path is database, schema and table; the name has dots instead. Value: the scheme of the namespace.
_TABLE_SCHEMES = {
    scheme: scheme
    for scheme in (
        "awsathena", "clickhouse", "cockroachdb", "databricks", "db2", "dremio", "hive", "mariadb", "mssql", "mysql", "oracle",
        "postgres", "presto", "redshift", "singlestore", "snowflake", "spark", "starrocks", "teradata", "timescaledb", "trino",
        "unitycatalog", "vertica",
    )
} | {"postgresql": "postgres", "sqlserver": "mssql"}  # fmt: skip
_BUCKET_SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs"}
#: Schemes whose path is the name, with its first slash or without.
_PATH_SCHEMES = {"abfs": "", "abfss": "", "dbfs": "/", "hdfs": "/", "kafka": "", "wasb": "", "wasbs": ""}
_ASSET_FIELDS = ("inlets", "outlets")
_CONTAINER_SCHEMES = ("abfs", "abfss", "wasb", "wasbs")


def asset_facts(task: dict[str, Any], ctx: FacetContext) -> Facts:
    """Yield the datasets of inlets and outlets, if the event has no inputs or no outputs."""
    for field_name, event_datasets, kind in (
        ("inlets", ctx.event.inputs, INPUT),
        ("outlets", ctx.event.outputs, OUTPUT),
    ):
        for path, uri in () if event_datasets else _asset_uris(task, field_name):
            name = ctx.dataset_name(*dataset_id) if (dataset_id := parse_asset_uri(uri)) is not None else None
            if name is not None and name.endpoint:
                yield ctx.task_urn, kind, name.endpoint, ctx.version[0]
                ctx.mention(name)
                yield name.endpoint, DATASET, "", name
                ctx.note_outcome(path, kind)


def duplicate_asset_fields(task: dict[str, Any]) -> list[str]:
    """Return which of inlets and outlets are a Python text beside a list of the same assets, as in the provider since 2.21."""
    return [
        field_name
        for field_name in _ASSET_FIELDS
        if isinstance(task.get(field_name), str) and isinstance(task.get(f"{field_name}_list"), list)
    ]


def parse_asset_uri(uri: str) -> tuple[str, str] | None:
    """Return ``(namespace, name)`` of a URI; None for an unknown scheme."""
    try:
        parts = urlsplit(uri.strip())
    except ValueError:
        return None
    scheme, path = parts.scheme.lower(), unquote(parts.path)
    # A name before the host is a user name, which is private, or the container of Azure's storage.
    authority = parts.netloc if scheme in _CONTAINER_SCHEMES else parts.netloc.rpartition("@")[2]
    if scheme == "file":
        return (f"file://{authority}" if authority else "file", path) if path.strip("/") else None
    if scheme == "duckdb":
        return _parse_duckdb_path(f"{authority}{path}")
    if not authority:
        table = path.removeprefix("bigquery/")
        return ("bigquery", _to_dotted(table)) if not scheme and table != path and table.count("/") == 2 else None
    if scheme in _BUCKET_SCHEMES:
        return f"{_BUCKET_SCHEMES[scheme]}://{authority}", path.removeprefix("/") or "/"
    dataset_id = None
    if scheme == "bigquery":
        dataset_id = ("bigquery", f"{authority}.{_to_dotted(path)}")
    elif scheme in _TABLE_SCHEMES:
        dataset_id = (f"{_TABLE_SCHEMES[scheme]}://{authority}", _to_dotted(path))
    elif scheme in _PATH_SCHEMES:
        dataset_id = (f"{scheme}://{authority}", _PATH_SCHEMES[scheme] + path.removeprefix("/"))
    return dataset_id if path.strip("/") else None


def _asset_uris(task: dict[str, Any], field_name: str) -> Iterator[tuple[str, str]]:
    """Yield path and URI of each asset, of a list or of its Python text: ``"[{'uri': 's3://lake/a', 'extra': {}}]"``.

    The text cannot be read if it is too long, or if an ``extra`` has values that are not literals (``Decimal('1.5')``).
    """
    assets = task.get(f"{field_name}_list")
    is_list = isinstance(assets, list)
    for position, asset in enumerate(assets if isinstance(assets, list) else parse_list(task.get(field_name))):
        uri = asset.get("uri") if isinstance(asset, dict) else None
        if isinstance(uri, str):
            yield f"task.{field_name}_list[{position}].uri" if is_list else f"task.{field_name}", uri


def _parse_duckdb_path(text: str) -> tuple[str, str] | None:
    """Return namespace and name of Cosmos' ``/data/shop.duckdb/shop/main/orders``: a file, then database, schema and table without dots."""
    parts = text.split("/")
    file, names = "/".join(parts[:-3]), parts[-3:]
    return (f"duckdb://{file}", ".".join(names)) if file and all(names) and "." not in "".join(names) else None


def _to_dotted(path: str) -> str:
    return ".".join(part for part in path.split("/") if part)
