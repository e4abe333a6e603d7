"""Inlets and outlets as OpenLineage datasets: Assets and Datasets by their URI, tables, files, OpenLineage's own, DataHub's.

What a URI means is told by :mod:`dh_bridge.translation.reading.airflow_assets`, for the provider's events as for ours.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dh_bridge.airflow.context import attribute
from dh_bridge.airflow.entities import URNS, is_dataset, urn_of
from dh_bridge.airflow.facet_envelope import standard
from dh_bridge.airflow.jsonable import listed, plain
from dh_bridge.translation.reading.airflow_assets import pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.airflow.context import Occasion


def datasets(occasion: Occasion) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Return inputs and outputs of a task, and what names no dataset that OpenLineage has words for."""
    nameless: list[str] = []
    inputs = _named(listed(attribute(occasion.task, "inlets")), nameless)
    outlets = [*listed(attribute(occasion.task, "outlets")), *_told_at_run_time(occasion.outlet_events)]
    return inputs, _named(outlets, nameless), nameless


def _named(members: Iterable[Any], nameless: list[str]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in members:
        dataset = _dataset(one)
        if dataset is not None:
            found.setdefault((dataset["namespace"], dataset["name"]), dataset)
        elif not type(one).__name__.endswith("Alias"):  # what an alias stands for is told at run time
            nameless.append(urn_of(one) or str(attribute(one, "uri") or attribute(one, "name") or one))
    return list(found.values())


def _dataset(one: Any) -> dict[str, Any] | None:
    """Return an OpenLineage dataset; None for what names none.

    An Asset or Dataset of Airflow has a ``uri``, its File a ``url``, its Table a cluster, database and name, a dataset
    of openlineage-python a namespace and a name, and an entity of DataHub's plugin a ``urn``.
    """
    urn = urn_of(one)
    if urn is not None:
        return {"namespace": URNS, "name": urn, "facets": {}} if is_dataset(urn) else None
    if isinstance(one, Mapping):
        names = (one.get("namespace"), one.get("name"))
    elif isinstance(one, tuple):
        names = one if len(one) == 2 else (None, None)
    else:
        names = (attribute(one, "namespace"), attribute(one, "name"))
    if all(isinstance(name, str) and name for name in names):
        return {"namespace": names[0], "name": names[1], "facets": _own_facets(one)}
    uri = one if isinstance(one, str) else attribute(one, "uri") or attribute(one, "url")
    if isinstance(uri, str):
        known = pair(uri)
        return {"namespace": known[0], "name": known[1], "facets": {}} if known is not None else None
    cluster, database, name = (attribute(one, part) for part in ("cluster", "database", "name"))
    if all(isinstance(part, str) and part for part in (cluster, database, name)):
        return {"namespace": cluster, "name": f"{database}.{name}", "facets": _table_facets(one)}
    return None


def _own_facets(one: Any) -> dict[str, Any]:
    facets = one.get("facets") if isinstance(one, Mapping) else attribute(one, "facets")
    if not isinstance(facets, Mapping) or not facets:
        return {}
    if all(isinstance(facet, Mapping) for facet in facets.values()):
        return {str(key): plain(facet) for key, facet in facets.items()}
    from openlineage.client.serde import Serde  # noqa: PLC0415 - who holds such a facet has the package

    told = Serde.to_dict(one)
    return dict(told.get("facets") or {})


def _table_facets(one: Any) -> dict[str, Any]:
    """Return the facets of ``airflow.lineage.entities.Table`` (2.x), as the provider tells them."""
    facets = {}
    columns = [
        {"name": attribute(column, "name"), "type": attribute(column, "data_type"), "description": attribute(column, "description")}
        for column in listed(attribute(one, "columns"))
    ]  # fmt: skip
    if columns:
        facets["schema"] = standard("SchemaDatasetFacet", fields=plain(columns))
    owners = [
        {"name": f"user:{email}"} for user in listed(attribute(one, "owners")) if (email := attribute(user, "email"))
    ]
    if owners:
        facets["ownership"] = standard("OwnershipDatasetFacet", owners=owners)
    description = attribute(one, "description")
    if isinstance(description, str) and description:
        facets["documentation"] = standard("DocumentationDatasetFacet", description=description)
    return facets


def _told_at_run_time(events: Any) -> Iterator[Any]:
    """Yield the URIs that the task named while it ran: for an alias, or with an extra (``outlet_events``)."""
    if events is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 2.10 warns of keys that are texts, though its own iterator gives nothing else
        try:
            accessors = [(key, events[key]) for key in events]
        except Exception:  # noqa: BLE001 - in the DAG processor nothing stands behind it
            return
    for key, accessor in accessors:
        for event in listed(attribute(accessor, "asset_alias_events")):  # 3.x
            yield attribute(attribute(event, "dest_asset_key"), "uri")
        for event in listed(attribute(accessor, "dataset_alias_events")):  # 2.10: dicts
            yield event.get("dest_dataset_uri") if isinstance(event, Mapping) else attribute(event, "dest_dataset_uri")
        if attribute(accessor, "extra") and (isinstance(key, str) or isinstance(attribute(key, "uri"), str)):
            yield key
