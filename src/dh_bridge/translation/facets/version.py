"""version (dataset): which version was read or written. https://openlineage.io/docs/spec/facets/dataset-facets/version_facet"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.facts import DATASET_PROPERTIES, EDGE_PROPERTIES, RUN_BY_DATASET, Statements
from dh_bridge.translation.properties import flattened

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "version",
    at="dataset",
    leaves={
        "datasetVersion": kept(DATASET_PROPERTIES, RUN_BY_DATASET, EDGE_PROPERTIES),
        "**": kept(DATASET_PROPERTIES, EDGE_PROPERTIES),
    },
)
def version(opened: Open, at: Place) -> Statements:
    """The version that was read or written: on the dataset, on the job's edge, and by dataset on the run."""
    properties = flattened("version", opened.body)
    if properties:
        yield property_statement(at, properties)
        if at.task:
            direction = "input" if at.role == "input" else "output"
            yield at.task, EDGE_PROPERTIES, (direction, at.dataset, "version"), properties
            said = properties.get("version.datasetVersion")
            if at.run and said is not None:
                yield at.run, RUN_BY_DATASET, (f"{direction}s.version", at.dataset), said
