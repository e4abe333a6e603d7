"""What a ``columnLineage`` says and DataHub has no place for: noted for the leaf report, leaf by leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.datahub.fine_grained import Pair
from dh_bridge.translation.transformations import is_legacy, operation_of

if TYPE_CHECKING:
    from dh_bridge.translation.facets.column_lineage import ColumnLineage, Entry
    from dh_bridge.translation.place import Place

#: Pairs of columns, and where each stands: the output column, the position of the input field
Places = list[tuple[Pair, str, int]]


def note_over_cap(facet: ColumnLineage, over: set[Pair], places: Places, at: Place) -> None:
    """Note the pairs that are more than an aspect can have; the edges of their tables, and what is said, are kept."""
    partly = {name for pair, name, _ in places if pair not in over}
    for name, position in [(name, position) for pair, name, position in places if pair in over]:
        entry, path = (facet.fields or {})[name], f"fields.{name}.inputFields[{position}]"
        at.withheld(f"{path}.field", "too-large")
        for number, one in enumerate((entry.inputFields or ())[position].transformations or ()):
            for leaf in [leaf for leaf in ("type", "subtype", "masking") if getattr(one, leaf) is not None]:
                at.withheld(f"{path}.transformations[{number}].{leaf}", "too-large")
        if entry.transformationType and name not in partly:
            at.withheld(f"fields.{name}.transformationType", "too-large")


def note_legacy(entry: Entry, name: str, at: Place) -> None:
    """Note what the older way of telling of a transformation says, where it stands for nothing (facets.md 1.1)."""
    sources = entry.inputFields or ()
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
