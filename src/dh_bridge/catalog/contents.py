"""Look-ups in a catalogue; `dh_bridge.ledger.contents` does the same for a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.catalog.graph import lineage_edges
from dh_bridge.catalog.listing import find_urns, list_urns, search_urns
from dh_bridge.catalog.runs import RunRow, list_runs
from dh_bridge.catalog.summary import summarize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dh_bridge.catalog.graph import LineageEdge
    from dh_bridge.catalog.lineage import Direction
    from dh_bridge.catalog.paging import Page
    from dh_bridge.catalog.run_selection import RunFilter
    from dh_bridge.catalog.store import Catalog


class CatalogContents:
    """The contents of a catalogue. Each ``load`` method returns a catalogue that has at least the requested entities: here, all."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        #: sentences for the user about data that is missing in an answer
        self.notes: list[str] = []

    def has(self, urn: str) -> bool:
        """Return whether an entity has aspects or points, or is named by another entity."""
        return self._catalog.connection.execute("SELECT 1 FROM entity WHERE urn = ?", (urn,)).fetchone() is not None

    def list_urns(self, types: Sequence[str] = (), *, limit: int | None = None, page: str | None = None) -> Page[str]:
        """Return the entities of ``types`` (empty: of all types), sorted by URN."""
        return list_urns(self._catalog.connection, types, limit=limit, page=page)

    def find_urns(
        self, text: str, types: Sequence[str] = (), *, limit: int | None = None, page: str | None = None
    ) -> Page[str]:
        """Return the entities of ``types`` (empty: of all types) with ``text`` in their URN."""
        return find_urns(self._catalog.connection, text, types, limit=limit, page=page)

    def search_urns(
        self, text: str, types: Sequence[str] = (), *, limit: int | None = None, page: str | None = None
    ) -> Page[str]:
        """Return the entities with ``text`` in their URN, name or description, or in the name of a column."""
        return search_urns(self._catalog.connection, text, types, limit=limit, page=page)

    def count_types(self) -> dict[str, int]:
        """Return the number of entities by type."""
        return summarize(self._catalog).entities

    def load(self, urns: Iterable[str]) -> Catalog:  # noqa: ARG002 - as of a ledger
        """Return a catalogue with these entities."""
        return self._catalog

    def lineage_edges(self, *, limit: int | None = None, page: str | None = None) -> Page[LineageEdge]:
        """Return the edges between datasets and jobs."""
        return lineage_edges(self._catalog, limit=limit, page=page)

    def load_lineage(self, urn: str, direction: Direction, *, depth: int, limit: int | None = None) -> Catalog:  # noqa: ARG002 - as of a ledger
        """Return a catalogue with what is upstream and downstream of a dataset or job."""
        return self._catalog

    def list_runs(
        self, urn: str | None, run_filter: RunFilter, *, limit: int | None = None, page: str | None = None
    ) -> tuple[Catalog, Page[RunRow]]:
        """Return runs as :func:`dh_bridge.catalog.runs.list_runs` does, and a catalogue with them and their jobs."""
        return self._catalog, list_runs(self._catalog, urn, run_filter, limit=limit, page=page)

    def load_related_runs(self, urn: str) -> Catalog:  # noqa: ARG002 - as of a ledger
        """Return a catalogue with a run and the runs around it."""
        return self._catalog

    def load_checks(self, *, since: int | None = None) -> Catalog:  # noqa: ARG002 - as of a ledger
        """Return a catalogue with all checks and their results since a time in milliseconds."""
        return self._catalog
