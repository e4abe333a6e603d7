"""Nested columns, level by level: paths, wrappers, unions, and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dh_bridge.columns.types import CONTAINERS, ColumnType, TypeTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dh_bridge.columns.schema import SchemaFacetField

MAX_FIELDS = 3000
MAX_LEVELS = 15
_MAX_WRAPPERS = 64
_WRAPPERS = {"ArrayType": frozenset({"_element"}), "MapType": frozenset({"key", "value"})}
_V2 = "[version=2.0]."
TOO_LARGE = "too-large"
_RECURSIVE_TYPE = "no-field:inside a recursive type"
_CONTAINER_CONTENT = "no-field:inside a container"
_UNION_BRANCH = "no-field:branches of a union have no names and no order"
FIELD_ATTRIBUTES = ("name", "type", "description", "ordinal_position")
_RECORD = ColumnType("RecordType", {}, "", "struct", "struct")


class DroppedColumn(NamedTuple):
    """A column that is dropped for a ``reason`` of the report: with all its children, or only some of its ``attributes``."""

    field: SchemaFacetField
    reason: str
    attributes: tuple[str, ...] | None = None


class _ContainerContent(NamedTuple):
    """The content of nested containers, from the outermost to the innermost: their types, and the columns of the innermost one.

    ``described`` are wrappers that are not fields but have a description. ``is_recursive``: the innermost type names an
    ancestor.
    """

    chain: list[ColumnType]
    columns: list[SchemaFacetField]
    described: list[SchemaFacetField]
    is_recursive: bool = False


class _ColumnPosition(NamedTuple):
    """The position of a column: the path of its parent, the level (from 1), and the named types around it."""

    prefix: str
    depth: int = 1
    ancestors: tuple[str, ...] = ()

    def child_position(self, path: str, kind: ColumnType) -> _ColumnPosition:
        """Return the position of the columns inside the type ``kind``."""
        return _ColumnPosition(
            path + ".", self.depth + 1, (*self.ancestors, kind.name) if kind.name else self.ancestors
        )


class SchemaFieldRenderer:
    """One pass over the columns in one style of paths."""

    def __init__(
        self, types: TypeTable, platform: str, spell_column: Callable[[str], str] | None, *, expand: bool, v2: bool
    ) -> None:
        self.fields: list[dict[str, Any]] = []
        self.dropped_count = 0
        self.dropped_columns: list[DroppedColumn] = []
        self.is_ambiguous = False
        self.root = _ColumnPosition(_V2 if v2 else "")
        self._read = types.read
        self._wire = types.wire
        self._platform = platform
        self._spell_column = spell_column
        self._expand = expand
        self._v2 = v2
        #: path -> (native type, prefix) of the field that has it
        self._paths: dict[str, tuple[str, str]] = {}

    def render_level(self, siblings: list[SchemaFacetField], position: _ColumnPosition) -> None:
        """Render the columns of one level, and their children."""
        prefix, depth, ancestors = position
        if depth > MAX_LEVELS:
            self._drop(siblings, TOO_LARGE)
            return
        if all(field.ordinal_position is not None for field in siblings):
            siblings = sorted(siblings, key=ordinal)
        spell_column, read, platform, v2 = self._spell_column, self._read, self._platform, self._v2
        for field in siblings:
            if len(self.fields) >= MAX_FIELDS:
                self._drop([field], TOO_LARGE)
                continue
            if not field.name:
                self._drop([field], "malformed")
                continue
            kind = read(field.type, platform)
            name = spell_column(field.name) if spell_column is not None else field.name
            children = field.fields or (kind.children if self._expand else [])
            if children or (kind.name and kind.name in ancestors):
                self._render_nested(field, name, kind, children, position)
            else:
                path = self._path([kind], name, position) if v2 else prefix + name
                self._add_field(path, prefix, kind, kind.wire, field)

    def count_fields(self) -> int:
        """Return the number of fields, including those over the limits and without wrappers; 0 if no limit is exceeded.

        Types that are nested in one text count up to the depth to which types are parsed.
        """
        over_limit = [dropped.field for dropped in self.dropped_columns if dropped.reason == TOO_LARGE]
        count, queue = len(self.fields) if over_limit else 0, [(over_limit, "", 0)]
        for siblings, parent_kind, depth in queue:
            wrappers = _WRAPPERS.get(parent_kind, frozenset())
            for field in siblings:
                kind = self._read(field.type, self._platform)
                count += field.name not in wrappers and parent_kind != "UnionType"
                children = kind.children if self._expand and depth < _MAX_WRAPPERS else []
                if field.fields or children:
                    queue.append((field.fields or children, kind.kind, depth + (not field.fields)))
        return count

    def _drop(self, columns: list[SchemaFacetField], reason: str) -> None:
        self.dropped_count += _count_fields(columns)
        self.dropped_columns += [DroppedColumn(field, reason) for field in columns]

    def _add_field(  # noqa: PLR0913 - the parts of a schema field
        self,
        path: str,
        prefix: str,
        kind: ColumnType,
        wire: dict[str, Any],
        column: SchemaFacetField,
        described: Sequence[SchemaFacetField] = (),
        *,
        is_recursive: bool = False,
    ) -> None:
        existing = self._paths.get(path)
        if existing is not None:
            # the same column twice is one column; other columns of that path need v2
            self.dropped_count += 1
            self.dropped_columns.append(DroppedColumn(column, f"duplicate-of:{path}", FIELD_ATTRIBUTES))
            self.is_ambiguous = self.is_ambiguous or existing != (kind.native, prefix)
            return
        self._paths[path] = (kind.native, prefix)
        field = {"fieldPath": path, "nullable": not kind.required}
        if column.description or described:
            texts = [column.description] if column.description else []
            texts += [f"{wrapper.name}: {wrapper.description}" for wrapper in described]  # _element: a phone number
            field["description"] = "\n".join(texts)
        self.fields.append(field | kind.type_json(wire, loop=is_recursive))

    def _render_nested(
        self,
        field: SchemaFacetField,
        name: str,
        kind: ColumnType,
        children: list[SchemaFacetField],
        position: _ColumnPosition,
    ) -> None:
        column_type = _parent_type(kind, children)
        chain, columns, described, is_recursive = self._unwrap(column_type, children, position.ancestors)
        is_union = chain[-1].kind == "UnionType"
        branches = self._typed_branches(columns) if is_union else []
        if is_union:
            described += self._described_branches(columns, branches)
        path = self._path(chain, name, position)
        wire = self._wire(column_type.kind, children, self._platform) if children else self._wire("RecordType", [], "")
        self._add_field(path, position.prefix, column_type, wire, field, described, is_recursive=is_recursive)
        if not columns:
            return
        if is_union:
            self._render_union(branches, chain, name, position)
        else:
            self.render_level(columns, position.child_position(path, chain[-1]))

    def _unwrap(
        self, kind: ColumnType, children: list[SchemaFacetField], ancestors: tuple[str, ...]
    ) -> _ContainerContent:
        """Take the containers of a column apart, from the outside in."""
        chain = [kind]
        described: list[SchemaFacetField] = []
        for _ in range(_MAX_WRAPPERS):
            if kind.name and kind.name in ancestors:
                self.dropped_columns += [DroppedColumn(child, _RECURSIVE_TYPE) for child in children]
                return _ContainerContent(chain, [], described, is_recursive=True)
            wrappers = _WRAPPERS.get(kind.kind)
            if wrappers is None:
                return _ContainerContent(chain, children, described)
            contents = [child for child in children if child.name in wrappers]
            described += _fields_with_description(contents)
            record_members = [child for child in children if child.name not in wrappers]
            inner = next((child for child in contents if child.name != "key"), None)
            self.dropped_columns += [
                DroppedColumn(child, _CONTAINER_CONTENT, ("ordinal_position",)) for child in contents
            ]
            self.dropped_columns += [
                DroppedColumn(member, _CONTAINER_CONTENT)
                for child in contents
                if child is not inner
                for member in child.fields
            ]
            if inner is None:
                # the members of the record inside, without their wrapper
                return _ContainerContent([*chain, _RECORD] if record_members else chain, record_members, described)
            self._drop(record_members, "malformed")
            kind = self._read(inner.type, self._platform)
            children = inner.fields or (kind.children if self._expand else [])
            kind = _parent_type(kind, children)
            chain.append(kind)
        self._drop(children, TOO_LARGE)
        return _ContainerContent(chain, [], described)

    def _render_union(
        self,
        typed_branches: list[tuple[SchemaFacetField, ColumnType]],
        chain: list[ColumnType],
        name: str,
        position: _ColumnPosition,
    ) -> None:
        if len(chain) > _MAX_WRAPPERS:
            self._drop([branch for branch, _ in typed_branches], TOO_LARGE)
            return
        has_several = len(typed_branches) > 1
        self.is_ambiguous = self.is_ambiguous or has_several
        tokens: list[str] = []
        for branch, kind in typed_branches:
            if len(self.fields) >= MAX_FIELDS:
                self._drop([branch], TOO_LARGE)
                continue
            children = branch.fields or (kind.children if self._expand else [])
            column_type = _parent_type(kind, children)
            # two branches of one base type (two records) must not share a path
            duplicates = tokens.count(column_type.token)
            tokens.append(column_type.token)
            if duplicates:
                column_type = msgspec.structs.replace(column_type, token=f"{column_type.token}_{duplicates}")
            inner_chain, columns, described, is_recursive = self._unwrap(column_type, children, position.ancestors)
            is_union = inner_chain[-1].kind == "UnionType"
            inner_branches = self._typed_branches(columns) if is_union else []
            if is_union:
                described += self._described_branches(columns, inner_branches)
            path = self._path(chain + inner_chain, name, position)
            if has_several and self._v2:
                wire = self._wire(column_type.kind, children, self._platform)
                self._add_field(path, position.prefix, column_type, wire, branch, described, is_recursive=is_recursive)
            else:
                self.dropped_columns += [
                    DroppedColumn(wrapper, _CONTAINER_CONTENT, ("description",)) for wrapper in described
                ]
            if is_union:
                self._render_union(inner_branches, chain + inner_chain, name, position)
            elif columns:
                self.render_level(columns, position.child_position(path, inner_chain[-1]))

    def _typed_branches(self, branches: list[SchemaFacetField]) -> list[tuple[SchemaFacetField, ColumnType]]:
        """Return the branches of a union that are not null, and their types."""
        typed_branches = [(branch, self._read(branch.type, self._platform)) for branch in branches]
        return [
            (branch, kind) for branch, kind in typed_branches if kind.kind != "NullType" or branch.fields or kind.name
        ]

    def _described_branches(
        self, branches: list[SchemaFacetField], typed_branches: list[tuple[SchemaFacetField, ColumnType]]
    ) -> list[SchemaFacetField]:
        """Return the described branches of a union that are not separate fields; names of other branches have no meaning."""
        rendered_ids = [id(branch) for branch, _ in typed_branches] if self._v2 and len(typed_branches) > 1 else []
        described = _fields_with_description([branch for branch in branches if id(branch) not in rendered_ids])
        described_ids = set(map(id, described))
        for branch in branches:
            attributes = ("ordinal_position",) if id(branch) in described_ids else ("name", "ordinal_position")
            self.dropped_columns.append(DroppedColumn(branch, _UNION_BRANCH, attributes))
        return described

    def _path(self, chain: list[ColumnType], name: str, position: _ColumnPosition) -> str:
        return (
            f"{position.prefix}{_tokens(chain, is_top=position.depth == 1)}{name}"
            if self._v2
            else position.prefix + name
        )


def _tokens(chain: list[ColumnType], *, is_top: bool) -> str:
    """Return ``[type=array].[type=struct].``; a nested column of the top level is inside a struct (DataHub's Hive form)."""
    tokens = "".join(f"[type={kind.token}]." for kind in chain)
    is_nested = chain[0].kind in CONTAINERS or chain[0].kind == "RecordType"
    return f"[type=struct].{tokens}" if is_top and is_nested else tokens


def _fields_with_description(fields: list[SchemaFacetField]) -> list[SchemaFacetField]:
    return [field for field in fields if field.description]


def _parent_type(kind: ColumnType, children: list[SchemaFacetField]) -> ColumnType:
    """Return the type of a column with children: a record, unless it is a container."""
    if not children or kind.kind in CONTAINERS or kind.kind == "RecordType":
        return kind
    token = "struct" if kind.is_missing or kind.kind != "NullType" else kind.token
    return msgspec.structs.replace(kind, kind="RecordType", token=token)


def ordinal(field: SchemaFacetField) -> int:
    """Return the ordinal position that a column states."""
    return field.ordinal_position or 0


def _count_fields(fields: list[SchemaFacetField]) -> int:
    queue = list(fields)
    for field in queue:
        queue.extend(field.fields)
    return len(queue)
