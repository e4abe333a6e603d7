"""Inlets and outlets of DataHub: entities of its Airflow plugin, and URNs of datasets.

OpenLineage has no URNs. If the name and the platform of a URN have an OpenLineage name (``s3``, ``bigquery`` …), the URN becomes
that name. Otherwise its namespace is ``urn:li:dataPlatform:postgres,PROD``, and a naming rule for this call restores the URN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from dh_bridge.airflow.context import attribute
from dh_bridge.datahub.urns import decode_part, is_urn, parse_urn
from dh_bridge.naming import Naming
from dh_bridge.settings.naming import NamingRule

if TYPE_CHECKING:
    from dh_bridge.settings import Settings

URN_NAMESPACE = "datahub"
"""Namespace of a dataset whose name is a URN, until :func:`map_urns` finds the pair."""

_PLATFORM = "urn:li:dataPlatform:"


def urn_of(entity: Any) -> str | None:
    """Return the URN that an inlet or outlet is or has: a text, an entity of DataHub's plugin, a ``DatasetUrn``."""
    urn = entity if isinstance(entity, str) else attribute(entity, "urn")
    text = str(entity) if callable(urn) else urn
    return text if isinstance(text, str) and text.startswith("urn:li:") else None


def is_dataset(urn: str) -> bool:
    """Return whether ``urn`` is that of a dataset; events cannot contain URNs of jobs and other entities."""
    return urn.startswith("urn:li:dataset:") and is_urn(urn)


class _UrnMapping(NamedTuple):
    """A pair, and the rule that leads from it to its URN."""

    namespace: str
    name: str
    rule: NamingRule


def map_urns(run_events: list[dict[str, Any]], settings: Settings) -> tuple[Settings, list[str]]:
    """Give the datasets of events that are named by a URN a pair; return settings under which it leads to that URN.

    What no pair leads to is taken out of the events, and returned, too.
    """
    dataset_lists = [datasets for event in run_events for datasets in (event["inputs"], event["outputs"])]
    urns = {
        dataset["name"] for datasets in dataset_lists for dataset in datasets if dataset["namespace"] == URN_NAMESPACE
    }
    if not urns:
        return settings, []
    mappings = {urn: mapping for urn in sorted(urns) if (mapping := _map_urn(urn)) is not None}
    rules = {mapping.namespace: mapping.rule for mapping in mappings.values()}
    settings = settings.model_copy(
        update={"naming": settings.naming.model_copy(update={"rules": (*settings.naming.rules, *rules.values())})}
    )
    naming = Naming(settings.naming, settings.mappings)
    pairs = {urn: pair for urn in urns if (pair := _pair_of_urn(urn, mappings.get(urn), naming)) is not None}
    for datasets in dataset_lists:
        datasets[:] = [
            _with_pair(dataset, pairs)
            for dataset in datasets
            if dataset["namespace"] != URN_NAMESPACE or dataset["name"] in pairs
        ]
    return settings, sorted(urns - pairs.keys())


def _with_pair(dataset: dict[str, Any], pairs: dict[str, tuple[str, str]]) -> dict[str, Any]:
    if dataset["namespace"] != URN_NAMESPACE:
        return dataset
    namespace, name = pairs[dataset["name"]]
    return {**dataset, "namespace": namespace, "name": name}


def _pair_of_urn(urn: str, mapping: _UrnMapping | None, naming: Naming) -> tuple[str, str] | None:
    pairs = naming.reverse(urn)
    if len(pairs) == 1:
        return pairs[0]
    if mapping is None or naming(mapping.namespace, mapping.name).endpoint != urn:
        return None
    return mapping.namespace, mapping.name


def _map_urn(urn: str) -> _UrnMapping | None:
    platform, name, env = parse_urn(urn)[1]
    namespace = f"{platform},{env}"
    rule = {"namespace": namespace, "platform": platform.removeprefix(_PLATFORM), "env": env, "case": "keep"}
    try:
        return _UrnMapping(namespace, decode_part(name), NamingRule.model_validate(rule))
    except ValidationError:  # a platform or an environment that DataHub itself would not take
        return None
