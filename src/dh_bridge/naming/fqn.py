"""Dataplex's fully qualified names (FQN): templates that quote each segment.

Segments are separated by the dots of a template; a segment with a colon, a dot, white space or a backtick is wrapped in
backticks, and a backtick inside is doubled. ``{*part}`` copies a part unchanged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dh_bridge.naming.patterns import OptionalGroup, PatternPart, Token, parts_of, regex_source, tokenize

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_LENGTH = 4_000
"""Characters that Dataplex allows."""

_RESERVED = re.compile(r"[:.\s`]")
_SEGMENT = r"(`(?:[^`]|``)+`|[^.:\s`]+)"


def quote_segment(segment: str) -> str:
    """Return ``segment`` as an FQN holds it."""
    if segment.isidentifier() or not _RESERVED.search(segment):  # most are identifiers, and that costs less to see
        return segment
    return "`" + segment.replace("`", "``") + "`"


def unquote_segment(segment: str) -> str:
    """Return the value of a segment of an FQN."""
    return segment[1:-1].replace("``", "`") if segment[:1] == "`" else segment


def _fill_tokens(row: tuple[Token, ...], values: Mapping[str, str]) -> str | None:
    text = ""
    for token in row:
        if isinstance(token, str):
            text += token
        elif isinstance(token, OptionalGroup):
            text += _fill_tokens(token.tokens, values) or ""
        elif token.name in values:
            text += values[token.name]
        else:
            return None
    return text


class FqnTemplate:
    """The FQN of one level of a system."""

    __slots__ = ("_is_raw", "_keys", "_prefix", "_segments", "names", "text")

    def __init__(self, text: str, location: str) -> None:
        row = tokenize(text, location)
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
        self._is_raw = any(isinstance(token, PatternPart) and token.rest for token in row)
        plain_names = [
            segment[0].name for segment in self._segments if len(segment) == 1 and isinstance(segment[0], PatternPart)
        ]
        self._keys = tuple(plain_names) if len(plain_names) == len(self._segments) and not self._is_raw else ()

    def fill(self, values: Mapping[str, str]) -> str | None:
        """Return the FQN for ``values``, None when a part is missing or it is too long."""
        if self._keys:
            try:
                fqn = self._prefix + ".".join([quote_segment(values[key]) for key in self._keys])
            except KeyError:
                return None
        else:
            filled = [_fill_tokens(segment, values) for segment in self._segments]
            if None in filled:
                return None
            fqn = self._prefix + ".".join(
                [part if self._is_raw else quote_segment(part) for part in filled if part is not None]
            )
        return fqn if len(fqn) <= MAX_LENGTH else None

    def parts(self, text: str) -> dict[str, str] | None:
        """Return the parts of an FQN of this level, None if it has another form."""
        if not text.startswith(self._prefix):
            return None
        suffix = text[len(self._prefix) :]
        if self._is_raw:
            return dict.fromkeys(self.names, suffix) if suffix else None
        match = re.fullmatch(r"\.".join(_SEGMENT for _ in self._segments), suffix)
        if match is None:
            return None
        parts: dict[str, str] = {}
        for segment, segment_text in zip(self._segments, match.groups(), strict=True):
            segment_match = re.fullmatch(regex_source(segment), unquote_segment(segment_text), re.DOTALL)
            if segment_match is None:
                return None
            parts |= {name: value for name, value in segment_match.groupdict().items() if value is not None}
        return parts
