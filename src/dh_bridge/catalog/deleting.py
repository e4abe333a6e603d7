"""Entities leave the catalogue for good, as `datahub delete --hard` lets them; what refers to them goes on doing so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.catalog.store import Catalog

_TABLES = (("aspect", "entity"), ("point", "entity"), ("relationship", "source"), ("column_edge", "owner"))


def delete_entities(catalog: Catalog, urns: Iterable[str]) -> int:
    """Delete entities with all their aspects and points, in one transaction; return how many there were."""
    deleted_count = 0
    with catalog.transaction():
        for urn in urns:
            row = catalog.connection.execute("SELECT id FROM entity WHERE urn = ?", (urn,)).fetchone()
            if row is None:
                continue
            row_counts = [
                catalog.connection.execute(f"DELETE FROM {table} WHERE {column} = ?", row).rowcount  # noqa: S608 - ours
                for table, column in _TABLES
            ]
            deleted_count += any(row_counts)
    return deleted_count
