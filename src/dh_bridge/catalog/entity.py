"""One entity of the catalogue: its name, its aspects, points and relationships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.paging import MAX_EXAMINED, decode_key, take_page
from dh_bridge.datahub.urns import parse_urn
from dh_bridge.errors import AspectError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.catalog.paging import Page, PageKey
    from dh_bridge.catalog.store import Catalog

_NAME_ASPECTS = {
    "container": "containerProperties",
    "dataFlow": "dataFlowInfo",
    "dataJob": "dataJobInfo",
    "dataProcessInstance": "dataProcessInstanceProperties",
}
"""The aspect whose ``name`` people see; a dataset is displayed by its URN, whose name is more complete."""

RELATIONS = """
    SELECT aspect, name, target FROM relationship
    WHERE source = (SELECT id FROM entity WHERE urn = ?) AND (aspect, name, target) > (?, ?, ?)
    ORDER BY aspect, name, target
"""
REFERRERS = """
    SELECT name, source, aspect FROM relationship
    WHERE target = (SELECT id FROM entity WHERE urn = ?) AND lineage = ? AND (name, source, aspect) > (?, ?, ?)
    ORDER BY name, source, aspect
"""
_URN = "SELECT urn FROM entity WHERE id = ?"
_COUNT_POINTS = """
    SELECT count(*) FROM (
        SELECT 1 FROM point WHERE entity = (SELECT id FROM entity WHERE urn = ?) AND aspect = ? LIMIT ?
    )
"""

_TYPES_WITH_SECOND_NAME = {"dataFlow", "dataJob", "dataset", "schemaField"}


class EntityRelation(msgspec.Struct, frozen=True):
    """A relationship, from the aspect that states it to the entity at its other end."""

    name: str
    aspect: str
    urn: str


class CatalogEntity(msgspec.Struct, frozen=True):
    """The data of the catalogue about an entity.

    Attributes:
        points: its timeseries aspects, the oldest point first; if there is a limit, the latest points.
        hidden: what the limit left out, with its number, counted up to MAX_EXAMINED: the names of timeseries aspects,
            ``relationships``, ``referrers``.
    """

    urn: str
    type: str
    name: str
    raw_names: list[tuple[str, str]]
    aspects: dict[str, Any]
    points: dict[str, list[Any]]
    relationships: list[EntityRelation]
    referrers: list[EntityRelation]
    hidden: dict[str, int] = {}


def find_entity(catalog: Catalog, urn: str, *, limit: int | None = None) -> CatalogEntity | None:
    """Return the data about an entity; None if it has neither aspects nor points, and no other entity refers to it.

    Args:
        catalog: The catalogue.
        urn: The URN of the entity.
        limit: The maximum number of points of each aspect, of relationships and of referrers; None for all.
    """
    point_names = catalog.timeseries_aspects(urn)
    relationships, referrers = list_relations(catalog, urn, limit=limit), list_referrers(catalog, urn, limit=limit)
    hidden = {name: _count_hidden_points(catalog, urn, name, limit) for name in point_names if limit is not None}
    hidden |= {"relationships": relationships.remaining, "referrers": referrers.remaining}
    catalog_entity = CatalogEntity(
        urn=urn,
        type=entity_type(urn),
        name=display_name(catalog, urn),
        raw_names=catalog.raw_names(urn),
        aspects=catalog.aspects(urn),
        points={name: catalog.timeseries(urn, name, latest=limit) for name in point_names},
        relationships=relationships.items,
        referrers=referrers.items,
        hidden={name: count for name, count in hidden.items() if count},
    )
    return catalog_entity if catalog_entity.aspects or catalog_entity.points or catalog_entity.referrers else None


def list_relations(
    catalog: Catalog, urn: str, *, limit: int | None = None, page: str | None = None
) -> Page[EntityRelation]:
    """Return the relationships of an entity to others, as :func:`list_referrers` returns those to it."""
    after = decode_key(page, (str, str, int)) if page is not None else ("", "", 0)
    rows = catalog.connection.execute(RELATIONS, (urn, *after))
    listed = take_page((((aspect, name, other), (name, aspect, other)) for aspect, name, other in rows), limit=limit)
    return _with_urns(catalog, listed)


def list_referrers(
    catalog: Catalog, urn: str, *, limit: int | None = None, page: str | None = None
) -> Page[EntityRelation]:
    """Return the relationships of others to an entity; those of a page are sorted.

    Args:
        catalog: The catalogue.
        urn: The URN of the entity.
        limit: The number of relationships to return; None for all.
        page: The token of the page; None for the first one.

    Raises:
        SettingsError: The token is not one of this list.
    """
    after = decode_key(page, (int, str, int, str)) if page is not None else (-1, "", 0, "")
    listed = take_page(_referrer_rows(catalog, urn, int(after[0]), after[1:]), limit=limit)
    return _with_urns(catalog, listed)


def _referrer_rows(
    catalog: Catalog, urn: str, lineage_after: int, after: PageKey
) -> Iterator[tuple[PageKey, tuple[str, str, int]]]:
    for lineage in range(lineage_after, 2):
        values = (urn, lineage, *(after if lineage == lineage_after else ("", 0, "")))
        for name, other, aspect in catalog.connection.execute(REFERRERS, values):
            yield (lineage, name, other, aspect), (name, aspect, other)


def _with_urns(catalog: Catalog, listed: Page[tuple[str, str, int]]) -> Page[EntityRelation]:
    relations = [
        EntityRelation(name, aspect, catalog.connection.execute(_URN, (other,)).fetchone()[0])
        for name, aspect, other in listed.items
    ]
    return listed.with_items(sorted(relations, key=lambda relation: (relation.name, relation.aspect, relation.urn)))


def _count_hidden_points(catalog: Catalog, urn: str, aspect: str, limit: int) -> int:
    (count,) = catalog.connection.execute(_COUNT_POINTS, (urn, aspect, MAX_EXAMINED + limit)).fetchone()
    return max(0, int(count) - limit)


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
