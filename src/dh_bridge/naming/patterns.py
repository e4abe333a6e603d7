"""The pattern language of ``mappings/naming`` and of user rules: literal text, ``{part}``, ``[optional]``, ``{*rest}``.

``{part=value}`` is a part with a value: in a template its default, in a pattern the only allowed value. ``{_}`` is a part that
is ignored. A pattern reads text, a template writes it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import MappingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_LEXER = re.compile(
    r"\{(?P<rest>\*?)(?P<name>[A-Za-z_]\w*)(?:=(?P<value>[^{}]*))?\}|(?P<mark>[\[\]])|(?P<text>[^{}\[\]]+)"
)
NOT_IN_NAMESPACE = "/:@;,?\\"
_SEPARATORS = "./:"


class PatternPart(NamedTuple):
    """``{name}``, ``{*name}`` (``rest``) or ``{name=value}``."""

    name: str
    rest: bool = False
    value: str | None = None


class OptionalGroup(NamedTuple):
    """``[…]``: text that may be absent."""

    tokens: tuple[Token, ...]


Token = str | PatternPart | OptionalGroup


def tokenize(text: str, location: str) -> tuple[Token, ...]:
    """Return the tokens of a pattern or template; a MappingError names ``location`` when it cannot be read."""
    levels: list[list[Token]] = [[]]
    position = 0
    while position < len(text):
        match = _LEXER.match(text, position)
        if match is None:
            raise MappingError(
                f"cannot parse {text!r} at character {position + 1}", location=location, remedy="fix the braces"
            )
        position = match.end()
        if match["mark"] == "[":
            levels.append([])
        elif match["mark"] == "]":
            if len(levels) == 1:
                raise MappingError(f"{text!r} has a ] without a [", location=location, remedy="fix the brackets")
            group = OptionalGroup(tuple(levels.pop()))
            levels[-1].append(group)
        elif match["text"] is not None:
            levels[-1].append(match["text"])
        else:
            levels[-1].append(PatternPart(match["name"], bool(match["rest"]), match["value"]))
    if len(levels) > 1:
        raise MappingError(f"{text!r} has a [ without a ]", location=location, remedy="fix the brackets")
    return tuple(levels[0])


def parts_of(row: Sequence[Token]) -> Iterator[PatternPart]:
    """Yield the parts of ``row``, those inside of groups too, but not ``{_}``."""
    for token in row:
        if isinstance(token, OptionalGroup):
            yield from parts_of(token.tokens)
        elif isinstance(token, PatternPart) and token.name != "_":
            yield token


def _literal_length(row: Sequence[Token]) -> int:
    """Return how many characters of literal text every match of ``row`` holds."""
    length = 0
    for token in row:
        if isinstance(token, str):
            length += len(token)
        elif isinstance(token, PatternPart) and token.value is not None:
            length += len(token.value)
    return length


def _part_expression(part: PatternPart, previous_char: str, next_char: str, banned: str) -> str:
    if part.value is not None:
        inner = re.escape(part.value)
    elif part.rest:
        inner = "[^/;]+" if part.name == "hosts" and banned else ".+"
    elif part.name == "port":
        inner = r"\d+"
    else:
        # a part holds none of the separators that touch it: {cluster}.{region} has no dots, {host}:{port} may
        excluded_chars = banned + "".join(
            separator
            for separator in _SEPARATORS
            if separator in (previous_char, next_char) and separator not in banned
        )
        inner = f"[^{re.escape(excluded_chars)}]+" if excluded_chars else ".+"
    if part.name == "host" and banned:
        inner = rf"(?:\[[^\]]+\]|{inner})"  # an IPv6 address
    return inner if part.name == "_" else f"(?P<{part.name}>{inner})"


def regex_source(row: Sequence[Token], banned: str = "") -> str:
    """Return ``row`` as a regular expression with a named group for each part."""
    fragments = []
    for index, token in enumerate(row):
        if isinstance(token, str):
            fragments.append(re.escape(token))
        elif isinstance(token, OptionalGroup):
            fragments.append(f"(?:{regex_source(token.tokens, banned)})?")
        else:
            previous_token, next_token = row[index - 1] if index else "", row[index + 1] if index + 1 < len(row) else ""
            fragments.append(
                _part_expression(
                    token,
                    previous_token[-1:] if isinstance(previous_token, str) else "",
                    next_token[:1] if isinstance(next_token, str) else "",
                    banned,
                )
            )
    return "".join(fragments)


class NamingPattern:
    """A pattern over a whole text. ``literal_length`` counts its literal characters, ``names`` are its parts."""

    __slots__ = ("_banned", "_match", "_row", "literal_length", "names", "text")

    def __init__(self, text: str, location: str, *, namespace: bool = False) -> None:
        self._row = (
            tokenize(text, location) if "{" in text else (text,)
        )  # without a part everything is literal, IPv6 brackets too
        self._banned = NOT_IN_NAMESPACE if namespace else ""
        self._match: Callable[[str], re.Match[str] | None] | None = None
        names = [part.name for part in parts_of(self._row)]
        self.text = text
        self.literal_length = _literal_length(self._row)
        self.names = frozenset(names)
        if len(names) != len(self.names):
            raise MappingError(f"{text!r} contains a part twice", location=location, remedy="use each part once")

    def match(self, text: str) -> dict[str, str] | None:
        """Return the parts of ``text``, None when it does not match as a whole."""
        if self._match is None:  # most schemes never come up: compiling all patterns at start would cost 15 ms
            self._match = re.compile(regex_source(self._row, self._banned), re.DOTALL).fullmatch
        match = self._match(text)
        return (
            None if match is None else {name: value for name, value in match.groupdict().items() if value is not None}
        )


class NameTemplate:
    """A template over parts. A missing part takes its default; else it vanishes with its dot or slash, or with its group."""

    __slots__ = ("_format", "_keys", "names", "needs", "row", "text", "tiers")

    def __init__(self, text: str, location: str) -> None:
        self.text = text
        self.row = tokenize(text, location)
        self.names = tuple(part.name for part in parts_of(self.row))
        self.tiers = tuple(token for token in self.row if isinstance(token, PatternPart))
        self.needs = frozenset(part.name for part in self.tiers if part.value is None)
        is_plain = all(
            isinstance(token, str) or (isinstance(token, PatternPart) and token.value is None) for token in self.row
        )
        self._keys = self.names if is_plain else ()
        self._format = (
            "".join("%s" if isinstance(token, PatternPart) else str(token).replace("%", "%%") for token in self.row)
            if is_plain
            else ""
        )

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text for ``values``."""
        if self._format:
            try:
                return self._format % tuple([values[key] for key in self._keys])
            except KeyError:
                pass
        return _fill_tokens(self.row, values)

    def fill_exactly(self, values: Mapping[str, str]) -> str | None:
        """Return the text for ``values``, None when a part outside of a group is missing and has no default."""
        if self._format:
            try:
                return self._format % tuple([values[key] for key in self._keys])
            except KeyError:
                return None
        if not self.needs <= values.keys():
            return None
        return _fill_tokens(self.row, values)


def _fill_tokens(row: Sequence[Token], values: Mapping[str, str]) -> str:
    text = ""
    is_part_missing = False  # a part was missing: the dot or slash beside it goes too
    for token in row:
        if isinstance(token, str):
            text += token[1:] if is_part_missing and token.startswith((".", "/")) else token
        elif isinstance(token, OptionalGroup):
            if all(part.name in values for part in parts_of(token.tokens)):
                text += _fill_tokens(token.tokens, values)
        else:
            value = values.get(token.name, token.value)
            is_part_missing = value is None
            if value is not None:
                text += value
            continue
        is_part_missing = False
    return text[:-1] if is_part_missing and text.endswith(".") else text
