"""The fields and properties that a proposal writes, by name: so the report names none that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.datahub.proposal import Proposal

_PROPERTY_MAPS = ("customProperties", "runtimeContext")
#: Arrays whose elements have properties -> the field that an element is known by.
_EDGE_KEYS = {
    "inputDatasetEdges": "destinationUrn", "outputDatasetEdges": "destinationUrn", "inputDatajobEdges": "destinationUrn",
    "upstreams": "dataset",
}  # fmt: skip


def fields_of(proposal: Proposal) -> Iterator[str]:
    """Yield the paths of the fields of an aspect that a proposal writes: ``aspect.field``."""
    aspect, value = proposal.aspect_name, proposal.value
    yield f"{aspect}.urn"
    if proposal.change_type == "PATCH":
        operations = value["patch"] if isinstance(value, dict) else value
        yield from {f"{aspect}.{operation['path'].split('/')[1]}" for operation in operations}
    else:
        yield from (f"{aspect}.{field}" for field, content in value.items() if content not in ({}, [], None))


def properties_of(proposal: Proposal) -> Iterator[str]:
    """Yield the paths of the properties of a proposal.

    A path is ``aspect.customProperties[name]``. The property of an edge has two: ``aspect.edges[].properties[name]``, and the
    same with the URN at the end of the edge in place of the position.
    """
    aspect, value = proposal.aspect_name, proposal.value
    if proposal.change_type == "PATCH":
        for operation in value["patch"] if isinstance(value, dict) else value:
            if operation["op"] != "remove":
                steps = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
                yield from _operation_properties(aspect, steps, operation.get("value"))
    elif isinstance(value, dict):
        for name in _PROPERTY_MAPS:
            yield from _map_properties(f"{aspect}.{name}", value.get(name))
        for array, key in _EDGE_KEYS.items():
            for element in value.get(array) or ():
                yield from _edge_properties(aspect, array, element[key], element)


def _operation_properties(aspect: str, steps: list[str], value: Any) -> Iterator[str]:
    if steps[0] in _PROPERTY_MAPS:
        yield from _map_properties(f"{aspect}.{steps[0]}", {steps[1]: value} if len(steps) == 2 else value)
    elif steps[0] in _EDGE_KEYS and len(steps) == 2:
        yield from _edge_properties(aspect, steps[0], steps[1], value)


def _edge_properties(aspect: str, array: str, urn: str, edge: Any) -> Iterator[str]:
    for edge_key in ("", urn):
        yield from _map_properties(f"{aspect}.{array}[{edge_key}].properties", edge.get("properties"))


def _map_properties(path: str, properties: Any) -> Iterator[str]:
    # in unions of an aspect's JSON a map has the name of its type above it
    if isinstance(properties, dict):
        members = properties.get("map")
        yield from (f"{path}[{name}]" for name in (members if isinstance(members, dict) else properties))
