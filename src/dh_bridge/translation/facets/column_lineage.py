"""columnLineage (dataset): which columns came from which. https://openlineage.io/docs/spec/facets/dataset-facets/column_lineage_facet"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.fine_grained import Pair, PlainPairs, SoundPairs, over_cap, path_of
from dh_bridge.datahub.urns import FieldUrns, is_urn, schema_field_urn
from dh_bridge.translation.facet import facet, kept, mapped, whole_statement
from dh_bridge.translation.facts import (
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
    UPSTREAM_GONE,
    UPSTREAM_MARK,
    Statement,
    Statements,
)
from dh_bridge.translation.lineage.coverage import (
    DESCRIBED,
    FIELDS,
    INPUTS,
    MARKS,
    PAIRS,
    Told,
    note_dropped,
    note_legacy,
    note_pairs,
    note_source,
)
from dh_bridge.translation.lineage.entries import ColumnLineage
from dh_bridge.translation.lineage.plain_pairs import Descriptions, Said, plain_pairs
from dh_bridge.translation.lineage.sql_names import Columns, source_of
from dh_bridge.translation.lineage.targets import homes, replaced_by
from dh_bridge.translation.lineage.transformations import (
    descriptions_of,
    everywhere,
    only_indirect,
    operation_of,
    told_by,
)
from dh_bridge.translation.naming import Name
from dh_bridge.translation.properties import Joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.cache import Memory
    from dh_bridge.translation.context import Place


_SOURCE = mapped(*PAIRS)
_TABLE = mapped(*PAIRS, *INPUTS)
_TOUCHING = mapped(*MARKS)
_DESCRIBED = kept(*DESCRIBED)


def _retracts(_: dict[str, Any], at: Place) -> Statements:
    if at.role != "input":
        yield at.dataset, UPSTREAM_GONE, "columnLineage", None


@facet(
    "columnLineage",
    at="dataset",
    reads=ColumnLineage,
    retracts=_retracts,
    remember=True,
    leaves={
        "fields.*.inputFields[].namespace": _TABLE,
        "fields.*.inputFields[].name": _TABLE,
        "fields.*.inputFields[].field": _SOURCE,
        **{f"fields.*.inputFields[].transformations[].{leaf}": _SOURCE for leaf in ("type", "subtype", "masking")},
        "fields.*.inputFields[].transformations[].description": _DESCRIBED,
        "fields.*.transformationDescription": _DESCRIBED,
        "fields.*.transformationType": _SOURCE,
        "dataset[].namespace": mapped(*FIELDS, *INPUTS),
        "dataset[].name": mapped(*FIELDS, *INPUTS),
        "dataset[].field": mapped(*FIELDS),
        **{f"dataset[].transformations[].{leaf}": _TOUCHING for leaf in ("type", "subtype", "masking")},
        "dataset[].transformations[].description": _DESCRIBED,
    },
)
def column_lineage(facet: ColumnLineage, at: Place) -> Statements:
    """One fine-grained entry per pair of columns; columns that touch every output become the job's input fields.

    Nothing where a ``lineage`` facet of the same event tells of this dataset.
    """
    if at.role == "input":
        # Lineage is a matter of outputs; some producers repeat it on the other side.
        yield whole_statement(at)
        return
    if (other := replaced_by(at)) is not None:
        for leaf in ("fields", "dataset"):
            at.withheld(leaf, f"duplicate-of:{other}")
        return
    found = _lineage(facet, at)
    on_job, on_dataset = homes(at)
    if found.pairs and on_job:
        yield at.task, FINE_LINEAGE, at.dataset, found.pairs
    if found.pairs and on_dataset:
        yield at.dataset, UPSTREAM_FIELD, ("columnLineage", SoundPairs(found.pairs)), None
    yield from _indirect(found, at, on_dataset=on_dataset)
    yield from _inputs(found, at, on_dataset=on_dataset)
    if found.descriptions is not None:
        slot, owner = (JOB_PROPERTIES, at.owner) if at.owner else (DATASET_PROPERTIES, at.dataset)
        yield owner, slot, f"columnLineage {at.dataset}", found.descriptions


class _Lineage(msgspec.Struct, frozen=True):
    """What a facet says: pairs of columns, columns that touch the whole output (by dataset), the datasets, descriptions."""

    pairs: PlainPairs | SoundPairs
    indirect: tuple[tuple[str, str, str], ...]
    named: dict[str, Name]
    descriptions: Joined | None


_PAIR_BYTES = 1000  # with its operation, and what is said of it
_OBJECTS = 6  # the facet, which is held too, takes about six times its JSON


def _lineage(facet: ColumnLineage, at: Place) -> _Lineage:
    """Return what the facet says of this dataset; the same facet (see ``remember``) is not worked out again."""
    if at.notes is not None or at.resolve is not at.options.naming:  # filters count and note what is mentioned
        return _read(facet, at)
    columns = tuple(at.columns) if at.columns is not None else None
    held = [*at.aliases.values(), *at.schemas.values()]
    key = (id(facet), at.dataset, columns, *at.aliases, *at.schemas, *map(id, held))
    memory: Memory[_Lineage] = at.options.column_lineage
    found = memory.get(key)
    if found is None:
        found = _read(facet, at)
        if memory.again(key):
            size = max(_PAIR_BYTES * (len(found.pairs) + 1), _OBJECTS * len(at.raw))
            memory.keep(key, found, size, (facet, held))
    return found


def _read(facet: ColumnLineage, at: Place) -> _Lineage:
    pairs, named, described, told = plain_pairs(facet, at) or _pairs(facet, at)
    collapsed: dict[str, list[str]] = {}
    if type(pairs) is not PlainPairs and at.options.settings.column_lineage.indirect == "collapse":
        words = set(filter(_is_indirect, {pair[0] for pair in pairs}))
        if words:
            collapsed = everywhere({pair for pair in pairs if pair[0] in words}, len({pair[1] for pair in pairs}))
            pairs = SoundPairs(pair for pair in pairs if pair[2] not in collapsed or not only_indirect(pair[0]))
    descriptions = Descriptions()
    whole = tuple(_whole(facet, collapsed, at, named, descriptions))
    written = {**described, **descriptions.written} if descriptions else described
    if told:
        note_pairs(facet, told, {pair for pair in over_cap(pairs) if pair[2] not in collapsed}, collapsed, at)
    return _Lineage(pairs, whole, named, Joined("columnLineage.descriptions", written) if written else None)


def _is_indirect(operation: str | None) -> bool:
    return operation is not None and "INDIRECT" in operation


def _pairs(facet: ColumnLineage, at: Place) -> Said:
    """Return (operation, output field URN, input field URN) of every pair, and what else is said, looking at each."""
    columns = Columns(at.columns)
    spelling = at.name.spelling if at.name is not None else None
    downs = FieldUrns(at.dataset, spelling)
    ups: dict[tuple[str, str], tuple[Name, FieldUrns, Columns]] = {}
    pairs: set[Pair] = set()
    told: list[Told] = []
    named: dict[str, Name] = {}
    descriptions = Descriptions()
    drop, noted = at.options.settings.column_lineage.indirect == "drop", at.notes is not None
    for name, entry in (facet.fields or {}).items():
        own = columns.called(name)
        if own is None:
            at.withheld(f"fields.{name}", "no-such-column")
            continue
        down = downs[own]
        legacy, whole = entry.transformationType, entry.transformationDescription
        if noted:
            note_legacy(entry, name, at)
        for position, source in enumerate(entry.inputFields or ()):
            key = source.namespace, source.name
            known, column = ups.get(key), source.field
            if known is None or not column:
                found = source_of(*key, at)
                if found.endpoint is None or not column:
                    at.withheld(f"fields.{name}.inputFields[{position}]", found.skip or "malformed")
                    continue
                named[found.endpoint] = found
                its = Columns(at.schemas.get(found.endpoint))
                known = ups[key] = found, FieldUrns(found.endpoint, found.spelling), its
            column = known[2].called(column) or column
            up = known[1][column]
            if not down or not up:
                at.withheld(f"fields.{name}.inputFields[{position}].field", "too-large")
                continue
            operation, described = told_by(source.transformations, legacy, whole)
            if drop and only_indirect(operation):
                if noted:
                    note_dropped(f"fields.{name}.inputFields[{position}]", known[0].endpoint, at)
                continue
            pairs.add((operation, down, up))
            if noted:  # for the leaf report
                told.append(Told((operation, down, up), name, position, known[0].endpoint, bool(described)))
            if described:
                label = f"{_shown(at.name, own)}<-{known[0].dataset_name}.{column}"
                descriptions.say((label, path_of((operation, down, up))), described)
    return Said(SoundPairs(pairs), named, descriptions.written, told)


def _shown(table: Name | None, column: str) -> str:
    """Return an output column as descriptions of pairs name it."""
    return f".{column}" if table is None else f"{table.dataset_name}.{table.column(column)}"


def _whole(
    facet: ColumnLineage,
    collapsed: dict[str, list[str]],
    at: Place,
    named: dict[str, Name],
    descriptions: Descriptions,
) -> Iterator[tuple[str, str, str]]:
    """Yield (dataset URN, field URN, mark) of the columns that touch the whole output: filters, joins, sorting."""
    drop = at.options.settings.column_lineage.indirect == "drop"
    for up, operations in sorted(collapsed.items()):
        dataset, _, path = up.removeprefix("urn:li:schemaField:(").removesuffix(")").rpartition(",")
        for operation in operations:
            yield dataset, up, f"{path}:{operation.removeprefix('INDIRECT:')}"
    for position, source in enumerate(facet.dataset or ()):
        found = source_of(source.namespace, source.name, at)
        if found.endpoint is None or not source.field:
            at.withheld(f"dataset[{position}]", found.skip or "malformed")
            continue
        named[found.endpoint] = found
        if drop:
            note_dropped(f"dataset[{position}]", found.endpoint, at)
            continue
        at.about(f"dataset[{position}]", found.endpoint)
        column = found.column(Columns(at.schemas.get(found.endpoint)).called(source.field) or source.field)
        field = schema_field_urn(found.endpoint, column)
        if not is_urn(field):
            at.withheld(f"dataset[{position}].field", "too-large")
            continue
        if described := descriptions_of(source.transformations):
            label = f"{_shown(at.name, '*')}<-{found.dataset_name}.{source.field}"
            descriptions.say((label, at.dataset, field), described)
            if at.notes is not None:
                note_source(f"dataset[{position}]", FIELDS, DESCRIBED, at)
        kind = (operation_of(source.transformations, None) or "INDIRECT").removeprefix("INDIRECT:")
        yield found.endpoint, field, f"{column}:{kind}"


def _indirect(found: _Lineage, at: Place, *, on_dataset: bool) -> Iterator[Statement]:
    """Yield the input fields of the job, and on each edge which of its columns touch the whole output."""
    if on_dataset:
        for dataset, _, mark in found.indirect:
            yield at.dataset, UPSTREAM_MARK, (dataset, INDIRECT, mark), None
    if not at.task:
        return
    edges: dict[str, list[str]] = {}
    for dataset, field, mark in found.indirect:
        edges.setdefault(dataset, []).append(mark)
        yield at.task, INPUT_FIELD, field, None
    for dataset, columns in edges.items():
        properties = {INDIRECT: ",".join(sorted(set(columns)))}
        yield at.task, EDGE_PROPERTIES, ("input", dataset, f"columnLineage {at.dataset}"), properties


def _inputs(found: _Lineage, at: Place, *, on_dataset: bool) -> Iterator[Statement]:
    """Yield the datasets that only column lineage names: they are inputs too."""
    for urn, name in found.named.items():
        if on_dataset and urn != at.dataset:
            yield at.dataset, UPSTREAM, ("columnLineage", urn), None
        if at.role != "dataset" and urn not in at.inputs:
            yield at.task, INPUT, urn, at.stamp[0]
        if urn not in at.mentioned:
            yield urn, DATASET, "", name
