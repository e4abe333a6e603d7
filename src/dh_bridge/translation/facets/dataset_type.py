"""datasetType (dataset): table, view, topic … https://openlineage.io/docs/spec/facets/dataset-facets/dataset_type"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, mapped, property_statement
from dh_bridge.translation.facts import DATASET_PROPERTIES, SUBTYPES, Statements
from dh_bridge.translation.properties import kept as kept_text

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class DatasetType(Facet):
    """The type and, within it, the subtype."""

    datasetType: str | None = None
    subType: str | None = None


_ROW = mapped(SUBTYPES, DATASET_PROPERTIES)


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
    platform = at.name.platform if at.name is not None else ""
    names = at.options.tables.dataset_types(facet.datasetType or "", facet.subType or "", platform)
    if names:
        yield at.dataset, SUBTYPES, "datasetType", names
