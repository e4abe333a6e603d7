"""From the columns of a schema facet to DataHub's schema fields (facets.md 4.1).

Children that only name a container's inside (``_element``, ``key``, ``value``, ``_0``) are no fields: what stands below
them hangs on the container's path. Paths are dotted (v1); they are ``[version=2.0].[type=…].name`` (v2) when dots could
not tell two fields apart or a union has branches. One schema never mixes the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from dh_bridge.translation.columns.types import CONTAINERS, ColumnType, TypeTable, default_types
from dh_bridge.translation.properties import capped

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.translation.columns.field import Field

Paths = Literal["auto", "v1", "v2"]

MOST_FIELDS = 3000
MOST_LEVELS = 15
DESCRIPTION_CAP = 65_536
_MOST_WRAPPERS = 64
_V2 = "[version=2.0]."
_RECORD = ColumnType("RecordType", {}, "", "struct", "struct")


class SchemaFields(msgspec.Struct, gc=False):
    """A schema facet, rendered.

    ``fields`` are SchemaField JSON objects in the order of their columns, depth first; empty unless ``typed`` (one
    column at least has a type). ``dropped`` counts columns that are left out: over the caps, nameless, or named twice.
    ``columns`` maps the names of the top level, as they were sent, to their dotted (v1) paths.
    """

    fields: list[dict[str, Any]]
    typed: bool
    dropped: int
    columns: dict[str, str]


def schema_fields(  # noqa: PLR0913 - options of facets.md 4.1
    fields: list[Field],
    *,
    platform: str,
    column: Callable[[str], str] | None = None,
    paths: Paths = "auto",
    types: TypeTable | None = None,
    expand: bool = True,
) -> SchemaFields:
    """Return ``fields`` as DataHub's, for a dataset on ``platform`` (its id: ``postgres``).

    ``column`` is how the dataset's system spells a column (lower case, say), ``paths`` the style of field paths,
    ``expand`` whether nested type texts become fields (``struct<a:int>``), ``types`` a table other than the bundled one.
    """
    columns = {field.name: column(field.name) if column is not None else field.name for field in fields if field.name}
    if not _typed(fields):
        return SchemaFields([], typed=False, dropped=0, columns=columns)
    table = types if types is not None else default_types()
    if paths != "v2" and (found := _flat(fields, columns, table, platform, expand=expand)) is not None:
        return SchemaFields(found, typed=True, dropped=0, columns=columns)
    walk = _Walk(table, platform, column, expand=expand, v2=paths == "v2")
    walk.level(fields, walk.root)
    if paths == "auto" and walk.ambiguous:
        walk = _Walk(table, platform, column, expand=expand, v2=True)
        walk.level(fields, walk.root)
    return SchemaFields(walk.fields, typed=True, dropped=walk.dropped, columns=columns)


def _typed(fields: list[Field]) -> bool:
    left = list(fields)
    for field in left:
        if field.type and not field.type.isspace():
            return True
        left.extend(field.fields)
    return False


def _flat(
    fields: list[Field], columns: dict[str, str], table: TypeTable, platform: str, *, expand: bool
) -> list[dict[str, Any]] | None:
    """Return the fields of a table whose columns are plain, as those of most are; None where :class:`_Walk` has to look."""
    count = len(fields)
    if count > MOST_FIELDS or len(columns) != count or len(set(columns.values())) != count:
        return None
    if any([field.fields for field in fields]):  # noqa: C419 - a list is faster
        return None
    kinds = {text: table.read(text, platform) for text in {field.type for field in fields}}
    if expand and any([kind.children for kind in kinds.values()]):  # noqa: C419 - as above
        return None
    if all([field.ordinal_position is not None for field in fields]):  # noqa: C419 - as above
        fields = sorted(fields, key=_ordinal)
    ends = {text: (not kind.required, _end(kind)) for text, kind in kinds.items()}
    found = []
    for field in fields:
        path, (nullable, end) = columns[field.name], ends[field.type]
        if field.description:
            found.append(
                {"fieldPath": path, "nullable": nullable, "description": _description(field.description), **end}
            )
        else:
            found.append({"fieldPath": path, "nullable": nullable, **end})
    return found


def _end(kind: ColumnType, wire: dict[str, Any] | None = None, *, loop: bool = False) -> dict[str, Any]:
    """Return what a schema field says of its type, at the end of its JSON."""
    return {"type": wire or kind.wire, "nativeDataType": kind.native, "recursive": loop, "isPartOfKey": False}


def _description(text: str) -> str:
    return text if len(text) <= DESCRIPTION_CAP else capped(text, DESCRIPTION_CAP)


class _At(NamedTuple):
    """Where a column stands: the path before it, the level (from 1), and the named types around it."""

    prefix: str
    depth: int = 1
    ancestors: tuple[str, ...] = ()

    def below(self, path: str, kind: ColumnType) -> _At:
        """Return where the columns inside the type ``kind`` stand."""
        return _At(path + ".", self.depth + 1, (*self.ancestors, kind.name) if kind.name else self.ancestors)


class _Walk:
    """One pass over the columns in one style of paths."""

    def __init__(
        self, types: TypeTable, platform: str, column: Callable[[str], str] | None, *, expand: bool, v2: bool
    ) -> None:
        self.fields: list[dict[str, Any]] = []
        self.dropped = 0
        self.ambiguous = False
        self.root = _At(_V2 if v2 else "")
        self._read = types.read
        self._wire = types.wire
        self._platform = platform
        self._column = column
        self._expand = expand
        self._v2 = v2
        #: path -> (native type, prefix) of the field that has it
        self._paths: dict[str, tuple[str, str]] = {}

    def level(self, siblings: list[Field], at: _At) -> None:
        """Render the columns of one level, and what is below them."""
        prefix, depth, ancestors = at
        if depth > MOST_LEVELS:
            self.dropped += _count(siblings)
            return
        if all(field.ordinal_position is not None for field in siblings):
            siblings = sorted(siblings, key=_ordinal)
        column, read, platform, v2 = self._column, self._read, self._platform, self._v2
        for field in siblings:
            if not field.name or len(self.fields) >= MOST_FIELDS:
                self.dropped += _count([field])
                continue
            kind = read(field.type, platform)
            name = column(field.name) if column is not None else field.name
            children = field.fields or (kind.children if self._expand else [])
            if children or (kind.name and kind.name in ancestors):
                self._nested(field, name, kind, children, at)
            else:
                path = self._path([kind], name, at) if v2 else prefix + name
                self._add(path, prefix, kind, kind.wire, field.description)

    def _add(  # noqa: PLR0913 - the parts of a schema field
        self,
        path: str,
        prefix: str,
        kind: ColumnType,
        wire: dict[str, Any],
        description: str | None,
        *,
        loop: bool = False,
    ) -> None:
        held = self._paths.get(path)
        if held is not None:
            # the same column twice is one column; other columns of that path need v2 (facets.md 4.1)
            self.dropped += 1
            self.ambiguous = self.ambiguous or held != (kind.native, prefix)
            return
        self._paths[path] = (kind.native, prefix)
        field = {"fieldPath": path, "nullable": not kind.required}
        if description:
            field["description"] = _description(description)
        self.fields.append(field | _end(kind, wire, loop=loop))

    def _nested(self, field: Field, name: str, kind: ColumnType, children: list[Field], at: _At) -> None:
        own = _as_parent(kind, children)
        chain, inside, loop = self._unwrapped(own, children, at.ancestors)
        path = self._path(chain, name, at)
        wire = self._wire(own.kind, children, self._platform) if children else self._wire("RecordType", [], "")
        self._add(path, at.prefix, own, wire, field.description, loop=loop)
        if not inside:
            return
        if chain[-1].kind == "UnionType":
            self._union(inside, chain, name, at)
        else:
            self.level(inside, at.below(path, chain[-1]))

    def _unwrapped(
        self, kind: ColumnType, children: list[Field], ancestors: tuple[str, ...]
    ) -> tuple[list[ColumnType], list[Field], bool]:
        """Return the types from the outside in, the children of the innermost, and whether it names an ancestor."""
        chain = [kind]
        for _ in range(_MOST_WRAPPERS):
            if kind.name and kind.name in ancestors:
                return chain, [], True
            if kind.kind not in {"ArrayType", "MapType"}:
                return chain, children, False
            wrapper = "_element" if kind.kind == "ArrayType" else "value"
            wrapped = next((child for child in children if child.name == wrapper), None)
            if wrapped is None:
                # the members of the record inside, without their wrapper
                bare = [child for child in children if kind.kind == "ArrayType" or child.name != "key"]
                return ([*chain, _RECORD] if bare else chain), bare, False
            self.dropped += _count([child for child in children if child.name not in ("key", wrapper)])
            kind = self._read(wrapped.type, self._platform)
            children = wrapped.fields or (kind.children if self._expand else [])
            kind = _as_parent(kind, children)
            chain.append(kind)
        return chain, [], False

    def _union(self, branches: list[Field], chain: list[ColumnType], name: str, at: _At) -> None:
        read = [(branch, self._read(branch.type, self._platform)) for branch in branches]
        real = [(branch, kind) for branch, kind in read if kind.kind != "NullType" or branch.fields or kind.name]
        several = len(real) > 1
        self.ambiguous = self.ambiguous or several
        tokens: list[str] = []
        for branch, kind in real:
            children = branch.fields or (kind.children if self._expand else [])
            own = _as_parent(kind, children)
            # two branches of one base type (two records) must not share a path
            again = tokens.count(own.token)
            tokens.append(own.token)
            if again:
                own = msgspec.structs.replace(own, token=f"{own.token}_{again}")
            inner, inside, loop = self._unwrapped(own, children, at.ancestors)
            path = self._path(chain + inner, name, at)
            if several and self._v2:
                wire = self._wire(own.kind, children, self._platform)
                self._add(path, at.prefix, own, wire, branch.description, loop=loop)
            if inside:
                self.level(inside, at.below(path, inner[-1]))

    def _path(self, chain: list[ColumnType], name: str, at: _At) -> str:
        return f"{at.prefix}{_tokens(chain, top=at.depth == 1)}{name}" if self._v2 else at.prefix + name


def _tokens(chain: list[ColumnType], *, top: bool) -> str:
    """Return ``[type=array].[type=struct].``; a nested column of the top level stands in a struct (DataHub's Hive form)."""
    tokens = "".join(f"[type={kind.token}]." for kind in chain)
    nested = chain[0].kind in CONTAINERS or chain[0].kind == "RecordType"
    return f"[type=struct].{tokens}" if top and nested else tokens


def _as_parent(kind: ColumnType, children: list[Field]) -> ColumnType:
    """Return the type of a column with children: a record, unless it is a container."""
    if not children or kind.kind in CONTAINERS or kind.kind == "RecordType":
        return kind
    token = "struct" if kind.missing or kind.kind != "NullType" else kind.token
    return msgspec.structs.replace(kind, kind="RecordType", token=token)


def _ordinal(field: Field) -> int:
    return field.ordinal_position or 0


def _count(fields: list[Field]) -> int:
    left = list(fields)
    for field in left:
        left.extend(field.fields)
    return len(left)
