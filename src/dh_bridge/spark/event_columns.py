"""Any DataFrame of events, one to a row, in the form that the steps read: a column of text, bytes or structs, or flat columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.errors import SettingsError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MICROSECOND_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_TIME_OPTIONS = {
    "timestampFormat": f"{_MICROSECOND_FORMAT}ZZZZZ",
    "timestampNTZFormat": _MICROSECOND_FORMAT,
}  # Spark's own form of times stops at milliseconds
SOURCE_COLUMNS = ("location", "value", "whole")
"""Columns of a source; see :mod:`dh_bridge.spark.sources`."""
_EVENT_FIELDS = ("eventTime", "eventType", "run", "job", "dataset", "inputs", "outputs", "producer", "schemaURL")
_REQUIRED_FIELDS = {"eventTime", "job", "dataset"}
_INFERRED_TYPES = {"string", "long", "double", "boolean"}
"""Types of values in the schemas that Spark infers for JSON."""


def frame(
    events: DataFrame, column: str | None = None, *, location: str | Column = "row", allow_inferred: bool = False
) -> DataFrame:
    """Return a DataFrame of events, one to a row, in the form that the steps read.

    Args:
        events: The events; a stream, too.
        column: The column with an event, or an array of events, in each row: string, binary, variant or a struct. Without it,
            the flat columns of an event (``eventTime``, ``run``, ``job`` …) are used, else the column ``value``, or the only one.
        location: A column with the location of a row, or one text for all of them.
        allow_inferred: Whether a struct may have a schema that Spark inferred from JSON. Such a schema loses values: a field that
            is a number here and a text there becomes a text, and fields that differ between events are merged.

    Raises:
        SettingsError: No column has events, or Spark inferred the schema of their structs.

    Example:
        ``translate(frame(session.table("lake.raw.events"), "payload"))``
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    if column is None and set(events.columns) == set(SOURCE_COLUMNS):
        return events
    names = _flat_fields(events) if column is None else []
    column = column or (None if names else _only_column(events))
    if column is not None and column not in events.columns:
        raise _no_column(events, f"unknown column {column!r}")
    kind = "struct" if column is None else events.schema[column].dataType.typeName()
    value: Column = F.struct(*(F.col(f"`{name}`") for name in names)) if column is None else F.col(f"`{column}`")
    if kind == "string":
        value = value.cast("binary")  # one invalid byte in a string would end the task
    elif kind in ("struct", "variant"):
        types = [events.schema[name].dataType for name in ([column] if column else names)]
        if not allow_inferred and kind == "struct" and _is_inferred(types):
            raise SettingsError(
                "Spark inferred the schema of the events, so it changed their values",
                location="events",
                remedy="read them as text (spark.read.text, or bridge.read(spark, path)) or with a schema of your own",
            )
        value = F.to_json(value, _TIME_OPTIONS).cast("binary")
    elif kind != "binary":
        raise SettingsError(
            f"column {column!r} has the type {kind}",
            location="--column",
            remedy="use a column of type string, binary or struct",
        )
    if isinstance(location, str):
        # the rows of a stream have no numbers
        row = F.lower(F.hex(F.xxhash64(value))) if events.isStreaming else F.monotonically_increasing_id()
        location = F.concat(F.lit(f"{location}["), row, F.lit("]"))
    return events.select(location.alias("location"), value.alias("value"), F.lit(False).alias("whole"))  # noqa: FBT003


def _flat_fields(events: DataFrame) -> list[str]:
    """Return the columns that are fields of an event, if the rows are events; else none."""
    fields = [name for name in events.columns if name in _EVENT_FIELDS]
    return fields if "eventTime" in fields and len(_REQUIRED_FIELDS.intersection(fields)) > 1 else []


def _only_column(events: DataFrame) -> str:
    if "value" in events.columns:
        return "value"
    if len(events.columns) == 1:
        return str(events.columns[0])
    raise _no_column(events, "no column with events is named")


def _no_column(events: DataFrame, problem: str) -> SettingsError:
    return SettingsError(
        f"{problem}; the columns are {', '.join(events.columns)}",
        location="--column",
        remedy="pass the column that contains the events",
    )


def _is_inferred(types: list[Any]) -> bool:
    """Return whether all structs have their fields in alphabetical order, and only types of JSON: so Spark infers schemas.

    A struct of one level can be anybody's: facets make at least two.
    """
    structs: list[list[str]] = []

    def visit(data_type: Any) -> bool:
        kind = data_type.typeName()
        if kind == "array":
            return visit(data_type.elementType)
        if kind == "struct":
            structs.append(data_type.fieldNames())
            return all(list(map(visit, [field.dataType for field in data_type.fields])))
        return kind in _INFERRED_TYPES

    has_json_types = all(list(map(visit, types)))
    return has_json_types and len(structs) > 1 and all(names == sorted(names) for names in structs)
