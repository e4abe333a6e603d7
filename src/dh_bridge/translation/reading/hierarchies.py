"""Containers: the levels above a dataset as entities, where ``containers: on`` asks for them.

A container is known by the id that the system's connector makes, where its recipe has as many levels as the facet names;
else by one of the same form: platform, instance, and each level by its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.guid import datahub_guid
from dh_bridge.datahub.urns import container_urn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.translation.naming import Name

Level = tuple[str, str]
"""Type and name, as the facet has them."""

_BUCKETS = {"s3": "S3 bucket", "gcs": "GCS bucket"}
_WORDS = {"FOLDER": "Folder", "DIRECTORY": "Folder"}


class Container(msgspec.Struct, frozen=True, gc=False):
    """A container: ``above`` are the URNs of those that it is in, outermost first."""

    name: str
    kind: str
    platform: str
    instance: str | None
    above: tuple[str, ...]


def containers_of(levels: Sequence[Level], name: Name) -> list[tuple[str, Container]]:
    """Return (URN, container) of each level but the last, which is the dataset itself; outermost first."""
    upper = [(kind.strip().upper(), said) for kind, said in levels[:-1]]
    if not all(kind and said for kind, said in upper):
        return []
    known = name.containers[::-1]
    urns = list(known) if len(known) == len(upper) else _made(upper, name)
    return [
        (urn, Container(said, kind, name.platform, name.instance, tuple(urns[:position])))
        for position, (urn, (kind, said)) in enumerate(zip(urns, upper, strict=True))
    ]


def _made(upper: Sequence[Level], name: Name) -> list[str]:
    key: dict[str, str | None] = {"platform": name.platform, "instance": name.instance}
    found = []
    for kind, said in upper:
        key[kind.lower()] = said
        found.append(container_urn(datahub_guid(key)))
    return found


def subtype(container: Container) -> str:
    """Return DataHub's word for a kind of container: ``Database``, ``S3 bucket``."""
    if container.kind == "BUCKET":
        return _BUCKETS.get(container.platform, "Bucket")
    return _WORDS.get(container.kind) or container.kind.replace("_", " ").title()
