"""Which aspects a run's facts reached, and why others were not written: what the leaf report rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.openlineage.events import TERMINAL
from dh_bridge.translation.slots import CHECKS

if TYPE_CHECKING:
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

_STATEFUL = ("dataProcessInstanceProperties", "dataProcessInstanceRelationships")
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
    urns = {state.urn, *state.cells}
    for slots in state.cells.values():
        urns.update(slots.get(CHECKS, ()))
    for urn in urns:
        for aspect in by_urn.get(urn, ()):
            found[aspect] = None
    if state.kind == "run" and not any(word in TERMINAL for _, word in state.events):
        for edges in (
            "inputDatasetEdges",
            "outputDatasetEdges",
        ):  # what a run did to them is told when it ends (ruling 13)
            found[f"dataJobInputOutput.{edges}[].properties"] = "pending-terminal"
    return found
