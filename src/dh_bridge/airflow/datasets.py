"""Inlets and outlets as OpenLineage datasets: Assets and Datasets by their URI, tables, files, OpenLineage's own, DataHub's.

:mod:`dh_bridge.facet_support.airflow_assets` converts URIs, for events of the provider and of the callbacks.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dh_bridge.airflow.context import attribute
from dh_bridge.airflow.entities import URN_NAMESPACE, is_dataset, urn_of
from dh_bridge.airflow.facet_envelope import standard_facet
from dh_bridge.airflow.jsonable import to_jsonable, to_list
from dh_bridge.facet_support.airflow_assets import parse_asset_uri

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.airflow.context import CallbackContext


def task_datasets(context: CallbackContext) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Return inputs and outputs of a task, and what names no dataset that OpenLineage has words for."""
    unresolved: list[str] = []
    inputs = _resolve_datasets(to_list(attribute(context.task, "inlets")), unresolved)
    outlets = [*to_list(attribute(context.task, "outlets")), *_runtime_outlets(context.outlet_events)]
    return inputs, _resolve_datasets(outlets, unresolved), unresolved


def _resolve_datasets(members: Iterable[Any], unresolved: list[str]) -> list[dict[str, Any]]:
    datasets_by_name: dict[tuple[str, str], dict[str, Any]] = {}
    for member in members:
        dataset = _resolve_dataset(member)
        if dataset is not None:
            datasets_by_name.setdefault((dataset["namespace"], dataset["name"]), dataset)
        elif not type(member).__name__.endswith("Alias"):  # an alias is resolved at run time
            unresolved.append(urn_of(member) or str(attribute(member, "uri") or attribute(member, "name") or member))
    return list(datasets_by_name.values())


def _resolve_dataset(member: Any) -> dict[str, Any] | None:
    """Return an OpenLineage dataset; None for what names none.

    An Asset or Dataset of Airflow has a ``uri``, its File a ``url``, its Table a cluster, database and name, a dataset
    of openlineage-python a namespace and a name, and an entity of DataHub's plugin a ``urn``.
    """
    urn = urn_of(member)
    if urn is not None:
        return {"namespace": URN_NAMESPACE, "name": urn, "facets": {}} if is_dataset(urn) else None
    if isinstance(member, Mapping):
        names = (member.get("namespace"), member.get("name"))
    elif isinstance(member, tuple):
        names = member if len(member) == 2 else (None, None)
    else:
        names = (attribute(member, "namespace"), attribute(member, "name"))
    if all(isinstance(name, str) and name for name in names):
        return {"namespace": names[0], "name": names[1], "facets": _facets_of_dataset(member)}
    uri = member if isinstance(member, str) else attribute(member, "uri") or attribute(member, "url")
    if isinstance(uri, str):
        asset_pair = parse_asset_uri(uri)
        return {"namespace": asset_pair[0], "name": asset_pair[1], "facets": {}} if asset_pair is not None else None
    cluster, database, name = (attribute(member, part) for part in ("cluster", "database", "name"))
    if all(isinstance(part, str) and part for part in (cluster, database, name)):
        return {"namespace": cluster, "name": f"{database}.{name}", "facets": _table_facets(member)}
    return None


def _facets_of_dataset(dataset: Any) -> dict[str, Any]:
    facets = dataset.get("facets") if isinstance(dataset, Mapping) else attribute(dataset, "facets")
    if not isinstance(facets, Mapping) or not facets:
        return {}
    if all(isinstance(facet, Mapping) for facet in facets.values()):
        return {str(key): to_jsonable(facet) for key, facet in facets.items()}
    from openlineage.client.serde import Serde  # noqa: PLC0415 - who holds such a facet has the package

    serialized = Serde.to_dict(dataset)
    return dict(serialized.get("facets") or {})


def _table_facets(table: Any) -> dict[str, Any]:
    """Return the facets of ``airflow.lineage.entities.Table`` (2.x), as the provider sends them."""
    facets = {}
    columns = [
        {"name": attribute(column, "name"), "type": attribute(column, "data_type"), "description": attribute(column, "description")}
        for column in to_list(attribute(table, "columns"))
    ]  # fmt: skip
    if columns:
        facets["schema"] = standard_facet("SchemaDatasetFacet", fields=to_jsonable(columns))
    owners = [
        {"name": f"user:{email}"} for user in to_list(attribute(table, "owners")) if (email := attribute(user, "email"))
    ]
    if owners:
        facets["ownership"] = standard_facet("OwnershipDatasetFacet", owners=owners)
    description = attribute(table, "description")
    if isinstance(description, str) and description:
        facets["documentation"] = standard_facet("DocumentationDatasetFacet", description=description)
    return facets


def _runtime_outlets(events: Any) -> Iterator[Any]:
    """Yield the URIs that the task named while it ran: for an alias, or with an extra (``outlet_events``)."""
    if events is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 2.10 warns of keys that are texts, though its own iterator gives nothing else
        try:
            accessors = [(key, events[key]) for key in events]
        except Exception:  # noqa: BLE001 - the DAG processor has no events here
            return
    for key, accessor in accessors:
        for event in to_list(attribute(accessor, "asset_alias_events")):  # 3.x
            yield attribute(attribute(event, "dest_asset_key"), "uri")
        for event in to_list(attribute(accessor, "dataset_alias_events")):  # 2.10: dicts
            yield event.get("dest_dataset_uri") if isinstance(event, Mapping) else attribute(event, "dest_dataset_uri")
        if attribute(accessor, "extra") and (isinstance(key, str) or isinstance(attribute(key, "uri"), str)):
            yield key
