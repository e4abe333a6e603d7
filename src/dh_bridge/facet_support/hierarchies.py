"""Containers: the levels above a dataset as entities, with ``optional_metadata: [containers]``.

If the facet has as many levels as the recipe of the system's connector, a container has the id that the connector makes.
Otherwise its id has the same form: platform, instance, and each level by its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.urns import container_urn, datahub_guid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.naming import Name

LevelPair = tuple[str, str]
"""Type and name, as the facet has them."""

_BUCKET_SUBTYPES = {"s3": "S3 bucket", "gcs": "GCS bucket"}
_SUBTYPE_NAMES = {"FOLDER": "Folder", "DIRECTORY": "Folder"}


class Container(msgspec.Struct, frozen=True, gc=False):
    """A container: ``parent_urns`` are the URNs of those that it is in, outermost first."""

    name: str
    kind: str
    platform: str
    instance: str | None
    parent_urns: tuple[str, ...]


def containers_of(levels: Sequence[LevelPair], name: Name) -> list[tuple[str, Container]]:
    """Return (URN, container) of each level but the last, which is the dataset itself; outermost first."""
    upper_levels = [(kind.strip().upper(), level_name) for kind, level_name in levels[:-1]]
    if not all(kind and level_name for kind, level_name in upper_levels):
        return []
    container_urns = name.containers[::-1]
    urns = list(container_urns) if len(container_urns) == len(upper_levels) else _build_urns(upper_levels, name)
    return [
        (urn, Container(level_name, kind, name.platform, name.instance, tuple(urns[:position])))
        for position, (urn, (kind, level_name)) in enumerate(zip(urns, upper_levels, strict=True))
    ]


def _build_urns(levels: Sequence[LevelPair], name: Name) -> list[str]:
    key: dict[str, str | None] = {"platform": name.platform, "instance": name.instance}
    urns = []
    for kind, level_name in levels:
        key[kind.lower()] = level_name
        urns.append(container_urn(datahub_guid(key)))
    return urns


def container_subtype(container: Container) -> str:
    """Return DataHub's name for a kind of container: ``Database``, ``S3 bucket``."""
    if container.kind == "BUCKET":
        return _BUCKET_SUBTYPES.get(container.platform, "Bucket")
    return _SUBTYPE_NAMES.get(container.kind) or container.kind.replace("_", " ").title()
