"""From the columns of a schema facet to DataHub's schema fields.

Children that only name a container's inside (``_element``, ``key``, ``value``, ``_0``) are no fields: what stands below
them hangs on the container's path. Paths are dotted (v1); they are ``[version=2.0].[type=…].name`` (v2) when dots could
not tell two fields apart or a union has branches. One schema never mixes the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.datahub.schema_fastpath import AlikeFields
from dh_bridge.datahub.search_texts import SAFE_LENGTH
from dh_bridge.translation.columns.nested import LEAVES, MOST_FIELDS, Left, Walk, ordinal
from dh_bridge.translation.columns.types import TypeTable, column_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dh_bridge.translation.columns.field import Field

Paths = Literal["auto", "v1", "v2"]
_UNORDERED = "no-home:not every column has one"


class SchemaFields(msgspec.Struct, gc=False):
    """A schema facet, rendered.

    ``fields`` are SchemaField JSON objects in the order of their columns, depth first; empty unless ``typed`` (one
    column at least has a type). ``dropped`` counts columns that are left out: over the caps, nameless, or named twice.
    ``columns`` maps the names of the top level, as they were sent, to their dotted (v1) paths. ``total``: how many fields
    there would be without the caps; 0 where none is over them.
    """

    fields: list[dict[str, Any]]
    typed: bool
    dropped: int
    columns: dict[str, str]
    total: int = 0


def schema_fields(  # noqa: PLR0913 - what the settings choose
    fields: list[Field],
    *,
    platform: str,
    column: Callable[[str], str] | None = None,
    paths: Paths = "auto",
    types: TypeTable | None = None,
    expand: bool = True,
    left: list[tuple[str, str]] | None = None,
) -> SchemaFields:
    """Return ``fields`` as DataHub's, for a dataset on ``platform`` (its id: ``postgres``).

    ``column`` is how the dataset's system spells a column (lower case, say), ``paths`` the style of field paths,
    ``expand`` whether nested type texts become fields (``struct<a:int>``), ``types`` a table other than the bundled one.
    ``left`` is given (``fields[3].type``, reason) of every leaf that is left out, for the leaf report.
    """
    names = [name for field in fields if (name := field.name)]
    columns = dict(zip(names, names if column is None else map(column, names), strict=True))
    if not _typed(fields):
        return SchemaFields([], typed=False, dropped=0, columns=columns)
    table = types if types is not None else column_types()
    if paths != "v2" and (found := _flat(fields, columns, table, platform, expand=expand)) is not None:
        if left is not None:
            left += _left([], fields)
        return SchemaFields(found, typed=True, dropped=0, columns=columns)
    walk = Walk(table, platform, column, expand=expand, v2=paths == "v2")
    walk.level(fields, walk.root)
    if paths == "auto" and walk.ambiguous:
        walk = Walk(table, platform, column, expand=expand, v2=True)
        walk.level(fields, walk.root)
    if left is not None:
        left += _left(walk.left, fields)
    return SchemaFields(walk.fields, typed=True, dropped=walk.dropped, columns=columns, total=walk.total())


def _left(out: list[Left], fields: list[Field]) -> Iterator[tuple[str, str]]:
    """Yield (``fields[3].fields[0].type``, reason) of every leaf that is left out: those of ``out``, and positions that order nothing."""
    reasons: dict[int, list[Left]] = {}
    for one in out:
        reasons.setdefault(id(one.field), []).append(one)
    waiting: list[tuple[str, list[Field], str]] = [("fields", fields, "")]
    for place, siblings, around in waiting:
        ordered = all(field.ordinal_position is not None for field in siblings)
        for position, field in enumerate(siblings):
            here, whole = f"{place}[{position}]", around
            lost = {} if ordered else {"ordinal_position": _UNORDERED}
            for one in reasons.get(id(field), ()):
                whole = whole or (one.reason if one.leaves is None else "")
                lost |= dict.fromkeys(one.leaves or (), one.reason)
            for leaf in LEAVES:
                reason = whole or lost.get(leaf)
                if reason and getattr(field, leaf) is not None:
                    yield f"{here}.{leaf}", reason
            waiting.append((f"{here}.fields", field.fields, whole))


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
    """Return the fields of a table whose columns are plain, as those of most are; None where :class:`Walk` has to look."""
    count = len(fields)
    if count > MOST_FIELDS or len(columns) != count or len(set(columns.values())) != count:
        return None
    if all(field.ordinal_position is not None for field in fields):
        fields = sorted(fields, key=ordinal)
    kinds: dict[str | None, tuple[dict[str, Any], dict[str, Any]]] = {}
    found: list[dict[str, Any]] = []
    # A text that may be too long for the search index is a kind of its own: the check has to see it.
    long: list[dict[str, Any]] = []
    for field in fields:
        if field.fields:
            return None
        if (kind := kinds.get(field.type)) is None:
            read = table.read(field.type, platform)
            if expand and read.children:
                return None
            kind = kinds[field.type] = read.plain
        # A copy with its texts exchanged takes two thirds of what a new object does.
        if text := field.description:
            one = kind[1].copy()
            one["description"] = text
            if len(text) > SAFE_LENGTH:
                long.append(one)
        else:
            one = kind[0].copy()
        one["fieldPath"] = columns[field.name]
        found.append(one)
    if max(map(len, columns.values()), default=0) > SAFE_LENGTH:
        long = found
    return AlikeFields(found, [*(one for kind in kinds.values() for one in kind), *long])
