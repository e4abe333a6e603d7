"""Dataplex's fully qualified names (FQN): templates that quote each segment.

Segments stand between the dots of a template; a segment with a colon, a dot, white space or a
backtick is wrapped in backticks, a backtick inside is doubled. ``{*part}`` copies a part as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dh_bridge.translation.naming.patterns import Group, Part, Token, expression, parts_of, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_LENGTH = 4_000
"""Characters that Dataplex allows."""

_RESERVED = re.compile(r"[:.\s`]")
_SEGMENT = r"(`(?:[^`]|``)+`|[^.:\s`]+)"


def quoted(segment: str) -> str:
    """Return ``segment`` as an FQN holds it."""
    if segment.isidentifier() or not _RESERVED.search(segment):  # most are identifiers, and that costs less to see
        return segment
    return "`" + segment.replace("`", "``") + "`"


def unquoted(segment: str) -> str:
    """Return what a segment of an FQN says."""
    return segment[1:-1].replace("``", "`") if segment[:1] == "`" else segment


def _fill(row: tuple[Token, ...], values: Mapping[str, str]) -> str | None:
    made = ""
    for token in row:
        if isinstance(token, str):
            made += token
        elif isinstance(token, Group):
            made += _fill(token.tokens, values) or ""
        elif token.name in values:
            made += values[token.name]
        else:
            return None
    return made


class Fqn:
    """The FQN of one level of a system."""

    __slots__ = ("_keys", "_prefix", "_raw", "_segments", "names", "text")

    def __init__(self, text: str, where: str) -> None:
        row = tokens(text, where)
        self.text = text
        self.names = frozenset(part.name for part in parts_of(row))
        self._prefix = str(row[0])
        segments: list[list[Token]] = [[]]
        for token in row[1:]:
            if isinstance(token, str) and token.startswith("."):
                segments.append([token[1:]] if token[1:] else [])
            else:
                segments[-1].append(token)
        self._segments = tuple(tuple(segment) for segment in segments)
        self._raw = any(isinstance(token, Part) and token.rest for token in row)
        plain = [segment[0].name for segment in self._segments if len(segment) == 1 and isinstance(segment[0], Part)]
        self._keys = tuple(plain) if len(plain) == len(self._segments) and not self._raw else ()

    def fill(self, values: Mapping[str, str]) -> str | None:
        """Return the FQN for ``values``, None when a part is missing or it is too long."""
        if self._keys:
            try:
                made = self._prefix + ".".join([quoted(values[key]) for key in self._keys])
            except KeyError:
                return None
        else:
            filled = [_fill(segment, values) for segment in self._segments]
            if None in filled:
                return None
            made = self._prefix + ".".join([part if self._raw else quoted(part) for part in filled if part is not None])
        return made if len(made) <= MAX_LENGTH else None

    def parts(self, text: str) -> dict[str, str] | None:
        """Return the parts of an FQN of this level, None when it is none."""
        if not text.startswith(self._prefix):
            return None
        rest = text[len(self._prefix) :]
        if self._raw:
            return dict.fromkeys(self.names, rest) if rest else None
        found = re.fullmatch(r"\.".join(_SEGMENT for _ in self._segments), rest)
        if found is None:
            return None
        parts: dict[str, str] = {}
        for segment, said in zip(self._segments, found.groups(), strict=True):
            inner = re.fullmatch(expression(segment), unquoted(said), re.DOTALL)
            if inner is None:
                return None
            parts |= {name: value for name, value in inner.groupdict().items() if value is not None}
        return parts
