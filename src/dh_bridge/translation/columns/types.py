"""What a type text is in DataHub: the table ``mappings/tables/column_types.yaml`` over the grammar of type texts."""

from __future__ import annotations

import re
from copy import copy
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.bundled import table, typed
from dh_bridge.errors import MappingError
from dh_bridge.translation.columns import avro_text, type_text
from dh_bridge.translation.columns.field import Field
from dh_bridge.translation.properties import capped

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
NATIVE_CAP = 1000
_NO_TYPE = "unknown"
_UNSAFE = re.compile(r"[.\[\]\s]+")
_NUMBER = re.compile(r"-?\d+")


class ColumnType(msgspec.Struct, frozen=True, dict=True):
    """A type text, read.

    ``wire`` is the SchemaFieldDataType JSON; ``short`` what a container says of this type as its element;
    ``token`` its word in a v2 field path; ``name`` is set for a type of the user's own (how recursion is seen);
    ``children`` are the columns and wrappers that the text itself holds; ``missing`` means that there was no text.
    """

    kind: str
    wire: dict[str, Any]
    native: str
    short: str
    token: str
    name: str = ""
    children: list[Field] = []
    required: bool = False
    missing: bool = False

    def end(self, wire: dict[str, Any] | None = None, *, loop: bool = False) -> dict[str, Any]:
        """Return what a schema field says of its type, at the end of its JSON."""
        return {"type": wire or self.wire, "nativeDataType": self.native, "recursive": loop, "isPartOfKey": False}

    @cached_property
    def plain(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The field of a column of this type, without and with a description: copies of it are given their texts."""
        start = {"fieldPath": "", "nullable": not self.required}
        return {**start, **self.end()}, {**start, "description": "", **self.end()}


class Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names of a type."""

    names: list[str]
    examples: list[str] = []


class OwnNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names that mean another type on one platform."""

    names: dict[str, str]
    examples: dict[str, str] = {}


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    types: dict[str, Names]
    platforms: dict[str, OwnNames] = {}
    path_tokens: dict[str, str] = {}


class TypeTable:
    """The table, ready for look-ups; answers are remembered."""

    def __init__(self, document: Any, where: str = "") -> None:
        rows = typed(document, Document, "column_types", where)
        self._names: dict[str, str] = {}
        self._prefixes: list[tuple[str, str]] = []
        for kind, row in rows.types.items():
            for name in row.names:
                self._add(name, kind, where)
        self._platforms = {platform: row.names for platform, row in rows.platforms.items()}
        for names in self._platforms.values():
            _check(names.values(), where)
        self._overrides: dict[str, str] = {}
        self._tokens = rows.path_tokens
        self._remembered = lru_cache(maxsize=8192)(self._read)

    def overridden(self, types: Mapping[str, str]) -> TypeTable:
        """Return the table with an operator's types (type text -> DataHub type) on top, itself when there are none."""
        if not types:
            return self
        found = copy(self)
        found._overrides = {" ".join(text.lower().split()): kind for text, kind in types.items()}  # noqa: SLF001 - its own
        _check(types.values(), "schema.types")
        found._remembered = lru_cache(maxsize=8192)(found._read)  # noqa: SLF001 - its own
        return found

    def _add(self, name: str, kind: str, where: str) -> None:
        _check([kind], where)
        if name.endswith("*"):
            self._prefixes.append((name[:-1], kind))
            return
        if self._names.setdefault(name, kind) != kind:
            raise MappingError(f"{name!r} is in two rows", where=where, now="keep it in one")

    def read(self, text: str | None, platform: str) -> ColumnType:
        """Return what ``text`` is on ``platform`` (``postgres``, ``oracle`` …); a missing text is a NullType."""
        # a long text is read again rather than kept: a table may hold megabytes of them
        return (
            self._remembered(text, platform) if text is None or len(text) <= NATIVE_CAP else self._read(text, platform)
        )

    def _read(self, text: str | None, platform: str) -> ColumnType:
        if text is None or _blank(text):
            return ColumnType("NullType", wire("NullType"), _NO_TYPE, "null", "null", missing=True)
        found = self._avro(text)
        kind, parts = self._outer(text if found is None else found.type, platform)
        children = found.fields if found is not None else []
        if not children and len(text) <= type_text.LONGEST and (len(text) <= NATIVE_CAP or not type_text.is_deep(text)):
            children = self._children(kind or "NullType", parts)
        known = kind is not None
        if kind is None or (found is not None and found.fields and kind not in CONTAINERS):
            kind = "RecordType" if children else "NullType"
        return ColumnType(
            kind,
            self.wire(kind, children, platform),
            capped(text, NATIVE_CAP),
            _short(kind, parts),
            _UNSAFE.sub("_", self._tokens.get(parts.base, parts.base))[:64] or "null",
            "" if known else parts.base,
            children,
            parts.required,
        )

    def _avro(self, text: str) -> Field | None:
        stripped = text.lstrip()
        if stripped[0] not in "[{" or len(text) > type_text.LONGEST:
            return None
        return avro_text.field(stripped, self._names.__contains__)

    def _outer(self, text: str | None, platform: str) -> tuple[str | None, type_text.TypeText]:
        """Return the DataHub type of a text, None if no row knows it, and its outermost parts."""
        text = text or ""
        parts = type_text.read(text[: type_text.LONGEST])
        override = self._overrides.get(" ".join(text.lower().split())) if self._overrides else None
        return override or self._kind(parts, platform), parts

    def short(self, text: str | None, platform: str) -> str:
        """Return what a container says of the type ``text`` when that is inside it; never looks deeper."""
        if text is None or _blank(text):
            return "null"
        found = self._avro(text)
        kind, parts = self._outer(text if found is None else found.type, platform)
        return _short(kind or "NullType", parts)

    def _kind(self, parts: type_text.TypeText, platform: str) -> str | None:
        own = self._platforms.get(platform, {})
        keys = list(_keys(parts))
        for names in (own, self._names):
            for key in keys:
                if key in names:
                    return names[key]
        return next((kind for prefix, kind in self._prefixes if parts.base.startswith(prefix)), None)

    def _children(self, kind: str, parts: type_text.TypeText) -> list[Field]:
        if parts.element:
            return [Field("_element", parts.element)]
        if not parts.inner or kind not in {"ArrayType", "MapType", "RecordType", "UnionType"}:
            return []
        if parts.base == "nested":  # ClickHouse: an array of records
            return [Field("_element", f"tuple({parts.inner})")]
        arguments = type_text.arguments(parts.inner)
        if kind == "MapType":
            return [Field("key", arguments[0]), Field("value", arguments[1])] if len(arguments) == 2 else []
        if kind == "ArrayType":
            inner = type_text.element(arguments[0]) if arguments else ""
            return [Field("_element", inner)] if inner and not _NUMBER.fullmatch(inner) else []
        return self._members(kind, arguments)

    def _members(self, kind: str, arguments: list[str]) -> list[Field]:
        named = [] if any(self._is_type(argument) for argument in arguments) else type_text.members(arguments)
        if kind == "RecordType":
            return [Field(name, member) for name, member in named]
        branches = named or [(str(position), argument) for position, argument in enumerate(arguments)]
        return [Field(f"_{name}", branch) for name, branch in branches]

    def _is_type(self, argument: str) -> bool:
        """Return whether a member is a whole type (``double precision``): then the record's members have no names."""
        base = type_text.read(argument).base
        return " " in base and base in self._names

    def wire(self, kind: str, children: list[Field], platform: str) -> dict[str, Any]:
        """Return the SchemaFieldDataType JSON of a type with these ``children`` (wrappers of a container)."""
        if kind == "MapType":
            inside = {child.name: self.short(child.type, platform) for child in children}
            return wire(kind, {"keyType": inside.get("key"), "valueType": inside.get("value")})
        if kind in CONTAINERS and children:
            names = [self.short(child.type, platform) for child in children]
            if kind == "ArrayType":
                return wire(kind, {"nestedType": names[:1] if children[0].name == "_element" else ["struct"]})
            return wire(kind, {"nestedTypes": names})
        return wire(kind)


def wire(kind: str, members: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return ``{"type": {"com.linkedin.schema.<kind>": {…}}}``, nulls left out."""
    inside = {key: value for key, value in (members or {}).items() if value}
    return {"type": {f"com.linkedin.schema.{kind}": inside}}


def _keys(parts: type_text.TypeText) -> Iterable[str]:
    """Yield the names under which a row may know the type, the most exact first."""
    if parts.bracket:
        arguments = [argument.lower() for argument in type_text.arguments(parts.inner)]
        numbers = len(arguments) if all(_NUMBER.fullmatch(argument) for argument in arguments) else 0
        if numbers:
            yield f"{parts.base}({','.join(arguments)})"
        if numbers in (1, 2):
            yield parts.base + ("(n)" if numbers == 1 else "(p,s)")
        yield parts.base + ("<...>" if parts.bracket == "<" else "(...)")
    yield parts.base


def _blank(text: str) -> bool:
    """Return whether a text says nothing; a client that could not write a type says so in its place."""
    return not text.strip() or text.startswith("<<non-serializable")


def _short(kind: str, parts: type_text.TypeText) -> str:
    """Return ``decimal(10,2)``, but ``array`` and ``struct`` alone: their arguments are their children's business."""
    compact = "" if kind in CONTAINERS or kind == "RecordType" else "".join(parts.inner.split()).lower()
    return capped(f"{parts.base}({compact})" if compact else parts.base, NATIVE_CAP) or "null"


def _check(kinds: Iterable[str], where: str) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise MappingError(f"{kind!r} is no type of DataHub", where=where, now=f"one of {', '.join(sorted(KINDS))}")


def column_types(overlay: Path | None = None) -> TypeTable:
    """Return the bundled table, or the one in the user's ``overlay`` folder."""
    return table("column_types", TypeTable, overlay)
