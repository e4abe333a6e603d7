"""The pattern language of ``mappings/naming`` and of user rules: literal text, ``{part}``, ``[optional]``, ``{*rest}``.

``{part=value}`` names a part and its value: in a template the one it has by default, in a pattern the only one it may
have. ``{_}`` is a part that nobody asks for. A pattern reads text, a template writes it.
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


class Part(NamedTuple):
    """``{name}``, ``{*name}`` (``rest``) or ``{name=value}``."""

    name: str
    rest: bool = False
    value: str | None = None


class Group(NamedTuple):
    """``[…]``: text that may be absent."""

    tokens: tuple[Token, ...]


Token = str | Part | Group


def tokens(text: str, where: str) -> tuple[Token, ...]:
    """Return the tokens of a pattern or template; a MappingError names ``where`` when it cannot be read."""
    levels: list[list[Token]] = [[]]
    at = 0
    while at < len(text):
        found = _LEXER.match(text, at)
        if found is None:
            raise MappingError(f"{text!r} cannot be read at character {at + 1}", where=where, now="mend the braces")
        at = found.end()
        if found["mark"] == "[":
            levels.append([])
        elif found["mark"] == "]":
            if len(levels) == 1:
                raise MappingError(f"{text!r} closes a bracket that is not open", where=where, now="mend the brackets")
            group = Group(tuple(levels.pop()))
            levels[-1].append(group)
        elif found["text"] is not None:
            levels[-1].append(found["text"])
        else:
            levels[-1].append(Part(found["name"], bool(found["rest"]), found["value"]))
    if len(levels) > 1:
        raise MappingError(f"{text!r} leaves a bracket open", where=where, now="mend the brackets")
    return tuple(levels[0])


def parts_of(row: Sequence[Token]) -> Iterator[Part]:
    """Yield the parts of ``row``, those inside of groups too, but not ``{_}``."""
    for token in row:
        if isinstance(token, Group):
            yield from parts_of(token.tokens)
        elif isinstance(token, Part) and token.name != "_":
            yield token


def _literal(row: Sequence[Token]) -> int:
    """Return how many characters of literal text every match of ``row`` holds."""
    length = 0
    for token in row:
        if isinstance(token, str):
            length += len(token)
        elif isinstance(token, Part) and token.value is not None:
            length += len(token.value)
    return length


def _one(part: Part, before: str, after: str, banned: str) -> str:
    if part.value is not None:
        inner = re.escape(part.value)
    elif part.rest:
        inner = ".+"
    elif part.name == "port":
        inner = r"\d+"
    else:
        # a part holds none of the separators that touch it: {cluster}.{region} has no dots, {host}:{port} may
        shut = banned + "".join(mark for mark in _SEPARATORS if mark in (before, after) and mark not in banned)
        inner = f"[^{re.escape(shut)}]+" if shut else ".+"
    if part.name == "host" and banned:
        inner = rf"(?:\[[^\]]+\]|{inner})"  # an IPv6 address
    return inner if part.name == "_" else f"(?P<{part.name}>{inner})"


def expression(row: Sequence[Token], banned: str = "") -> str:
    """Return ``row`` as a regular expression with a named group for each part."""
    made = []
    for index, token in enumerate(row):
        if isinstance(token, str):
            made.append(re.escape(token))
        elif isinstance(token, Group):
            made.append(f"(?:{expression(token.tokens, banned)})?")
        else:
            before, after = row[index - 1] if index else "", row[index + 1] if index + 1 < len(row) else ""
            made.append(
                _one(
                    token,
                    before[-1:] if isinstance(before, str) else "",
                    after[:1] if isinstance(after, str) else "",
                    banned,
                )
            )
    return "".join(made)


class Pattern:
    """A pattern over a whole text. ``literal`` counts its literal characters, ``names`` are its parts."""

    __slots__ = ("_banned", "_match", "_row", "literal", "names", "text")

    def __init__(self, text: str, where: str, *, namespace: bool = False) -> None:
        self._row = (
            tokens(text, where) if "{" in text else (text,)
        )  # without a part everything is literal, IPv6 brackets too
        self._banned = NOT_IN_NAMESPACE if namespace else ""
        self._match: Callable[[str], re.Match[str] | None] | None = None
        names = [part.name for part in parts_of(self._row)]
        self.text = text
        self.literal = _literal(self._row)
        self.names = frozenset(names)
        if len(names) != len(self.names):
            raise MappingError(f"{text!r} names a part twice", where=where, now="name each part once")

    def match(self, text: str) -> dict[str, str] | None:
        """Return the parts of ``text``, None when it does not match as a whole."""
        if self._match is None:  # most schemes never come up: compiling all patterns at start would cost 15 ms
            self._match = re.compile(expression(self._row, self._banned), re.DOTALL).fullmatch
        found = self._match(text)
        return (
            None if found is None else {name: value for name, value in found.groupdict().items() if value is not None}
        )


class Template:
    """A template over parts. A missing part takes its default; else it vanishes with its dot or slash, or with its group."""

    __slots__ = ("_format", "_keys", "names", "needs", "row", "text", "tiers")

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.row = tokens(text, where)
        self.names = tuple(part.name for part in parts_of(self.row))
        self.tiers = tuple(token for token in self.row if isinstance(token, Part))
        self.needs = frozenset(part.name for part in self.tiers if part.value is None)
        plain = all(isinstance(token, str) or (isinstance(token, Part) and token.value is None) for token in self.row)
        self._keys = self.names if plain else ()
        self._format = (
            "".join("%s" if isinstance(token, Part) else str(token).replace("%", "%%") for token in self.row)
            if plain
            else ""
        )

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text for ``values``."""
        if self._format:
            try:
                return self._format % tuple([values[key] for key in self._keys])
            except KeyError:
                pass
        return _fill(self.row, values)

    def exact(self, values: Mapping[str, str]) -> str | None:
        """Return the text for ``values``, None when a part outside of a group is missing and has no default."""
        if self._format:
            try:
                return self._format % tuple([values[key] for key in self._keys])
            except KeyError:
                return None
        if not self.needs <= values.keys():
            return None
        return _fill(self.row, values)


def _fill(row: Sequence[Token], values: Mapping[str, str]) -> str:
    made = ""
    missing = False  # a part was missing: the dot or slash beside it goes too
    for token in row:
        if isinstance(token, str):
            made += token[1:] if missing and token.startswith((".", "/")) else token
        elif isinstance(token, Group):
            if all(part.name in values for part in parts_of(token.tokens)):
                made += _fill(token.tokens, values)
        else:
            value = values.get(token.name, token.value)
            missing = value is None
            if value is not None:
                made += value
            continue
        missing = False
    return made[:-1] if missing and made.endswith(".") else made
