"""columnLineage as it is read. https://openlineage.io/docs/spec/facets/dataset-facets/column_lineage_facet"""

from __future__ import annotations

from dh_bridge.facet_support.facet_spec import Facet
from dh_bridge.lineage.transformations import Transformation


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
