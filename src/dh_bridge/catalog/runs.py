"""The runs of a job, flow or dataset, as DataHub's Runs tab shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.entity import display_name
from dh_bridge.catalog.listing import RunFilter, select_runs

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog

Role = Literal["runs", "reads", "writes", "child", "itself"]

_ROLES_BY_RELATION: dict[str, Role] = {
    "InstanceOf": "runs",
    "ChildOf": "child",
    "Consumes": "reads",
    "Produces": "writes",
}
_RUN_ASPECTS = {"dataProcessInstanceRelationships", "dataProcessInstanceInput", "dataProcessInstanceOutput"}
_ERROR_SUFFIX = ".errorMessage.message"
"""End of the custom property with the error of a run; its beginning is the setting `properties.prefix`."""


class RunRow(msgspec.Struct):
    """One run: times in milliseconds since 1970, the duration in milliseconds.

    ``status`` is STARTED, or the result of the latest run event (SUCCESS, FAILURE, SKIPPED, UP_FOR_RETRY).
    ``role`` is what the run is to the entity asked for; empty if none was asked for. ``error`` is the message of a failed run.
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


def find_roles(catalog: Catalog, urn: str) -> dict[str, list[Role]]:
    """Return the runs of ``urn``, each with what it is to the entity.

    Of a job or flow those it is the template of, of a dataset those that read or write it, of a run itself and its children.
    """
    roles: dict[str, list[Role]] = {urn: ["itself"]} if entity_type(urn) == "dataProcessInstance" else {}
    for name, aspect, source in catalog.referrers(urn):
        if aspect in _RUN_ASPECTS and name in _ROLES_BY_RELATION:
            roles.setdefault(source, []).append(_ROLES_BY_RELATION[name])
    return roles


def find_runs(catalog: Catalog, urn: str) -> list[RunRow]:
    """Return the runs of an entity, youngest first; see :func:`list_runs`."""
    return list_runs(catalog, urn)[0]


def list_runs(
    catalog: Catalog, urn: str | None = None, run_filter: RunFilter | None = None, *, limit: int = -1
) -> tuple[list[RunRow], int]:
    """Return runs, youngest first, and their number without the limit; as in DataHub, a run without a run event is left out.

    Args:
        catalog: The catalogue.
        urn: A job, flow, dataset or run, as of :func:`find_roles`; None for all runs.
        run_filter: Which of them are returned.
        limit: The number of runs to return; -1 for all.
    """
    roles = None if urn is None else find_roles(catalog, urn)
    page = select_runs(catalog, run_filter or RunFilter(), urns=None if roles is None else list(roles), limit=limit)
    rows = (_run_row(catalog, run, (roles or {}).get(run, [])) for run in page.urns)
    return [row for row in rows if row is not None], page.total


def _run_row(catalog: Catalog, urn: str, role: list[Role]) -> RunRow | None:
    """Return one run, None when it has no run event."""
    events = catalog.timeseries(urn, "dataProcessInstanceRunEvent")
    if not events:
        return None
    latest = events[-1]
    aspects = catalog.aspects(urn)
    properties = aspects.get("dataProcessInstanceProperties") or {}
    relations = aspects.get("dataProcessInstanceRelationships") or {}
    custom = properties.get("customProperties") or {}
    return RunRow(
        urn=urn,
        name=display_name(catalog, urn),
        role=role,
        status=(latest.get("result") or {}).get("type") or latest["status"],
        attempt=latest.get("attempt"),
        started=(properties.get("created") or {}).get("time"),
        updated=latest["timestampMillis"],
        duration=latest.get("durationMillis"),
        job=relations.get("parentTemplate"),
        parent=relations.get("parentInstance"),
        children=[source for name, _, source in catalog.referrers(urn) if name == "ChildOf"],
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
