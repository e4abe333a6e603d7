"""Counts of the content of a catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog

_ENTITIES = """
    SELECT type, count(*) FROM entity WHERE EXISTS (SELECT 1 FROM aspect WHERE entity = entity.id)
        OR EXISTS (SELECT 1 FROM point WHERE entity = entity.id) GROUP BY type ORDER BY type
"""


class CatalogSummary(msgspec.Struct, frozen=True):
    """Counts by name, sorted; ``lineage`` and ``columns`` count edges between entities and between columns."""

    entities: dict[str, int]
    aspects: dict[str, int]
    points: dict[str, int]
    relationships: dict[str, int]
    lineage: int
    columns: int


def summarize(catalog: Catalog) -> CatalogSummary:
    """Return how many entities, aspects, points, relationships and lineage edges there are."""

    def by_name(query: str) -> dict[str, int]:
        return dict(catalog.connection.execute(query).fetchall())

    def count(query: str) -> int:
        return int(catalog.connection.execute(query).fetchone()[0])

    return CatalogSummary(
        entities=by_name(_ENTITIES),
        aspects=by_name("SELECT name, count(*) FROM aspect GROUP BY name ORDER BY name"),
        points=by_name("SELECT aspect, count(*) FROM point GROUP BY aspect ORDER BY aspect"),
        relationships=by_name("SELECT name, count(*) FROM relationship GROUP BY name ORDER BY name"),
        lineage=count("SELECT count(*) FROM relationship WHERE lineage <> 0"),
        columns=count("SELECT count(*) FROM (SELECT DISTINCT upstream, downstream FROM column_edge)"),
    )
