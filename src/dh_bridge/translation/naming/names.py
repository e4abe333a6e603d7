"""The parts of a dataset name: quotes off, missing parts seen.

``Quoted`` marks what stood in quotes, because DB2 keeps its case.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dh_bridge.translation.naming.patterns import Part

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dh_bridge.translation.naming.patterns import Token

MISSING = frozenset({"", "None", "null", "NULL"})

# A quote opens at the start of a part and closes before a dot or the end; doubled inside it stands for itself.
_QUOTED = re.compile(
    r'"(?P<d>(?:[^"]|"")*)"(?=\.|\Z)|`(?P<b>(?:[^`]|``)*)`(?=\.|\Z)|\[(?P<s>(?:[^\]]|\]\])*)\](?=\.|\Z)'
)
_DOUBLED = {"d": ('""', '"'), "b": ("``", "`"), "s": ("]]", "]")}


class Quoted(str):
    """A part that stood in quotes."""

    __slots__ = ()


def unwrapped(name: str) -> str:
    """Return ``name`` without the backticks around it, where none stands inside."""
    if name[:1] == "`" == name[-1:] and len(name) > 2 and "`" not in name[1:-1]:
        return name[1:-1]
    return name


def split(name: str) -> list[str | None]:
    """Return the parts of a SQL name, None for each that is missing."""
    if '"' not in name and "`" not in name and "[" not in name:
        return [None if part in MISSING else part for part in name.split(".")]
    parts: list[str | None] = []
    at = 0
    while True:
        found = _QUOTED.match(name, at)
        if found:
            kind = found.lastgroup or "d"
            text = found[kind].replace(*_DOUBLED[kind])
            parts.append(Quoted(text) if text else None)
            at = found.end()
        else:
            end = name.find(".", at)
            text = name[at : end if end >= 0 else len(name)]
            parts.append(None if text in MISSING else text)
            at += len(text)
        if at >= len(name):
            return parts
        at += 1  # the dot


class Dotted:
    """A pattern over the parts of a dotted name: ``{database}.{schema}.{*table}``."""

    __slots__ = ("_after", "_before", "_count", "_order", "_rest", "names", "text")

    def __init__(self, text: str, row: Sequence[Token]) -> None:
        parts = [token for token in row if isinstance(token, Part)]
        rests = [index for index, part in enumerate(parts) if part.rest]
        at = rests[0] if rests else len(parts)
        self.text = text
        self.names = frozenset(part.name for part in parts if part.name != "_")
        self._count = len(parts)
        plain = all(part.value is None and part.name != "_" for part in parts)
        self._order = tuple(part.name for part in parts) if plain else ()
        self._rest = parts[at].name if rests else None
        self._before = tuple((part.name, part.value) for part in parts[:at])
        self._after = tuple((part.name, part.value) for part in parts[at + 1 :])

    def match(self, parts: Sequence[str | None], known: Collection[str] = ()) -> dict[str, str] | None:
        """Return the values of the parts that are not missing, None when the number of parts or a value is another.

        ``known`` are further values that ``{part=value}`` accepts (Athena's catalogues).
        """
        size = len(parts)
        if size < self._count or (size > self._count and self._rest is None):
            return None
        if size == self._count and self._order and None not in parts:
            return dict(zip(self._order, parts, strict=True))  # type: ignore[arg-type]  # no None inside
        found: dict[str, str] = {}
        tail = size - len(self._after)
        for (name, fixed), value in [
            *zip(self._before, parts, strict=False),  # the rest stands between
            *zip(self._after, parts[tail:], strict=True),
        ]:
            if value is not None:
                if fixed is not None and value.lower() != fixed.lower() and value not in known:
                    return None
                if name != "_":
                    found[name] = value
            elif fixed is not None:
                return None
        if self._rest is not None:
            rest = [part for part in parts[len(self._before) : tail] if part is not None]
            if rest:
                found[self._rest] = rest[0] if len(rest) == 1 else ".".join(rest)
        return found


def is_dotted(row: Sequence[Token]) -> bool:
    """Whether a name pattern reads the parts of a dotted name: parts with a dot between, and not ``{*rest}`` alone."""
    if len(row) == 1 and isinstance(row[0], Part) and row[0].rest:
        return False
    return bool(row) and all(
        isinstance(piece, Part) if index % 2 == 0 else piece == "." for index, piece in enumerate(row)
    )
