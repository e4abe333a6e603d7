"""dataProcessInstanceInput and dataProcessInstanceOutput: the datasets of a run, by setting as edges with statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.aggregate.application_totals import total_io_of
from dh_bridge.aggregate.contributions import actor_of, edge_properties
from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.model.facts import INPUT, OUTPUT
from dh_bridge.render.shared import dataset_edge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.aggregate.run_history import History
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

_ENTITY = "dataProcessInstance"
_DIRECTIONS = ((INPUT, "input", "dataProcessInstanceInput"), (OUTPUT, "output", "dataProcessInstanceOutput"))


def run_io(state: RunState, history: History, options: Options) -> Iterator[Proposal]:
    """Yield the inputs and the outputs of a run, unless it has none: an empty aspect would erase them."""
    for fact_kind, direction, aspect in _DIRECTIONS:
        datasets = total_io_of(state, fact_kind)
        if state.collapsed_urns:
            datasets = {urn: versioned for urn, versioned in datasets.items() if urn not in state.collapsed_urns}
        if not datasets:
            continue
        aspect_json: dict[str, Any] = {f"{direction}s": sorted(datasets)}
        if "run_edges" in options.settings.optional_metadata and options.profile.has_field(aspect, f"{direction}Edges"):
            properties_by_dataset = _properties_by_dataset(state, direction) if history.terminals else {}
            actor = actor_of(state.facts.get(state.urn, {}), options)
            aspect_json[f"{direction}Edges"] = [
                dataset_edge(
                    urn,
                    (first_time, actor),
                    (version[0] if history.terminals else 0, actor),
                    properties_by_dataset.get(urn, {}),
                    options.prefix,
                )
                for urn, (version, first_time) in sorted(datasets.items())
            ]
        yield upsert(_ENTITY, state.urn, aspect, aspect_json)


def _properties_by_dataset(state: RunState, edge_direction: str) -> dict[str, dict[str, str]]:
    """Return the properties of the run's edges on one side, by dataset: from its jobs' edges."""
    properties_by_dataset: dict[str, dict[str, str]] = {}
    for task in sorted(state.facts):
        for (direction, dataset), properties in edge_properties(task, state).items():
            if direction == edge_direction:
                properties_by_dataset.setdefault(dataset, {}).update(properties)
    return properties_by_dataset
