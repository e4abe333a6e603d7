"""One entity of the catalogue: what it is called, and everything that is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.edges import entity_type
from dh_bridge.datahub.urns import parse
from dh_bridge.errors import AspectError

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog

_NAMED_BY = {
    "container": "containerProperties",
    "dataFlow": "dataFlowInfo",
    "dataJob": "dataJobInfo",
    "dataProcessInstance": "dataProcessInstanceProperties",
}
"""The aspect whose ``name`` people see; a dataset is called by its URN, whose name is the fuller one."""

_SECOND_PART = {"dataFlow", "dataJob", "dataset", "schemaField"}


class Relation(msgspec.Struct, frozen=True):
    """A relationship, from the aspect that states it to the entity at its other end."""

    name: str
    aspect: str
    urn: str


class Entity(msgspec.Struct, frozen=True):
    """Everything that the catalogue knows of an entity; ``points`` are its timeseries aspects, oldest point first."""

    urn: str
    type: str
    name: str
    raw_names: list[tuple[str, str]]
    aspects: dict[str, Any]
    points: dict[str, list[Any]]
    relationships: list[Relation]
    referrers: list[Relation]


def entity(catalog: Catalog, urn: str) -> Entity | None:
    """Return what the catalogue knows of ``urn``; None when it has neither aspects nor points, nor is referred to."""
    found = Entity(
        urn=urn,
        type=entity_type(urn),
        name=display_name(catalog, urn),
        raw_names=catalog.raw_names(urn),
        aspects=catalog.aspects(urn),
        points={name: catalog.timeseries(urn, name) for name in catalog.timeseries_aspects(urn)},
        relationships=[Relation(*row) for row in catalog.relationships(urn)],
        referrers=[Relation(*row) for row in catalog.referrers(urn)],
    )
    return found if found.aspects or found.points or found.referrers else None


def display_name(catalog: Catalog, urn: str) -> str:
    """Return what people call the entity: a job is called ``<flow>.<job>``, as in DataHub's lineage view."""
    kind = entity_type(urn)
    named = catalog.aspect(urn, _NAMED_BY[kind]) if kind in _NAMED_BY else None
    name = (named or {}).get("name") or _key_name(urn)
    flow_urn = _key(urn)[0]
    if kind != "dataJob" or entity_type(flow_urn) != "dataFlow":  # a malformed job has no flow
        return str(name)
    flow = display_name(catalog, flow_urn)
    return flow if name == flow or _key_name(urn) == flow else f"{flow}.{name.removeprefix(flow + '.')}"


def _key(urn: str) -> tuple[str, ...]:
    """Return the parts of a URN's key; the whole text for what is no URN."""
    try:
        return parse(urn)[1]
    except AspectError:
        return (urn,)


def _key_name(urn: str) -> str:
    """Return the part of a URN's key that is the name."""
    parts = _key(urn)
    return parts[1] if len(parts) > 1 and entity_type(urn) in _SECOND_PART else parts[-1]
