"""Outcomes of the fields of a ``columnLineage`` for the report: their targets, and fields without a target in DataHub."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.lineage.sql_names import resolve_source
from dh_bridge.lineage.transformations import is_legacy, is_only_indirect, operation_of
from dh_bridge.model.facts import (
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
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.datahub.fine_grained import Pair
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.lineage.transformations import ColumnLineage, ColumnLineageEntry, InputField, Transformation
    from dh_bridge.model.trace import FieldTarget

#: upstreamLineage first: if a run writes it (see `targets.py`), it holds the lineage.
PAIR_TARGETS: tuple[FieldTarget, ...] = (UPSTREAM_FIELD, FINE_LINEAGE)
#: A dataset that only column lineage names is an input, whatever becomes of its columns.
INPUT_TARGETS: tuple[FieldTarget, ...] = (INPUT,)
FIELD_TARGETS: tuple[FieldTarget, ...] = (INPUT_FIELD, UPSTREAM)
INDIRECT_TARGETS: tuple[FieldTarget, ...] = (EDGE_PROPERTIES[INDIRECT], UPSTREAM_PROPERTY[INDIRECT])
DESCRIPTION_TARGETS: tuple[FieldTarget, ...] = tuple(
    kind["columnLineage.descriptions"] for kind in (JOB_PROPERTIES, DATASET_PROPERTIES)
)


class LocatedPair(NamedTuple):
    """A pair of columns and its location: the output column, the position of the input field.

    ``dataset`` is that of the input field; ``has_description``: the pair has a description.
    """

    pair: Pair
    column: str
    position: int
    dataset: str | None
    has_description: bool

    @property
    def path(self) -> str:
        """The location of the pair in the facet."""
        return f"fields.{self.column}.inputFields[{self.position}]"


def note_pairs(
    facet: ColumnLineage,
    located_pairs: Collection[LocatedPair],
    pairs_over_cap: Collection[Pair],
    collapsed_fields: Collection[str],
    ctx: FacetContext,
) -> None:
    """Note the outcome of pairs that are not written as pairs, and of described pairs; the rows of the facet cover the others.

    ``pairs_over_cap`` exceed the limit of an aspect; ``collapsed_fields`` are the columns that affect the whole output.
    """
    _note_over_cap(facet, pairs_over_cap, located_pairs, ctx)
    for located_pair in located_pairs:
        ctx.note_dataset(located_pair.path, located_pair.dataset)
        description_targets = DESCRIPTION_TARGETS if located_pair.has_description else ()
        if located_pair.pair[2] in collapsed_fields and is_only_indirect(located_pair.pair[0]):
            note_source(located_pair.path, FIELD_TARGETS, description_targets, ctx)
            for index in range(len(_transformations(facet, located_pair))):
                for field_name in ("type", "subtype", "masking"):
                    ctx.note_outcome(f"{located_pair.path}.transformations[{index}].{field_name}", *INDIRECT_TARGETS)
        elif description_targets and located_pair.pair not in pairs_over_cap:
            note_source(located_pair.path, PAIR_TARGETS, description_targets, ctx)


def note_source(
    path: str, column_targets: tuple[FieldTarget, ...], description_targets: tuple[FieldTarget, ...], ctx: FacetContext
) -> None:
    """Note the targets of a source column's names: ``column_targets``, the inputs, and ``description_targets``."""
    for field_name in ("namespace", "name"):
        ctx.note_outcome(f"{path}.{field_name}", *column_targets, *INPUT_TARGETS, *description_targets)
    ctx.note_outcome(f"{path}.field", *column_targets, *description_targets)


def note_dropped_field(path: str, dataset: str | None, ctx: FacetContext) -> None:
    """Note of a source that the settings leave out that its table is an input all the same, as all that lineage names."""
    ctx.note_dataset(path, dataset)
    for field_name in ("namespace", "name"):
        ctx.note_outcome(f"{path}.{field_name}", UPSTREAM, *INPUT_TARGETS)
    for field_name in ("field", "transformations"):
        ctx.note_dropped(f"{path}.{field_name}", "policy:column_lineage.indirect")


def _transformations(facet: ColumnLineage, located_pair: LocatedPair) -> list[Transformation]:
    return ((facet.fields or {})[located_pair.column].inputFields or ())[located_pair.position].transformations or []


def _note_over_cap(
    facet: ColumnLineage, pairs_over_cap: Collection[Pair], located_pairs: Collection[LocatedPair], ctx: FacetContext
) -> None:
    """Note the pairs that exceed the limit of an aspect; the edges of their tables and their descriptions are written."""
    written_columns = {located_pair.column for located_pair in located_pairs if located_pair.pair not in pairs_over_cap}
    for located_pair in [located_pair for located_pair in located_pairs if located_pair.pair in pairs_over_cap]:
        ctx.note_dropped(f"{located_pair.path}.field", "too-large")
        for index, transformation in enumerate(_transformations(facet, located_pair)):
            for field_name in [
                field_name
                for field_name in ("type", "subtype", "masking")
                if getattr(transformation, field_name) is not None
            ]:
                ctx.note_dropped(f"{located_pair.path}.transformations[{index}].{field_name}", "too-large")
        if (facet.fields or {})[located_pair.column].transformationType and located_pair.column not in written_columns:
            ctx.note_dropped(f"fields.{located_pair.column}.transformationType", "too-large")


def note_legacy(entry: ColumnLineageEntry, name: str, ctx: FacetContext) -> None:
    """Note the outcome of the deprecated transformation fields if they have no effect."""
    sources = [source for source in entry.inputFields or () if _is_written(source, ctx)]
    kind = entry.transformationType
    if kind == "":
        ctx.note_dropped(f"fields.{name}.transformationType", "empty")
    elif kind is not None and not sources:  # DataHub has lineage between columns only
        ctx.note_dropped(f"fields.{name}.transformationType", "no-field:no input column")
    elif kind is not None and not is_legacy(kind):
        ctx.note_dropped(f"fields.{name}.transformationType", "no-field:neither IDENTITY nor MASKED")
    elif kind is not None and all(operation_of(source.transformations) for source in sources):
        ctx.note_dropped(f"fields.{name}.transformationType", "duplicate-of:transformations")
    if entry.transformationDescription == "":
        ctx.note_dropped(f"fields.{name}.transformationDescription", "empty")
    elif entry.transformationDescription is not None and not sources:
        ctx.note_dropped(f"fields.{name}.transformationDescription", "no-field:no input column")


def _is_written(source: InputField, ctx: FacetContext) -> bool:
    """Whether a source is a column of a dataset, and one that the settings do not leave out."""
    if not source.field or resolve_source(source.namespace, source.name, ctx).endpoint is None:
        return False
    is_dropped = ctx.options.settings.column_lineage.indirect == "drop" and is_only_indirect(
        operation_of(source.transformations)
    )
    return not is_dropped
