"""Columns: from the schema facet of OpenLineage to DataHub's schemaMetadata."""

from __future__ import annotations

from typing import Any

from dh_bridge.columns.schema import SchemaFacetField, schema_metadata
from dh_bridge.columns.schema_fields import PathStyle, SchemaFields, schema_fields
from dh_bridge.columns.types import TypeTable, column_types

__all__ = [
    "PathStyle",
    "SchemaFacetField",
    "SchemaFields",
    "TypeTable",
    "column_types",
    "data_type",
    "schema_fields",
    "schema_metadata",
]


def data_type(type_text: str | None, platform: str) -> dict[str, Any]:
    """Return the SchemaFieldDataType JSON of a type text, by the bundled table: ``{"type": {"com.linkedin…": {}}}``."""
    return column_types().read(type_text, platform).wire
