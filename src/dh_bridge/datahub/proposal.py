"""A proposal: one aspect of one entity to be written to DataHub (a MetadataChangeProposal)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
import orjson

from dh_bridge.datahub.schema_fastpath import AlikeSchema

if TYPE_CHECKING:
    from dh_bridge.datahub.emitters import Mcp

ChangeType = Literal["UPSERT", "CREATE", "PATCH"]
"""UPSERT replaces an aspect, CREATE writes it only if the entity does not have it, PATCH changes parts of it."""


class Payload(msgspec.Struct, frozen=True, gc=False):
    """The aspect as JSON: a dict for UPSERT and CREATE, the list of JSON-patch operations for PATCH."""

    json: Any


class Proposal(msgspec.Struct, frozen=True, rename="camel"):
    """One proposal, in the field order of its NDJSON line.

    ``aspect.json`` holds DataHub's wire JSON (keys in Avro field order, unions tagged ``com.linkedin.…``);
    ``str(proposal)`` is not meant for logs: it holds the payload.
    """

    entity_type: str
    entity_urn: str
    change_type: ChangeType
    aspect_name: str
    aspect: Payload

    @property
    def value(self) -> Any:
        """The aspect's JSON value, or the list of patch operations."""
        return self.aspect.json

    def to_mcpw(self, *, version: str | None = None) -> Mcp:
        """Return the object that acryl-datahub's emitters accept; raise a SinkError if acryl-datahub is not installed.

        ``version``: the server's, if it is known (:func:`dh_bridge.datahub.emitters.to_mcpw`).
        """
        from dh_bridge.datahub.emitters import to_mcpw  # noqa: PLC0415 - an optional extra

        return to_mcpw(self, version=version)


class CachedProposal(Proposal, frozen=True, dict=True):
    """A proposal that is used repeatedly. It is serialised once, and a validator checks it once.

    Its value must not be changed.
    """

    @classmethod
    def of(cls, proposal: Proposal) -> CachedProposal:
        """Return ``proposal``, to be remembered."""
        return cls(
            proposal.entity_type, proposal.entity_urn, proposal.change_type, proposal.aspect_name, proposal.aspect
        )

    @property
    def line(self) -> bytes:
        """Its line of NDJSON, with the newline."""
        line_bytes: bytes | None = self.__dict__.get("line")
        if line_bytes is None:  # new, or a copy
            line_bytes = self.__dict__["line"] = _encode_line(self)
        return line_bytes

    def __eq__(self, other: object) -> bool:
        """Return whether ``other`` has the same content, cached or not."""
        return isinstance(other, Proposal) and _field_values(self) == _field_values(other)

    def __ne__(self, other: object) -> bool:
        """As above; the Struct has its own."""
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # as its value has none

    def __repr__(self) -> str:
        # the content does not depend on the cache
        return repr(Proposal(*_field_values(self)))


def upsert(entity_type: str, urn: str, aspect_name: str, value: dict[str, Any]) -> Proposal:
    """Return the proposal that writes a whole aspect (versioned or timeseries)."""
    return Proposal(entity_type, urn, "UPSERT", aspect_name, Payload(value))


def create(entity_type: str, urn: str, aspect_name: str, value: dict[str, Any]) -> Proposal:
    """Return the proposal that writes a whole versioned aspect only where the entity does not have it."""
    return Proposal(entity_type, urn, "CREATE", aspect_name, Payload(value))


def patch(entity_type: str, urn: str, aspect_name: str, operations: list[dict[str, Any]]) -> Proposal:
    """Return the proposal that applies JSON-patch ``operations`` to an aspect."""
    return Proposal(entity_type, urn, "PATCH", aspect_name, Payload(operations))


def ndjson_line(proposal: Proposal) -> bytes:
    """Return the proposal as one line of NDJSON, with its newline."""
    return proposal.line if type(proposal) is CachedProposal else _encode_line(proposal)


def _field_values(proposal: Proposal) -> tuple[str, str, ChangeType, str, Payload]:
    return proposal.entity_type, proposal.entity_urn, proposal.change_type, proposal.aspect_name, proposal.aspect


def _encode_line(proposal: Proposal) -> bytes:
    value = proposal.aspect.json
    line = {
        "entityType": proposal.entity_type,
        "entityUrn": proposal.entity_urn,
        "changeType": proposal.change_type,
        "aspectName": proposal.aspect_name,
        "aspect": {"json": orjson.Fragment(value.raw) if type(value) is AlikeSchema else value},
    }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
