"""dataProcessInstanceInput and dataProcessInstanceOutput: what a run read and wrote, by setting as edges with statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.translation.facts import INPUT, OUTPUT
from dh_bridge.translation.render.shared import edge
from dh_bridge.translation.runs.contributions import actor_of, edge_properties, io_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState

_ENTITY = "dataProcessInstance"
_SIDES = ((INPUT, "input", "dataProcessInstanceInput"), (OUTPUT, "output", "dataProcessInstanceOutput"))


def run_io(state: RunState, history: History, options: Options) -> Iterator[Proposal]:
    """Yield the inputs and the outputs of a run, where it has any: an empty aspect would erase."""
    for slot, side, aspect in _SIDES:
        named = io_of(state, slot)
        if state.through:
            named = {urn: cell for urn, cell in named.items() if urn not in state.through}
        if not named:
            continue
        found: dict[str, Any] = {f"{side}s": sorted(named)}
        if options.settings.runs.edges and options.profile.has_field(aspect, f"{side}Edges"):
            described = _described(state, side) if history.terminals else {}
            actor = actor_of(state.cells.get(state.urn, {}), options)
            found[f"{side}Edges"] = [
                edge(
                    urn,
                    (first, actor),
                    (stamp[0] if history.terminals else 0, actor),
                    described.get(urn, {}),
                    options.prefix,
                )
                for urn, (stamp, first) in sorted(named.items())
            ]
        yield upsert(_ENTITY, state.urn, aspect, found)


def _described(state: RunState, side: str) -> dict[str, dict[str, str]]:
    """Return the properties of the run's edges on one side, by dataset: what its jobs say of theirs."""
    found: dict[str, dict[str, str]] = {}
    for task in sorted(state.cells):
        for (direction, dataset), properties in edge_properties(task, state).items():
            if direction == side:
                found.setdefault(dataset, {}).update(properties)
    return found
