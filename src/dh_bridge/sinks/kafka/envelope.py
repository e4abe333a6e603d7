"""The envelope of a proposal as Avro in Confluent's framing: a zero byte, the schema's id, the record.

The layout is that of the schema with this id and no other: it changed in DataHub 1.2 and 1.5, and a reader that takes one for
the other loses fields without a word.
"""

from __future__ import annotations

import struct
from io import BytesIO
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.creates import IF_ABSENT
from dh_bridge.datahub.generic_aspect import aspect_text
from dh_bridge.errors import SinkError

try:
    import fastavro
    from fastavro.schema import SchemaParseException, UnknownType
except ImportError as error:
    raise SinkError(
        f"fastavro cannot be imported: {error}", where="kafka", now="pip install 'dh-bridge[kafka]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.datahub.proposal import Proposal

UNPARSABLE = (SchemaParseException, UnknownType)
_PER_MESSAGE = ("entityType", "entityUrn", "changeType", "aspectName", "aspect")
_URN = "\x00\x01 the urn \x01\x00"
_VALUE = b"\xff the value of the aspect \xff"
"""What stands for a URN and a value in a template; their length takes one byte, as that of all texts below 64."""
_TEMPLATES = 4_096
_NAME = "MetadataChangeProposal"
_KEYED = "schemaVersion"
"""A field of systemMetadata since DataHub 1.5, where tags and owners are patched with their keys."""


def compile_envelope(schema: Any, number: int, *, where: str) -> Envelope:
    """Return the envelope of a schema; a SinkError when the schema is not that of proposals, whatever it is."""
    try:
        return Envelope(schema, number, where=where)
    except (*UNPARSABLE, AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError) as error:
        raise SinkError(
            f"the registry's schema {number} is no schema in Avro ({type(error).__name__})",
            where=where,
            now="name the topic of proposals in kafka.topic",
        ) from error


class Envelope:
    """Writes proposals with one schema; ``schema`` is its JSON, ``number`` the registry's id of it.

    Avro writes a record as its fields one after the other, so what all proposals of a batch have in common (the systemMetadata)
    is encoded once, as a record of the last fields; and of the others once for each type and aspect, as a template into which
    URN and value are put. A SinkError when the schema is not that of proposals.
    """

    def __init__(self, schema: Any, number: int, *, where: str) -> None:
        fields = schema.get("fields", []) if isinstance(schema, dict) else []
        names = [field["name"] for field in fields]
        if (
            not fields
            or schema.get("name") != _NAME
            or [name for name in names if name in _PER_MESSAGE] != [*_PER_MESSAGE]
        ):
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
        self._templates: dict[tuple[str, str, str, str], tuple[bytes, bytes, bytes]] = {}
        self.has_headers = "headers" in names[cut:]
        self.keyed = self._metadata is not None and any(
            field["name"] == _KEYED for field in known[self._metadata]["fields"]
        )

    def tail(self, metadata: Mapping[str, Any] | None, *, creates: bool = False) -> bytes:
        """Return what ends every message of a batch; ``creates``: of its CREATE proposals."""
        said: dict[str, Any] = {}
        if metadata and self._metadata:
            said["systemMetadata"] = (self._metadata, dict(metadata))
        if creates:
            said["headers"] = IF_ABSENT
        return self._written(self._tail, said)

    def message(self, proposal: Proposal, tail: bytes, *, keyed: bool) -> bytes:
        """Return one message; a TypeError or ValueError when the aspect is no JSON, or a name no UTF-8."""
        text, kind = aspect_text(proposal, keyed=keyed)
        urn = proposal.entity_urn.encode()
        key = proposal.entity_type, proposal.change_type, proposal.aspect_name, kind
        start, middle, end = self._templates.get(key) or self._template(key)
        return b"".join((start, _length(urn), urn, middle, _length(text), text, end, tail))

    def _template(self, key: tuple[str, str, str, str]) -> tuple[bytes, bytes, bytes]:
        """Return what stands before, between and behind URN and value; for the first message of its kind."""
        entity_type, change_type, aspect_name, kind = key
        head = {
            "entityType": entity_type,
            "entityUrn": ("string", _URN),
            "changeType": change_type,
            "aspectName": ("string", aspect_name),
            "aspect": (self._aspect, {"value": _VALUE, "contentType": kind}),
        }
        urn = _URN.encode()
        start, _, rest = self._written(self._head, head).partition(_length(urn) + urn)
        middle, _, end = rest.partition(_length(_VALUE) + _VALUE)
        if len(self._templates) >= _TEMPLATES:
            self._templates.clear()
        found = self._templates[key] = self._framing + start, middle, end
        return found

    @staticmethod
    def _written(schema: Any, record: dict[str, Any]) -> bytes:
        written = BytesIO()
        fastavro.schemaless_writer(written, schema, record)
        return written.getvalue()


def _length(text: bytes) -> bytes:
    """Return the length of a text or of bytes as Avro has it: zigzag, seven bits a byte, the lowest first."""
    left = len(text) << 1
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)
