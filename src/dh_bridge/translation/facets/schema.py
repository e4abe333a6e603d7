"""schema (dataset): its fields. https://openlineage.io/docs/spec/facets/dataset-facets/schema"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.memory import Memory
from dh_bridge.translation.columns import Field, SchemaFields, schema_fields
from dh_bridge.translation.facet import Facet, facet, mapped
from dh_bridge.translation.slots import INPUT_FIELD, SCHEMA, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place

_OBJECTS = 8  # the objects of a schema take about eight times the facet's JSON
_remembered: Memory[SchemaFields] = Memory()


class Schema(Facet):
    """The fields, nested ones inside their parents."""

    fields: list[Field] | None = None


_FIELDS = mapped("schemaMetadata.fields", "dataJobInputOutput.inputDatasetFields")


@facet(
    "schema",
    at="dataset",
    reads=Schema,
    remember=True,
    leaves={
        "fields[].name": _FIELDS,
        # the text itself, of which several mean one type of DataHub's
        "fields[].type": mapped("schemaMetadata.fields[].nativeDataType", "schemaMetadata.fields[].type"),
        "fields[].description": mapped("schemaMetadata.fields[].description"),
        "fields[].ordinal_position": mapped("schemaMetadata.fields"),
        "fields[].fields.**": mapped("schemaMetadata.fields"),
        "fields[].fields[].**": mapped("schemaMetadata.fields"),
    },
)
def schema(facet: Schema, at: Place) -> Statements:
    """schemaMetadata, when at least one field has a type; an untyped list is a projection: the job's input fields."""
    if not facet.fields or at.name is None:
        return
    found = _schema_fields(facet, at)
    at.columns = found.columns
    if found.typed and at.name.platform in at.options.settings.schema_.skip_platforms:
        at.withheld("", "schema-owned")
    elif found.typed:
        yield at.dataset, SCHEMA, "", found
    elif at.role == "input" and at.task:
        for position, field in enumerate(facet.fields):
            urn = schema_field_urn(at.dataset, at.name.column(field.name))
            if is_urn(urn):
                yield at.task, INPUT_FIELD, urn, None
            else:
                at.withheld(f"fields[{position}]", "too-large")  # ruling 18
    else:
        at.withheld("fields", "no-home:untyped-projection")


def _schema_fields(facet: Schema, at: Place) -> SchemaFields:
    """Return the rendered fields; the same facet of the same kind of dataset is rendered once (same bytes)."""
    name = at.name
    assert name is not None  # noqa: S101 - the caller has looked
    settings, types = at.options.settings.schema_, at.options.column_types
    expand, paths = settings.expand_types, settings.field_paths.get(name.platform, "auto")
    key = (bytes(at.raw), name.platform, name.lower_columns, name.column_case is not None, expand, paths, types)
    found = _remembered.get(key)
    if found is None:
        found = schema_fields(
            facet.fields or [], platform=name.platform, column=name.spelling, paths=paths, types=types, expand=expand
        )
        if _remembered.again(key):
            _remembered.keep(key, found, _OBJECTS * len(at.raw))
    return found
