# ruff: noqa: S608 - the statements are made of constants
"""Look-ups in a ledger: entities that were sent, rendered again from the states of runs into a catalogue in memory."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX
from dh_bridge.catalog.edges import DOWNSTREAM, UPSTREAM, entity_type
from dh_bridge.catalog.graph import lineage_edges
from dh_bridge.catalog.lineage import dataset_of
from dh_bridge.catalog.listing import urn_range
from dh_bridge.catalog.paging import MAX_EXAMINED, Page, decode_key, encode_key, take_page
from dh_bridge.catalog.run_selection import RunFilter
from dh_bridge.catalog.runs import RunRow, list_runs
from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger.fold import StatefulAggregator
from dh_bridge.ledger.lineage_links import LineageLinks
from dh_bridge.ledger.lineage_search import LineageSearch
from dh_bridge.ledger.run_candidates import FIRST_KEY, IS_RUN, RUN_TIME, candidate_runs
from dh_bridge.redaction import redaction_mode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dh_bridge.catalog.graph import LineageEdge
    from dh_bridge.catalog.lineage import Direction
    from dh_bridge.options import Options
    from dh_bridge.storage.database import Database

MAX_RENDERED_RUNS = 2_000
"""Maximum number of runs that are rendered for one answer: about two seconds. The latest runs come first."""
MAX_RENDERED_ENTITIES = 20_000
_LOADED_PER_SHOWN = 2
"""How many entities are rendered on each side for one that is shown: the hidden ones are counted."""
_ENTITIES_PER_CHUNK = 500
_MAX_JOBS = 200
"""Jobs that match a text and whose runs are looked up; if there are more, the latest runs of all jobs are."""

_GRAPH_TYPES = ("dataset", "dataJob", "dataFlow")
_TYPE = "substr(urn, 8, instr(substr(urn, 8), ':') - 1)"
_ALL_URNS = ("", "v")
LIST_URNS = "SELECT urn FROM sent WHERE urn > ? AND urn < ? ORDER BY urn"
FIND_URNS = "SELECT urn FROM sent WHERE urn > ? AND urn < ? AND instr(lower(urn), ?)"
_NAMED_RUNS = "SELECT urn FROM entity WHERE type = 'dataProcessInstance'"
_RUNS_WITH_CHECKS = f"""
    SELECT key, count(*) OVER () FROM run
    WHERE {IS_RUN} AND (:since IS NULL OR {RUN_TIME} >= :since) AND EXISTS (
        SELECT 1 FROM contribution JOIN shared ON shared.id = contribution.entity
        WHERE contribution.run = run.id AND substr(shared.urn, 1, 17) = 'urn:li:assertion:'
    )
    ORDER BY {RUN_TIME} DESC LIMIT :limit
"""


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

    def list_urns(self, types: Sequence[str] = (), *, limit: int | None = None, page: str | None = None) -> Page[str]:
        """Return the entities of ``types`` (empty: of all types) for which something was sent, sorted by URN."""
        after = str(decode_key(page, (str,))[0]) if page is not None else ""
        rows = chain.from_iterable(
            self._file.connection.execute(LIST_URNS, (max(first, after), end))
            for first, end in _ranges(types)
            if end > after
        )
        return take_page((((urn,), urn) for (urn,) in rows), limit=limit)

    def find_urns(
        self, text: str, types: Sequence[str] = (), *, limit: int | None = None, page: str | None = None
    ) -> Page[str]:
        """Return the entities of ``types`` with ``text`` in their URN for which something was sent, runs last, the shortest first."""
        after = decode_key(page, (bool, int, str)) if page is not None else None
        urns = chain.from_iterable(
            self._file.connection.execute(FIND_URNS, (first, end, text.lower())) for first, end in _ranges(types)
        )
        keys = sorted((urn.startswith(RUN_URN_PREFIX), len(urn), urn) for (urn,) in urns)
        return take_page(((key, key[2]) for key in keys if after is None or key > after), limit=limit)

    def search_urns(
        self, text: str, types: Sequence[str] = (), *, limit: int | None = None, page: str | None = None
    ) -> Page[str]:
        """Return the same as :meth:`find_urns`: a ledger has no index of names and columns."""
        self.notes.append("Only URNs were searched: a ledger has no index of names, descriptions and columns.")
        return self.find_urns(text, types, limit=limit, page=page)

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

    def lineage_edges(self, *, limit: int | None = None, page: str | None = None) -> Page[LineageEdge]:
        """Return the edges between datasets and jobs, as :func:`dh_bridge.catalog.graph.lineage_edges` does.

        Entities are rendered in the order of the pages, until the page is full.
        """
        urns = self.list_urns(_GRAPH_TYPES, limit=MAX_RENDERED_ENTITIES)
        catalog = Catalog(":memory:")
        for start in range(0, len(urns.items), _ENTITIES_PER_CHUNK):
            self._render(catalog, urns.items[start : start + _ENTITIES_PER_CHUNK])
            edges = lineage_edges(catalog, limit=limit, page=page)
            if edges.next_page is not None and start + _ENTITIES_PER_CHUNK < len(urns.items):
                return Page(edges.items, edges.remaining, is_exact=False, next_page=edges.next_page)
        self._note_limit("datasets, jobs and flows", len(urns.items), urns.total)
        return lineage_edges(catalog, limit=limit, page=page)

    def _load_graph(self) -> Catalog:
        """Return a catalogue with all datasets and jobs."""
        urns = self.list_urns(_GRAPH_TYPES, limit=MAX_RENDERED_ENTITIES)
        self._note_limit("datasets, jobs and flows", len(urns.items), urns.total)
        return self.load(urns.items)

    def load_lineage(self, urn: str, direction: Direction, *, depth: int, limit: int | None = None) -> Catalog:
        """Return a catalogue with a dataset or job (also that of a column), and what is upstream and downstream of it, nearest first."""
        links = LineageLinks(self._file.connection)
        if not links.are_stored:
            return self._load_graph()
        if entity_type(urn) == "schemaField":
            urn, depth = dataset_of(urn), 2 * depth
        shared = StatefulAggregator(self._file.connection, self._options).shared
        max_count = MAX_RENDERED_ENTITIES if limit is None else min(MAX_RENDERED_ENTITIES, _LOADED_PER_SHOWN * limit)
        search = LineageSearch(links, shared, max_count)
        upstream = [] if direction == "down" else search.around(urn, UPSTREAM, depth)
        downstream = [] if direction == "up" else search.around(urn, DOWNSTREAM, depth)
        if max_count in (len(upstream), len(downstream)):
            self.notes.append(f"On each side, the nearest {max_count:,} datasets and jobs were looked at (--limit).")
        loaded = [urn, *upstream, *downstream]
        return self.load(loaded)

    def list_runs(
        self, urn: str | None, run_filter: RunFilter, *, limit: int | None = None, page: str | None = None
    ) -> tuple[Catalog, Page[RunRow]]:
        """Return runs as :func:`dh_bridge.catalog.runs.list_runs` does, and a catalogue with them and their jobs.

        At most MAX_RENDERED_RUNS are rendered for a page; the next page continues after them.
        """
        after = decode_key(page, (int, int)) if page is not None else FIRST_KEY
        urns = [urn] if urn is not None else self._jobs_by_text(run_filter.job)
        candidates = candidate_runs(self._file.connection, urns, run_filter, after)
        catalog = Catalog(":memory:")
        rows: list[RunRow] = []
        last_key, rendered = after, 0
        while rendered < MAX_RENDERED_RUNS and (limit is None or len(rows) < limit):
            # chunks of growing size: a filter may reject most runs
            chunk = list(
                islice(candidates, min(max(limit or _ENTITIES_PER_CHUNK, rendered), MAX_RENDERED_RUNS - rendered))
            )
            if not chunk:
                return catalog, Page(rows)
            rendered += len(chunk)
            self._render_runs(catalog, [key for _, key in chunk])
            rows_by_urn = {row.urn: row for row in list_runs(catalog, urn, run_filter).items}
            for candidate_key, urn_of_run in chunk:
                last_key = candidate_key
                if urn_of_run in rows_by_urn:
                    rows.append(rows_by_urn[urn_of_run])
                    if len(rows) == limit:
                        break
        remaining = sum(
            1 for _ in islice(candidate_runs(self._file.connection, urns, run_filter, last_key), MAX_EXAMINED)
        )
        is_limited = limit is None or len(rows) < limit
        if remaining and is_limited:
            self._note_limit("runs", rendered, rendered + remaining)
        needs_rendering = urns is not None or run_filter.failed or run_filter.producer is not None
        is_exact = remaining < MAX_EXAMINED and not needs_rendering
        return catalog, Page(
            rows,
            remaining=remaining if is_exact else 0,
            is_exact=is_exact or not remaining,
            next_page=encode_key(last_key) if remaining else None,
        )

    def _jobs_by_text(self, text: str | None) -> list[str] | None:
        """Return the jobs and flows whose URN contains a text or its last part; None if they are no fewer than all runs."""
        if text is None:
            return None
        for part in (text, text.rpartition(".")[2]):
            jobs = self.find_urns(part, ["dataJob", "dataFlow"], limit=_MAX_JOBS).items if part else []
            if jobs:
                return jobs if len(jobs) < _MAX_JOBS else None
        return None

    def _render_runs(self, catalog: Catalog, urns: Sequence[str]) -> None:
        """Render runs, their jobs and the flows of those."""
        self._render(catalog, urns)
        jobs = catalog.connection.execute(
            "SELECT job FROM runs UNION SELECT flows.urn FROM entity flows WHERE type = 'dataFlow' "
        )
        self._render(catalog, [urn for (urn,) in jobs.fetchall() if urn and not catalog.aspects(urn)])

    def load_related_runs(self, urn: str) -> Catalog:
        """Return a catalogue with a run, and the runs that are its parents, children and upstreams over some steps."""
        catalog = Catalog(":memory:")
        pending, seen = [urn], {urn}
        while pending and len(seen) <= MAX_RENDERED_RUNS:
            self._render_runs(catalog, pending)
            children = (key for _, key in candidate_runs(self._file.connection, pending, RunFilter(), FIRST_KEY))
            named = (name for (name,) in catalog.connection.execute(_NAMED_RUNS).fetchall())
            pending = [run for run in dict.fromkeys(chain(named, children)) if run not in seen]
            seen.update(pending)
        if pending:
            self.notes.append(f"Only {MAX_RENDERED_RUNS:,} related runs were looked at.")
        return catalog

    def load_checks(self, *, since: int | None = None) -> Catalog:
        """Return a catalogue with all checks and the results of the latest runs since a time in milliseconds."""
        page = self.list_urns(["assertion"], limit=MAX_RENDERED_ENTITIES)
        self._note_limit("checks", len(page.items), page.total)
        return self.load([*page.items, *self._latest_runs_with_checks(since)])

    def load_all(self) -> Catalog:
        """Return a catalogue with all datasets, jobs and checks, and the latest runs."""
        catalog = self.load_checks()
        graph = self.list_urns(_GRAPH_TYPES, limit=MAX_RENDERED_ENTITIES)
        self._note_limit("datasets, jobs and flows", len(graph.items), graph.total)
        candidates = candidate_runs(self._file.connection, None, RunFilter(), FIRST_KEY)
        runs = [key for _, key in islice(candidates, MAX_RENDERED_RUNS)]
        remaining = sum(1 for _ in islice(candidates, MAX_EXAMINED))
        self._note_limit("runs", len(runs), len(runs) + remaining)
        self._render(catalog, [*graph.items, *runs])
        return catalog

    def _latest_runs_with_checks(self, since: int | None) -> list[str]:
        values = {"since": since, "limit": MAX_RENDERED_RUNS}
        rows = self._file.connection.execute(_RUNS_WITH_CHECKS, values).fetchall()
        keys = [key for key, _ in rows]
        self._note_limit("runs", len(keys), rows[0][1] if rows else 0)
        return keys

    def _note_limit(self, subject: str, count: int, total: int) -> None:
        if total > count:
            self.notes.append(
                f"Only the latest {count:,} of {total:,} {subject} in the ledger were looked at. Narrow it with --since."
                if subject == "runs"
                else f"Only {count:,} of {total:,} {subject} in the ledger were looked at."
            )


def _ranges(types: Sequence[str]) -> list[tuple[str, str]]:
    return sorted(map(urn_range, types)) if types else [_ALL_URNS]
