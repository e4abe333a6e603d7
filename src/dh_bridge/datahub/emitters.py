"""Proposals as objects of acryl-datahub, for programs that use its emitters, and for its recipes.

Besides ``ingestion``, only this module imports acryl-datahub. It requires ``pip install 'dh-bridge[datahub]'``.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.creates import IF_ABSENT, drops_creates_silently
from dh_bridge.datahub.generic_aspect import aspect_text, keyed_patches
from dh_bridge.errors import SinkError

try:
    from datahub.emitter.mcp import MetadataChangeProposalWrapper
    from datahub.emitter.serialization_helper import post_json_transform, pre_json_transform
    from datahub.metadata.schema_classes import ASPECT_NAME_MAP, GenericAspectClass, MetadataChangeProposalClass
except ImportError as error:
    raise SinkError(
        f"cannot import acryl-datahub: {error}",
        location="dh_bridge.datahub.emitters",
        remedy="pip install 'dh-bridge[datahub]'",
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.datahub.generic_aspect import ProposalFields

Mcp = MetadataChangeProposalWrapper | MetadataChangeProposalClass

_BATCH_SIZE = 200
"""Proposals that are handed to ``emit_mcps`` at a time; the emitter cuts them further by size."""


def to_mcpw(proposal: ProposalFields, *, version: str | None = None) -> Mcp:
    """Return a wrapper with the typed aspect, or the plain proposal class with JSON inside, if no typed aspect fits.

    No typed aspect fits a PATCH, and an aspect with a field that the installed classes do not have: they drop unknown fields
    without an error, so the result is compared. ``version`` is the server's. It selects the form of a
    PATCH (:func:`dh_bridge.datahub.generic_aspect.keyed_patches`); the default is the newest version.
    """
    if proposal.change_type == "UPSERT":
        aspect_class = ASPECT_NAME_MAP.get(proposal.aspect_name)
        aspect = _to_typed_aspect(aspect_class, proposal.value) if aspect_class is not None else None
        if aspect is not None:
            return MetadataChangeProposalWrapper(
                entityType=proposal.entity_type, entityUrn=proposal.entity_urn, aspect=aspect
            )
    return to_mcp(proposal, version=version)


def to_mcp(proposal: ProposalFields, *, version: str | None = None) -> MetadataChangeProposalClass:
    """Return the plain proposal class, the aspect as JSON inside: four times as fast; ``version`` as of :func:`to_mcpw`."""
    text, kind = aspect_text(proposal, keyed=keyed_patches(version))
    return MetadataChangeProposalClass(
        entityType=proposal.entity_type,
        entityUrn=proposal.entity_urn,
        changeType=proposal.change_type,
        aspectName=proposal.aspect_name,
        aspect=GenericAspectClass(value=text, contentType=kind),
        headers=IF_ABSENT if proposal.change_type == "CREATE" else None,
    )


def emit(emitter: Any, proposals: Iterable[ProposalFields], *, version: str | None = None) -> int:
    """Send ``proposals`` in order through an emitter of acryl-datahub; return the number of proposals that were passed to it.

    ``version``: as for :func:`to_mcpw`. If the server reports a CREATE of a present aspect as an error, and would reject the batch,
    CREATE proposals are not sent (:func:`dh_bridge.datahub.creates.drops_creates_silently`). An emitter that posts to OpenAPI turns
    CREATE into UPSERT. ``emitter`` has ``emit_mcps`` (DatahubRestEmitter, DataHubGraph), ``emit_mcp`` or ``emit`` (Kafka and file
    emitters). The first of them is used, and ``flush`` afterwards, if there is one. Errors of the emitter are not caught.
    """
    count = 0
    creates = drops_creates_silently(version)
    sendable = (proposal for proposal in proposals if creates or proposal.change_type != "CREATE")
    emit_batch = getattr(emitter, "emit_mcps", None)
    emit_one = getattr(emitter, "emit_mcp", None) or getattr(emitter, "emit", None)
    while batch := [to_mcpw(proposal, version=version) for proposal in islice(sendable, _BATCH_SIZE)]:
        if emit_batch is not None:
            emit_batch(batch)
        elif emit_one is not None:
            for mcp in batch:
                emit_one(mcp)
        else:
            raise SinkError(
                f"{type(emitter).__name__} is not an emitter: expected a method emit_mcps, emit_mcp or emit",
                location="emitter",
            )
        count += len(batch)
    if (flush := getattr(emitter, "flush", None)) is not None:
        flush()
    return count


def _to_typed_aspect(aspect_class: Any, value: dict[str, Any]) -> Any:
    """Return the aspect as an object of ``aspect_class``; None when that would lose something."""
    aspect = aspect_class.from_obj(post_json_transform(value))
    return aspect if _contains(pre_json_transform(aspect.to_obj()), value) else None


def _contains(container: Any, expected: Any) -> bool:
    """Return whether ``container`` has everything in ``expected``; it may have more, because the classes write their defaults."""
    if isinstance(expected, dict) and isinstance(container, dict):
        return all(key in container and _contains(container[key], member) for key, member in expected.items())
    if isinstance(expected, list) and isinstance(container, list):
        return len(container) == len(expected) and all(map(_contains, container, expected))
    return bool(container == expected)
