"""Lists of a catalogue: entities by type and by text, in pages. Values of callers are bound, never formatted."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.catalog.paging import MAX_EXAMINED, Page, PageKey, decode_key, take_page
from dh_bridge.catalog.run_index import RUN_TYPE
from dh_bridge.catalog.search_index import find_indexed_urns, search_form

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

ENTITY_TYPES = {
    "datasets": "dataset",
    "jobs": "dataJob",
    "flows": "dataFlow",
    "runs": "dataProcessInstance",
    "checks": "assertion",
}
"""What people list -> DataHub's entity type."""

_HAS_CONTENT = """(EXISTS (SELECT 1 FROM aspect WHERE aspect.entity = entity.id)
    OR EXISTS (SELECT 1 FROM point WHERE point.entity = entity.id))"""
LIST_URNS = f"SELECT urn FROM entity WHERE urn > ? AND urn < ? AND {_HAS_CONTENT} ORDER BY urn"  # noqa: S608 - constants
_FIND_BY_PREFIX = f"SELECT urn FROM entity WHERE urn >= ? AND urn < ? AND {_HAS_CONTENT} ORDER BY urn LIMIT ?"  # noqa: S608 - constants
LATEST_RUNS = """
    SELECT entity.urn, aspect.value FROM run_summary JOIN entity ON entity.id = run_summary.run
    LEFT JOIN aspect ON aspect.entity = run_summary.run AND aspect.name = 'dataProcessInstanceProperties'
    ORDER BY run_summary.time DESC, run_summary.run DESC
"""
_ALL_URNS = ("", "v")  # every URN begins with "urn:"
_RUN_PREFIX = f"urn:li:{RUN_TYPE}:"


class _NamedAspect(msgspec.Struct):
    """The name in an aspect of a run."""

    name: str | None = None


_decode_name = msgspec.json.Decoder(_NamedAspect).decode


class _Match(NamedTuple):
    """An entity that matches a search; matches are sorted by these fields."""

    is_run: bool
    length: int
    urn: str


def urn_range(entity_type: str) -> tuple[str, str]:
    """Return the texts between which the URNs of an entity type are sorted."""
    return f"urn:li:{entity_type}:", f"urn:li:{entity_type};"


def list_urns(
    connection: sqlite3.Connection, types: Sequence[str] = (), *, limit: int | None = None, page: str | None = None
) -> Page[str]:
    """Return the entities of some types, sorted by URN; entities that are only referred to are left out.

    Args:
        connection: The file.
        types: Entity types; empty for all.
        limit: The number of URNs to return; None for all.
        page: The token of the page; None for the first one.

    Raises:
        SettingsError: The token is not one of this list.
    """
    after = str(decode_key(page, (str,))[0]) if page is not None else ""
    ranges = sorted(map(urn_range, types)) if types else [_ALL_URNS]
    rows = chain.from_iterable(
        connection.execute(LIST_URNS, (max(first, after), end)) for first, end in ranges if end > after
    )
    return take_page((((urn,), urn) for (urn,) in rows), limit=limit)


def find_urns(
    connection: sqlite3.Connection,
    text: str,
    types: Sequence[str] = (),
    *,
    limit: int | None = None,
    page: str | None = None,
) -> Page[str]:
    """Return the entities whose URN contains ``text``, whatever its case, the shortest first; see :func:`list_urns`.

    Of runs, those are listed whose URN begins with the text after its type, and the latest ones that contain the text.
    """
    return _search(connection, text, types, only_urns=True, limit=limit, page=page)


def search_urns(
    connection: sqlite3.Connection,
    text: str,
    types: Sequence[str] = (),
    *,
    limit: int | None = None,
    page: str | None = None,
) -> Page[str]:
    """Return the entities that have ``text`` in their URN, name or description, or in the name of a column; see :func:`find_urns`."""
    return _search(connection, text, types, only_urns=False, limit=limit, page=page)


def _search(  # noqa: PLR0913 - the options of the two functions above
    connection: sqlite3.Connection,
    text: str,
    types: Sequence[str],
    *,
    only_urns: bool,
    limit: int | None,
    page: str | None,
) -> Page[str]:
    after = decode_key(page, (bool, int, str)) if page is not None else None
    examined = -1 if limit is None else MAX_EXAMINED
    matches: set[_Match] = set()
    is_exact = True
    if set(types) != {RUN_TYPE}:
        urns = find_indexed_urns(connection, text, types, only_urns=only_urns, limit=examined)
        is_exact = len(urns) < MAX_EXAMINED or limit is None
        matches.update(_Match(is_run=False, length=len(urn), urn=urn) for urn in urns)
    if not types or RUN_TYPE in types:
        run_rows = connection.execute(f"{LATEST_RUNS} LIMIT ?", (examined,)).fetchall()
        is_exact = is_exact and (limit is None or len(run_rows) < MAX_EXAMINED)
        run_urns = chain(
            _runs_by_prefix(connection, text, examined), _runs_by_text(run_rows, text, only_urns=only_urns)
        )
        matches.update(_Match(is_run=True, length=len(urn), urn=urn) for urn in run_urns)
    rows: Iterator[tuple[PageKey, str]] = (
        (tuple(match), match.urn) for match in sorted(matches) if after is None or match > after
    )
    listed = take_page(rows, limit=limit)
    return listed if is_exact else Page(listed.items, listed.remaining, is_exact=False, next_page=listed.next_page)


def _runs_by_prefix(connection: sqlite3.Connection, text: str, limit: int) -> Iterator[str]:
    for start in {text, text.lower()}:
        prefix = start if start.startswith(_RUN_PREFIX) else f"{_RUN_PREFIX}{start}"
        rows = connection.execute(_FIND_BY_PREFIX, (prefix, f"{prefix}\U0010ffff", limit))
        yield from (urn for (urn,) in rows)


def _runs_by_text(rows: Iterable[tuple[str, bytes | None]], text: str, *, only_urns: bool) -> Iterator[str]:
    form = search_form(text)
    for urn, properties in rows:
        if form in urn.lower() or (
            not only_urns and properties is not None and form in (_decode_name(properties).name or "").lower()
        ):
            yield urn
