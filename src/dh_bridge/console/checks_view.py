"""Data quality checks: a list with the latest results, and the results of one check over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.catalog.check_results import CheckResult, ListedCheck, find_checks, find_results
from dh_bridge.catalog.paging import Page
from dh_bridge.console.parameters import EntityLink, entity_link, require_entity

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog
    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource

_FAILED_RESULTS = ("FAILURE", "ERROR")
_MAX_RESULTS = 500
"""Results of a check that an answer has, at most: the latest."""


class ConsoleCheck(msgspec.Struct, frozen=True):
    """A check and its latest result; ``time`` is ISO 8601 in UTC."""

    urn: str
    name: str
    column: str | None
    dataset: EntityLink | None
    result: str | None
    time: str | None
    is_removed: bool


class CheckPage(msgspec.Struct, frozen=True):
    """A page of checks: how many follow (``is_exact``: all are counted), and the token of the next page."""

    checks: list[ConsoleCheck]
    remaining: int
    is_exact: bool
    next_page: str | None


class CheckHistory(msgspec.Struct, frozen=True):
    """The results of a check, the latest first: how many follow, and the token of the next page."""

    results: list[CheckResult]
    remaining: int
    is_exact: bool
    next_page: str | None


def answer_checks(source: ConsoleSource, parameters: RequestParameters) -> CheckPage:
    """Return the checks with their latest results; with ``failed=1`` those whose latest result is a failure."""
    is_filtered = parameters.text("failed") == "1"
    with source.read_catalog() as catalog:
        name_key = f"{source.bridge.options.prefix}name"
        if is_filtered:
            page = Page(source.cached("failed checks", lambda: _failed_checks(catalog, name_key)))
        else:
            page = find_checks(catalog, name_key=name_key, limit=parameters.page_size(), page=parameters.page_token())
        checks = [
            ConsoleCheck(
                urn=row.urn,
                name=row.check,
                column=row.column,
                dataset=entity_link(catalog, row.dataset) if row.dataset else None,
                result=row.result,
                time=row.time,
                is_removed=row.removed,
            )
            for row in page.items
        ]
        return CheckPage(checks, page.remaining, page.is_exact, page.next_page)


def answer_check(source: ConsoleSource, parameters: RequestParameters) -> CheckHistory:
    """Return the results of the check or dataset ``urn``."""
    urn = parameters.required("urn")
    with source.read_catalog() as catalog:
        require_entity(catalog, urn)
        name_key = f"{source.bridge.options.prefix}name"
        page = find_results(catalog, urn, name_key=name_key, limit=_MAX_RESULTS, page=parameters.page_token())
        return CheckHistory(page.items, page.remaining, page.is_exact, page.next_page)


def _failed_checks(catalog: Catalog, name_key: str) -> list[ListedCheck]:
    """Return the checks whose latest result is a failure, some hundreds at most."""
    checks = find_checks(catalog, name_key=name_key).items
    return [check for check in checks if check.result in _FAILED_RESULTS and not check.removed][:_MAX_RESULTS]
