"""The envelope of a proposal as Avro in Confluent's framing: a zero byte, the schema's id, the record.

The layout must be that of the schema with this id: it changed in DataHub 1.2 and 1.5, and a reader with the wrong schema loses
fields without an error.
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
        f"cannot import fastavro: {error}", location="kafka", remedy="pip install 'dh-bridge[kafka]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.datahub.proposal import Proposal

SCHEMA_ERRORS = (SchemaParseException, UnknownType)
_MESSAGE_FIELDS = ("entityType", "entityUrn", "changeType", "aspectName", "aspect")
_URN_PLACEHOLDER = "\x00\x01 the urn \x01\x00"
_VALUE_PLACEHOLDER = b"\xff the value of the aspect \xff"
"""Placeholders for a URN and a value in a template; their length takes one byte, as that of all texts below 64."""
_MAX_TEMPLATES = 4_096
_RECORD_NAME = "MetadataChangeProposal"
_KEYED_FIELD = "schemaVersion"
"""A field of systemMetadata since DataHub 1.5, where tags and owners are patched with their keys."""


def compile_envelope(schema: Any, schema_id: int, *, location: str) -> Envelope:
    """Return the envelope of a schema; a SinkError if the schema is not that of proposals."""
    try:
        return Envelope(schema, schema_id, location=location)
    except (*SCHEMA_ERRORS, AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError) as error:
        raise SinkError(
            f"schema {schema_id} of the registry is not an Avro schema ({type(error).__name__})",
            location=location,
            remedy="set kafka.topic to the topic of proposals",
        ) from error


class Envelope:
    """Writes proposals with one schema; ``schema`` is its JSON, ``schema_id`` its id in the registry.

    Avro writes the fields of a record one after the other. So the fields that all proposals of a batch share (the systemMetadata)
    are encoded once, as a record of the last fields. The other fields are encoded once for each type and aspect, as a template
    for URN and value. Raise a SinkError if the schema is not that of proposals.
    """

    def __init__(self, schema: Any, schema_id: int, *, location: str) -> None:
        fields = schema.get("fields", []) if isinstance(schema, dict) else []
        names = [field["name"] for field in fields]
        if (
            not fields
            or schema.get("name") != _RECORD_NAME
            or [name for name in names if name in _MESSAGE_FIELDS] != [*_MESSAGE_FIELDS]
        ):
            raise SinkError(
                f"schema {schema_id} of the registry is not the schema of a {_RECORD_NAME}",
                location=location,
                remedy="set kafka.topic to the topic of proposals",
            )
        head_length = max(names.index(name) for name in _MESSAGE_FIELDS) + 1
        named_schemas: dict[str, Any] = {}
        head, tail = ({**schema, "fields": part} for part in (fields[:head_length], fields[head_length:]))
        self._head = fastavro.parse_schema(head, named_schemas)
        self._tail = fastavro.parse_schema({**tail, "name": f"{_RECORD_NAME}Tail"}, named_schemas)
        self._aspect = next(name for name in named_schemas if name.rpartition(".")[2] == "GenericAspect")
        self._metadata = next((name for name in named_schemas if name.rpartition(".")[2] == "SystemMetadata"), None)
        self._framing = struct.pack(">bI", 0, schema_id)
        self._templates: dict[tuple[str, str, str, str], tuple[bytes, bytes, bytes]] = {}
        self.has_headers = "headers" in names[head_length:]
        self.has_keyed_patches = self._metadata is not None and any(
            field["name"] == _KEYED_FIELD for field in named_schemas[self._metadata]["fields"]
        )

    def tail(self, metadata: Mapping[str, Any] | None, *, creates: bool = False) -> bytes:
        """Return the last bytes of every message of a batch; ``creates``: of its CREATE proposals."""
        record: dict[str, Any] = {}
        if metadata and self._metadata:
            record["systemMetadata"] = (self._metadata, dict(metadata))
        if creates:
            record["headers"] = IF_ABSENT
        return self._encode(self._tail, record)

    def message(self, proposal: Proposal, tail: bytes, *, keyed: bool) -> bytes:
        """Return one message; a TypeError or ValueError if the aspect is no JSON, or a name is not UTF-8."""
        text, content_type = aspect_text(proposal, keyed=keyed)
        urn = proposal.entity_urn.encode()
        key = proposal.entity_type, proposal.change_type, proposal.aspect_name, content_type
        start, middle, end = self._templates.get(key) or self._template(key)
        return b"".join((start, _encode_length(urn), urn, middle, _encode_length(text), text, end, tail))

    def _template(self, key: tuple[str, str, str, str]) -> tuple[bytes, bytes, bytes]:
        """Return the bytes before, between and after URN and value; they are encoded for the first message of a kind."""
        entity_type, change_type, aspect_name, content_type = key
        head = {
            "entityType": entity_type,
            "entityUrn": ("string", _URN_PLACEHOLDER),
            "changeType": change_type,
            "aspectName": ("string", aspect_name),
            "aspect": (self._aspect, {"value": _VALUE_PLACEHOLDER, "contentType": content_type}),
        }
        urn = _URN_PLACEHOLDER.encode()
        start, _, remainder = self._encode(self._head, head).partition(_encode_length(urn) + urn)
        middle, _, end = remainder.partition(_encode_length(_VALUE_PLACEHOLDER) + _VALUE_PLACEHOLDER)
        if len(self._templates) >= _MAX_TEMPLATES:
            self._templates.clear()
        template = self._templates[key] = self._framing + start, middle, end
        return template

    @staticmethod
    def _encode(schema: Any, record: dict[str, Any]) -> bytes:
        buffer = BytesIO()
        fastavro.schemaless_writer(buffer, schema, record)
        return buffer.getvalue()


def _encode_length(text: bytes) -> bytes:
    """Return a length in Avro's form: zigzag, seven bits per byte, the lowest first."""
    remaining = len(text) << 1
    encoded = bytearray()
    while remaining > 0x7F:
        encoded.append(remaining & 0x7F | 0x80)
        remaining >>= 7
    encoded.append(remaining)
    return bytes(encoded)
