"""Results of data quality checks over time."""

from __future__ import annotations

from functools import partial
from heapq import merge
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.listing import urn_range
from dh_bridge.catalog.paging import decode_key, take_page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.catalog.paging import Page
    from dh_bridge.catalog.store import Catalog

_FIRST_KEY = (1 << 62, 0)
ALL_RESULTS = """
    SELECT time, rowid FROM point
    WHERE aspect = 'assertionRunEvent' AND (time, rowid) < (?, ?) AND time >= ? ORDER BY time DESC, rowid DESC
"""
RESULTS_OF_CHECK = """
    SELECT time, rowid FROM point WHERE entity = ? AND aspect = 'assertionRunEvent' AND time <= ? AND (time, rowid) < (?, ?)
        AND time >= ? ORDER BY time DESC, rowid DESC
"""
CHECKS_OF_DATASET = """
    SELECT source FROM relationship
    WHERE target = ? AND lineage IN (-1, 0, 1) AND name = 'Asserts'
"""
CHECK_URNS = """
    SELECT entity.urn FROM entity JOIN aspect ON aspect.entity = entity.id AND aspect.name = 'assertionInfo'
    WHERE entity.urn > ? AND entity.urn < ? ORDER BY entity.urn
"""
_CHECK = """
    SELECT checks.urn, dataset, result, time, checks.removed, value
    FROM checks JOIN aspects ON aspects.urn = checks.urn AND aspect = 'assertionInfo' WHERE checks.urn = ?
"""
_POINT_VALUE = "SELECT value FROM point WHERE rowid = ?"
_POINT_WITH_CHECK = """
    SELECT entity.urn, aspect.value, point.value FROM point JOIN entity ON entity.id = point.entity
    LEFT JOIN aspect ON aspect.entity = point.entity AND aspect.name = 'assertionInfo' WHERE point.rowid = ?
"""
_FAILED_RESULTS = {"FAILURE", "ERROR"}


class ListedCheck(msgspec.Struct, frozen=True):
    """A check and its latest result; ``time`` is ISO 8601 in UTC."""

    urn: str
    dataset: str | None
    check: str
    column: str | None
    result: str | None
    time: str | None
    removed: bool


class CheckResult(msgspec.Struct, frozen=True):
    """One result of a check; ``time`` in milliseconds since 1970. ``column`` is the name of the checked column, if it is one."""

    time: int
    result: str
    check: str
    column: str | None
    actual: str | None
    expected: str | None
    dataset: str
    run_id: str | None
    urn: str


def find_results(  # noqa: PLR0913 - one parameter per filter
    catalog: Catalog,
    urn: str | None = None,
    *,
    since: int | None = None,
    failed: bool = False,
    name_key: str = "openlineage.name",
    limit: int | None = None,
    page: str | None = None,
) -> Page[CheckResult]:
    """Return the results of checks, the latest first.

    Args:
        catalog: The catalogue.
        urn: A dataset or a check; None for all.
        since: Only results from this time on, in milliseconds.
        failed: Only FAILURE and ERROR.
        name_key: The custom property of checks that has their name.
        limit: The number of results to return; None for all.
        page: The token of the page; None for the first one.

    Raises:
        SettingsError: The token is not one of this list.
    """
    start = _FIRST_KEY if page is None else decode_key(page, (int, int))
    bounds = (*start, 0 if since is None else since)
    connection = catalog.connection
    if urn is None:
        rows: Iterable[tuple[int, int]] = connection.execute(ALL_RESULTS, bounds)
    else:
        checks = _checks_of(catalog, urn)
        rows = merge(
            *(connection.execute(RESULTS_OF_CHECK, (check, start[0], *bounds)) for check in checks), reverse=True
        )
    listed = take_page(
        ((tuple(row), row[1]) for row in rows),
        limit=limit,
        accept=partial(_is_failed, catalog) if failed else None,
    )
    return listed.with_items([_result(catalog, point, name_key) for point in listed.items])


def _checks_of(catalog: Catalog, urn: str) -> list[int]:
    """Return the row numbers of the checks of a dataset, or of a check itself."""
    row = catalog.connection.execute("SELECT id FROM entity WHERE urn = ?", (urn,)).fetchone()
    if row is None:
        return []
    checks = [check for (check,) in catalog.connection.execute(CHECKS_OF_DATASET, row)]
    return [*row, *checks] if entity_type(urn) == "assertion" else checks


def _is_failed(catalog: Catalog, point: int) -> bool:
    (value,) = catalog.connection.execute(_POINT_VALUE, (point,)).fetchone()
    return (msgspec.json.decode(value).get("result") or {}).get("type") in _FAILED_RESULTS


def find_checks(
    catalog: Catalog, *, name_key: str = "openlineage.name", limit: int | None = None, page: str | None = None
) -> Page[ListedCheck]:
    """Return the checks that have a definition, each with its latest result.

    The pages are in the order of the URNs of the checks; the checks of a page are sorted by dataset.

    Args:
        catalog: The catalogue.
        name_key: The custom property of checks that has their name.
        limit: The number of checks to return; None for all.
        page: The token of the page; None for the first one.

    Raises:
        SettingsError: The token is not one of this list.
    """
    first, end = urn_range("assertion")
    after = first if page is None else str(decode_key(page, (str,))[0])
    rows = catalog.connection.execute(CHECK_URNS, (after, end))
    listed = take_page((((urn,), urn) for (urn,) in rows), limit=limit)
    checks = [_listed_check(catalog, urn, name_key) for urn in listed.items]
    return listed.with_items(sorted(checks, key=lambda check: (check.dataset or "", check.urn)))


def _listed_check(catalog: Catalog, check_urn: str, name_key: str) -> ListedCheck:
    urn, dataset, result, time, removed, info_json = catalog.connection.execute(_CHECK, (check_urn,)).fetchone()
    info = msgspec.json.decode(info_json)
    return ListedCheck(urn, dataset, check_name(info, name_key), checked_column(info), result, time, bool(removed))


def check_name(info: dict[str, Any], name_key: str) -> str:
    """Return what people call a check: its name, its description, or the kind of test."""
    properties = info.get("customProperties") or {}
    details: dict[str, Any] = next(
        (info[key] for key in info if key.endswith("Assertion") and isinstance(info[key], dict)), {}
    )
    candidates = (properties.get(name_key), info.get("description"), details.get("nativeType"), details.get("type"))
    return str(next(filter(None, candidates), info.get("type") or ""))


def checked_column(info: dict[str, Any]) -> str | None:
    """Return the name of the column that a check is about; None if it is about the dataset or about several columns."""
    for value in info.values():
        field = value.get("field") if isinstance(value, dict) else None
        if isinstance(field, str) and entity_type(field) == "schemaField":
            return field.rpartition(",")[2].removesuffix(")")
    return None


def _result(catalog: Catalog, point_row: int, name_key: str) -> CheckResult:
    urn, info_json, point_json = catalog.connection.execute(_POINT_WITH_CHECK, (point_row,)).fetchone()
    info = msgspec.json.decode(info_json) if info_json else {}
    point = msgspec.json.decode(point_json)
    result = point.get("result") or {}
    native_results = result.get("nativeResults") or {}
    actual = native_results.get("actual", result.get("actualAggValue"))
    return CheckResult(
        time=point["timestampMillis"],
        result=result.get("type") or point["status"],
        check=check_name(info, name_key),
        column=checked_column(info),
        actual=None if actual is None else str(actual),
        expected=native_results.get("expected"),
        dataset=point["asserteeUrn"],
        run_id=point.get("runId"),
        urn=urn,
    )
