# ruff: noqa: S608 - the statements are made of constants
"""Look-ups in a ledger: entities that were sent, rendered again from the states of runs into a catalogue in memory."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX
from dh_bridge.catalog.listing import UrnPage
from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger.fold import StatefulAggregator
from dh_bridge.redaction import redaction_mode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dh_bridge.options import Options
    from dh_bridge.storage.database import Database

MAX_RENDERED_RUNS = 2_000
"""Maximum number of runs that are rendered for one answer: about two seconds. The latest runs come first."""
MAX_RENDERED_ENTITIES = 20_000
_ENTITIES_PER_CHUNK = 500

_TYPE = "substr(urn, 8, instr(substr(urn, 8), ':') - 1)"
_HAS_TYPE = f"(json_array_length(:types) = 0 OR {_TYPE} IN (SELECT value FROM json_each(:types)))"
_FIND_URNS = f"""
    SELECT urn, count(*) OVER () FROM sent WHERE instr(lower(urn), lower(:text)) AND {_HAS_TYPE}
    ORDER BY {{order}} LIMIT :limit
"""
_LATEST_RUNS = """
    SELECT key, count(*) OVER () FROM run
    WHERE state IS NOT NULL AND substr(key, 1, length(:prefix)) = :prefix
        AND (:since IS NULL OR coalesce(ended / 1000, touched) >= :since) {condition}
    ORDER BY coalesce(ended / 1000, touched) DESC LIMIT :limit
"""
_HAS_CHECK = """AND EXISTS (
    SELECT 1 FROM contribution JOIN shared ON shared.id = contribution.entity
    WHERE contribution.run = run.id AND substr(shared.urn, 1, 17) = 'urn:li:assertion:'
)"""


class LedgerContents:
    """The contents of a ledger whose target is a server, a topic or a file.

    Such a ledger stores no aspects: it stores states of runs. Each ``load`` method renders what it names into a catalogue in
    memory; the ledger does not change. ``notes`` collects what an answer lacks.
    """

    def __init__(self, file: Database, options: Options) -> None:
        """Read from ``file``, which must be open for writing: rendering uses a transaction that is rolled back."""
        self._file = file
        self._options = options
        self.notes: list[str] = []

    def has(self, urn: str) -> bool:
        """Return whether something was sent for an entity, or a run is stored."""
        query = "SELECT EXISTS (SELECT 1 FROM sent WHERE urn = ?1) OR EXISTS (SELECT 1 FROM run WHERE key = ?1)"
        return bool(self._file.connection.execute(query, (urn,)).fetchone()[0])

    def find_urns(self, text: str, types: Sequence[str] = (), *, limit: int = -1) -> UrnPage:
        """Return the entities of ``types`` (empty: of all types) with ``text`` in their URN, for which something was sent."""
        query = _FIND_URNS.format(order=f"{_TYPE} = 'dataProcessInstance', length(urn), urn" if text else "urn")
        values = {"text": text, "types": _json(types), "limit": limit}
        rows = self._file.connection.execute(query, values).fetchall()
        return UrnPage([urn for urn, _ in rows], rows[0][1] if rows else 0)

    def search_urns(self, text: str, types: Sequence[str] = (), *, limit: int = -1) -> UrnPage:
        """Return the same as :meth:`find_urns`: a ledger has no index of names and columns."""
        self.notes.append("Only URNs were searched: a ledger has no index of names, descriptions and columns.")
        return self.find_urns(text, types, limit=limit)

    def count_types(self) -> dict[str, int]:
        """Return the number of entities by type for which something was sent."""
        return dict(
            self._file.connection.execute(f"SELECT {_TYPE}, count(*) FROM sent GROUP BY 1 ORDER BY 1").fetchall()
        )

    def load(self, urns: Iterable[str]) -> Catalog:
        """Return a catalogue with these entities."""
        catalog = Catalog(":memory:")
        self._render(catalog, urns)
        return catalog

    def _render(self, catalog: Catalog, urns: Iterable[str]) -> None:
        aggregator = StatefulAggregator(self._file.connection, self._options)
        remaining = iter(dict.fromkeys(urns))
        while chunk := list(islice(remaining, _ENTITIES_PER_CHUNK)):
            with redaction_mode(self._options.settings.redaction), self._file.transaction(commit=False):
                aggregator.rerender_keys = chunk
                catalog.apply(list(chain.from_iterable(aggregator.close_in_pieces())))
            aggregator.clear_cache()

    def load_graph(self) -> Catalog:
        """Return a catalogue with all datasets and jobs."""
        page = self.find_urns("", ["dataset", "dataJob", "dataFlow"], limit=MAX_RENDERED_ENTITIES)
        self._note_limit("datasets, jobs and flows", page)
        return self.load(page.urns)

    def load_runs(self, *, since: int | None = None) -> Catalog:
        """Return a catalogue with the latest runs since a time in milliseconds, and their jobs."""
        catalog = self.load(self._latest_runs(since, ""))
        jobs = catalog.connection.execute(
            "SELECT job FROM runs UNION SELECT flows.urn FROM entity flows WHERE type = 'dataFlow'"
        )
        self._render(catalog, [urn for (urn,) in jobs.fetchall() if urn])
        return catalog

    def load_checks(self, *, since: int | None = None) -> Catalog:
        """Return a catalogue with all checks and the results of the latest runs since a time in milliseconds."""
        page = self.find_urns("", ["assertion"], limit=MAX_RENDERED_ENTITIES)
        self._note_limit("checks", page)
        return self.load([*page.urns, *self._latest_runs(since, _HAS_CHECK)])

    def _latest_runs(self, since: int | None, condition: str) -> list[str]:
        values = {"prefix": RUN_URN_PREFIX, "since": since, "limit": MAX_RENDERED_RUNS}
        rows = self._file.connection.execute(_LATEST_RUNS.format(condition=condition), values).fetchall()
        page = UrnPage([key for key, _ in rows], rows[0][1] if rows else 0)
        self._note_limit("runs", page)
        return page.urns

    def _note_limit(self, subject: str, page: UrnPage) -> None:
        if page.total > len(page.urns):
            self.notes.append(
                f"Only the latest {len(page.urns):,} of {page.total:,} {subject} in the ledger were looked at. Narrow it with --since."
                if subject == "runs"
                else f"Only {len(page.urns):,} of {page.total:,} {subject} in the ledger were looked at."
            )


def _json(values: Sequence[str]) -> str:
    return "[" + ",".join(f'"{value}"' for value in values) + "]"
