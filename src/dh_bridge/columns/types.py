"""DataHub's type for a type text: the table ``mappings/tables/column_types.yaml`` and the grammar of type texts."""

from __future__ import annotations

import re
from copy import copy
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.bundled import convert_document, load_table
from dh_bridge.columns import avro_text, type_text
from dh_bridge.columns.schema import SchemaFacetField
from dh_bridge.errors import MappingError
from dh_bridge.model.properties import truncate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

KINDS = frozenset(
    (
        *("ArrayType", "BooleanType", "BytesType", "DateType", "EnumType", "FixedType", "MapType", "NullType"),
        *("NumberType", "RecordType", "StringType", "TimeType", "UnionType"),
    )
)
CONTAINERS = frozenset(("ArrayType", "MapType", "UnionType"))
MAX_NATIVE_CHARS = 1000
_NO_TYPE = "unknown"
_UNSAFE = re.compile(r"[.\[\]\s]+")
_NUMBER = re.compile(r"-?\d+")


class ColumnType(msgspec.Struct, frozen=True, dict=True):
    """A parsed type text.

    ``wire`` is the SchemaFieldDataType JSON; ``short`` is the name of this type as the element of a container;
    ``token`` is its name in a v2 field path; ``name`` is set for a user-defined type, to detect recursion;
    ``children`` are the columns and wrappers in the text itself; ``is_missing`` means that there was no text.
    """

    kind: str
    wire: dict[str, Any]
    native: str
    short: str
    token: str
    name: str = ""
    children: list[SchemaFacetField] = []
    required: bool = False
    is_missing: bool = False

    def type_json(self, wire: dict[str, Any] | None = None, *, loop: bool = False) -> dict[str, Any]:
        """Return the type fields of a schema field, which are at the end of its JSON."""
        return {"type": wire or self.wire, "nativeDataType": self.native, "recursive": loop, "isPartOfKey": False}

    @cached_property
    def field_templates(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The field of a column of this type, without and with a description: copies of it are given their texts."""
        head = {"fieldPath": "", "nullable": not self.required}
        return {**head, **self.type_json()}, {**head, "description": "", **self.type_json()}


class TypeNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names of a type."""

    names: list[str]
    examples: list[str] = []


class PlatformTypeNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names that mean another type on one platform."""

    names: dict[str, str]
    examples: dict[str, str] = {}


class ColumnTypesDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    types: dict[str, TypeNames]
    platforms: dict[str, PlatformTypeNames] = {}
    path_tokens: dict[str, str] = {}


class TypeTable:
    """The table, ready for look-ups; answers are remembered."""

    def __init__(self, document: Any, location: str = "") -> None:
        rows = convert_document(document, ColumnTypesDocument, "column_types", location)
        self._names: dict[str, str] = {}
        self._prefixes: list[tuple[str, str]] = []
        for kind, row in rows.types.items():
            for name in row.names:
                self._add(name, kind, location)
        self._platforms = {platform: row.names for platform, row in rows.platforms.items()}
        for names in self._platforms.values():
            _check_kinds(names.values(), location)
        self._overrides: dict[str, str] = {}
        self._tokens = rows.path_tokens
        self._cached_read = lru_cache(maxsize=8192)(self._read)

    def override(self, types: Mapping[str, str]) -> TypeTable:
        """Return the table with an operator's types (type text -> DataHub type) on top, itself when there are none."""
        if not types:
            return self
        type_table = copy(self)
        type_table._overrides = {" ".join(text.lower().split()): kind for text, kind in types.items()}  # noqa: SLF001 - its own
        _check_kinds(types.values(), "schema.types")
        type_table._cached_read = lru_cache(maxsize=8192)(type_table._read)  # noqa: SLF001 - its own
        return type_table

    def _add(self, name: str, kind: str, location: str) -> None:
        _check_kinds([kind], location)
        if name.endswith("*"):
            self._prefixes.append((name[:-1], kind))
            return
        if self._names.setdefault(name, kind) != kind:
            raise MappingError(f"{name!r} is in two rows", location=location, remedy="remove it from one of them")

    def read(self, text: str | None, platform: str) -> ColumnType:
        """Return the type of ``text`` on ``platform`` (``postgres``, ``oracle`` …); a missing text is a NullType."""
        # long texts are not cached: a table may have megabytes of them
        return (
            self._cached_read(text, platform)
            if text is None or len(text) <= MAX_NATIVE_CHARS
            else self._read(text, platform)
        )

    def _read(self, text: str | None, platform: str) -> ColumnType:
        if text is None or _is_blank(text):
            return ColumnType("NullType", wire("NullType"), _NO_TYPE, "null", "null", is_missing=True)
        avro_field = self._avro(text)
        kind, parts = self._outer_type(text if avro_field is None else avro_field.type, platform)
        children = avro_field.fields if avro_field is not None else []
        if (
            not children
            and len(text) <= type_text.MAX_LENGTH
            and (len(text) <= MAX_NATIVE_CHARS or not type_text.is_too_deep(text))
        ):
            children = self._children(kind or "NullType", parts)
        is_known = kind is not None
        if kind is None or (avro_field is not None and avro_field.fields and kind not in CONTAINERS):
            kind = "RecordType" if children else "NullType"
        return ColumnType(
            kind,
            self.wire(kind, children, platform),
            truncate(text, MAX_NATIVE_CHARS),
            _short_name(kind, parts),
            _UNSAFE.sub("_", self._tokens.get(parts.base, parts.base))[:64] or "null",
            "" if is_known else parts.base,
            children,
            parts.required,
        )

    def _avro(self, text: str) -> SchemaFacetField | None:
        stripped = text.lstrip()
        if stripped[0] not in "[{" or len(text) > type_text.MAX_LENGTH:
            return None
        return avro_text.parse(stripped, self._names.__contains__)

    def _outer_type(self, text: str | None, platform: str) -> tuple[str | None, type_text.TypeText]:
        """Return the DataHub type of a text, None if no row matches it, and its outermost parts."""
        text = text or ""
        parts = type_text.read(text[: type_text.MAX_LENGTH])
        override = self._overrides.get(" ".join(text.lower().split())) if self._overrides else None
        return override or self._kind(parts, platform), parts

    def short_name(self, text: str | None, platform: str) -> str:
        """Return the name of the type ``text`` as the element of a container; nested types are not parsed."""
        if text is None or _is_blank(text):
            return "null"
        avro_field = self._avro(text)
        kind, parts = self._outer_type(text if avro_field is None else avro_field.type, platform)
        return _short_name(kind or "NullType", parts)

    def _kind(self, parts: type_text.TypeText, platform: str) -> str | None:
        platform_names = self._platforms.get(platform, {})
        keys = list(_keys(parts))
        for names in (platform_names, self._names):
            for key in keys:
                if key in names:
                    return names[key]
        return next((kind for prefix, kind in self._prefixes if parts.base.startswith(prefix)), None)

    def _children(self, kind: str, parts: type_text.TypeText) -> list[SchemaFacetField]:
        if parts.element:
            return [SchemaFacetField("_element", parts.element)]
        if not parts.inner or kind not in {"ArrayType", "MapType", "RecordType", "UnionType"}:
            return []
        if parts.base == "nested":  # ClickHouse: an array of records
            return [SchemaFacetField("_element", f"tuple({parts.inner})")]
        arguments = type_text.arguments(parts.inner)
        if kind == "MapType":
            return (
                [SchemaFacetField("key", arguments[0]), SchemaFacetField("value", arguments[1])]
                if len(arguments) == 2
                else []
            )
        if kind == "ArrayType":
            inner = type_text.element_type(arguments[0]) if arguments else ""
            return [SchemaFacetField("_element", inner)] if inner and not _NUMBER.fullmatch(inner) else []
        return self._members(kind, arguments)

    def _members(self, kind: str, arguments: list[str]) -> list[SchemaFacetField]:
        members = [] if any(self._is_type(argument) for argument in arguments) else type_text.record_members(arguments)
        if kind == "RecordType":
            return [SchemaFacetField(name, member) for name, member in members]
        branches = members or [(str(position), argument) for position, argument in enumerate(arguments)]
        return [SchemaFacetField(f"_{name}", branch) for name, branch in branches]

    def _is_type(self, argument: str) -> bool:
        """Return whether a member is a whole type (``double precision``): then the record's members have no names."""
        base = type_text.read(argument).base
        return " " in base and base in self._names

    def wire(self, kind: str, children: list[SchemaFacetField], platform: str) -> dict[str, Any]:
        """Return the SchemaFieldDataType JSON of a type with these ``children`` (wrappers of a container)."""
        if kind == "MapType":
            short_types = {child.name: self.short_name(child.type, platform) for child in children}
            return wire(kind, {"keyType": short_types.get("key"), "valueType": short_types.get("value")})
        if kind in CONTAINERS and children:
            names = [self.short_name(child.type, platform) for child in children]
            if kind == "ArrayType":
                return wire(kind, {"nestedType": names[:1] if children[0].name == "_element" else ["struct"]})
            return wire(kind, {"nestedTypes": names})
        return wire(kind)


def wire(kind: str, members: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return ``{"type": {"com.linkedin.schema.<kind>": {…}}}``, nulls left out."""
    content = {key: value for key, value in (members or {}).items() if value}
    return {"type": {f"com.linkedin.schema.{kind}": content}}


def _keys(parts: type_text.TypeText) -> Iterable[str]:
    """Yield the names that a row may have for the type, the most exact first."""
    if parts.bracket:
        arguments = [argument.lower() for argument in type_text.arguments(parts.inner)]
        number_count = len(arguments) if all(_NUMBER.fullmatch(argument) for argument in arguments) else 0
        if number_count:
            yield f"{parts.base}({','.join(arguments)})"
        if number_count in (1, 2):
            yield parts.base + ("(n)" if number_count == 1 else "(p,s)")
        yield parts.base + ("<...>" if parts.bracket == "<" else "(...)")
    yield parts.base


def _is_blank(text: str) -> bool:
    """Return whether a type text is empty, or the marker that a client writes if it cannot serialize a type."""
    return not text.strip() or text.startswith("<<non-serializable")


def _short_name(kind: str, parts: type_text.TypeText) -> str:
    """Return ``decimal(10,2)``, but only ``array`` and ``struct``: their arguments are shown by their children."""
    compact = "" if kind in CONTAINERS or kind == "RecordType" else "".join(parts.inner.split()).lower()
    return truncate(f"{parts.base}({compact})" if compact else parts.base, MAX_NATIVE_CHARS) or "null"


def _check_kinds(kinds: Iterable[str], location: str) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise MappingError(
                f"unknown DataHub type {kind!r}", location=location, remedy=f"use one of {', '.join(sorted(KINDS))}"
            )


def column_types(overlay: Path | None = None) -> TypeTable:
    """Return the bundled table, or the one in the user's ``overlay`` folder."""
    return load_table("column_types", TypeTable, overlay)
