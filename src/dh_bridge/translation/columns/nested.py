"""Nested columns, one level after the other: paths, wrappers, unions, and the caps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dh_bridge.translation.columns.types import CONTAINERS, ColumnType, TypeTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dh_bridge.translation.columns.field import Field

MOST_FIELDS = 3000
MOST_LEVELS = 15
_MOST_WRAPPERS = 64
_WRAPPERS = {"ArrayType": frozenset({"_element"}), "MapType": frozenset({"key", "value"})}
_V2 = "[version=2.0]."
TOO_LARGE = "too-large"
_LOOP = "no-home:inside a type that contains itself"
_INSIDE = "no-home:the inside of a container"
_BRANCH = "no-home:branches of a union have types, neither names nor an order"
LEAVES = ("name", "type", "description", "ordinal_position")
_RECORD = ColumnType("RecordType", {}, "", "struct", "struct")


class Left(NamedTuple):
    """A column that is left out, for a ``reason`` of the leaf report: with all that is below it, or some ``leaves`` of it alone."""

    field: Field
    reason: str
    leaves: tuple[str, ...] | None = None


class _Inside(NamedTuple):
    """The inside of containers, from the outside in: their types, and the columns of the innermost.

    ``said`` are the insides themselves, which are no fields, that are described; ``loop`` tells that the innermost names an
    ancestor.
    """

    chain: list[ColumnType]
    columns: list[Field]
    said: list[Field]
    loop: bool = False


class _At(NamedTuple):
    """Where a column stands: the path before it, the level (from 1), and the named types around it."""

    prefix: str
    depth: int = 1
    ancestors: tuple[str, ...] = ()

    def below(self, path: str, kind: ColumnType) -> _At:
        """Return where the columns inside the type ``kind`` stand."""
        return _At(path + ".", self.depth + 1, (*self.ancestors, kind.name) if kind.name else self.ancestors)


class Walk:
    """One pass over the columns in one style of paths."""

    def __init__(
        self, types: TypeTable, platform: str, column: Callable[[str], str] | None, *, expand: bool, v2: bool
    ) -> None:
        self.fields: list[dict[str, Any]] = []
        self.dropped = 0
        self.left: list[Left] = []
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
            self._leave_out(siblings, TOO_LARGE)
            return
        if all(field.ordinal_position is not None for field in siblings):
            siblings = sorted(siblings, key=ordinal)
        column, read, platform, v2 = self._column, self._read, self._platform, self._v2
        for field in siblings:
            if len(self.fields) >= MOST_FIELDS:
                self._leave_out([field], TOO_LARGE)
                continue
            if not field.name:
                self._leave_out([field], "malformed")
                continue
            kind = read(field.type, platform)
            name = column(field.name) if column is not None else field.name
            children = field.fields or (kind.children if self._expand else [])
            if children or (kind.name and kind.name in ancestors):
                self._nested(field, name, kind, children, at)
            else:
                path = self._path([kind], name, at) if v2 else prefix + name
                self._add(path, prefix, kind, kind.wire, field)

    def total(self) -> int:
        """Return how many fields there are, those over the caps included and wrappers not; 0 where none is over them.

        Types that one text holds inside each other count as deep as others are opened.
        """
        over = [one.field for one in self.left if one.reason == TOO_LARGE]
        found, waiting = len(self.fields) if over else 0, [(over, "", 0)]
        for siblings, around, opened in waiting:
            wrappers = _WRAPPERS.get(around, frozenset())
            for field in siblings:
                kind = self._read(field.type, self._platform)
                found += field.name not in wrappers and around != "UnionType"
                inside = kind.children if self._expand and opened < _MOST_WRAPPERS else []
                if field.fields or inside:
                    waiting.append((field.fields or inside, kind.kind, opened + (not field.fields)))
        return found

    def _leave_out(self, columns: list[Field], reason: str) -> None:
        self.dropped += _count(columns)
        self.left += [Left(field, reason) for field in columns]

    def _add(  # noqa: PLR0913 - the parts of a schema field
        self,
        path: str,
        prefix: str,
        kind: ColumnType,
        wire: dict[str, Any],
        column: Field,
        said: Sequence[Field] = (),
        *,
        loop: bool = False,
    ) -> None:
        held = self._paths.get(path)
        if held is not None:
            # the same column twice is one column; other columns of that path need v2
            self.dropped += 1
            self.left.append(Left(column, f"duplicate-of:{path}", LEAVES))
            self.ambiguous = self.ambiguous or held != (kind.native, prefix)
            return
        self._paths[path] = (kind.native, prefix)
        field = {"fieldPath": path, "nullable": not kind.required}
        if column.description or said:
            texts = [column.description] if column.description else []
            texts += [f"{inside.name}: {inside.description}" for inside in said]  # _element: a phone number
            field["description"] = "\n".join(texts)
        self.fields.append(field | kind.end(wire, loop=loop))

    def _nested(self, field: Field, name: str, kind: ColumnType, children: list[Field], at: _At) -> None:
        own = _as_parent(kind, children)
        chain, inside, said, loop = self._unwrapped(own, children, at.ancestors)
        union = chain[-1].kind == "UnionType"
        real = self._branches(inside) if union else []
        if union:
            said += self._said_of_branches(inside, real)
        path = self._path(chain, name, at)
        wire = self._wire(own.kind, children, self._platform) if children else self._wire("RecordType", [], "")
        self._add(path, at.prefix, own, wire, field, said, loop=loop)
        if not inside:
            return
        if union:
            self._union(real, chain, name, at)
        else:
            self.level(inside, at.below(path, chain[-1]))

    def _unwrapped(self, kind: ColumnType, children: list[Field], ancestors: tuple[str, ...]) -> _Inside:
        """Take the containers of a column apart, from the outside in."""
        chain = [kind]
        said: list[Field] = []
        for _ in range(_MOST_WRAPPERS):
            if kind.name and kind.name in ancestors:
                self.left += [Left(child, _LOOP) for child in children]
                return _Inside(chain, [], said, loop=True)
            wrappers = _WRAPPERS.get(kind.kind)
            if wrappers is None:
                return _Inside(chain, children, said)
            insides = [child for child in children if child.name in wrappers]
            said += _described(insides)
            others = [child for child in children if child.name not in wrappers]
            wrapped = next((child for child in insides if child.name != "key"), None)
            self.left += [Left(child, _INSIDE, ("ordinal_position",)) for child in insides]
            self.left += [Left(one, _INSIDE) for child in insides if child is not wrapped for one in child.fields]
            if wrapped is None:
                # the members of the record inside, without their wrapper
                return _Inside([*chain, _RECORD] if others else chain, others, said)
            self._leave_out(others, "malformed")
            kind = self._read(wrapped.type, self._platform)
            children = wrapped.fields or (kind.children if self._expand else [])
            kind = _as_parent(kind, children)
            chain.append(kind)
        self._leave_out(children, TOO_LARGE)
        return _Inside(chain, [], said)

    def _union(self, real: list[tuple[Field, ColumnType]], chain: list[ColumnType], name: str, at: _At) -> None:
        if len(chain) > _MOST_WRAPPERS:
            self._leave_out([branch for branch, _ in real], TOO_LARGE)
            return
        several = len(real) > 1
        self.ambiguous = self.ambiguous or several
        tokens: list[str] = []
        for branch, kind in real:
            if len(self.fields) >= MOST_FIELDS:
                self._leave_out([branch], TOO_LARGE)
                continue
            children = branch.fields or (kind.children if self._expand else [])
            own = _as_parent(kind, children)
            # two branches of one base type (two records) must not share a path
            again = tokens.count(own.token)
            tokens.append(own.token)
            if again:
                own = msgspec.structs.replace(own, token=f"{own.token}_{again}")
            inner, inside, said, loop = self._unwrapped(own, children, at.ancestors)
            union = inner[-1].kind == "UnionType"
            within = self._branches(inside) if union else []
            if union:
                said += self._said_of_branches(inside, within)
            path = self._path(chain + inner, name, at)
            if several and self._v2:
                wire = self._wire(own.kind, children, self._platform)
                self._add(path, at.prefix, own, wire, branch, said, loop=loop)
            else:
                self.left += [Left(one, _INSIDE, ("description",)) for one in said]
            if union:
                self._union(within, chain + inner, name, at)
            elif inside:
                self.level(inside, at.below(path, inner[-1]))

    def _branches(self, branches: list[Field]) -> list[tuple[Field, ColumnType]]:
        """Return the branches of a union that are not null, and their types."""
        read = [(branch, self._read(branch.type, self._platform)) for branch in branches]
        return [(branch, kind) for branch, kind in read if kind.kind != "NullType" or branch.fields or kind.name]

    def _said_of_branches(self, branches: list[Field], real: list[tuple[Field, ColumnType]]) -> list[Field]:
        """Return the described branches of a union that are no fields of their own; the names of the others say nothing."""
        own = [id(branch) for branch, _ in real] if self._v2 and len(real) > 1 else []
        said = _described([branch for branch in branches if id(branch) not in own])
        named = set(map(id, said))
        for branch in branches:
            lost = ("ordinal_position",) if id(branch) in named else ("name", "ordinal_position")
            self.left.append(Left(branch, _BRANCH, lost))
        return said

    def _path(self, chain: list[ColumnType], name: str, at: _At) -> str:
        return f"{at.prefix}{_tokens(chain, top=at.depth == 1)}{name}" if self._v2 else at.prefix + name


def _tokens(chain: list[ColumnType], *, top: bool) -> str:
    """Return ``[type=array].[type=struct].``; a nested column of the top level stands in a struct (DataHub's Hive form)."""
    tokens = "".join(f"[type={kind.token}]." for kind in chain)
    nested = chain[0].kind in CONTAINERS or chain[0].kind == "RecordType"
    return f"[type=struct].{tokens}" if top and nested else tokens


def _described(insides: list[Field]) -> list[Field]:
    return [inside for inside in insides if inside.description]


def _as_parent(kind: ColumnType, children: list[Field]) -> ColumnType:
    """Return the type of a column with children: a record, unless it is a container."""
    if not children or kind.kind in CONTAINERS or kind.kind == "RecordType":
        return kind
    token = "struct" if kind.missing or kind.kind != "NullType" else kind.token
    return msgspec.structs.replace(kind, kind="RecordType", token=token)


def ordinal(field: Field) -> int:
    """Return where a column says it stands among its siblings."""
    return field.ordinal_position or 0


def _count(fields: list[Field]) -> int:
    left = list(fields)
    for field in left:
        left.extend(field.fields)
    return len(left)
