"""Which aspects a run's facts reached, and why others were not written: what the leaf report rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.openlineage.events import TERMINAL
from dh_bridge.translation.assertions import untold_context
from dh_bridge.translation.joined import left
from dh_bridge.translation.render.assertions import runtime_context
from dh_bridge.translation.render.ladders import too_many
from dh_bridge.translation.slots import (
    CHECKS,
    DATASET_PROPERTIES,
    GONE,
    JOB_PROPERTIES,
    OPERATION_PROPERTIES,
    RUN_PROPERTIES,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

_STATEFUL = ("dataProcessInstanceProperties", "dataProcessInstanceRelationships")
_PROPERTIES = {
    RUN_PROPERTIES: ("dataProcessInstanceProperties",),
    JOB_PROPERTIES: ("dataJobInfo", "dataFlowInfo"),
    DATASET_PROPERTIES: ("datasetProperties",),
    OPERATION_PROPERTIES: ("operation",),
}
_TERMINAL = ("operation", "datasetProfile", "assertionRunEvent", "dataProcessInstanceRunEvent")


def written_aspects(state: RunState, by_urn: dict[str, set[str]], options: Options) -> dict[str, str | None]:
    """Return aspect name -> None when the run wrote it on any of its entities, else the reason why it did not.

    A part of an aspect (``dataJobInputOutput.inputDatasetEdges[].properties``) stands beside it where it has its own answer.
    """
    found: dict[str, str | None] = {}
    for aspect in _STATEFUL:
        found[aspect] = "policy:state=none" if state.kind == "run" else "no-home:no run"
    for aspect in _TERMINAL:
        found[aspect] = "pending-terminal" if state.kind == "run" else "no-home:no run"
    if not options.profile.has("dataJob", "dataTransformLogic"):
        found["dataTransformLogic"] = "profile"
    if options.settings.materialize != "all":
        found["datasetProperties"] = "policy:materialize"
    if options.settings.schema_.write != "all":
        found["schemaMetadata"] = "policy:schema.write"
    if all(job.placeholder or job.skip for job, _ in state.jobs.values()):
        for aspect in ("dataJobInfo", "dataFlowInfo", "dataJobInputOutput"):
            found[aspect] = "no-home:placeholder job"
    found.update(left(state, options))
    urns = {state.urn, *state.cells, *state.queries.values()}
    for slots in state.cells.values():
        urns.update(slots.get(CHECKS, ()))
    for urn in urns:
        for aspect in by_urn.get(urn, ()):
            found[aspect] = None
    found.update(dict.fromkeys(_unwritten_parts(state), "pending-terminal"))
    found.update(dict.fromkeys((*_too_many(state, found), *_untold_context(state, found)), "too-large"))
    return found


def _too_many(state: RunState, written: dict[str, str | None]) -> Iterator[str]:
    """Yield the properties that did not fit onto their entity, as the facets' rows call them."""
    for slots in state.cells.values():
        for slot, aspects in _PROPERTIES.items():
            for key in too_many(slots, slot) if slot in slots else ():
                for aspect in aspects:
                    if written.get(aspect, "") is None:
                        yield f"{aspect}.customProperties[openlineage.{key}]"


def _untold_context(state: RunState, written: dict[str, str | None]) -> Iterator[str]:
    """Yield what did not fit beside the results: the parts of a run's properties that each result repeats."""
    if written.get("assertionRunEvent", "") is None:
        for key in untold_context(runtime_context(state, state.cells.get(state.urn, {}))):
            yield f"assertionRunEvent.runtimeContext[{key}]"


def _unwritten_parts(state: RunState) -> Iterator[str]:
    """Yield the parts of written aspects that this run did not write, as the facets' rows call them."""
    if state.kind == "run" and not any(word in TERMINAL for _, word in state.events):
        # What a run did to a dataset is told when the run has ended (ruling 13).
        yield "dataJobInputOutput.inputDatasetEdges[].properties"
        yield "dataJobInputOutput.outputDatasetEdges[].properties"
    if state.kind != "dataset":
        yield "datasetProperties.customProperties[openlineage.subset]"  # of runs and jobs it is on the edge
    facets = state.cells.get(state.urn, {}).get(RUN_PROPERTIES, {})
    if not any(said is not GONE and "test.results" in said for _, said in facets.values()):
        yield "dataProcessInstanceProperties.customProperties[openlineage.test.results]"
