"""Converts the columns of a schema facet to DataHub's schema fields.

Children that only name the content of a container (``_element``, ``key``, ``value``, ``_0``) are not fields; their children get
the path of the container. Paths are dotted (v1), or ``[version=2.0].[type=…].name`` (v2) if two fields would have the same
dotted path or a union has branches. One schema never mixes the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.columns.nested import (
    FIELD_ATTRIBUTES,
    MAX_FIELDS,
    DroppedColumn,
    SchemaFieldRenderer,
    ordinal,
)
from dh_bridge.columns.types import TypeTable, column_types
from dh_bridge.datahub.schema_fastpath import AlikeFields
from dh_bridge.datahub.search_texts import SAFE_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dh_bridge.columns.schema import SchemaFacetField

PathStyle = Literal["auto", "v1", "v2"]
_UNORDERED = "no-field:not set for every column"


class SchemaFields(msgspec.Struct, gc=False):
    """A schema facet, rendered.

    ``fields`` are SchemaField JSON objects in the order of their columns, depth first; empty unless ``has_types`` (one
    column at least has a type). ``dropped_count`` counts columns that are left out: over the caps, nameless, or named twice.
    ``columns`` maps the names of the top level, as they were sent, to their dotted (v1) paths. ``total``: how many fields
    there would be without the caps; 0 where none is over them.
    """

    fields: list[dict[str, Any]]
    has_types: bool
    dropped_count: int
    columns: dict[str, str]
    total: int = 0


def schema_fields(  # noqa: PLR0913 - what the settings choose
    fields: list[SchemaFacetField],
    *,
    platform: str,
    spell_column: Callable[[str], str] | None = None,
    paths: PathStyle = "auto",
    types: TypeTable | None = None,
    expand: bool = True,
    notes: list[tuple[str, str]] | None = None,
    untyped: bool = False,
) -> SchemaFields:
    """Return ``fields`` as DataHub's, for a dataset on ``platform`` (its id: ``postgres``).

    ``spell_column`` returns a column in the spelling of the dataset's system (for example in lower case); ``paths`` is the style of
    field paths; ``expand``: nested type texts become fields (``struct<a:int>``); ``types`` replaces the bundled table.
    ``untyped``: columns are rendered as NullType if no column has a type.
    ``notes`` collects (``fields[3].type``, reason) of every field that is dropped, for the report.
    """
    names = [name for field in fields if (name := field.name)]
    columns = dict(zip(names, names if spell_column is None else map(spell_column, names), strict=True))
    has_types = _has_types(fields)
    if not has_types and not untyped:
        return SchemaFields([], has_types=False, dropped_count=0, columns=columns)
    table = types if types is not None else column_types()
    if paths != "v2" and (flat_fields := _flat_fields(fields, columns, table, platform, expand=expand)) is not None:
        if notes is not None:
            notes += _dropped_fields([], fields)
        return SchemaFields(flat_fields, has_types=has_types, dropped_count=0, columns=columns)
    renderer = SchemaFieldRenderer(table, platform, spell_column, expand=expand, v2=paths == "v2")
    renderer.render_level(fields, renderer.root)
    if paths == "auto" and renderer.is_ambiguous:
        renderer = SchemaFieldRenderer(table, platform, spell_column, expand=expand, v2=True)
        renderer.render_level(fields, renderer.root)
    if notes is not None:
        notes += _dropped_fields(renderer.dropped_columns, fields)
    return SchemaFields(
        renderer.fields,
        has_types=has_types,
        dropped_count=renderer.dropped_count,
        columns=columns,
        total=renderer.count_fields(),
    )


def _dropped_fields(dropped_columns: list[DroppedColumn], fields: list[SchemaFacetField]) -> Iterator[tuple[str, str]]:
    """Yield (``fields[3].fields[0].type``, reason) of every dropped field: those of ``dropped_columns``, and positions without effect."""
    reasons: dict[int, list[DroppedColumn]] = {}
    for column in dropped_columns:
        reasons.setdefault(id(column.field), []).append(column)
    queue: list[tuple[str, list[SchemaFacetField], str]] = [("fields", fields, "")]
    for path, siblings, parent_reason in queue:
        is_ordered = all(field.ordinal_position is not None for field in siblings)
        for position, field in enumerate(siblings):
            field_path, field_reason = f"{path}[{position}]", parent_reason
            attribute_reasons = {} if is_ordered else {"ordinal_position": _UNORDERED}
            for column in reasons.get(id(field), ()):
                field_reason = field_reason or (column.reason if column.attributes is None else "")
                attribute_reasons |= dict.fromkeys(column.attributes or (), column.reason)
            for attribute in FIELD_ATTRIBUTES:
                reason = field_reason or attribute_reasons.get(attribute)
                if reason and getattr(field, attribute) is not None:
                    yield f"{field_path}.{attribute}", reason
            queue.append((f"{field_path}.fields", field.fields, field_reason))


def _has_types(fields: list[SchemaFacetField]) -> bool:
    queue = list(fields)
    for field in queue:
        if field.type and not field.type.isspace():
            return True
        queue.extend(field.fields)
    return False


def _flat_fields(
    fields: list[SchemaFacetField], columns: dict[str, str], table: TypeTable, platform: str, *, expand: bool
) -> list[dict[str, Any]] | None:
    """Return the fields of a table of plain columns, as most are; None if :class:`SchemaFieldRenderer` is needed."""
    count = len(fields)
    if count > MAX_FIELDS or len(columns) != count or len(set(columns.values())) != count:
        return None
    if all(field.ordinal_position is not None for field in fields):
        fields = sorted(fields, key=ordinal)
    templates_by_type: dict[str | None, tuple[dict[str, Any], dict[str, Any]]] = {}
    flat_fields: list[dict[str, Any]] = []
    # A text that may be too long for the search index is a kind of its own: the check has to see it.
    long_fields: list[dict[str, Any]] = []
    for field in fields:
        if field.fields:
            return None
        if (templates := templates_by_type.get(field.type)) is None:
            column_type = table.read(field.type, platform)
            if expand and column_type.children:
                return None
            templates = templates_by_type[field.type] = column_type.field_templates
        # To copy an object and exchange its texts takes two thirds of the time of a new object.
        if text := field.description:
            schema_field = templates[1].copy()
            schema_field["description"] = text
            if len(text) > SAFE_LENGTH:
                long_fields.append(schema_field)
        else:
            schema_field = templates[0].copy()
        schema_field["fieldPath"] = columns[field.name]
        flat_fields.append(schema_field)
    if max(map(len, columns.values()), default=0) > SAFE_LENGTH:
        long_fields = flat_fields
    return AlikeFields(
        flat_fields,
        [*(schema_field for templates in templates_by_type.values() for schema_field in templates), *long_fields],
    )
