"""version (dataset): which version was read or written. https://openlineage.io/docs/spec/facets/dataset-facets/version_facet"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.facts import EDGE_PROPERTIES, RUN_BY_DATASET, Statements
from dh_bridge.translation.properties import flattened

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_RUN = "dataProcessInstanceProperties.customProperties"


@facet("version", at="dataset", leaves={"datasetVersion": kept(), "**": kept()})
def version(opened: Open, at: Place) -> Statements:
    """The version that was read or written: on the dataset, on the job's edge, and by dataset on the run."""
    properties = flattened("version", opened.body)
    if properties:
        yield property_statement(at, properties)
        if at.task:
            direction = "input" if at.role == "input" else "output"
            yield at.task, EDGE_PROPERTIES, (direction, at.dataset, "version"), properties
            if at.notes is not None:
                _note(properties, direction, at)
            said = properties.get("version.datasetVersion")
            if at.run and said is not None:
                yield at.run, RUN_BY_DATASET, (f"{direction}s.version", at.dataset), said


def _note(properties: dict[str, str], direction: str, at: Place) -> None:
    """Note for the report where else it is than on the dataset, which the settings may leave out."""
    edge = f"dataJobInputOutput.{direction}DatasetEdges[].properties"
    for name in properties:
        leaf = name.removeprefix("version.")
        run = (f"{_RUN}[openlineage.{direction}s.version]",) if leaf == "datasetVersion" else ()
        at.reached(leaf, "kept", f"datasetProperties.customProperties[openlineage.{name}]", *run, edge)
