"""The parts of a dataset name: removes quotes, finds missing parts.

``QuotedPart`` marks a part that was quoted, because DB2 preserves its case.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dh_bridge.naming.patterns import PatternPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.naming.patterns import Token

MISSING_PARTS = frozenset({"", "None", "null", "NULL"})

# A quote opens at the start of a part and closes before a dot or the end; a doubled quote inside is a quote.
_QUOTED = re.compile(
    r'"(?P<d>[^"]*(?:""[^"]*)*)"(?=\.|\Z)|`(?P<b>[^`]*(?:``[^`]*)*)`(?=\.|\Z)|\[(?P<s>[^\]]*(?:\]\][^\]]*)*)\](?=\.|\Z)'
)
_DOUBLED = {"d": ('""', '"'), "b": ("``", "`"), "s": ("]]", "]")}


class QuotedPart(str):
    """A part that was quoted."""

    __slots__ = ()


def strip_backticks(name: str) -> str:
    """Return ``name`` without the backticks around it, if there is none inside."""
    if name[:1] == "`" == name[-1:] and len(name) > 2 and "`" not in name[1:-1]:
        return name[1:-1]
    return name


def split_name(name: str) -> list[str | None]:
    """Return the parts of a SQL name, None for each that is missing."""
    if '"' not in name and "`" not in name and "[" not in name:
        return [None if part in MISSING_PARTS else part for part in name.split(".")]
    parts: list[str | None] = []
    position = 0
    while True:
        match = _QUOTED.match(name, position)
        if match:
            kind = match.lastgroup or "d"
            text = match[kind].replace(*_DOUBLED[kind])
            parts.append(QuotedPart(text) if text else None)
            position = match.end()
        else:
            end = name.find(".", position)
            text = name[position : end if end >= 0 else len(name)]
            parts.append(None if text in MISSING_PARTS else text)
            position += len(text)
        if position >= len(name):
            return parts
        position += 1  # the dot


def unquote_identifier(text: str, quotes: str) -> str:
    """Return ``text`` without quotes around its parts; ``quotes`` are the signs that open one in its system.

    Example:
        >>> unquote_identifier('"Order Date"', '"')
        'Order Date'
        >>> unquote_identifier("`id`", '"')
        '`id`'
    """
    parts: list[str] = []
    position = 0
    while position < len(text):
        match = _QUOTED.match(text, position) if text[position] in quotes else None
        if match is not None:
            kind = match.lastgroup or "d"
            parts.append(match[kind].replace(*_DOUBLED[kind]))
            position = match.end() + 1
        else:
            end = text.find(".", position)
            parts.append(text[position : end if end >= 0 else len(text)])
            position = end + 1 if end >= 0 else len(text)
    unquoted_text = ".".join(parts)
    return unquoted_text or text


class DottedPattern:
    """A pattern over the parts of a dotted name: ``{database}.{schema}.{*table}``."""

    __slots__ = (
        "_count",
        "_leading_parts",
        "_order",
        "_parts",
        "_rest_name",
        "_skipped_parts",
        "_trailing_parts",
        "names",
        "text",
    )

    def __init__(self, text: str, row: Sequence[Token]) -> None:
        parts = [token for token in row if isinstance(token, PatternPart)]
        rests = [index for index, part in enumerate(parts) if part.rest]
        rest_index = rests[0] if rests else len(parts)
        self.text = text
        self.names = frozenset(part.name for part in parts if part.name != "_")
        self._count = len(parts)
        self._parts = tuple(parts)
        self._skipped_parts = any(part.name == "_" for part in parts)
        has_only_names = all(part.value is None and part.name != "_" for part in parts)
        self._order = tuple(part.name for part in parts) if has_only_names else ()
        self._rest_name = parts[rest_index].name if rests else None
        self._leading_parts = tuple((part.name, part.value) for part in parts[:rest_index])
        self._trailing_parts = tuple((part.name, part.value) for part in parts[rest_index + 1 :])

    def drops_stated_part(self, parts: Sequence[str | None]) -> bool:
        """Return whether ``{_}`` takes a part that is stated while one that counts is missing: ``crm..contacts``."""
        return self._skipped_parts and any(
            part.name == "_" and value is not None for part, value in zip(self._parts, parts, strict=False)
        )

    def match(self, parts: Sequence[str | None]) -> dict[str, str] | None:
        """Return the values of the parts that are not missing, None when the number of parts or a value is another."""
        size = len(parts)
        if size < self._count or (size > self._count and self._rest_name is None):
            return None
        if size == self._count and self._order and None not in parts:
            return dict(zip(self._order, parts, strict=True))  # type: ignore[arg-type]  # no None inside
        values: dict[str, str] = {}
        trailing_start = size - len(self._trailing_parts)
        for (name, required_value), value in [
            *zip(self._leading_parts, parts, strict=False),  # the rest is between them
            *zip(self._trailing_parts, parts[trailing_start:], strict=True),
        ]:
            if value is not None:
                if required_value is not None and value.lower() != required_value.lower():
                    return None
                if name != "_":
                    values[name] = value
            elif required_value is not None:
                return None
        if self._rest_name is not None:
            rest_parts = [part for part in parts[len(self._leading_parts) : trailing_start] if part is not None]
            if rest_parts:
                values[self._rest_name] = rest_parts[0] if len(rest_parts) == 1 else ".".join(rest_parts)
        return values


def is_dotted(row: Sequence[Token]) -> bool:
    """Whether a name pattern reads the parts of a dotted name: parts with a dot between, and not ``{*rest}`` alone."""
    if len(row) == 1 and isinstance(row[0], PatternPart) and row[0].rest:
        return False
    return bool(row) and all(
        isinstance(piece, PatternPart) if index % 2 == 0 else piece == "." for index, piece in enumerate(row)
    )
