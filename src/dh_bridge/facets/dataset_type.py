"""datasetType (dataset): table, view, topic … https://openlineage.io/docs/spec/facets/dataset-facets/dataset_type"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, facet, mapped, property_fact
from dh_bridge.model.facts import DATASET_PROPERTIES, SUBTYPES, Facts
from dh_bridge.model.properties import property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class DatasetType(Facet):
    """The type and, within it, the subtype."""

    datasetType: str | None = None
    subType: str | None = None


_OUTCOME = mapped(SUBTYPES, DATASET_PROPERTIES)


@facet("datasetType", attach="dataset", struct=DatasetType, outcomes={"datasetType": _OUTCOME, "subType": _OUTCOME})
def dataset_type(facet: DatasetType, ctx: FacetContext) -> Facts:
    """Subtype of the dataset, where dbt does not tell a better one; both words are properties too."""
    properties = {
        f"datasetType.{field_name}": value_text
        for field_name in ("datasetType", "subType")
        if (value := getattr(facet, field_name))
        and (value_text := property_text(f"datasetType.{field_name}", value)) is not None
    }
    if properties:
        yield property_fact(ctx, properties)
    platform = ctx.name.platform if ctx.name is not None else ""
    names = ctx.options.tables.dataset_types(facet.datasetType or "", facet.subType or "", platform)
    if names:
        yield ctx.dataset_urn, SUBTYPES, "datasetType", names
