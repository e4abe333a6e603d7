"""schema (dataset): its fields. https://openlineage.io/docs/spec/facets/dataset-facets/schema"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dh_bridge.columns import SchemaFacetField, SchemaFields, schema_fields
from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.facet_support.facet_spec import Facet, facet, mapped
from dh_bridge.facet_support.sibling_facets import dataset_facet, job_facet, schema_field_objects, sibling_facet
from dh_bridge.model.facts import INPUT_FIELD, SCHEMA, UNTYPED_KEY, Facts
from dh_bridge.value_maps.operation_types import writes_whole_rows

if TYPE_CHECKING:
    from dh_bridge.cache import GenerationalCache
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.identity.producers import ProducerFamily


# -- Virtual columns that a query can select although no table has them: some producers list them after those of the table.


def drop_hidden_columns(fields: list[SchemaFacetField], ctx: FacetContext) -> list[SchemaFacetField]:
    """Return the fields of an input without the hidden ones at their end, which are noted."""
    producer = ctx.options.identity.producer(ctx.sender)
    if producer is None or ctx.role != "input" or not (producer.hidden_columns or producer.file_metadata):
        return fields
    count = len(fields)
    while count and fields[count - 1].name.startswith("_") and _is_hidden(fields[count - 1], producer, ctx):
        count -= 1
        ctx.note_dropped(f"fields[{count}]", "no-field:hidden-column")
    return fields if count == len(fields) else fields[:count]


def _is_hidden(field: SchemaFacetField, producer: ProducerFamily, ctx: FacetContext) -> bool:
    members = producer.file_metadata.get(field.name)
    if members is not None and field.fields:
        return members > {member.name for member in field.fields}
    layers = sibling_facet(ctx, "storage").get("storageLayer"), sibling_facet(ctx, "catalog").get("framework")
    return any(field.name in producer.hidden_columns.get(str(layer).lower(), ()) for layer in layers)


# -- schema (dataset): its fields. https://openlineage.io/docs/spec/facets/dataset-facets/schema

_OBJECT_SIZE_FACTOR = 8  # the objects of a schema take about eight times the facet's JSON


class SchemaFacet(Facet):
    """The fields, nested ones inside their parents."""

    fields: list[SchemaFacetField] | None = None


@facet(
    "schema",
    attach="dataset",
    struct=SchemaFacet,
    is_cached=True,
    outcomes={
        "fields[].name": mapped(SCHEMA),
        # the text itself, of which several mean one type of DataHub's
        "fields[].type": mapped(SCHEMA["[].nativeDataType"], SCHEMA["[].type"]),
        "fields[].description": mapped(SCHEMA["[].description"]),
        "fields[].ordinal_position": mapped(SCHEMA),
        **{
            f"{inside}.{field_name}": mapped(SCHEMA)
            for inside in ("fields[].fields[]", "fields[].**.fields[]")
            for field_name in ("name", "type", "description", "ordinal_position")
        },
    },
)
def schema(facet: SchemaFacet, ctx: FacetContext) -> Facts:
    """Schema of the dataset, if at least one field has a type. Fields without types are the columns that the job reads: its input fields.

    Where DataHub has no connector that could own the schema, an untyped list is the schema, too, as NullType, until an event
    gives types.

    Trino's are projections of outputs, too, unless the statement makes the table or names none of its columns. For
    Kafka topics and Iceberg metadata, Spark sends columns of its own. For a query over JDBC it sends a projection, which the event
    does not show (listener 1.53: ``schema.skip_platforms``).
    """
    fields = drop_hidden_columns(facet.fields or [], ctx)
    if not fields or ctx.name is None:
        return
    rendered_fields = _render_fields(fields, ctx)
    if rendered_fields.has_types:  # a list without types does not state which columns exist
        ctx.columns = ctx.schemas[ctx.dataset_urn] = rendered_fields.columns
    if rendered_fields.has_types and ctx.name.platform in ctx.options.settings.schema_.skip_platforms:
        ctx.note_dropped("", "schema-owned")
    elif rendered_fields.has_types and (foreign_reason := _foreign_reason(facet, ctx)):
        ctx.note_dropped("fields", f"no-field:{foreign_reason}")
    elif rendered_fields.has_types:
        yield ctx.dataset_urn, SCHEMA, "", rendered_fields
        if ctx.notes is not None and (output_path := _output_schema_path(ctx)):
            ctx.note_dropped("fields", f"duplicate-of:{output_path}")
    elif rendered_fields.fields:
        yield ctx.dataset_urn, SCHEMA, UNTYPED_KEY, rendered_fields
    elif ctx.role == "input" and ctx.task_urn:
        yield from _input_fields(fields, ctx)
    else:
        ctx.note_dropped("fields", "no-field:untyped-projection")


def _input_fields(fields: list[SchemaFacetField], ctx: FacetContext) -> Facts:
    """Yield the columns of an input that the job reads."""
    assert ctx.name is not None  # noqa: S101 - the caller has looked
    for position, field in enumerate(fields):
        urn = schema_field_urn(ctx.dataset_urn, ctx.name.spell_column(field.name))
        if is_urn(urn):
            yield ctx.task_urn, INPUT_FIELD, urn, None
            if ctx.notes is not None:
                ctx.note_outcome(f"fields[{position}].name", INPUT_FIELD)
        else:
            ctx.note_dropped(f"fields[{position}]", "too-large")


def _output_schema_path(ctx: FacetContext) -> str:
    """Return where an output, which is also this input, has its schema; "" if it has none."""
    if ctx.role != "input":
        return ""
    own_outputs = [
        (dataset, path)
        for dataset, name, role, path in ctx.entries
        if role == "output" and name.endpoint == ctx.dataset_urn
    ]
    return next(
        (
            path
            for dataset, path in own_outputs
            if any(field.get("type") for field in schema_field_objects(dataset_facet(dataset, "schema")))
        ),
        "",
    )


def _foreign_reason(facet: SchemaFacet, ctx: FacetContext) -> str:
    """Return the kind of fields that are not the columns of the dataset, such as a projection; "" for the columns of the dataset."""
    producer, name = ctx.options.identity.producer(ctx.sender), ctx.name
    if producer is None or name is None:
        return ""
    if producer.projections and ctx.role == "output":
        return "" if writes_whole_rows(str(job_facet(ctx, "sql").get("query", ""))) else "projection"
    if (frame := producer.frames.get(name.system or "")) and frame.issuperset(
        field.name for field in facet.fields or ()
    ):
        return "frame"
    return "metadata-table" if "symlinks" in ctx.facet_keys and _is_metadata_table(name.name, ctx) else ""


def _is_metadata_table(dataset_name: str, ctx: FacetContext) -> bool:
    """Whether the dataset is ``dataset_name`` as a table whose metadata is read: db.orders or /lake/orders, by the name of db.orders.files."""
    metadata = ctx.options.naming.preference.metadata
    identifiers = sibling_facet(ctx, "symlinks").get("identifiers")
    for identifier in identifiers if isinstance(identifiers, list) else ():
        table, _, suffix = str(identifier.get("name") if isinstance(identifier, dict) else "").rpartition(".")
        if suffix in metadata and table.rpartition(".")[2] == dataset_name.rpartition("/")[2].rpartition(".")[2]:
            return True
    return False


def _render_fields(fields: list[SchemaFacetField], ctx: FacetContext) -> SchemaFields:
    """Return the rendered fields; the same facet of the same kind of dataset is rendered once (same bytes)."""
    name = ctx.name
    assert name is not None  # noqa: S101 - the caller has looked
    settings = ctx.options.settings.schema_
    expand = "nested_fields" not in ctx.options.settings.excluded_metadata
    paths = settings.field_paths.get(name.platform, "auto")
    render = partial(
        schema_fields, platform=name.platform, spell_column=name.column_speller, paths=paths,
        types=ctx.options.tables.column_types, expand=expand, untyped=not ctx.options.naming.has_connector(name),
    )  # fmt: skip
    if ctx.notes is not None:
        dropped: list[tuple[str, str]] = []
        rendered_fields = render(fields, notes=dropped)
        for path, reason in dropped:
            ctx.note_dropped(path, reason)
        return rendered_fields
    has_lower_columns, has_column_case = name.lower_columns, name.column_case is not None
    cache: GenerationalCache[SchemaFields] = ctx.options.schema_cache
    key = (
        bytes(ctx.raw), len(fields), name.platform, has_lower_columns, has_column_case, name.column_quotes, name.system, expand, paths,
    )  # fmt: skip
    cached_fields = cache.get(key)
    if cached_fields is None:
        cached_fields = render(fields)
        if cache.is_repeated(key):
            cache.store(key, cached_fields, _OBJECT_SIZE_FACTOR * len(ctx.raw))
    return cached_fields
