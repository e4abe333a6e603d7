"""The grammar of type texts: ``decimal(10,2) not null``, ``array<struct<a:int>>``, ``ROW(a INT)``, ``integer[]``.

Only the outermost type is parsed; the content of its brackets is returned as text. This module knows no names of types.
"""

from __future__ import annotations

import re

import msgspec

#: What a text may hold besides words: brackets, separators, and quoted runs that hide both.
_DELIMITER = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|[<>()\[\]{},:]")
_CLOSING = {"<": ">", "(": ")", "[": "]", "{": "}"}
_SUFFIXES = ("not null", "null", "primary key", "unique")
_REQUIRED = re.compile(r"\b(?:not null|primary key)\b")
_CUT_FROM = re.compile(r"\b(?:references|default|collate|character set|charset|encode|comment|generated|identity)\b")
_CUT = re.compile(
    r"\b(?:not null|null|primary key|unique|auto_increment|autoincrement|unsigned|signed|zerofill)\b"
    r"|\*(?:rowtime|proctime)\*"
)
_ARRAY = re.compile(r"\[\s*(?:\d+\s*)?\]$")
_QUOTED = re.compile(r"'[^']*'")
_NAME = re.compile(r"(\"[^\"]+\"|`[^`]+`|[^\s\"`]+)\s+(\S.*)", re.DOTALL)
_ITEM = re.compile(r"(?:item|element|array)\s*:\s*(\S.*)", re.DOTALL)
_WRAPPERS = frozenset(("nullable", "lowcardinality", "frozen", "optional"))

_MAX_ROUNDS = 16  # rounds: no text may keep the reading busy

#: Longer texts are not parsed: only their outer type is known.
MAX_LENGTH = 65_536
_MAX_DEPTH = 64


class TypeText(msgspec.Struct, frozen=True, gc=False):
    """A parsed type text.

    ``base`` is in lower case, its words one space apart, without constraints; ``bracket`` is ``(`` (square ones too),
    ``<`` or empty; ``inner`` is the text in the brackets as it was written; ``element_type`` the text of ``x`` in
    ``x[]`` and ``array of x``; ``required`` is true for NOT NULL and PRIMARY KEY.
    """

    base: str
    bracket: str = ""
    inner: str = ""
    element: str = ""
    required: bool = False


def read(text: str) -> TypeText:
    """Return the parsed ``text``; of a text that cannot be parsed only the leading words, without brackets."""
    text = " ".join(text.split())
    required = False
    for _ in range(_MAX_ROUNDS):
        text, suffix = _strip_suffix(text.strip())
        required = required or suffix
        if text.endswith("?"):
            text = text[:-1].rstrip()
        if text.endswith("]") and (array := _ARRAY.search(text)) is not None and not text.lower().startswith("fixed["):
            return TypeText("array", element=text[: array.start()], required=required)
        outer = _outer_type(text, required=required)
        if outer.base not in _WRAPPERS or not outer.inner:
            return outer
        text, required = outer.inner, outer.required
    return TypeText("", required=required)


def _strip_suffix(text: str) -> tuple[str, bool]:
    """Return ``text`` without the constraints and comments at its end, and whether they require a value."""
    required = False
    for _ in range(_MAX_ROUNDS):
        end = text[-16:].lower()
        constraint = next((constraint for constraint in _SUFFIXES if end.endswith(f" {constraint}")), "")
        quote = text.rfind("'", 0, -1) if text.endswith("'") else 0
        if constraint:
            required = required or constraint in {"not null", "primary key"}
            text = text[: -len(constraint)].rstrip()
        elif quote > 0 and text[quote - 1] == " ":
            text = text[:quote].rstrip()
        else:
            break
    return text, required


def _outer_type(text: str, *, required: bool) -> TypeText:
    head, bracket, inner, tail = _split_group(text)
    words = _QUOTED.sub(" ", f"{head} {tail}").lower()
    required = required or _REQUIRED.search(words) is not None
    lowered = head.lower()
    if (cut := _CUT_FROM.search(lowered)) is not None:
        # the brackets belong to the constraint: int default (0)
        words, bracket, inner = lowered[: cut.start()], "", ""
    elif (cut := _CUT_FROM.search(words)) is not None:
        words = words[: cut.start()]
    base = " ".join(_CUT.sub(" ", words).split()).strip("\"`'")
    name, separator, element = base.partition(" of ")
    if separator:
        # the element in its own spelling, with its own brackets
        element = text[re.search(r"\bof\b", text, re.IGNORECASE).end() :].strip()  # type: ignore[union-attr]
        return TypeText(name, element=element, required=required)
    return TypeText(base, "(" if bracket == "[" else bracket, inner, required=required)


def _split_group(text: str) -> tuple[str, str, str, str]:
    """Return the text before the first brackets, the bracket, its content, and the words after it."""
    stack: list[str] = []
    start = end = -1
    tail_parts: list[str] = []
    tail_start = 0
    for match in _DELIMITER.finditer(text):
        token = match[0]
        if token in _CLOSING:
            if not stack:
                if start < 0:
                    start = match.start()
                else:
                    tail_parts.append(text[tail_start : match.start()])
            stack.append(_CLOSING[token])
        elif token in "<>()[]{}":  # noqa: S105 - no secret
            if not stack or stack.pop() != token:
                return _head(text), "", "", ""
            if not stack:
                end = match.start() if end < 0 else end
                tail_start = match.end()
        elif len(token) > 1 and not stack and start >= 0:
            tail_parts.append(text[tail_start : match.start()])
            tail_start = match.end()
    if start < 0:
        return text, "", "", ""
    if stack:
        return _head(text), "", "", ""
    tail_parts.append(text[tail_start:])
    return text[:start], text[start], text[start + 1 : end].strip(), " ".join(tail_parts)


def _head(text: str) -> str:
    return re.split(r"[<>()\[\]{}]", text, maxsplit=1)[0]


def arguments(inner: str) -> list[str]:
    """Return the parts of ``inner`` between its outer commas, blanks around them removed; [] when it cannot be read."""
    parts: list[str] = []
    depth = start = 0
    for match in _DELIMITER.finditer(inner):
        token = match[0]
        if token in _CLOSING:
            depth += 1
        elif token in ">)]}":  # noqa: S105 - no secret
            depth -= 1
        elif token == "," and depth == 0:  # noqa: S105 - no secret
            parts.append(inner[start : match.start()].strip())
            start = match.end()
    last = inner[start:].strip()
    if last:
        parts.append(last)
    return parts if depth == 0 else []


def is_too_deep(text: str) -> bool:
    """Return whether types are nested too deeply to be parsed: each level would read all the remaining text."""
    depth = 0
    for match in _DELIMITER.finditer(text):
        depth += (match[0] in _CLOSING) - (match[0] in ">)]}")
        if depth > _MAX_DEPTH:
            return True
    return False


def element_type(argument: str) -> str:
    """Return the type of an array's element, without Arrow's name for it (``list<item: string>``)."""
    match = _ITEM.fullmatch(argument)
    return match[1] if match is not None else argument


def record_members(parts: list[str]) -> list[tuple[str, str]]:
    """Return (name, type) of a record's members: ``name:type`` (Hive, Spark, Arrow) or ``name type`` (Trino, Flink).

    Returns [] when a part is neither: a record whose members have no names, or a text that cannot be read.
    """
    colons = [_colon_position(part) for part in parts]
    has_colons = any(position >= 0 for position in colons)
    pairs: list[tuple[str, str]] = []
    for part, position in zip(parts, colons, strict=True):
        if has_colons:
            name, kind = part[:position].strip(), part[position + 1 :].strip()
            if position < 0 or not name or not kind:
                return []
        else:
            match = _NAME.fullmatch(part)
            if match is None:
                return []
            name, kind = match[1], match[2]
        if _colon_position(kind) >= 0:
            return []  # Iceberg's own notation: 1: id: required int
        pairs.append((name[1:-1] if len(name) > 2 and name[0] in '"`' and name[-1] == name[0] else name, kind))
    return pairs


def _colon_position(part: str) -> int:
    """Return the position of the first colon outside of brackets and quotes; -1 if the text has none before a bracket."""
    for match in _DELIMITER.finditer(part):
        if match[0] == ":":
            return match.start()
        if match[0] in _CLOSING:
            return -1
    return -1
