"""One entity of the catalogue: its name, its aspects, points and relationships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.edges import entity_type
from dh_bridge.datahub.urns import parse_urn
from dh_bridge.errors import AspectError

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog

_NAME_ASPECTS = {
    "container": "containerProperties",
    "dataFlow": "dataFlowInfo",
    "dataJob": "dataJobInfo",
    "dataProcessInstance": "dataProcessInstanceProperties",
}
"""The aspect whose ``name`` people see; a dataset is displayed by its URN, whose name is more complete."""

_TYPES_WITH_SECOND_NAME = {"dataFlow", "dataJob", "dataset", "schemaField"}


class EntityRelation(msgspec.Struct, frozen=True):
    """A relationship, from the aspect that states it to the entity at its other end."""

    name: str
    aspect: str
    urn: str


class CatalogEntity(msgspec.Struct, frozen=True):
    """All data of the catalogue about an entity; ``points`` are its timeseries aspects, oldest point first."""

    urn: str
    type: str
    name: str
    raw_names: list[tuple[str, str]]
    aspects: dict[str, Any]
    points: dict[str, list[Any]]
    relationships: list[EntityRelation]
    referrers: list[EntityRelation]


def find_entity(catalog: Catalog, urn: str) -> CatalogEntity | None:
    """Return the data about ``urn``; None if it has neither aspects nor points, and no other entity refers to it."""
    catalog_entity = CatalogEntity(
        urn=urn,
        type=entity_type(urn),
        name=display_name(catalog, urn),
        raw_names=catalog.raw_names(urn),
        aspects=catalog.aspects(urn),
        points={name: catalog.timeseries(urn, name) for name in catalog.timeseries_aspects(urn)},
        relationships=[EntityRelation(*row) for row in catalog.relationships(urn)],
        referrers=[EntityRelation(*row) for row in catalog.referrers(urn)],
    )
    return catalog_entity if catalog_entity.aspects or catalog_entity.points or catalog_entity.referrers else None


def display_name(catalog: Catalog, urn: str) -> str:
    """Return what people call the entity: a job is called ``<flow>.<job>``, as in DataHub's lineage view."""
    type_name = entity_type(urn)
    name_aspect = catalog.aspect(urn, _NAME_ASPECTS[type_name]) if type_name in _NAME_ASPECTS else None
    name = (name_aspect or {}).get("name") or _key_name(urn)
    flow_urn = key_parts(urn)[0]
    if type_name != "dataJob" or entity_type(flow_urn) != "dataFlow":  # a malformed job has no flow
        return str(name)
    flow = display_name(catalog, flow_urn)
    return flow if name == flow or _key_name(urn) == flow else f"{flow}.{name.removeprefix(flow + '.')}"


def key_parts(urn: str) -> tuple[str, ...]:
    """Return the parts of a URN's key; the whole text if it is no URN."""
    try:
        return parse_urn(urn)[1]
    except AspectError:
        return (urn,)


def _key_name(urn: str) -> str:
    """Return the part of a URN's key that is the name."""
    parts = key_parts(urn)
    return parts[1] if len(parts) > 1 and entity_type(urn) in _TYPES_WITH_SECOND_NAME else parts[-1]
