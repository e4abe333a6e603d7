"""Where the leaves of a ``columnLineage`` go, and what DataHub has no place for: for the leaf report, leaf by leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.translation.facts import (
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    FINE_LINEAGE,
    INDIRECT,
    INPUT,
    INPUT_FIELD,
    JOB_PROPERTIES,
    UPSTREAM,
    UPSTREAM_FIELD,
    UPSTREAM_MARK,
)
from dh_bridge.translation.lineage.sql_names import source_of
from dh_bridge.translation.lineage.transformations import is_legacy, only_indirect, operation_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.datahub.fine_grained import Pair
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.lineage.entries import ColumnLineage, Entry, InputField
    from dh_bridge.translation.lineage.transformations import Transformation
    from dh_bridge.translation.trace import Destination

#: upstreamLineage first: where a run writes it (see `homes`), the lineage stands there.
PAIRS: tuple[Destination, ...] = (UPSTREAM_FIELD, FINE_LINEAGE)
#: A dataset that only column lineage names is an input, whatever becomes of its columns.
INPUTS: tuple[Destination, ...] = (INPUT,)
FIELDS: tuple[Destination, ...] = (INPUT_FIELD, UPSTREAM)
MARKS: tuple[Destination, ...] = (EDGE_PROPERTIES[INDIRECT], UPSTREAM_MARK[INDIRECT])
DESCRIBED: tuple[Destination, ...] = tuple(
    kind["columnLineage.descriptions"] for kind in (JOB_PROPERTIES, DATASET_PROPERTIES)
)


class Told(NamedTuple):
    """A pair of columns and where it stands: the output column, the position of the input field.

    ``dataset`` is that of the input field; ``described``: words are said of the pair.
    """

    pair: Pair
    column: str
    position: int
    dataset: str | None
    described: bool

    @property
    def path(self) -> str:
        """Where it stands in the facet."""
        return f"fields.{self.column}.inputFields[{self.position}]"


def note_pairs(
    facet: ColumnLineage, told: Collection[Told], over: Collection[Pair], collapsed: Collection[str], at: Place
) -> None:
    """Note where the pairs went that are not written as pairs, and those that words name too; the rows tell of the others.

    ``over`` are more than an aspect can have, ``collapsed`` the columns that touch the whole output.
    """
    _note_over_cap(facet, over, told, at)
    for one in told:
        at.about(one.path, one.dataset)
        words = DESCRIBED if one.described else ()
        if one.pair[2] in collapsed and only_indirect(one.pair[0]):
            note_source(one.path, FIELDS, words, at)
            for number in range(len(_transformations(facet, one))):
                for leaf in ("type", "subtype", "masking"):
                    at.reached(f"{one.path}.transformations[{number}].{leaf}", *MARKS)
        elif words and one.pair not in over:
            note_source(one.path, PAIRS, words, at)


def note_source(path: str, column: tuple[Destination, ...], words: tuple[Destination, ...], at: Place) -> None:
    """Note where the names of a column's source are: where it stands as a ``column``, among the inputs, in the ``words``."""
    for leaf in ("namespace", "name"):
        at.reached(f"{path}.{leaf}", *column, *INPUTS, *words)
    at.reached(f"{path}.field", *column, *words)


def note_dropped(path: str, dataset: str | None, at: Place) -> None:
    """Note of a source that the settings leave out that its table is an input all the same, as all that lineage names."""
    at.about(path, dataset)
    for leaf in ("namespace", "name"):
        at.reached(f"{path}.{leaf}", UPSTREAM, *INPUTS)
    for leaf in ("field", "transformations"):
        at.withheld(f"{path}.{leaf}", "policy:column_lineage.indirect")


def _transformations(facet: ColumnLineage, one: Told) -> list[Transformation]:
    return ((facet.fields or {})[one.column].inputFields or ())[one.position].transformations or []


def _note_over_cap(facet: ColumnLineage, over: Collection[Pair], told: Collection[Told], at: Place) -> None:
    """Note the pairs that are more than an aspect can have; the edges of their tables, and what is said, are kept."""
    partly = {one.column for one in told if one.pair not in over}
    for one in [one for one in told if one.pair in over]:
        at.withheld(f"{one.path}.field", "too-large")
        for number, said in enumerate(_transformations(facet, one)):
            for leaf in [leaf for leaf in ("type", "subtype", "masking") if getattr(said, leaf) is not None]:
                at.withheld(f"{one.path}.transformations[{number}].{leaf}", "too-large")
        if (facet.fields or {})[one.column].transformationType and one.column not in partly:
            at.withheld(f"fields.{one.column}.transformationType", "too-large")


def note_legacy(entry: Entry, name: str, at: Place) -> None:
    """Note what the older way of telling of a transformation says, where it stands for nothing."""
    sources = [source for source in entry.inputFields or () if _is_told(source, at)]
    kind = entry.transformationType
    if kind == "":
        at.withheld(f"fields.{name}.transformationType", "no-home:empty")
    elif kind is not None and not sources:  # DataHub has lineage between columns only
        at.withheld(f"fields.{name}.transformationType", "no-home:no input column")
    elif kind is not None and not is_legacy(kind):
        at.withheld(f"fields.{name}.transformationType", "no-home:neither IDENTITY nor MASKED")
    elif kind is not None and all(operation_of(source.transformations) for source in sources):
        at.withheld(f"fields.{name}.transformationType", "duplicate-of:transformations")
    if entry.transformationDescription == "":
        at.withheld(f"fields.{name}.transformationDescription", "no-home:empty")
    elif entry.transformationDescription is not None and not sources:
        at.withheld(f"fields.{name}.transformationDescription", "no-home:no input column")


def _is_told(source: InputField, at: Place) -> bool:
    """Whether a source is a column of a dataset, and one that the settings do not leave out."""
    if not source.field or source_of(source.namespace, source.name, at).endpoint is None:
        return False
    left_out = at.options.settings.column_lineage.indirect == "drop" and only_indirect(
        operation_of(source.transformations)
    )
    return not left_out
