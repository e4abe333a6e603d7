"""Search, one entity, and the columns of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.entity import find_entity
from dh_bridge.catalog.listing import ENTITY_TYPES, find_urns, list_urns, search_urns
from dh_bridge.console.parameters import EntityLink, UnknownEntityError, entity_link, require_entity

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog
    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource

_MAX_RELATIONS = 100
"""Points of a timeseries, and relationships, that an answer has, at most."""
_COLUMN_EDGES = """
    SELECT e.urn, o.urn, c.operation FROM column_edge c JOIN entity e ON e.id = c.{other} JOIN entity o ON o.id = c.owner
    WHERE c.{side} = (SELECT id FROM entity WHERE urn = ?) ORDER BY 1, 3, 2
"""
_UPSTREAM_EDGES = _COLUMN_EDGES.format(other="upstream", side="downstream")
_DOWNSTREAM_EDGES = _COLUMN_EDGES.format(other="downstream", side="upstream")
_EDGE_COLUMNS = """
    SELECT urn FROM entity WHERE type = 'schemaField' AND urn >= ?1 AND urn < ?1 || char(1114111) ORDER BY urn
"""


class SearchResult(msgspec.Struct, frozen=True):
    """A page of matches: how many follow (``is_exact``: all are counted), and the token of the next page."""

    entities: list[EntityLink]
    remaining: int
    is_exact: bool
    next_page: str | None


class EntityReference(msgspec.Struct, frozen=True):
    """A relationship to or from another entity."""

    name: str
    aspect: str
    entity: EntityLink


class EntityDetails(msgspec.Struct, frozen=True):
    """An entity with its aspects, its latest points and its relationships; ``hidden`` counts what is left out."""

    entity: EntityLink
    is_removed: bool
    raw_names: list[tuple[str, str]]
    aspects: dict[str, Any]
    points: dict[str, list[Any]]
    relationships: list[EntityReference]
    referrers: list[EntityReference]
    hidden: dict[str, int]


class ColumnLink(msgspec.Struct, frozen=True):
    """A column that a column comes from or goes to: its dataset, its path, how, and the entity that states it."""

    dataset: EntityLink
    column: str
    operation: str
    stated_by: str


class DatasetColumn(msgspec.Struct, frozen=True):
    """A column: its path, native type and description, and the columns around it."""

    path: str
    type: str
    description: str
    upstream: list[ColumnLink]
    downstream: list[ColumnLink]


class DatasetColumns(msgspec.Struct, frozen=True):
    """The columns of a dataset in the order of its schema, then those that only lineage names."""

    dataset: EntityLink
    columns: list[DatasetColumn]


def answer_search(source: ConsoleSource, parameters: RequestParameters) -> SearchResult:
    """Return the entities that match ``q``, of ``type``; with ``in=urn`` only URNs are searched."""
    text = parameters.text("q")
    kind = parameters.choice("type", ("all", *ENTITY_TYPES), "all")
    types = list(ENTITY_TYPES.values()) if kind == "all" else [ENTITY_TYPES[kind]]
    search = find_urns if parameters.choice("in", ("all", "urn"), "all") == "urn" else search_urns
    size, token = parameters.page_size(), parameters.page_token()
    with source.read_catalog() as catalog:
        if text:
            page = search(catalog.connection, text, types, limit=size, page=token)
        else:
            page = list_urns(catalog.connection, types, limit=size, page=token)
        entities = [entity_link(catalog, urn) for urn in page.items]
        return SearchResult(entities, page.remaining, page.is_exact, page.next_page)


def answer_entity(source: ConsoleSource, parameters: RequestParameters) -> EntityDetails:
    """Return what the catalogue has of the entity ``urn``."""
    urn = parameters.required("urn")
    with source.read_catalog() as catalog:
        found_entity = find_entity(catalog, urn, limit=_MAX_RELATIONS)
        if found_entity is None:
            raise UnknownEntityError(f"the catalogue has no entity {urn} (search for a part of its name)")
        return EntityDetails(
            entity=entity_link(catalog, urn),
            is_removed=bool((found_entity.aspects.get("status") or {}).get("removed")),
            raw_names=found_entity.raw_names,
            aspects=found_entity.aspects,
            points=found_entity.points,
            relationships=[
                EntityReference(row.name, row.aspect, entity_link(catalog, row.urn))
                for row in found_entity.relationships
            ],
            referrers=[
                EntityReference(row.name, row.aspect, entity_link(catalog, row.urn)) for row in found_entity.referrers
            ],
            hidden=found_entity.hidden,
        )


def answer_columns(source: ConsoleSource, parameters: RequestParameters) -> DatasetColumns:
    """Return the columns of the dataset ``urn`` with their lineage."""
    urn = parameters.required("urn")
    with source.read_catalog() as catalog:
        require_entity(catalog, urn)
        return DatasetColumns(entity_link(catalog, urn), read_columns(catalog, urn))


def read_columns(catalog: Catalog, urn: str) -> list[DatasetColumn]:
    """Return the columns of a dataset in the order of its schema, then those that only lineage names."""
    fields = (catalog.aspect(urn, "schemaMetadata") or {}).get("fields") or []
    known_fields = {field["fieldPath"]: field for field in fields}
    prefix = f"urn:li:schemaField:({urn},"
    edge_paths = [column_path(row[0]) for row in catalog.connection.execute(_EDGE_COLUMNS, (prefix,))]
    return [
        _column(catalog, f"{prefix}{path})", path, known_fields.get(path, {}))
        for path in dict.fromkeys([*known_fields, *edge_paths])
    ]


def _column(catalog: Catalog, urn: str, path: str, field: dict[str, Any]) -> DatasetColumn:
    return DatasetColumn(
        path=path,
        type=field.get("nativeDataType") or "",
        description=field.get("description") or "",
        upstream=_column_links(catalog, _UPSTREAM_EDGES, urn),
        downstream=_column_links(catalog, _DOWNSTREAM_EDGES, urn),
    )


def _column_links(catalog: Catalog, query: str, urn: str) -> list[ColumnLink]:
    return [
        ColumnLink(entity_link(catalog, dataset_of(other)), column_path(other), operation, owner)
        for other, owner, operation in catalog.connection.execute(query, (urn,))
    ]


def dataset_of(column: str) -> str:
    """Return the dataset in the URN of a column."""
    return column.removeprefix("urn:li:schemaField:(").rpartition(",")[0]


def column_path(column: str) -> str:
    """Return the path in the URN of a column."""
    return column.rpartition(",")[2].removesuffix(")")
