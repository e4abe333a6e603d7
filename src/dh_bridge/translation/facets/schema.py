"""schema (dataset): its fields. https://openlineage.io/docs/spec/facets/dataset-facets/schema"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.translation.columns import Field, SchemaFields, schema_fields
from dh_bridge.translation.columns.hidden import shown
from dh_bridge.translation.facet import Facet, facet, mapped
from dh_bridge.translation.facts import INPUT_FIELD, SCHEMA, Statements
from dh_bridge.translation.reading.beside import beside, fields_of, of_dataset, of_job
from dh_bridge.translation.reading.operation_types import writes_whole_rows

if TYPE_CHECKING:
    from dh_bridge.cache import Memory
    from dh_bridge.translation.context import Place

_OBJECTS = 8  # the objects of a schema take about eight times the facet's JSON


class Schema(Facet):
    """The fields, nested ones inside their parents."""

    fields: list[Field] | None = None


@facet(
    "schema",
    at="dataset",
    reads=Schema,
    remember=True,
    leaves={
        "fields[].name": mapped(SCHEMA),
        # the text itself, of which several mean one type of DataHub's
        "fields[].type": mapped(SCHEMA["[].nativeDataType"], SCHEMA["[].type"]),
        "fields[].description": mapped(SCHEMA["[].description"]),
        "fields[].ordinal_position": mapped(SCHEMA),
        **{
            f"{inside}.{leaf}": mapped(SCHEMA)
            for inside in ("fields[].fields[]", "fields[].**.fields[]")
            for leaf in ("name", "type", "description", "ordinal_position")
        },
    },
)
def schema(facet: Schema, at: Place) -> Statements:
    """schemaMetadata, when at least one field has a type; an untyped list is a projection: the job's input fields.

    Trino's are projections of outputs, too, unless the statement makes the table or names none of its columns. Spark tells
    columns of its own of Kafka's topics and of Iceberg's metadata; what it tells of a query over JDBC is a projection that nothing
    in the event gives away (listener 1.53: ``schema.skip_platforms``).
    """
    fields = shown(facet.fields or [], at)
    if not fields or at.name is None:
        return
    found = _schema_fields(fields, at)
    if found.typed:  # an untyped list is no statement of what there is
        at.columns = at.schemas[at.dataset] = found.columns
    if found.typed and at.name.platform in at.options.settings.schema_.skip_platforms:
        at.withheld("", "schema-owned")
    elif found.typed and (foreign := _foreign(facet, at)):
        at.withheld("fields", f"no-home:{foreign}")
    elif found.typed:
        yield at.dataset, SCHEMA, "", found
        if at.notes is not None and (other := _of_output(at)):
            at.withheld("fields", f"duplicate-of:{other}")
    elif at.role == "input" and at.task:
        for position, field in enumerate(fields):
            urn = schema_field_urn(at.dataset, at.name.column(field.name))
            if is_urn(urn):
                yield at.task, INPUT_FIELD, urn, None
                if at.notes is not None:
                    at.reached(f"fields[{position}].name", INPUT_FIELD)
            else:
                at.withheld(f"fields[{position}]", "too-large")
    else:
        at.withheld("fields", "no-home:untyped-projection")


def _of_output(at: Place) -> str:
    """Return where an output says what its schema is, of an input that is that output too; "" where none does."""
    if at.role != "input":
        return ""
    own = [(of, where) for of, name, role, where in at.entries if role == "output" and name.endpoint == at.dataset]
    return next(
        (where for of, where in own if any(field.get("type") for field in fields_of(of_dataset(of, "schema")))), ""
    )


def _foreign(facet: Schema, at: Place) -> str:
    """Return what the fields are, where they are not the dataset's: a projection, of which there may be others; "" else."""
    producer, name = at.options.identity.producer(at.event.producer), at.name
    if producer is None or name is None:
        return ""
    if producer.projections and at.role == "output":
        return "" if writes_whole_rows(str(of_job(at, "sql").get("query", ""))) else "projection"
    if (frame := producer.frames.get(name.system or "")) and frame.issuperset(one.name for one in facet.fields or ()):
        return "frame"
    return "metadata-table" if "symlinks" in at.keys and _of_metadata(name.name, at) else ""


def _of_metadata(known: str, at: Place) -> bool:
    """Whether the dataset is ``known`` as a table whose metadata is read: db.orders or /lake/orders, by the name of db.orders.files."""
    metadata = at.options.naming.preference.metadata
    identifiers = beside(at, "symlinks").get("identifiers")
    for one in identifiers if isinstance(identifiers, list) else ():
        table, _, last = str(one.get("name") if isinstance(one, dict) else "").rpartition(".")
        if last in metadata and table.rpartition(".")[2] == known.rpartition("/")[2].rpartition(".")[2]:
            return True
    return False


def _schema_fields(fields: list[Field], at: Place) -> SchemaFields:
    """Return the rendered fields; the same facet of the same kind of dataset is rendered once (same bytes)."""
    name = at.name
    assert name is not None  # noqa: S101 - the caller has looked
    settings = at.options.settings.schema_
    expand, paths = settings.expand_types, settings.field_paths.get(name.platform, "auto")
    render = partial(
        schema_fields, platform=name.platform, column=name.spelling, paths=paths,
        types=at.options.tables.column_types, expand=expand,
    )  # fmt: skip
    if at.notes is not None:
        left: list[tuple[str, str]] = []
        found = render(fields, left=left)
        for leaf, reason in left:
            at.withheld(leaf, reason)
        return found
    lower, cased = name.lower_columns, name.column_case is not None
    memory: Memory[SchemaFields] = at.options.schemas
    key = (bytes(at.raw), len(fields), name.platform, lower, cased, expand, paths)
    remembered = memory.get(key)
    if remembered is None:
        remembered = render(fields)
        if memory.again(key):
            memory.keep(key, remembered, _OBJECTS * len(at.raw))
    return remembered
