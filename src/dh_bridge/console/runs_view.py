"""Runs: a list with filters, and one run with its family, its datasets, its SQL, its error and its history."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.entity import display_name
from dh_bridge.catalog.run_selection import RunFilter
from dh_bridge.catalog.runs import RunRow, find_run, list_runs
from dh_bridge.console.parameters import EntityLink, entity_link, require_entity
from dh_bridge.errors import EventError
from dh_bridge.ledger.run_history import read_history
from dh_bridge.options import Options

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog
    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource

_MAX_FAMILY = 200
"""Children and siblings that an answer has, at most."""


class ListedRun(msgspec.Struct, frozen=True):
    """A run: times in milliseconds since 1970, ``duration`` in milliseconds."""

    urn: str
    name: str
    status: str
    started: int | None
    updated: int
    duration: int | None
    attempt: int | None
    job: EntityLink | None
    error: str | None


class RunPage(msgspec.Struct, frozen=True):
    """A page of runs, the latest first: how many follow (``is_exact``: all are counted), and the token of the next page."""

    runs: list[ListedRun]
    remaining: int
    is_exact: bool
    next_page: str | None


class RunDatasetMetrics(msgspec.Struct, frozen=True):
    """A dataset that a run reads or writes, with the metrics that the event states, such as rows and bytes."""

    dataset: EntityLink
    metrics: dict[str, str]


class RunHistoryEvent(msgspec.Struct, frozen=True):
    """An event of a run: its time in milliseconds, its type, and the aspects that were sent for it, by URN."""

    time: int
    type: str | None
    producer: str | None
    sent: dict[str, list[str]]


class RunDetails(msgspec.Struct, frozen=True):
    """A run, its parent, its children, its datasets, its SQL and its properties; ``history`` is None without a ledger."""

    run: ListedRun
    link: str | None
    parent: ListedRun | None
    children: list[ListedRun]
    upstream: list[ListedRun]
    inputs: list[RunDatasetMetrics]
    outputs: list[RunDatasetMetrics]
    sql: str | None
    properties: dict[str, str]
    history: list[RunHistoryEvent] | None


def answer_runs(source: ConsoleSource, parameters: RequestParameters) -> RunPage:
    """Return runs of the entity ``urn``, or all; filters are ``failed=1``, ``since`` (a date) and ``job``."""
    run_filter = RunFilter(
        failed=parameters.text("failed") == "1",
        since=_millis(parameters.text("since")),
        job=parameters.text("job") or None,
    )
    urn = parameters.text("urn") or None
    with source.read_catalog() as catalog:
        size, token = parameters.page_size(), parameters.page_token()
        page = list_runs(catalog, urn, run_filter, limit=size, page=token)
        runs = [_listed_run(catalog, row) for row in page.items]
        return RunPage(runs, page.remaining, page.is_exact, page.next_page)


def _millis(date: str) -> int | None:
    """Return the begin of a day in milliseconds since 1970; a ValueError for a text that is no date."""
    if not date:
        return None
    try:
        return int(datetime.fromisoformat(date).replace(tzinfo=timezone.utc).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"since: expected a date such as 2026-11-21, got {date!r}") from error


def answer_run(source: ConsoleSource, parameters: RequestParameters) -> RunDetails:
    """Return the run ``urn``."""
    urn = parameters.required("urn")
    with source.read_catalog() as catalog:
        require_entity(catalog, urn)
        row = find_run(catalog, urn)
        if row is None:
            raise ValueError(f"{urn} has no run events")
        children = [child for child in map(partial(find_run, catalog), row.children[:_MAX_FAMILY]) if child]
        children.sort(key=lambda child: child.started or 0)
        aspects = catalog.aspects(urn)
        properties = (aspects.get("dataProcessInstanceProperties") or {}).get("customProperties") or {}
        return RunDetails(
            run=_listed_run(catalog, row),
            link=row.link,
            parent=_find_run(catalog, row.parent),
            children=[_listed_run(catalog, child) for child in children],
            upstream=[run for run in (_find_run(catalog, other) for other in row.upstream[:_MAX_FAMILY]) if run],
            inputs=_datasets(catalog, row.inputs, properties),
            outputs=_datasets(catalog, row.outputs, properties),
            sql=_find_sql(catalog, row),
            properties=properties,
            history=_read_history(source, urn),
        )


def _find_run(catalog: Catalog, urn: str | None) -> ListedRun | None:
    row = find_run(catalog, urn) if urn else None
    return None if row is None else _listed_run(catalog, row)


def _listed_run(catalog: Catalog, row: RunRow) -> ListedRun:
    return ListedRun(
        urn=row.urn,
        name=row.name,
        status=row.status,
        started=row.started,
        updated=row.updated,
        duration=row.duration,
        attempt=row.attempt,
        job=entity_link(catalog, row.job) if row.job else None,
        error=row.error,
    )


def _datasets(catalog: Catalog, urns: list[str], properties: dict[str, str]) -> list[RunDatasetMetrics]:
    """Return datasets with the properties of the run that name them: ``….inputs[NAME].rowCount``."""
    datasets = []
    for urn in urns:
        name = display_name(catalog, urn)
        metrics = {key.rpartition(".")[2]: value for key, value in properties.items() if f"[{name}]" in key}
        datasets.append(RunDatasetMetrics(entity_link(catalog, urn), metrics))
    return datasets


def _find_sql(catalog: Catalog, row: RunRow) -> str | None:
    logic: Any = catalog.aspect(row.job, "dataTransformLogic") if row.job else None
    statements = [
        transform["queryStatement"]["value"]
        for transform in (logic or {}).get("transforms") or ()
        if transform.get("queryStatement")
    ]
    return "\n\n".join(statements) or None


def _read_history(source: ConsoleSource, urn: str) -> list[RunHistoryEvent] | None:
    with source.read_ledger() as ledger:
        try:
            options = Options(source.settings, is_stateful=True)
            history = read_history(ledger.connection, urn, options, location=source.file)
        except EventError:
            return None
    return [
        RunHistoryEvent(time // 1000, entry.type, entry.producer, entry.sent_aspects) for time, entry in history.events
    ]
