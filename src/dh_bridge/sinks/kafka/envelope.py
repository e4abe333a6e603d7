"""The envelope of a proposal as Avro in Confluent's framing: a zero byte, the schema's id, the record.

The layout is that of the schema with this id and no other: it changed in DataHub 1.2 and 1.5, and a reader that takes one for
the other loses fields without a word (datahub_wire 2.1).
"""

from __future__ import annotations

import struct
from io import BytesIO
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.wire import aspect_text
from dh_bridge.errors import SinkError

try:
    import fastavro
except ImportError as error:
    raise SinkError(
        f"fastavro cannot be imported: {error}", where="kafka:", now="pip install 'dh-bridge[kafka]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.datahub.proposal import Proposal

_PER_MESSAGE = ("entityType", "entityUrn", "changeType", "aspectName", "aspect")
_NAME = "MetadataChangeProposal"
_KEYED = "schemaVersion"
"""A field of systemMetadata since DataHub 1.5, where tags and owners are patched with their keys."""


class Envelope:
    """Writes proposals with one schema; ``schema`` is its JSON, ``number`` the registry's id of it.

    Avro writes a record as its fields one after the other, so what all proposals of a batch have in common (the systemMetadata)
    is encoded once, as a record of the last fields. A SinkError when the schema is not that of proposals.
    """

    def __init__(self, schema: Any, number: int, *, where: str) -> None:
        fields = schema.get("fields", []) if isinstance(schema, dict) else []
        names = [field["name"] for field in fields]
        if not fields or schema.get("name") != _NAME or not set(_PER_MESSAGE) <= set(names):
            raise SinkError(
                f"the registry's schema {number} is not that of a {_NAME}",
                where=where,
                now="name the topic of proposals in kafka.topic",
            )
        cut = max(names.index(name) for name in _PER_MESSAGE) + 1
        known: dict[str, Any] = {}
        head, tail = ({**schema, "fields": part} for part in (fields[:cut], fields[cut:]))
        self._head = fastavro.parse_schema(head, known)
        self._tail = fastavro.parse_schema({**tail, "name": f"{_NAME}Tail"}, known)
        self._aspect = next(name for name in known if name.rpartition(".")[2] == "GenericAspect")
        self._metadata = next((name for name in known if name.rpartition(".")[2] == "SystemMetadata"), None)
        self._framing = struct.pack(">bI", 0, number)
        self.keyed = self._metadata is not None and any(
            field["name"] == _KEYED for field in known[self._metadata]["fields"]
        )

    def tail(self, metadata: Mapping[str, Any] | None) -> bytes:
        """Return what ends every message of a batch."""
        said = {"systemMetadata": (self._metadata, dict(metadata))} if metadata and self._metadata else {}
        return self._written(self._tail, said)

    def message(self, proposal: Proposal, tail: bytes, *, keyed: bool) -> bytes:
        """Return one message; a TypeError or ValueError when the aspect is no JSON, or a name no UTF-8."""
        text, kind = aspect_text(proposal, keyed=keyed)
        head = {
            "entityType": proposal.entity_type,
            "entityUrn": ("string", proposal.entity_urn),
            "changeType": proposal.change_type,
            "aspectName": ("string", proposal.aspect_name),
            "aspect": (self._aspect, {"value": text, "contentType": kind}),
        }
        return self._framing + self._written(self._head, head) + tail

    @staticmethod
    def _written(schema: Any, record: dict[str, Any]) -> bytes:
        written = BytesIO()
        fastavro.schemaless_writer(written, schema, record)
        return written.getvalue()
