"""The runs of a job, flow or dataset, as DataHub's Runs tab shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.catalog.entity import display_name
from dh_bridge.catalog.run_index import RUN_ASPECTS, RUN_EVENT
from dh_bridge.catalog.run_selection import RunFilter, select_runs

if TYPE_CHECKING:
    from dh_bridge.catalog.paging import Page
    from dh_bridge.catalog.store import Catalog

Role = Literal["runs", "reads", "writes", "child", "itself"]

_ROLES_BY_RELATION: dict[str, Role] = {
    "InstanceOf": "runs",
    "ChildOf": "child",
    "Consumes": "reads",
    "Produces": "writes",
}
_MAX_CHILDREN = 100
"""Children of a run that a row lists."""
_LINKS_TO_ENTITY = """
    SELECT relationship.name FROM relationship JOIN entity target ON target.id = relationship.target
    WHERE relationship.source = ? AND relationship.aspect IN (?, ?, ?) AND target.urn = ?
"""
CHILDREN = """
    SELECT entity.urn FROM relationship JOIN entity ON entity.id = relationship.source
    WHERE relationship.target = ? AND relationship.lineage IN (-1, 0, 1) AND relationship.name = 'ChildOf' LIMIT ?
"""
_ERROR_SUFFIX = ".errorMessage.message"
"""End of the custom property with the error of a run; its beginning is the setting `properties.prefix`."""


class RunRow(msgspec.Struct):
    """One run: times in milliseconds since 1970, the duration in milliseconds.

    ``status`` is STARTED, or the result of the latest run event (SUCCESS, FAILURE, SKIPPED, UP_FOR_RETRY).
    ``role`` is what the run is to the entity asked for; empty if none was asked for. ``error`` is the message of a failed run.
    ``children`` has at most 100 URNs; if there are more, ``has_more_children`` is true.
    """

    urn: str
    name: str
    role: list[Role]
    status: str
    attempt: int | None
    started: int | None
    updated: int
    duration: int | None
    job: str | None
    parent: str | None
    children: list[str]
    upstream: list[str]
    inputs: list[str]
    outputs: list[str]
    link: str | None
    error: str | None = None
    has_more_children: bool = False


def find_run(catalog: Catalog, urn: str) -> RunRow | None:
    """Return one run; None if it has no run event."""
    row = catalog.connection.execute(
        "SELECT run FROM run_summary WHERE run = (SELECT id FROM entity WHERE urn = ?)", (urn,)
    ).fetchone()
    return None if row is None else _run_row(catalog, row[0], None)


def find_runs(catalog: Catalog, urn: str) -> list[RunRow]:
    """Return all runs of an entity, the latest first; see :func:`list_runs`."""
    return list_runs(catalog, urn).items


def list_runs(
    catalog: Catalog,
    urn: str | None = None,
    run_filter: RunFilter | None = None,
    *,
    limit: int | None = None,
    page: str | None = None,
) -> Page[RunRow]:
    """Return runs, the latest first: the time of a run is that of its latest run event.

    As in DataHub, a run without a run event is left out.

    Args:
        catalog: The catalogue.
        urn: A job or flow whose runs are listed, a dataset that they read or write, or a run, which is listed with its children;
            None for all runs.
        run_filter: Which of them are returned.
        limit: The number of runs to return; None for all.
        page: The token of the page; None for the first one.

    Raises:
        SettingsError: The token is not one of this list.
    """
    listed = select_runs(catalog, run_filter or RunFilter(), urn=urn, limit=limit, page=page)
    return listed.with_items([_run_row(catalog, run, urn) for run in listed.items])


def _roles(catalog: Catalog, run: int, run_urn: str, urn: str | None) -> list[Role]:
    """Return what a run is to an entity."""
    if urn is None:
        return []
    names = catalog.connection.execute(_LINKS_TO_ENTITY, (run, *RUN_ASPECTS, urn))
    roles = [_ROLES_BY_RELATION[name] for (name,) in sorted(names) if name in _ROLES_BY_RELATION]
    return ["itself", *roles] if run_urn == urn else roles


def _run_row(catalog: Catalog, run: int, entity: str | None) -> RunRow:
    """Return one run that has a run event."""
    (urn,) = catalog.connection.execute("SELECT urn FROM entity WHERE id = ?", (run,)).fetchone()
    latest = catalog.timeseries(urn, RUN_EVENT, latest=1)[0]
    children = [child for (child,) in catalog.connection.execute(CHILDREN, (run, _MAX_CHILDREN + 1))]
    aspects = catalog.aspects(urn)
    properties = aspects.get("dataProcessInstanceProperties") or {}
    relations = aspects.get("dataProcessInstanceRelationships") or {}
    custom = properties.get("customProperties") or {}
    return RunRow(
        urn=urn,
        name=display_name(catalog, urn),
        role=_roles(catalog, run, urn, entity),
        status=(latest.get("result") or {}).get("type") or latest["status"],
        attempt=latest.get("attempt"),
        started=(properties.get("created") or {}).get("time"),
        updated=latest["timestampMillis"],
        duration=latest.get("durationMillis"),
        job=relations.get("parentTemplate"),
        parent=relations.get("parentInstance"),
        children=sorted(children[:_MAX_CHILDREN]),
        has_more_children=len(children) > _MAX_CHILDREN,
        upstream=relations.get("upstreamInstances") or [],
        inputs=_dataset_urns(aspects.get("dataProcessInstanceInput"), "input"),
        outputs=_dataset_urns(aspects.get("dataProcessInstanceOutput"), "output"),
        link=properties.get("externalUrl") or latest.get("externalUrl"),
        error=next((text for key, text in custom.items() if key.endswith(_ERROR_SUFFIX)), None),
    )


def _dataset_urns(aspect: dict[str, Any] | None, direction: str) -> list[str]:
    """Return the datasets that a run reads or writes, from the plain array and from the edges."""
    if not aspect:
        return []
    edges = aspect.get(f"{direction}Edges") or ()
    return sorted({*(aspect.get(f"{direction}s") or ()), *(edge["destinationUrn"] for edge in edges)})
