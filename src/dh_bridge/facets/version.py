"""version (dataset): which version was read or written. https://openlineage.io/docs/spec/facets/dataset-facets/version_facet"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, property_fact
from dh_bridge.model.facts import DATASET_PROPERTIES, EDGE_PROPERTIES, RUN_BY_DATASET, Facts
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet(
    "version",
    attach="dataset",
    outcomes={
        "datasetVersion": as_property(DATASET_PROPERTIES, RUN_BY_DATASET, EDGE_PROPERTIES),
        "**": as_property(DATASET_PROPERTIES, EDGE_PROPERTIES),
    },
)
def version(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """The version that was read or written: on the dataset, on the job's edge, and by dataset on the run."""
    properties = flatten("version", facet.content)
    if properties:
        yield property_fact(ctx, properties)
        if ctx.task_urn:
            direction = "input" if ctx.role == "input" else "output"
            yield ctx.task_urn, EDGE_PROPERTIES, (direction, ctx.dataset_urn, "version"), properties
            dataset_version = properties.get("version.datasetVersion")
            if ctx.run_urn and dataset_version is not None:
                yield ctx.run_urn, RUN_BY_DATASET, (f"{direction}s.version", ctx.dataset_urn), dataset_version
