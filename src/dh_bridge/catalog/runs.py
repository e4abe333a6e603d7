"""The runs of a job, flow or dataset, as DataHub's Runs tab shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.entity import display_name

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


class RunRow(msgspec.Struct):
    """One run: times in milliseconds since 1970, the duration in milliseconds.

    ``status`` is STARTED, or the result of the latest run event (SUCCESS, FAILURE, SKIPPED, UP_FOR_RETRY).
    ``role`` is what the run is to the entity asked for.
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


def find_runs(catalog: Catalog, urn: str) -> list[RunRow]:
    """Return the runs of ``urn``, youngest first.

    Of a job or flow those it is the template of, of a dataset those that read or write it, of a run itself and its children.
    As in DataHub, a run without a run event is not shown.
    """
    roles: dict[str, list[Role]] = {urn: ["itself"]} if entity_type(urn) == "dataProcessInstance" else {}
    for name, aspect, source in catalog.referrers(urn):
        if aspect in _RUN_ASPECTS and name in _ROLES_BY_RELATION:
            roles.setdefault(source, []).append(_ROLES_BY_RELATION[name])
    rows = [row for run, role in roles.items() if (row := _run_row(catalog, run, role)) is not None]
    return sorted(rows, key=lambda row: (-(row.started or 0), row.urn))


def _run_row(catalog: Catalog, urn: str, role: list[Role]) -> RunRow | None:
    """Return one run, None when it has no run event."""
    events = catalog.timeseries(urn, "dataProcessInstanceRunEvent")
    if not events:
        return None
    latest = events[-1]
    aspects = catalog.aspects(urn)
    properties = aspects.get("dataProcessInstanceProperties") or {}
    relations = aspects.get("dataProcessInstanceRelationships") or {}
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
    )


def _dataset_urns(aspect: dict[str, Any] | None, direction: str) -> list[str]:
    """Return what a run reads or writes, from the plain array and from the edges."""
    if not aspect:
        return []
    edges = aspect.get(f"{direction}Edges") or ()
    return sorted({*(aspect.get(f"{direction}s") or ()), *(edge["destinationUrn"] for edge in edges)})
