"""Results of data quality checks over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.edges import entity_type

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog

_RESULTS = """
    SELECT entity.urn, CAST(info.value AS TEXT), CAST(point.value AS TEXT), count(*) OVER ()
    FROM entity
    JOIN point ON point.entity = entity.id AND point.aspect = 'assertionRunEvent'
    LEFT JOIN aspect info ON info.entity = entity.id AND info.name = 'assertionInfo'
    WHERE entity.type = 'assertion' AND (:since IS NULL OR point.time >= :since)
        AND (:urn IS NULL OR entity.urn = :urn OR entity.id IN (
            SELECT source FROM relationship
            WHERE name = 'Asserts' AND target = (SELECT id FROM entity WHERE urn = :urn)
        ))
        AND (NOT :failed OR json_extract(CAST(point.value AS TEXT), '$.result.type') IN ('FAILURE', 'ERROR'))
    ORDER BY point.time DESC, entity.urn LIMIT :limit
"""


_CHECKS = """
    SELECT checks.urn, dataset, result, time, checks.removed, aspects.value, count(*) OVER ()
    FROM checks JOIN aspects ON aspects.urn = checks.urn AND aspect = 'assertionInfo'
    ORDER BY dataset, checks.urn LIMIT ?
"""


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
    limit: int = -1,
) -> tuple[list[CheckResult], int]:
    """Return the results of checks, newest first, and their number without the limit.

    Args:
        catalog: The catalogue.
        urn: A dataset or a check; None for all.
        since: Only results from this time on, in milliseconds.
        failed: Only FAILURE and ERROR.
        name_key: The custom property of checks that has their name.
        limit: The number of results to return; -1 for all.
    """
    values = {"urn": urn, "since": since, "failed": failed, "limit": limit}
    rows = catalog.connection.execute(_RESULTS, values).fetchall()
    return [_result(check, info, point, name_key) for check, info, point, _ in rows], rows[0][3] if rows else 0


def find_checks(
    catalog: Catalog, *, name_key: str = "openlineage.name", limit: int = -1
) -> tuple[list[ListedCheck], int]:
    """Return the checks by dataset, and their number without the limit."""
    rows = catalog.connection.execute(_CHECKS, (limit,)).fetchall()
    checks = []
    for urn, dataset, result, time, removed, info_json, _ in rows:
        info = msgspec.json.decode(info_json)
        name, column = check_name(info, name_key), checked_column(info)
        checks.append(ListedCheck(urn, dataset, name, column, result, time, bool(removed)))
    return checks, rows[0][-1] if rows else 0


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


def _result(urn: str, info_json: str | None, point_json: str, name_key: str) -> CheckResult:
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
