"""schema (dataset): its fields. https://openlineage.io/docs/spec/facets/dataset-facets/schema"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.memory import Memory
from dh_bridge.translation.columns import Field, SchemaFields, over_caps, schema_fields
from dh_bridge.translation.facet import Facet, facet, mapped, property_statement
from dh_bridge.translation.slots import INPUT_FIELD, SCHEMA, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.columns import Paths, TypeTable
    from dh_bridge.translation.naming import Name
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
        if found.total:  # more than a schema can have (facets.md 4.1)
            yield property_statement(at, {"schema.fields": str(found.total)})
            _note_over_caps(facet, at)
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
    expand, paths, types = _choices(name, at)
    key = (bytes(at.raw), name.platform, name.lower_columns, name.column_case is not None, expand, paths, types)
    found = _remembered.get(key)
    if found is None:
        found = schema_fields(
            facet.fields or [], platform=name.platform, column=name.spelling, paths=paths, types=types, expand=expand
        )
        if _remembered.again(key):
            _remembered.keep(key, found, _OBJECTS * len(at.raw))
    return found


def _note_over_caps(facet: Schema, at: Place) -> None:
    """Note the fields that are over the caps, for the leaf report; otherwise nobody asks which they were."""
    name = at.name
    if at.notes is None or name is None:
        return
    expand, paths, types = _choices(name, at)
    for place in over_caps(
        facet.fields or [], platform=name.platform, column=name.spelling, paths=paths, types=types, expand=expand
    ):
        at.withheld(place, "too-large")


def _choices(name: Name, at: Place) -> tuple[bool, Paths, TypeTable | None]:
    """Return whether types are opened, the style of paths and the table of types for a dataset."""
    settings = at.options.settings.schema_
    return settings.expand_types, settings.field_paths.get(name.platform, "auto"), at.options.column_types
