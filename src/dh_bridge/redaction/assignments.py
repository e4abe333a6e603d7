"""Secrets behind a name in a text: ``password=x``, ``"token": "x"``, ``X-Api-Key: x``, ``--db-password x``, ``Bearer x``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from dh_bridge.redaction import pairs
from dh_bridge.redaction.mode import MASK
from dh_bridge.redaction.names import secret_name
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.values import (
    BARE,
    LONGEST,
    PLACEHOLDER,
    QUOTES,
    Found,
    is_harmless,
    looks_secret,
    value_behind,
)
from dh_bridge.redaction.words import HALF_KEY, NAME, SCHEME

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"[\w.\-]{2,}")
#: What joins a name and its value.
_SIGN = re.compile(
    r"(?P<close>(?:[\"'`\\\]]{1,6}\)?|&quot;)?)[ \t]{0,40}(?P<sign>=>|->|:=|!=|<>|=|:(?!:)|%3D)[=>~]{0,2}"
)
#: The type between a name and its value: ``DECLARE @password varchar(20) = 'x'``, ``API_KEY: str = "x"``.
_TYPED = re.compile(
    r"[ \t]{0,4}(:?)[ \t]{0,4}([A-Za-z_][\w.]{0,40})(?:[(\[][\w, ]{0,40}[)\]])?[ \t]{0,4}:?=[ \t]{0,4}(?=[NnEebu]?[\"'])"
)
_FLAG_END = re.compile(
    r"(?:[ \t]{1,40}|[\"'][ \t\r\n]{0,8},\s{0,12}(?=[\"'])|,[ \t]{1,4}|[\"']?[ \t]{0,4}\r?\n[ \t]{0,40}-[ \t]{1,4})(?=[^\s-])"
)
#: ``password: |`` of YAML, and the lines below it.
_BLOCK = re.compile(r":[ \t]{1,8}[|>][+-]?[ \t]{0,8}\r?\n([ \t]{1,40})([^\s][^\n]{0,4000}(?:\n\1[^\n]{1,4000}){0,100})")
_TAG = re.compile(r":[ \t]{1,8}!{1,2}[\w!-]{1,40}[ \t]{1,8}")
#: A list behind a name: ``"apiKey": ["x"]``, ``auth=('ann', 'x')``.
_LIST = re.compile(r"[ \t]{0,8}[\[(][ \t\r\n]{0,8}(?=[\"'])")
_ITEM = re.compile(r"([\"'])([^\"'\\\n]{0,400})\1[ \t\r\n]{0,8}(,?)[ \t\r\n]{0,8}")
_SCHEME = re.compile(r"\b(bearer|basic|token|apikey|negotiate)[ \t]{1,4}([\w\-.~+/=]{6,4000})", re.IGNORECASE)
_AUTHORIZATION = re.compile(
    r"(authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:[A-Za-z]{3,12}[ \t]{1,4})?)"
    r"(?!\*{3})([^\s\"',]{4,})(?=[\s\"',]|\Z)(?![ \t]{1,4}\*{3})",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"[A-Za-z]{2,20}\Z")
_KEY = re.compile(r" keys?(?=[\"']?[ \t]{0,4}[:=])")
_LEAST_OF_BEARER = 20
_MAX_SIGNS = 4_000
"""Names of secrets with a sign behind them that are looked at in one text, one by one. A text with more is hidden from there on."""
_MAX_MENTIONS = 4_000
"""Names of secrets without a sign that are looked at in one text. Those behind them are mentions, as in prose and in plans."""
_MARKER = "[REDACTED: the rest of this text, which has more than {:,} names of secrets]"
_ESCAPED = "nrt"
_LONGEST_NAME = 200
_LONG, _MANY = 20_000, 100
_OF_WORDS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"


def without_assignments(text: str, kinds: int, words: tuple[str, ...] = ()) -> str:
    """Return ``text`` without the values that belong to the names of secrets.

    Args:
        text: any text.
        kinds: the kinds of its words.
        words: the words of it that have a kind; none if they are not known.
    """
    if kinds & SCHEME:
        if "uthoriz" in text or "UTHORIZ" in text:
            text = _AUTHORIZATION.sub(_credentials, text)
        text = _SCHEME.sub(_after_scheme, text)
    if kinds & NAME or (kinds & HALF_KEY and _has_spaced_key(text)):
        return _without_values(text, words)
    return text


def _has_spaced_key(text: str) -> bool:
    lower = text.lower()
    return " key" in lower and any(_spaced_name(text, key.start() + 1, "key") for key in _KEY.finditer(lower))


@lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})(?![\\w.\\-])")


def _words(text: str, words: tuple[str, ...]) -> Iterator[re.Match[str]]:
    """Return where the names of secrets may be: of a long text, only its words that are one."""
    if len(text) < _LONG or not words or "\\" in text or not text.isascii():
        return _WORD.finditer(text)
    names = tuple(
        sorted(word for word in words if len(word) > 1 and (secret_name(word) or word.lower() in ("key", "keys")))
    )
    return _pattern(names).finditer(text) if 0 < len(names) < _MANY else _WORD.finditer(text)


def _without_values(text: str, words: tuple[str, ...] = ()) -> str:
    parts: list[str] = []
    done = signs = mentions = 0
    for word in _words(text, words):
        start, end = word.span()
        if start < done or (start and text[start - 1] in _OF_WORDS):
            continue
        name = word[0] if end - start <= _LONGEST_NAME else text[end - _LONGEST_NAME : end]
        if name[0] in _ESCAPED and text[start - 1 : start] == "\\":  # the n of a line's end
            name = name[1:]
        if not secret_name(name):
            name = _spaced_name(text, start, name)
            if not name:
                continue
        sign = _SIGN.match(text, end)
        if sign is not None:
            signs += 1
            if signs > _MAX_SIGNS:
                return "".join([*parts, text[done:start], _MARKER.format(_MAX_SIGNS)])
        else:
            mentions += 1
            if mentions > _MAX_MENTIONS:
                continue
        for found in _secret_of(text, start, end, name, sign) or ():
            if found.begin >= done:
                parts += text[done : found.begin], found.mask
                done = found.end
    return "".join([*parts, text[done:]]) if parts else text


def _spaced_name(text: str, start: int, name: str) -> str:
    """Return the name of which a word is the end: "Secret Access Key: x"."""
    if name.lower() not in ("key", "keys") or text[start - 1 : start] != " ":
        return ""
    before = _LAST_WORD.search(text, max(0, start - 21), start - 1)
    joined = f"{before[0]}_{name}" if before is not None else ""
    return joined if joined and secret_name(joined) else ""


def _secret_of(text: str, start: int, end: int, name: str, sign: re.Match[str] | None) -> list[Found] | None:  # noqa: PLR0911 - a line for each form
    """Return the secrets that belong to the name at a place of a text."""
    if sign is not None:
        if sign["sign"] == ":" and text[start - 1 : start] == ":" and text[end] == ":":  # a part of an ARN
            return None
        block = _BLOCK.match(text, end)
        if block is not None:
            return [Found(*block.span(2))] if not block[2].startswith("***") else None
        tag = _TAG.match(text, end)
        quoted = bool(sign["close"])
        if tag is not None:
            found = value_behind(text, tag.end(), ":", name, quoted=quoted)
        else:
            typed = _TYPED.match(text, end) if not quoted and sign["sign"] == ":" else None
            if typed is not None and typed[2].lower() in rules().types:
                return _only(value_behind(text, typed.end(), "=", name, quoted=False))
            found = value_behind(text, sign.end(), sign["sign"], name, quoted=quoted)
        if found is not None:
            return [found]
        return _of_list(text, sign.end(), name) or pairs.of_name(text, start, end, name)
    typed = _TYPED.match(text, end)
    if typed is not None and typed[2].lower() in rules().types:
        return _only(value_behind(text, typed.end(), "=", name, quoted=False))
    return _flag(text, start, end, name) or pairs.of_name(text, start, end, name)


def _only(found: Found | None) -> list[Found] | None:
    return None if found is None else [found]


def _of_list(text: str, start: int, name: str) -> list[Found] | None:
    """Return the secrets of a list behind a name."""
    opened = _LIST.match(text, start)
    if opened is None:
        return None
    found: list[Found] = []
    position = opened.end()
    last_is_secret = name.lower().endswith("auth")
    while len(found) < 100 and (item := _ITEM.match(text, position)) is not None:
        position = item.end()
        secret = looks_secret(item[2]) or (
            last_is_secret and not item[3] and found == [] and text[position : position + 1] == ")"
        )
        if secret and not PLACEHOLDER.match(item[2]):
            found.append(Found(item.start(2), item.end(2)))
        if not item[3]:
            break
    return found or None


def _flag(text: str, start: int, end: int, name: str) -> list[Found] | None:
    """Return the value behind a flag: ``--password x``, ``'--password', 'x'``, ``- --password`` and ``- x`` of YAML."""
    if text[start] != "-":
        return None
    if start > 0 and text[start - 1] not in " \t\r\n\"'[(,=`":
        return None
    between = _FLAG_END.match(text, end)
    if between is None:
        return None
    begin = between.end()
    quote = text[begin]
    if quote in QUOTES:
        close = text.find(quote, begin + 1, begin + LONGEST)
        stop = close + 1 if close >= 0 else len(text)
    else:
        match = BARE.match(text, begin)
        stop = match.end() if match is not None else begin
    value = text[begin:stop].strip(QUOTES)
    if not value or value.lower() in rules().prose or is_harmless(name.lstrip("-"), value):
        return None
    return [Found(begin, stop)]


def _credentials(match: re.Match[str]) -> str:
    value = match[2]
    return match[0] if is_harmless("authorization", value) else f"{match[1]}{MASK}"


def _after_scheme(match: re.Match[str]) -> str:
    word, value = match[1], match[2]
    if value.endswith("=") and match.string[match.end() : match.end() + 1] in ('"', "'"):  # Bearer error="…"
        return match[0]
    if PLACEHOLDER.match(value) or not (looks_secret(value) or (len(value) >= _LEAST_OF_BEARER and value.isalnum())):
        return match[0]
    if word.lower() == "basic" and not (len(value) >= 12 and any(map(str.isupper, value))):
        return match[0]
    return f"{match[0][: len(match[0]) - len(value)]}{MASK}"
