"""The aspects of containers: name, kind, platform, and parent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.datahub.urns import platform_instance_urn, platform_urn
from dh_bridge.facet_support.hierarchies import container_subtype
from dh_bridge.model.facts import CONTAINER
from dh_bridge.model.fold import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dh_bridge.facet_support.hierarchies import Container
    from dh_bridge.model.fold import Registers
    from dh_bridge.options import Options

ENTITY = "container"


def container_proposals(urn: str, registers: Registers, options: Options) -> Iterator[Proposal]:
    """Yield the aspects of a container."""
    container: Container = value(registers, CONTAINER)
    details = {"level": container.kind, "platform": container.platform}
    if container.instance:
        details["instance"] = container.instance
    properties = {options.prefix + key: details[key] for key in sorted(details)}
    yield upsert(ENTITY, urn, "containerProperties", {"customProperties": properties, "name": container.name})
    yield upsert(ENTITY, urn, "subTypes", {"typeNames": [container_subtype(container)]})
    platform: dict[str, Any] = {"platform": platform_urn(container.platform)}
    if container.instance:
        platform["instance"] = platform_instance_urn(container.platform, container.instance)
    yield upsert(ENTITY, urn, "dataPlatformInstance", platform)
    yield from placement_proposals(ENTITY, urn, container.parent_urns)


def placement_proposals(entity: str, urn: str, ancestor_urns: Sequence[str]) -> Iterator[Proposal]:
    """Yield in which container an entity is, and the path to it; ``ancestor_urns`` outermost first."""
    if ancestor_urns:
        yield upsert(entity, urn, "container", {"container": ancestor_urns[-1]})
        yield upsert(
            entity,
            urn,
            "browsePathsV2",
            {"path": [{"id": ancestor_urn, "urn": ancestor_urn} for ancestor_urn in ancestor_urns]},
        )
