"""container: name, kind, platform, and where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.datahub.urns import platform_instance_urn, platform_urn
from dh_bridge.translation.facts import CONTAINER
from dh_bridge.translation.fold import value
from dh_bridge.translation.reading.hierarchies import subtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.reading.hierarchies import Container

ENTITY = "container"


def container_proposals(urn: str, slots: Slots, options: Options) -> Iterator[Proposal]:
    """Yield the aspects of a container."""
    one: Container = value(slots, CONTAINER)
    said = {"level": one.kind, "platform": one.platform}
    if one.instance:
        said["instance"] = one.instance
    properties = {options.prefix + key: said[key] for key in sorted(said)}
    yield upsert(ENTITY, urn, "containerProperties", {"customProperties": properties, "name": one.name})
    yield upsert(ENTITY, urn, "subTypes", {"typeNames": [subtype(one)]})
    platform: dict[str, Any] = {"platform": platform_urn(one.platform)}
    if one.instance:
        platform["instance"] = platform_instance_urn(one.platform, one.instance)
    yield upsert(ENTITY, urn, "dataPlatformInstance", platform)
    yield from placed(ENTITY, urn, one.above)


def placed(entity: str, urn: str, above: Sequence[str]) -> Iterator[Proposal]:
    """Yield in which container an entity is, and the path to it; ``above`` outermost first."""
    if above:
        yield upsert(entity, urn, "container", {"container": above[-1]})
        yield upsert(entity, urn, "browsePathsV2", {"path": [{"id": one, "urn": one} for one in above]})
