"""Avro types compiled to msgspec types: ``conform(json, type)`` is then the whole check of a value.

A record becomes a Struct that forbids unknown fields; a field without default is required; an explicit null is refused for
an optional field (Pegasus refuses it); an enum becomes a Literal; a number gets the bounds of its Avro type,
which also keep NaN and infinity out; a string that the schema calls a URN, and a union of several branches, become markers
that ``dec_hook`` looks up. A hook costs 90 ns per URN against 340 ns for a pattern, and nothing where the field is absent.
"""

from __future__ import annotations

import operator
from functools import cache
from keyword import iskeyword
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from dh_bridge.datahub import schemas, urns
from dh_bridge.datahub.search_texts import SAFE_LENGTH, is_text
from dh_bridge.msgspec_threads import prepared

if TYPE_CHECKING:
    from collections.abc import Callable

_REMEMBERED = 16_384
_SOUND = 1024
# The largest doubles that still are a 32-bit and a 64-bit float.
_FLOAT, _DOUBLE = 3.4028235677973362e38, 1.7976931348623157e308

_SCALARS: dict[str, Any] = {
    "boolean": bool,
    "double": Annotated[float, Meta(ge=-_DOUBLE, le=_DOUBLE)],
    "float": Annotated[float, Meta(ge=-_FLOAT, le=_FLOAT)],
    "int": Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)],
    "long": Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
    "string": str,
}

# Generic types that are filled in at run time.
_list: Any = list
_dict: Any = dict

#: A search text that certainly fits into a term of the index.
_SAFE_TEXT = Annotated[str, Meta(max_length=SAFE_LENGTH)]

# DataHub's typed URN classes: their Java coercers refuse a URN of another type.
_URN_CLASSES = {
    "CorpGroupUrn": "corpGroup",
    "CorpuserUrn": "corpuser",
    "DataFlowUrn": "dataFlow",
    "DataJobUrn": "dataJob",
    "DataPlatformUrn": "dataPlatform",
    "DatasetUrn": "dataset",
    "GlossaryTermUrn": "glossaryTerm",
    "TagUrn": "tag",
}


# What a check raises; in msgspec before 0.20 its error is no ValueError.
REFUSALS = (ValueError, msgspec.ValidationError)


class Marker:
    """A type that msgspec does not know; ``seen[value]`` returns an instance of it, or raises ValueError.

    ``kind[value]`` is the same: so a check can ask the type with no function of ours in between, which would take as long as
    the look-up itself.
    """

    seen: ClassVar[Any]
    __class_getitem__: ClassVar[Any]

    @classmethod
    def told_by(cls, seen: Any) -> None:
        """Let ``seen`` tell what the type's values are."""
        cls.seen, cls.__class_getitem__ = seen, seen.__getitem__


#: The ``dec_hook`` of every check: the marker of a value.
look_up: Callable[[Any, Any], Any] = operator.getitem


def conform(value: Any, kind: Any) -> None:
    """Raise ``msgspec.ValidationError`` when ``value`` is no ``kind``; its text ends with the place, as ``- at `$.x[0]```."""
    msgspec.convert(value, kind, dec_hook=look_up)


class SeenUrns(dict[str, Any]):
    """URN -> marker, for URNs of the ``allowed`` entity types (none = any); starts anew when it is full."""

    def __init__(self, marker: Marker, allowed: frozenset[str]) -> None:
        self._marker = marker
        self._allowed = allowed

    def __missing__(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise TypeError(f"Expected a URN, got `{type(value).__name__}`")
        kind = urns.type_if_urn(value)
        if not kind or (self._allowed and kind not in self._allowed):
            of = f" of {' or '.join(sorted(self._allowed))}" if self._allowed else ""
            raise ValueError(f"{value[: urns.MAX_BYTES]!r} is no URN{of}")
        if len(self) >= _REMEMBERED:
            self.clear()
        self[value] = self._marker
        return self._marker


@cache
def urn_type(allowed: frozenset[str] = frozenset()) -> type[Marker]:
    """Return the type of a URN field that takes the ``allowed`` entity types, none meaning any."""

    class Urn(Marker):
        pass

    Urn.told_by(SeenUrns(Urn(), allowed))
    return Urn


class Branches:
    """The branches of a union: an object with exactly one tag, as ``{"com.linkedin.schema.StringType": {}}``."""

    def __init__(self, marker: Marker, kinds: dict[str, Any]) -> None:
        self._marker = marker
        self._kinds = kinds
        # A branch whose fields may all be left out takes {} without a look: the types of most columns.
        self._empty = {tag for tag, kind in kinds.items() if _takes_nothing(kind)}
        #: values that were found sound, by identity: all columns of a type share one, which nobody changes
        self._sound: dict[int, Any] = {}

    def __getitem__(self, value: Any) -> Any:
        if self._sound.get(id(value)) is value:
            return self._marker
        if type(value) is not dict or len(value) != 1:
            raise ValueError("Expected an object with one tag, the name of a branch of the union")
        for tag, inner in value.items():
            if inner or tag not in self._empty or type(inner) is not dict:
                self._descend(tag, inner)
        if len(self._sound) >= _SOUND:
            self._sound.clear()
        self._sound[id(value)] = value
        return self._marker

    def _descend(self, tag: str, inner: Any) -> None:
        kind = self._kinds.get(tag)
        if kind is None:
            raise ValueError(f"Invalid tag {tag!r}: no branch of the union")
        try:
            conform(inner, kind)
        except REFUSALS as error:
            raise ValueError(str(error)) from None


def _takes_nothing(kind: Any) -> bool:
    try:
        conform({}, kind)
    except REFUSALS:
        return False
    return True


@cache
def struct(file: str, *, safe_texts: bool = False) -> Any:
    """Return the type of the aspect in the file that an index names.

    ``safe_texts``: one that refuses search texts that may be too long for the index, which nobody but a look at them can tell.
    """
    return Compiler(schemas.load(file), safe_texts=safe_texts).type_of(schemas.load(file))


class Compiler:
    """Compiles the types of one schema file; named types are compiled once and shared."""

    def __init__(self, schema: schemas.Schema, *, safe_texts: bool = False) -> None:
        self._definitions = schemas.named_types(schema)
        self._safe_texts = safe_texts
        self._done: dict[str, Any] = {}

    def type_of(self, node: Any, urn: type[Marker] | None = None) -> Any:
        """Return the msgspec type of an Avro type; its strings are URNs when ``urn`` says of which kind."""
        node = self.definition(node)
        if isinstance(node, list):
            return self._union(node)
        kind = node if isinstance(node, str) else node["type"]
        if kind == "string" and urn is not None:
            return urn
        if kind in _SCALARS:
            return _SCALARS[kind]
        if kind == "array":
            return _list[self.type_of(node["items"], urn)]
        if kind == "map":
            return _dict[str, self.type_of(node["values"], urn)]
        return self._named(node)

    def definition(self, node: Any) -> Any:
        """Return the definition behind the name of a type, and the one branch behind an optional type."""
        if isinstance(node, list) and len(schemas.branches(node)) == 1:
            node = schemas.branches(node)[0]
        return self._definitions.get(node, node) if isinstance(node, str) else node

    def field(self, field: schemas.Schema) -> Any:
        """Return the msgspec type of a record's field."""
        if self._safe_texts and is_text(field):
            return _list[_SAFE_TEXT] if isinstance(self.definition(field["type"]), dict) else _SAFE_TEXT
        return self.type_of(field["type"], urn_of(field))

    def record(self, node: schemas.Schema, names: frozenset[str] | None = None) -> type[Struct]:
        """Return the Struct of a record; with ``names`` only those fields, all of them optional."""
        fields: list[Any] = []
        rename = {}
        for field in node["fields"]:
            name = field["name"]
            if names is not None and name not in names:
                continue
            attribute = f"{name}_" if iskeyword(name) else name
            rename[attribute] = name
            kind = self.field(field)
            optional = names is not None or "default" in field
            fields.append((attribute, kind | UnsetType, UNSET) if optional else (attribute, kind))
        made = msgspec.defstruct(
            node["name"], fields, rename=rename, forbid_unknown_fields=True, kw_only=True, gc=False, eq=False
        )
        return prepared(made)

    def _named(self, node: schemas.Schema) -> Any:
        name = schemas.wire_name(node)
        if name not in self._done:
            enum = node["type"] == "enum"
            self._done[name] = Literal[tuple(node["symbols"])] if enum else self.record(node)
        return self._done[name]

    def _union(self, branches: list[Any]) -> type[Marker]:
        class Union(Marker):
            pass

        Union.told_by(Branches(Union(), {schemas.wire_name(branch): self.type_of(branch) for branch in branches}))
        return Union


def urn_of(field: schemas.Schema) -> type[Marker] | None:
    """Return the URN type of a field: its class, its validation or its relationship say which entity types it takes."""
    if "Urn" not in field:
        return None
    wanted = field.get("UrnValidation", field).get("entityTypes", ())
    typed = _URN_CLASSES.get(field["Urn"])
    return urn_type(frozenset([typed]) if typed else frozenset(wanted))
