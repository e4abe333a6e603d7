"""columnLineage (dataset): which columns came from which. https://openlineage.io/docs/spec/facets/dataset-facets/column_lineage_facet"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.fine_grained import Pair, PlainPairs, ValidPairs, pairs_over_limit, path_of
from dh_bridge.datahub.urns import FieldUrns, is_urn, schema_field_urn
from dh_bridge.facet_support.facet_spec import as_property, facet, mapped, whole_facet_fact
from dh_bridge.lineage.coverage import (
    DESCRIPTION_TARGETS,
    FIELD_TARGETS,
    INDIRECT_TARGETS,
    INPUT_TARGETS,
    PAIR_TARGETS,
    LocatedPair,
    note_dropped_field,
    note_legacy,
    note_pairs,
    note_source,
)
from dh_bridge.lineage.plain_pairs import ColumnPairs, Descriptions, plain_pairs
from dh_bridge.lineage.sql_names import SchemaColumns, resolve_source
from dh_bridge.lineage.targets import find_replacement, lineage_targets
from dh_bridge.lineage.transformations import (
    ColumnLineage,
    descriptions_of,
    find_whole_output_fields,
    is_only_indirect,
    operation_and_description,
    operation_of,
)
from dh_bridge.model.facts import (
    DATASET,
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    FINE_LINEAGE,
    INDIRECT,
    INPUT,
    INPUT_FIELD,
    JOB_PROPERTIES,
    UPSTREAM,
    UPSTREAM_FIELD,
    UPSTREAM_PROPERTY,
    UPSTREAM_TOMBSTONE,
    Fact,
    Facts,
)
from dh_bridge.model.properties import MergedProperty
from dh_bridge.naming import Name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.cache import GenerationalCache
    from dh_bridge.facet_support.context import FacetContext


_FIELD_OUTCOME = mapped(*PAIR_TARGETS)
_TABLE_OUTCOME = mapped(*PAIR_TARGETS, *INPUT_TARGETS)
_INDIRECT_OUTCOME = mapped(*INDIRECT_TARGETS)
_DESCRIPTION_OUTCOME = as_property(*DESCRIPTION_TARGETS)


def _retract(_: dict[str, Any], ctx: FacetContext) -> Facts:
    if ctx.role != "input":
        yield ctx.dataset_urn, UPSTREAM_TOMBSTONE, "columnLineage", None


@facet(
    "columnLineage",
    attach="dataset",
    struct=ColumnLineage,
    retract=_retract,
    is_cached=True,
    outcomes={
        "fields.*.inputFields[].namespace": _TABLE_OUTCOME,
        "fields.*.inputFields[].name": _TABLE_OUTCOME,
        "fields.*.inputFields[].field": _FIELD_OUTCOME,
        **{
            f"fields.*.inputFields[].transformations[].{field_name}": _FIELD_OUTCOME
            for field_name in ("type", "subtype", "masking")
        },
        "fields.*.inputFields[].transformations[].description": _DESCRIPTION_OUTCOME,
        "fields.*.transformationDescription": _DESCRIPTION_OUTCOME,
        "fields.*.transformationType": _FIELD_OUTCOME,
        "dataset[].namespace": mapped(*FIELD_TARGETS, *INPUT_TARGETS),
        "dataset[].name": mapped(*FIELD_TARGETS, *INPUT_TARGETS),
        "dataset[].field": mapped(*FIELD_TARGETS),
        **{
            f"dataset[].transformations[].{field_name}": _INDIRECT_OUTCOME
            for field_name in ("type", "subtype", "masking")
        },
        "dataset[].transformations[].description": _DESCRIPTION_OUTCOME,
    },
)
def column_lineage(facet: ColumnLineage, ctx: FacetContext) -> Facts:
    """Column lineage: one entry for each pair of columns. Columns that affect every output column (filters, joins) are input fields of the job.

    Ignored if a ``lineage`` facet of the same event describes this dataset.
    """
    if ctx.role == "input":
        # Lineage is a matter of outputs; some producers repeat it on the other side.
        yield whole_facet_fact(ctx)
        return
    if (replacement := find_replacement(ctx)) is not None:
        for field_name in ("fields", "dataset"):
            ctx.note_dropped(field_name, f"duplicate-of:{replacement}")
        return
    lineage = _cached_lineage(facet, ctx)
    is_on_job, is_on_dataset = lineage_targets(ctx)
    if lineage.pairs and is_on_job:
        yield ctx.task_urn, FINE_LINEAGE, ctx.dataset_urn, lineage.pairs
    if lineage.pairs and is_on_dataset:
        yield ctx.dataset_urn, UPSTREAM_FIELD, ("columnLineage", ValidPairs(lineage.pairs)), None
    yield from _indirect_facts(lineage, ctx, is_on_dataset=is_on_dataset)
    yield from _input_facts(lineage, ctx, is_on_dataset=is_on_dataset)
    if lineage.descriptions is not None:
        kind, owner = (JOB_PROPERTIES, ctx.owner_urn) if ctx.owner_urn else (DATASET_PROPERTIES, ctx.dataset_urn)
        yield owner, kind, f"columnLineage {ctx.dataset_urn}", lineage.descriptions


class _ParsedLineage(msgspec.Struct, frozen=True):
    """The content of a facet: pairs of columns, columns that affect the whole output (by dataset), datasets, descriptions."""

    pairs: PlainPairs | ValidPairs
    indirect_fields: tuple[tuple[str, str, str], ...]
    names: dict[str, Name]
    descriptions: MergedProperty | None


_BYTES_PER_PAIR = 1000  # with its operation, and its further facts
_OBJECT_SIZE_FACTOR = 6  # the facet, which is held too, takes about six times its JSON


def _cached_lineage(facet: ColumnLineage, ctx: FacetContext) -> _ParsedLineage:
    """Return the lineage that the facet states of this dataset, from the cache if the same facet was read before."""
    if ctx.notes is not None or ctx.resolve_name is not ctx.options.naming:  # filters count and note what is mentioned
        return _read_lineage(facet, ctx)
    columns = tuple(ctx.columns) if ctx.columns is not None else None
    dependencies = [*ctx.aliases.values(), *ctx.schemas.values()]
    key = (id(facet), ctx.dataset_urn, columns, *ctx.aliases, *ctx.schemas, *map(id, dependencies))
    cache: GenerationalCache[_ParsedLineage] = ctx.options.column_lineage_cache
    lineage = cache.get(key)
    if lineage is None:
        lineage = _read_lineage(facet, ctx)
        if cache.is_repeated(key):
            size = max(_BYTES_PER_PAIR * (len(lineage.pairs) + 1), _OBJECT_SIZE_FACTOR * len(ctx.raw))
            cache.store(key, lineage, size, (facet, dependencies))
    return lineage


def _read_lineage(facet: ColumnLineage, ctx: FacetContext) -> _ParsedLineage:
    pairs, names, pair_descriptions, located_pairs = plain_pairs(facet, ctx) or _read_pairs(facet, ctx)
    collapsed_fields: dict[str, list[str]] = {}
    if type(pairs) is not PlainPairs and ctx.options.settings.column_lineage.indirect == "collapse":
        indirect_operations = set(filter(_has_indirect, {pair[0] for pair in pairs}))
        if indirect_operations:
            collapsed_fields = find_whole_output_fields(
                {pair for pair in pairs if pair[0] in indirect_operations}, len({pair[1] for pair in pairs})
            )
            pairs = ValidPairs(
                pair for pair in pairs if pair[2] not in collapsed_fields or not is_only_indirect(pair[0])
            )
    descriptions = Descriptions()
    indirect_fields = tuple(_iter_indirect_fields(facet, collapsed_fields, ctx, names, descriptions))
    description_texts = {**pair_descriptions, **descriptions.texts_by_pair} if descriptions else pair_descriptions
    if located_pairs:
        note_pairs(
            facet,
            located_pairs,
            {pair for pair in pairs_over_limit(pairs) if pair[2] not in collapsed_fields},
            collapsed_fields,
            ctx,
        )
    return _ParsedLineage(
        pairs,
        indirect_fields,
        names,
        MergedProperty("columnLineage.descriptions", description_texts) if description_texts else None,
    )


def _has_indirect(operation: str | None) -> bool:
    return operation is not None and "INDIRECT" in operation


def _read_pairs(facet: ColumnLineage, ctx: FacetContext) -> ColumnPairs:
    """Return (operation, output field URN, input field URN) of every pair, and further facts about each."""
    columns = SchemaColumns(ctx.columns)
    spelling = ctx.name.column_speller if ctx.name is not None else None
    downstream_urns = FieldUrns(ctx.dataset_urn, spelling)
    sources: dict[tuple[str, str], tuple[Name, FieldUrns, SchemaColumns]] = {}
    pairs: set[Pair] = set()
    located_pairs: list[LocatedPair] = []
    names: dict[str, Name] = {}
    descriptions = Descriptions()
    is_indirect_dropped, has_notes = ctx.options.settings.column_lineage.indirect == "drop", ctx.notes is not None
    for name, entry in (facet.fields or {}).items():
        schema_name = columns.resolve(name)
        if schema_name is None:
            ctx.note_dropped(f"fields.{name}", "no-such-column")
            continue
        downstream_urn = downstream_urns[schema_name]
        legacy_type, column_description = entry.transformationType, entry.transformationDescription
        if has_notes:
            note_legacy(entry, name, ctx)
        for position, source in enumerate(entry.inputFields or ()):
            key = source.namespace, source.name
            source_info, column = sources.get(key), source.field
            if source_info is None or not column:
                source_name = resolve_source(*key, ctx)
                if source_name.endpoint is None or not column:
                    ctx.note_dropped(f"fields.{name}.inputFields[{position}]", source_name.skip or "malformed")
                    continue
                names[source_name.endpoint] = source_name
                source_columns = SchemaColumns(ctx.schemas.get(source_name.endpoint))
                source_info = sources[key] = (
                    source_name,
                    FieldUrns(source_name.endpoint, source_name.column_speller),
                    source_columns,
                )
            column = source_info[2].resolve(column) or column
            upstream_urn = source_info[1][column]
            if not downstream_urn or not upstream_urn:
                ctx.note_dropped(f"fields.{name}.inputFields[{position}].field", "too-large")
                continue
            operation, description = operation_and_description(source.transformations, legacy_type, column_description)
            if is_indirect_dropped and is_only_indirect(operation):
                if has_notes:
                    note_dropped_field(f"fields.{name}.inputFields[{position}]", source_info[0].endpoint, ctx)
                continue
            pairs.add((operation, downstream_urn, upstream_urn))
            if has_notes:  # for the report of fields
                located_pairs.append(
                    LocatedPair(
                        (operation, downstream_urn, upstream_urn),
                        name,
                        position,
                        source_info[0].endpoint,
                        bool(description),
                    )
                )
            if description:
                label = f"{_column_label(ctx.name, schema_name)}<-{source_info[0].dataset_name}.{column}"
                descriptions.add((label, path_of((operation, downstream_urn, upstream_urn))), description)
    return ColumnPairs(ValidPairs(pairs), names, descriptions.texts_by_pair, located_pairs)


def _column_label(table: Name | None, column: str) -> str:
    """Return an output column as descriptions of pairs name it."""
    return f".{column}" if table is None else f"{table.dataset_name}.{table.spell_column(column)}"


def _iter_indirect_fields(
    facet: ColumnLineage,
    collapsed_fields: dict[str, list[str]],
    ctx: FacetContext,
    names: dict[str, Name],
    descriptions: Descriptions,
) -> Iterator[tuple[str, str, str]]:
    """Yield (dataset URN, field URN, mark) of the columns that touch the whole output: filters, joins, sorting."""
    is_indirect_dropped = ctx.options.settings.column_lineage.indirect == "drop"
    for field_urn, operations in sorted(collapsed_fields.items()):
        dataset, _, path = field_urn.removeprefix("urn:li:schemaField:(").removesuffix(")").rpartition(",")
        for operation in operations:
            yield dataset, field_urn, f"{path}:{operation.removeprefix('INDIRECT:')}"
    for position, source in enumerate(facet.dataset or ()):
        source_name = resolve_source(source.namespace, source.name, ctx)
        if source_name.endpoint is None or not source.field:
            ctx.note_dropped(f"dataset[{position}]", source_name.skip or "malformed")
            continue
        names[source_name.endpoint] = source_name
        if is_indirect_dropped:
            note_dropped_field(f"dataset[{position}]", source_name.endpoint, ctx)
            continue
        ctx.note_dataset(f"dataset[{position}]", source_name.endpoint)
        column = source_name.spell_column(
            SchemaColumns(ctx.schemas.get(source_name.endpoint)).resolve(source.field) or source.field
        )
        field = schema_field_urn(source_name.endpoint, column)
        if not is_urn(field):
            ctx.note_dropped(f"dataset[{position}].field", "too-large")
            continue
        if description := descriptions_of(source.transformations):
            label = f"{_column_label(ctx.name, '*')}<-{source_name.dataset_name}.{source.field}"
            descriptions.add((label, ctx.dataset_urn, field), description)
            if ctx.notes is not None:
                note_source(f"dataset[{position}]", FIELD_TARGETS, DESCRIPTION_TARGETS, ctx)
        kind = (operation_of(source.transformations, None) or "INDIRECT").removeprefix("INDIRECT:")
        yield source_name.endpoint, field, f"{column}:{kind}"


def _indirect_facts(lineage: _ParsedLineage, ctx: FacetContext, *, is_on_dataset: bool) -> Iterator[Fact]:
    """Yield the input fields of the job, and on each edge which of its columns touch the whole output."""
    if is_on_dataset:
        for dataset, _, indirect_column in lineage.indirect_fields:
            yield ctx.dataset_urn, UPSTREAM_PROPERTY, (dataset, INDIRECT, indirect_column), None
    if not ctx.task_urn:
        return
    edges: dict[str, list[str]] = {}
    for dataset, field, indirect_column in lineage.indirect_fields:
        edges.setdefault(dataset, []).append(indirect_column)
        yield ctx.task_urn, INPUT_FIELD, field, None
    for dataset, columns in edges.items():
        properties = {INDIRECT: ",".join(sorted(set(columns)))}
        yield ctx.task_urn, EDGE_PROPERTIES, ("input", dataset, f"columnLineage {ctx.dataset_urn}"), properties


def _input_facts(lineage: _ParsedLineage, ctx: FacetContext, *, is_on_dataset: bool) -> Iterator[Fact]:
    """Yield the datasets that only column lineage names: they are inputs too."""
    for urn, name in lineage.names.items():
        if is_on_dataset and urn != ctx.dataset_urn:
            yield ctx.dataset_urn, UPSTREAM, ("columnLineage", urn), None
        if ctx.role != "dataset" and urn not in ctx.inputs:
            yield ctx.task_urn, INPUT, urn, ctx.version[0]
        if urn not in ctx.dataset_urns:
            ctx.mention(name)
            yield urn, DATASET, "", name
