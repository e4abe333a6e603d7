"""datasetType (dataset): table, view, topic … https://openlineage.io/docs/spec/facets/dataset-facets/dataset_type"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, mapped, property_statement
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.slots import SUBTYPES, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place

#: What DataHub's connectors call a subtype of a type (DatasetSubTypes); another one is a second word (facets.md 1.1/7).
_TOGETHER = {
    ("TABLE", "EXTERNAL"): "External Table",
    ("VIEW", "MATERIALIZED"): "Materialized View",
    ("TABLE", "TEMPORARY"): "Temporary Table",
}
#: Says how it came about, not what it is: it is kept and no more (facets.md 4.8).
_NO_TYPE = "JOB_OUTPUT"
_LONGEST = 100


class DatasetType(Facet):
    """The type and, within it, the subtype."""

    datasetType: str | None = None
    subType: str | None = None


_ROW = mapped("subTypes.typeNames", "datasetProperties.customProperties")


@facet("datasetType", at="dataset", reads=DatasetType, leaves={"datasetType": _ROW, "subType": _ROW})
def dataset_type(facet: DatasetType, at: Place) -> Statements:
    """Subtype of the dataset, where dbt does not tell a better one; both words are properties too."""
    properties = {
        f"datasetType.{leaf}": written
        for leaf in ("datasetType", "subType")
        if (word := getattr(facet, leaf)) and (written := kept_text(f"datasetType.{leaf}", word)) is not None
    }
    if properties:
        yield property_statement(at, properties)
    names = type_names(facet.datasetType or "", facet.subType or "")
    if names:
        yield at.dataset, SUBTYPES, "datasetType", names


def type_names(kind: str, subtype: str) -> tuple[str, ...]:
    """Return DataHub's type names of OpenLineage's type and subtype."""
    kind, subtype = kind.strip().upper(), subtype.strip().upper()
    if not kind or kind == _NO_TYPE:
        return ()
    together = _TOGETHER.get((kind, subtype))
    return (together,) if together else tuple(_title(word) for word in (kind, subtype) if word)


def _title(word: str) -> str:
    return " ".join(word.replace("_", " ").split()).title()[:_LONGEST]
