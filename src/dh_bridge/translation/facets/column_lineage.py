"""columnLineage (dataset): which columns came from which. https://openlineage.io/docs/spec/facets/dataset-facets/column_lineage_facet"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.urns import schema_field_urn
from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.naming import Name
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.slots import (
    DATASET,
    EDGE_PROPERTIES,
    FINE_LINEAGE,
    INPUT,
    INPUT_FIELD,
    JOB_PROPERTIES,
    UPSTREAM,
    UPSTREAM_FIELD,
    Statement,
    Statements,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.place import Place

_OPERATION_CAP = 200


class Transformation(Facet):
    """How a column was made of another."""

    type: str | None = None
    subtype: str | None = None
    description: str | None = None
    masking: bool | None = None


class InputField(Facet):
    """A column of a dataset that another column was made of."""

    namespace: str = ""
    name: str = ""
    field: str = ""
    transformations: list[Transformation] | None = None


class Entry(Facet):
    """What one output column was made of."""

    inputFields: list[InputField] | None = None
    transformationDescription: str | None = None
    transformationType: str | None = None


class ColumnLineage(Facet):
    """The entries by output column, and the columns that touch the whole dataset (filters, joins, sorting)."""

    fields: dict[str, Entry] | None = None
    dataset: list[InputField] | None = None


_LEGACY = {"IDENTITY": "DIRECT:IDENTITY", "MASKED": "DIRECT:TRANSFORMATION+MASKED"}


def operation_of(transformations: list[Transformation] | None, legacy: str | None) -> str | None:
    """Return the canonical operation: sorted distinct ``TYPE:SUBTYPE[+MASKED]``, at most 200 characters; None if unsaid."""
    words = []
    for one in transformations or ():
        if not one.type and not one.subtype and not one.masking:
            continue
        word = f"{one.type or 'DIRECT'}:{one.subtype}" if one.subtype else one.type or "DIRECT"
        words.append(f"{word.upper()}+MASKED" if one.masking else word.upper())
    if not words:
        return _LEGACY.get((legacy or "").upper())
    return words[0] if len(words) == 1 else ",".join(sorted(set(words)))[:_OPERATION_CAP]


_SOURCE = mapped(
    "dataJobInputOutput.fineGrainedLineages",
    "dataJobInputOutput.inputDatasetFields",
    "upstreamLineage.fineGrainedLineages",
)
_INDIRECT = mapped("dataJobInputOutput.inputDatasetFields", "upstreamLineage.upstreams")
_DESCRIBED = kept("dataJobInfo.customProperties", "dataFlowInfo.customProperties", "datasetProperties.customProperties")


@facet(
    "columnLineage",
    at="dataset",
    reads=ColumnLineage,
    remember=True,
    leaves={
        "fields.*.inputFields[].namespace": _SOURCE,
        "fields.*.inputFields[].name": _SOURCE,
        "fields.*.inputFields[].field": _SOURCE,
        "fields.*.inputFields[].transformations[].type": _SOURCE,
        "fields.*.inputFields[].transformations[].subtype": _SOURCE,
        "fields.*.inputFields[].transformations[].masking": _SOURCE,
        "fields.*.inputFields[].transformations[].description": _DESCRIBED,
        "fields.*.transformationDescription": _DESCRIBED,
        "fields.*.transformationType": _SOURCE,
        "dataset[].namespace": _INDIRECT,
        "dataset[].name": _INDIRECT,
        "dataset[].field": _INDIRECT,
        "dataset[].transformations[].**": _INDIRECT,
    },
)
def column_lineage(facet: ColumnLineage, at: Place) -> Statements:
    """One fine-grained entry per pair of columns; columns that touch every output become the job's input fields."""
    if at.role == "input":
        # Lineage is a matter of outputs; some producers repeat it on the other side (facets.md 0.6.1).
        yield property_statement(at, {"columnLineage": kept_text("columnLineage", _plain(facet)) or ""})
        return
    found = _lineage(facet, at)
    if found.pairs and at.role == "output":
        yield at.task, FINE_LINEAGE, at.dataset, found.pairs
    elif found.pairs:
        yield at.dataset, UPSTREAM_FIELD, "", found.pairs
    yield from _indirect(found, at)
    yield from _inputs(found, at)
    if found.descriptions:
        properties = {"columnLineage.descriptions": found.descriptions}
        if at.owner:
            yield at.owner, JOB_PROPERTIES, f"columnLineage {at.dataset}", properties
        else:
            yield property_statement(at, properties)


class _Lineage(msgspec.Struct, frozen=True):
    """What a facet says: pairs of columns, columns that touch the whole output (by dataset), the datasets, descriptions."""

    pairs: frozenset[tuple[str | None, str, str]]
    indirect: tuple[tuple[str, str, str], ...]
    named: dict[str, Name]
    descriptions: str


_REMEMBERED = 2048
_remembered: dict[tuple[object, ...], _Lineage] = {}


def _lineage(facet: ColumnLineage, at: Place) -> _Lineage:
    """Return what the facet says of this dataset; said again in the same bytes it is not worked out again."""
    if at.notes is not None:
        return _read(facet, at)
    settings = at.options.settings.column_lineage
    columns = tuple(at.columns) if at.columns is not None else None
    key = (bytes(at.raw), at.dataset, columns, settings.indirect, *at.aliases.items())
    found = _remembered.get(key)
    if found is None:
        if len(_remembered) >= _REMEMBERED:
            _remembered.clear()
        found = _remembered[key] = _read(facet, at)
    return found


def _read(facet: ColumnLineage, at: Place) -> _Lineage:
    pairs = list(_pairs(facet, at))
    collapsed = _collapsed(pairs, facet, at)
    named: dict[str, Name] = {}
    descriptions: dict[str, str] = {}
    fine = set()
    for down, source, up, operation, description in pairs:
        named[source.endpoint or ""] = source
        if description:
            descriptions[f"{down}<-{up}"] = description
        if up not in collapsed:
            fine.add((operation, schema_field_urn(at.dataset, down), up))
    written = kept_text("columnLineage.descriptions", descriptions) if descriptions else None
    return _Lineage(frozenset(fine), tuple(_whole(facet, collapsed, at, named)), named, written or "")


_Pair = tuple[str, Name, str, "str | None", "str | None"]


def _pairs(facet: ColumnLineage, at: Place) -> Iterator[_Pair]:
    """Yield (output column, input dataset, input field URN, operation, description) of every pair that can be written."""
    column = at.name.column if at.name is not None else str
    columns = at.columns
    for name, entry in (facet.fields or {}).items():
        down = column(name)
        if columns is not None and name not in columns and name.partition(".")[0] not in columns:
            at.withheld(f"fields.{name}", "no-such-column")
            continue
        for position, source in enumerate(entry.inputFields or ()):
            found = at.endpoint(source.namespace, source.name)
            if found.endpoint is None or not source.field:
                at.withheld(f"fields.{name}.inputFields[{position}]", found.skip or "malformed")
                continue
            operation = operation_of(source.transformations, entry.transformationType)
            described = entry.transformationDescription
            for one in source.transformations or ():
                described = one.description or described
            yield down, found, schema_field_urn(found.endpoint, found.column(source.field)), operation, described


def _collapsed(pairs: list[_Pair], facet: ColumnLineage, at: Place) -> set[str]:
    """Return the input fields that touch every output column only indirectly (a filter repeated for each column)."""
    mode = at.options.settings.column_lineage.indirect
    indirect: dict[str, set[str]] = {}
    direct: set[str] = set()
    for down, _, up, operation, _ in pairs:
        if operation is not None and "DIRECT" not in operation.replace("INDIRECT", ""):
            indirect.setdefault(up, set()).add(down)
        else:
            direct.add(up)
    if mode == "keep" or not indirect:
        return set()
    if mode == "drop":
        return set(indirect) - direct
    every = len(facet.fields or {})
    return {up for up, downs in indirect.items() if up not in direct and every > 1 and len(downs) == every}


def _whole(
    facet: ColumnLineage, collapsed: set[str], at: Place, named: dict[str, Name]
) -> Iterator[tuple[str, str, str]]:
    """Yield (dataset URN, field URN, mark) of the columns that touch the whole output: filters, joins, sorting."""
    if at.options.settings.column_lineage.indirect == "drop":
        if facet.dataset:
            at.withheld("dataset", "policy:column_lineage.indirect")
        return
    for up in sorted(collapsed):
        dataset, _, path = up.removeprefix("urn:li:schemaField:(").removesuffix(")").rpartition(",")
        yield dataset, up, f"{path}:INDIRECT"
    for position, source in enumerate(facet.dataset or ()):
        found = at.endpoint(source.namespace, source.name)
        if found.endpoint is None or not source.field:
            at.withheld(f"dataset[{position}]", found.skip or "malformed")
            continue
        named[found.endpoint] = found
        column = found.column(source.field)
        kind = (operation_of(source.transformations, None) or "INDIRECT").removeprefix("INDIRECT:")
        yield found.endpoint, schema_field_urn(found.endpoint, column), f"{column}:{kind}"


def _indirect(found: _Lineage, at: Place) -> Iterator[Statement]:
    """Yield the input fields of the job, and on each edge which of its columns touch the whole output."""
    if not at.task:
        return
    edges: dict[str, list[str]] = {}
    for dataset, field, mark in found.indirect:
        edges.setdefault(dataset, []).append(mark)
        yield at.task, INPUT_FIELD, field, None
    for dataset, columns in edges.items():
        properties = {"columnLineage.indirect": ",".join(sorted(set(columns)))}
        yield at.task, EDGE_PROPERTIES, ("input", dataset, f"columnLineage {at.dataset}"), properties


def _inputs(found: _Lineage, at: Place) -> Iterator[Statement]:
    """Yield the datasets that only column lineage names: they are inputs too."""
    for urn, name in found.named.items():
        if at.role == "dataset":
            if urn != at.dataset:
                yield at.dataset, UPSTREAM, urn, None
        elif urn not in at.inputs:
            yield at.task, INPUT, urn, at.stamp[0]
        if urn not in at.mentioned:
            yield urn, DATASET, "", name


def _plain(facet: ColumnLineage) -> dict[str, list[str]]:
    return {
        column: [f"{source.namespace}/{source.name}.{source.field}" for source in entry.inputFields or ()]
        for column, entry in (facet.fields or {}).items()
    }
