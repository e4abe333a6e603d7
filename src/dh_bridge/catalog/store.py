"""The embedded catalogue: one SQLite file that keeps what DataHub would keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec

from dh_bridge.catalog.batch import CatalogBatch
from dh_bridge.catalog.phrases import expand
from dh_bridge.sinks.base import Delivery
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from dh_bridge.datahub.proposal import Proposal


_decode = msgspec.json.decode

_NEXT_TIMESERIES_ASPECT = (
    "SELECT min(aspect) FROM point WHERE entity = (SELECT id FROM entity WHERE urn = ?) AND aspect > ?"
)
_MAX_CACHED_IDS = 100_000
"""URNs whose row numbers are remembered between transactions; at most about 40 MB."""

_RAW_NAMES = (
    ("openlineage.namespace", "openlineage.name"),
    ("openlineage.job.namespace", "openlineage.job.name"),
)
"""Custom properties that keep the pair a URN was made of: datasets, jobs and flows."""


class Catalog(Database):
    """An open catalogue: latest aspects, points in time, relationships and lineage.

    One thread at a time may use it. Other processes may read the file at the same time.

    Args:
        path: the file, which is created if it is absent; ``:memory:`` keeps the catalogue in memory.
        readonly: whether the file is opened for reading only; then it must exist.

    Raises:
        SinkError: the file cannot be opened, is damaged, or is no catalogue.

    Example:
        >>> from dh_bridge.datahub.proposal import upsert
        >>> with Catalog(":memory:") as catalog:
        ...     delivery = catalog.apply([upsert("tag", "urn:li:tag:daily", "tagProperties", {"name": "daily"})])
        ...     catalog.aspect("urn:li:tag:daily", "tagProperties")
        {'name': 'daily'}
        >>> delivery.delivered_count, delivery.failures
        (1, [])
    """

    def __init__(self, path: str | Path, *, readonly: bool = False) -> None:
        super().__init__(path, readonly=readonly)
        self._cached_ids: dict[str, int] = {}

    def apply(self, proposals: Sequence[Proposal]) -> Delivery:
        """Apply proposals in order, in one transaction, as DataHub's server does.

        Args:
            proposals: the proposals.

        Returns:
            The number of proposals that were applied, and those that the server would reject, which change nothing.

        Raises:
            SinkError: the file cannot be written; then no proposal was applied.
        """
        with self.transaction():
            batch = CatalogBatch(self.connection, self._cached_ids)
            for proposal in proposals:
                batch.apply(proposal)
            batch.write()
        return Delivery(len(proposals) - len(batch.failures), batch.failures)

    def _after_rollback(self) -> None:
        self._cached_ids.clear()  # rows that were numbered inside are gone

    def _after_commit(self) -> None:
        if len(self._cached_ids) > _MAX_CACHED_IDS:
            self._cached_ids.clear()

    def aspects(self, urn: str) -> dict[str, Any]:
        """Return the latest aspects of an entity.

        Args:
            urn: the URN of the entity.

        Returns:
            The JSON value of each aspect by its name; empty for an unknown entity.
        """
        rows = self.connection.execute(
            "SELECT name, value FROM aspect WHERE entity = (SELECT id FROM entity WHERE urn = ?) ORDER BY name", (urn,)
        )
        return {name: _decode(expand(value)) for name, value in rows}

    def aspect(self, urn: str, name: str) -> Any:
        """Return the latest value of an aspect.

        Args:
            urn: the URN of the entity.
            name: the name of the aspect.

        Returns:
            The JSON value; None if the entity does not have the aspect.
        """
        row = self.connection.execute(
            "SELECT value FROM aspect WHERE entity = (SELECT id FROM entity WHERE urn = ?) AND name = ?", (urn, name)
        ).fetchone()
        return None if row is None else _decode(expand(row[0]))

    def timeseries(self, urn: str, aspect: str, *, latest: int | None = None) -> list[Any]:
        """Return the points of a timeseries aspect.

        Args:
            urn: the URN of the entity.
            aspect: the name of the aspect.
            latest: the number of points to return, the latest ones; None for all.

        Returns:
            The JSON value of each point, the oldest first.
        """
        rows = self.connection.execute(
            "SELECT value FROM point WHERE entity = (SELECT id FROM entity WHERE urn = ?) AND aspect = ?"
            " ORDER BY time DESC, document DESC LIMIT ?",
            (urn, aspect, -1 if latest is None else latest),
        )
        return [_decode(value) for (value,) in rows][::-1]

    def timeseries_aspects(self, urn: str) -> list[str]:
        """Return which timeseries aspects an entity has points of.

        Args:
            urn: the URN of the entity.

        Returns:
            The names of the aspects, sorted.
        """
        names: list[str] = []
        while True:  # from name to name: an entity may have a million points
            row = self.connection.execute(_NEXT_TIMESERIES_ASPECT, (urn, names[-1] if names else "")).fetchone()
            if row[0] is None:
                return names
            names.append(row[0])

    def entities(self, entity_type: str | None = None) -> Iterator[str]:
        """Return the entities that have an aspect or a point. Entities that are only referred to are left out.

        Args:
            entity_type: the type of the entities, for example ``dataset``; None means all.

        Returns:
            An iterator over the URNs, sorted.
        """
        rows = self.connection.execute(
            "SELECT urn FROM entity WHERE (?1 IS NULL OR type = ?1) AND (EXISTS (SELECT 1 FROM aspect"
            " WHERE entity = entity.id) OR EXISTS (SELECT 1 FROM point WHERE entity = entity.id)) ORDER BY urn",
            (entity_type,),
        )
        return (urn for (urn,) in rows)

    @property
    def has_content(self) -> bool:
        """Whether any aspect or point is stored; the file of a ledger for another target has none."""
        query = "SELECT EXISTS (SELECT 1 FROM aspect) OR EXISTS (SELECT 1 FROM point)"
        return bool(self.connection.execute(query).fetchone()[0])

    @property
    def has_runs(self) -> bool:
        """Return whether the file has run states or fingerprints, as a ledger has."""
        query = "SELECT EXISTS (SELECT 1 FROM run) OR EXISTS (SELECT 1 FROM sent)"
        return bool(self.connection.execute(query).fetchone()[0])

    def relationships(self, urn: str) -> Iterator[tuple[str, str, str]]:
        """Return the relationships of an entity to others.

        Args:
            urn: the URN of the entity.

        Returns:
            An iterator over (name of the relationship, aspect, URN of the other entity), sorted.
        """
        rows = self.connection.execute(
            "SELECT r.name, r.aspect, t.urn FROM relationship r JOIN entity t ON t.id = r.target"
            " WHERE r.source = (SELECT id FROM entity WHERE urn = ?) ORDER BY 1, 2, 3",
            (urn,),
        )
        return cast("Iterator[tuple[str, str, str]]", rows)

    def referrers(self, urn: str) -> Iterator[tuple[str, str, str]]:
        """Return the relationships of other entities to an entity.

        Args:
            urn: the URN of the entity.

        Returns:
            An iterator over (name of the relationship, aspect, URN of the other entity), sorted.
        """
        rows = self.connection.execute(
            "SELECT r.name, r.aspect, s.urn FROM relationship r JOIN entity s ON s.id = r.source"
            " WHERE r.target = (SELECT id FROM entity WHERE urn = ?) ORDER BY 1, 2, 3",
            (urn,),
        )
        return cast("Iterator[tuple[str, str, str]]", rows)

    def raw_names(self, urn: str) -> list[tuple[str, str]]:
        """Return the names in OpenLineage that an entity was written under.

        Args:
            urn: the URN of the entity.

        Returns:
            Pairs of namespace and name, sorted.
        """
        property_maps = [value.get("customProperties") or {} for value in self.aspects(urn).values()]
        pairs = {
            (properties[namespace_key], properties[name_key])
            for properties in property_maps
            for namespace_key, name_key in _RAW_NAMES
            if namespace_key in properties and name_key in properties
        }
        return sorted(pairs)


_TABLES = (
    ("aspect", "entity"),
    ("point", "entity"),
    ("relationship", "source"),
    ("column_edge", "owner"),
    ("search_text", "entity"),
)


def delete_entities(catalog: Catalog, urns: Iterable[str], *, with_points: bool = True) -> int:
    """Delete entities with all their aspects and points, in one transaction; return how many there were.

    Args:
        catalog: the catalogue.
        urns: the entities.
        with_points: False: their points in time stay.
    """
    tables = _TABLES if with_points else [item for item in _TABLES if item[0] != "point"]
    deleted_count = 0
    with catalog.transaction():
        for urn in urns:
            row = catalog.connection.execute("SELECT id FROM entity WHERE urn = ?", (urn,)).fetchone()
            if row is None:
                continue
            row_counts = [
                catalog.connection.execute(f"DELETE FROM {table} WHERE {column} = ?", row).rowcount  # noqa: S608 - constants
                for table, column in tables
            ]
            deleted_count += any(row_counts)
    return deleted_count


_REFERENCES = (
    ("relationship", "target"),
    ("column_edge", "downstream"),
    ("column_edge", "upstream"),
    ("run_link", "entity"),
)


def delete_references(catalog: Catalog, urns: Collection[str]) -> None:
    """Delete the lineage and relationships that lead to entities, in one transaction."""
    with catalog.transaction():
        for table, column in _REFERENCES:
            catalog.connection.executemany(
                f"DELETE FROM {table} WHERE {column} = (SELECT id FROM entity WHERE urn = ?)",  # noqa: S608 - constants
                ((urn,) for urn in urns),
            )


def delete_orphans(catalog: Catalog) -> int:
    """Delete the URNs that no row refers to any more, and what the search index still has of them; return how many."""
    conditions = " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.{column} = entity.id)"  # noqa: S608 - constants
        for table, column in (*_TABLES, *_REFERENCES)
    )
    with catalog.transaction():
        number = catalog.connection.execute(f"DELETE FROM entity WHERE {conditions}").rowcount  # noqa: S608 - constants
        catalog.connection.execute("INSERT INTO search_index (search_index) VALUES ('rebuild')")
    return number
