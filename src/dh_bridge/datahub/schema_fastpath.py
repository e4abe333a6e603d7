"""Schemas whose fields are alike: built from checked types, so that the check need not visit each field again.

A table has dozens of columns of a few types. To visit every field of every column would take a twelfth of the time of
an event. Repeated parts, which are the fields of a table and the envelope of a platform, are serialised once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMELESS, _FIELDLESS = b'{"schemaName":""', b"[]}"


class AlikeFields(list[dict[str, Any]]):
    """Fields of which each differs from one of its ``kinds`` by the texts of its path and description alone.

    To check the ``kinds`` is to check them all: do not change what you get. ``checked_by``: the check that took them last.
    """

    __slots__ = ("_raw", "checked_by", "kinds")

    def __init__(self, fields: Iterable[dict[str, Any]], kinds: list[dict[str, Any]]) -> None:
        super().__init__(fields)
        self.kinds = kinds
        self.checked_by: object = None
        self._raw = b""

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)  # an unpickled copy is checked again

    @property
    def raw(self) -> bytes:
        """The JSON of the fields."""
        if not self._raw:
            self._raw = orjson.dumps(self)
        return self._raw


class SchemaEnvelope:
    """The part of ``schemaMetadata`` that all tables of a platform share: all but the name and the fields."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        raw = orjson.dumps(value)
        assert raw.startswith(_NAMELESS)  # noqa: S101 - in the order of its Avro schema
        assert raw.endswith(_FIELDLESS)  # noqa: S101 - as above
        self.raw = raw[len(_NAMELESS) : -len(_FIELDLESS)]


class AlikeSchema(dict[str, Any]):
    """A ``schemaMetadata`` that differs from others of its platform by its name and its fields, which are alike.

    It is valid if ``envelope`` and the kinds of its fields are valid. Do not change the object.
    """

    __slots__ = ("envelope",)

    def __init__(self, envelope: SchemaEnvelope, name: str, fields: AlikeFields) -> None:
        super().__init__(envelope.value)
        self["schemaName"], self["fields"] = name, fields
        self.envelope = envelope

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # an unpickled copy is checked again

    @property
    def raw(self) -> bytes:
        """Its JSON."""
        return b'{"schemaName":%b%b%b}' % (orjson.dumps(self["schemaName"]), self.envelope.raw, self["fields"].raw)
