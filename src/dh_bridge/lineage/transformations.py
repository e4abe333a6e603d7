"""columnLineage as it is read. https://openlineage.io/docs/spec/facets/dataset-facets/column_lineage_facet"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet

if TYPE_CHECKING:
    from dh_bridge.datahub.fine_grained import Pair


_MAX_OPERATION_CHARS = 200
_LEGACY = {"IDENTITY": "DIRECT:IDENTITY", "MASKED": "DIRECT:TRANSFORMATION+MASKED"}


class Transformation(Facet):
    """How a column was made of another."""

    type: str | None = None
    subtype: str | None = None
    description: str | None = None
    masking: bool | None = None


def operation_of(transformations: list[Transformation] | None, legacy_type: str | None = None) -> str | None:
    """Return the canonical operation: sorted distinct ``TYPE:SUBTYPE[+MASKED]``, up to 200 characters; None if it is unknown."""
    if transformations is not None and len(transformations) == 1:
        transformation = transformations[0]
        return _operation_word(transformation.type, transformation.subtype, transformation.masking) or _LEGACY.get(
            (legacy_type or "").upper()
        )
    operations = {
        _operation_word(transformation.type, transformation.subtype, transformation.masking)
        for transformation in transformations or ()
    } - {None}
    return (
        _cut_operation(",".join(sorted(map(str, operations))))
        if operations
        else _LEGACY.get((legacy_type or "").upper())
    )


@lru_cache(maxsize=1024)
def _operation_word(kind: str | None, subtype: str | None, masking: bool | None) -> str | None:  # noqa: FBT001 - the wire's types
    """Return the canonical name of a transformation, None if it has no type."""
    if not kind and not subtype and not masking:
        return None
    operation = f"{kind or 'DIRECT'}:{subtype}" if subtype else kind or "DIRECT"
    return _cut_operation(f"{operation}+MASKED".upper() if masking else operation.upper())


def _cut_operation(operation: str) -> str:
    """Return as many whole words as there is room for; of one that is too long alone, what fits."""
    if len(operation) <= _MAX_OPERATION_CHARS:
        return operation
    return operation[: _MAX_OPERATION_CHARS + 1].rpartition(",")[0] or operation[:_MAX_OPERATION_CHARS]


def operation_and_description(
    transformations: list[Transformation] | None, legacy_type: str | None, column_description: str | None
) -> tuple[str | None, str]:
    """Return what :func:`operation_of` and :func:`descriptions_of` do: a table has a hundred pairs of columns."""
    if transformations is not None and len(transformations) == 1 and not legacy_type and not column_description:
        transformation = transformations[0]
        return _operation_word(
            transformation.type, transformation.subtype, transformation.masking
        ), transformation.description or ""
    return operation_of(transformations, legacy_type), descriptions_of(transformations, column_description)


def is_only_indirect(operation: str | None) -> bool:
    """Whether a column only filtered, joined or sorted: no word of the operation is a direct one."""
    return (
        operation is not None
        and "INDIRECT" in operation
        and all(word.startswith("INDIRECT") for word in operation.split(","))
    )


def find_whole_output_fields(pairs: set[Pair], output_count: int) -> dict[str, list[str]]:
    """Return the input fields that touch every column with lineage: a filter or join repeated for each; and how."""
    downstreams_by_upstream: dict[str, set[str]] = {}
    operations_by_upstream: dict[str, set[str]] = {}
    for operation, downstream, upstream in pairs:
        downstreams_by_upstream.setdefault(upstream, set()).add(downstream)
        operations_by_upstream.setdefault(upstream, set()).update(
            word for word in str(operation).split(",") if word.startswith("INDIRECT")
        )
    return {
        upstream: sorted(operations_by_upstream[upstream])
        for upstream, downstreams in downstreams_by_upstream.items()
        if output_count > 1 and len(downstreams) == output_count
    }


def is_legacy(kind: str) -> bool:
    """Return whether a ``transformationType`` states the operation, for entries without transformations."""
    return kind.upper() in _LEGACY


def descriptions_of(transformations: list[Transformation] | None, column_description: str | None = None) -> str:
    """Return the distinct descriptions of a pair's transformations, then ``column_description``, that of the output column."""
    if not transformations:
        return column_description or ""
    if len(transformations) == 1 and not column_description:
        return transformations[0].description or ""
    texts = dict.fromkeys(
        transformation.description for transformation in transformations if transformation.description
    )
    return "; ".join([*texts, column_description] if column_description and column_description not in texts else texts)


class InputField(Facet):
    """A column of a dataset that another column was made of."""

    namespace: str = ""
    name: str = ""
    field: str = ""
    transformations: list[Transformation] | None = None


class ColumnLineageEntry(Facet):
    """What one output column was made of."""

    inputFields: list[InputField] | None = None
    transformationDescription: str | None = None
    transformationType: str | None = None


class ColumnLineage(Facet):
    """The entries by output column, and the columns that touch the whole dataset (filters, joins, sorting)."""

    fields: dict[str, ColumnLineageEntry] | None = None
    dataset: list[InputField] | None = None
