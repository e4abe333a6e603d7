"""dataProcessInstanceInput and dataProcessInstanceOutput: what a run read and wrote, by setting as edges with statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.translation.contributions import actor_of, edge_properties, io_of
from dh_bridge.translation.render.stamps import audit_stamp
from dh_bridge.translation.slots import INPUT, OUTPUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.history import History
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

_ENTITY = "dataProcessInstance"
_SIDES = ((INPUT, "input", "dataProcessInstanceInput"), (OUTPUT, "output", "dataProcessInstanceOutput"))


def run_io(state: RunState, history: History, options: Options) -> Iterator[Proposal]:
    """Yield the inputs and the outputs of a run, where it has any: an empty aspect would erase."""
    for slot, side, aspect in _SIDES:
        named = {urn: cell for urn, cell in io_of(state, slot).items() if urn not in state.through}
        if not named:
            continue
        found: dict[str, Any] = {f"{side}s": sorted(named)}
        if options.settings.runs.edges and options.profile.has_field(aspect, f"{side}Edges"):
            described = _described(state, side) if history.terminals else {}
            actor = actor_of(state.cells.get(state.urn, {}), options)
            found[f"{side}Edges"] = [
                _edge(
                    urn,
                    named[urn][1],
                    named[urn][0][0] if history.terminals else None,
                    described.get(urn),
                    actor,
                    options,
                )
                for urn in sorted(named)
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


def _edge(  # noqa: PLR0913 - the parts of an edge
    urn: str, first: int, last: int | None, properties: dict[str, str] | None, actor: str, options: Options
) -> dict[str, Any]:
    found: dict[str, Any] = {"destinationUrn": urn, "created": audit_stamp(first, actor)}
    if last is not None:
        found["lastModified"] = audit_stamp(last, actor)
    if properties:
        found["properties"] = {options.prefix + key: properties[key] for key in sorted(properties)}
    return found
