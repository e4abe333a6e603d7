"""Inlets and outlets that are DataHub's own: entities of its Airflow plugin, and URNs of datasets.

OpenLineage has no URNs. One that keeps what its namespace says (``s3``, ``bigquery`` …) becomes the pair that it stands for; any other
becomes the namespace ``urn:li:dataPlatform:postgres,PROD`` and its name, and a naming rule of this call alone leads back to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from dh_bridge.airflow.context import attribute
from dh_bridge.datahub.urns import decode, is_urn, parse
from dh_bridge.settings.naming import NamingRule
from dh_bridge.translation.naming import Naming

if TYPE_CHECKING:
    from dh_bridge.settings import Settings

URNS = "datahub"
"""Namespace of a dataset whose name is a URN, until :func:`led_back` finds the pair."""

_PLATFORM = "urn:li:dataPlatform:"


def urn_of(one: Any) -> str | None:
    """Return the URN that an inlet or outlet is or has: a text, an entity of DataHub's plugin, a ``DatasetUrn``."""
    said = one if isinstance(one, str) else attribute(one, "urn")
    text = str(one) if callable(said) else said
    return text if isinstance(text, str) and text.startswith("urn:li:") else None


def is_dataset(urn: str) -> bool:
    """Say whether ``urn`` is one of a dataset; those of jobs and others have no place in an event."""
    return urn.startswith("urn:li:dataset:") and is_urn(urn)


class _Way(NamedTuple):
    """A pair, and the rule that leads from it to its URN."""

    namespace: str
    name: str
    rule: NamingRule


def led_back(told: list[dict[str, Any]], settings: Settings) -> tuple[Settings, list[str]]:
    """Give the datasets of events that are named by a URN a pair; return settings under which it leads to that URN.

    What no pair leads to is taken out of the events, and returned, too.
    """
    sides = [side for event in told for side in (event["inputs"], event["outputs"])]
    urns = {one["name"] for side in sides for one in side if one["namespace"] == URNS}
    if not urns:
        return settings, []
    ways = {urn: way for urn in sorted(urns) if (way := _way(urn)) is not None}
    rules = {way.namespace: way.rule for way in ways.values()}
    settings = settings.model_copy(
        update={"naming": settings.naming.model_copy(update={"rules": (*settings.naming.rules, *rules.values())})}
    )
    naming = Naming(settings.naming, settings.mappings)
    pairs = {urn: pair for urn in urns if (pair := _pair(urn, ways.get(urn), naming)) is not None}
    for side in sides:
        side[:] = [_named(one, pairs) for one in side if one["namespace"] != URNS or one["name"] in pairs]
    return settings, sorted(urns - pairs.keys())


def _named(one: dict[str, Any], pairs: dict[str, tuple[str, str]]) -> dict[str, Any]:
    if one["namespace"] != URNS:
        return one
    namespace, name = pairs[one["name"]]
    return {**one, "namespace": namespace, "name": name}


def _pair(urn: str, way: _Way | None, naming: Naming) -> tuple[str, str] | None:
    said = naming.reverse(urn)
    if len(said) == 1:
        return said[0]
    if way is None or naming(way.namespace, way.name).endpoint != urn:
        return None
    return way.namespace, way.name


def _way(urn: str) -> _Way | None:
    platform, name, env = parse(urn)[1]
    namespace = f"{platform},{env}"
    said = {"namespace": namespace, "platform": platform.removeprefix(_PLATFORM), "env": env, "case": "keep"}
    try:
        return _Way(namespace, decode(name), NamingRule.model_validate(said))
    except ValidationError:  # a platform or an environment that DataHub itself would not take
        return None
