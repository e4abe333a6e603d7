"""Secrets behind a name in a text: ``password=x``, ``"token": "x"``, ``X-Api-Key: x``, ``--db-password x``, ``Bearer x``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from dh_bridge.redaction import pairs, prose
from dh_bridge.redaction.mode import MASK
from dh_bridge.redaction.names import is_secret_name
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.values import (
    BARE_VALUE,
    MAX_VALUE_LENGTH,
    PLACEHOLDER,
    QUOTE_CHARS,
    SecretSpan,
    find_value,
    is_harmless,
    looks_secret,
)
from dh_bridge.redaction.words import HALF_KEY, NAME, SCHEME

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(r"[\w.\-]{2,}")
#: What joins a name and its value.
_OPERATOR = re.compile(
    r"(?P<close>(?:[\"'`\\\]]{1,6}\)?|&quot;)?)[ \t]{0,40}(?P<sign>=>|->|:=|!=|<>|=|:(?!:)|%3D)[=>~]{0,2}"
)
#: The type between a name and its value: ``DECLARE @password varchar(20) = 'x'``, ``API_KEY: str = "x"``.
_TYPE_ANNOTATION = re.compile(
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
_DIGEST = re.compile(
    r"(\bdigest\s[^\r\n]{0,400}?\bresponse\s{0,2}=\s{0,2}\\{0,3}\"?)([^\s\"',\\*]{4,200})", re.IGNORECASE
)
_LAST_WORD = re.compile(r"[A-Za-z]{2,20}\Z")
_KEY = re.compile(r" keys?(?![\w.\-])")
_MIN_BEARER_LENGTH = 20
_MAX_ASSIGNMENTS = 4_000
"""Names of secrets with a sign behind them that are looked at in one text, one by one. A text with more is hidden from there on."""
_MAX_MENTIONS = 20_000
"""The same for names of secrets without a sign, as in prose and in plans."""
_MAX_LIST_ITEMS = 10_000
_TRUNCATION_START = "[REDACTED: the rest of this text"
_TRUNCATION_TEXT = f"{_TRUNCATION_START}, which has more than {{:,}} names of secrets]"
_ESCAPE_CHARS = "nrt"
_MAX_NAME_LENGTH = 200
_LONG_TEXT_LENGTH, _MAX_PATTERN_NAMES = 20_000, 100
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"


def mask_assignments(text: str, kinds: int, classified: tuple[str, ...] = ()) -> str:
    """Return ``text`` without the values that belong to the names of secrets.

    Args:
        text: any text.
        kinds: the kinds of its words.
        classified: the words of it that have a kind; none if they are not known.
    """
    if kinds & SCHEME:
        if "uthoriz" in text or "UTHORIZ" in text:
            text = _AUTHORIZATION.sub(_mask_credentials, text)
            if "igest " in text:
                text = _DIGEST.sub(rf"\1{MASK}", text)
        text = _SCHEME.sub(_mask_scheme_token, text)
    if kinds & NAME or (kinds & HALF_KEY and _has_key_phrase(text)):
        return _mask_values(text, classified)
    return text


def _has_key_phrase(text: str) -> bool:
    lower = text.lower()
    return " key" in lower and any(_phrase_name(text, key.start() + 1, "key") for key in _KEY.finditer(lower))


@lru_cache(maxsize=256)
def _names_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})(?![\\w.\\-])")


def _name_matches(text: str, classified: tuple[str, ...]) -> Iterator[re.Match[str]]:
    """Return where the names of secrets may be: of a long text, only its words that are one."""
    if len(text) < _LONG_TEXT_LENGTH or not classified or "\\" in text or not text.isascii():
        return _NAME.finditer(text)
    names = tuple(
        sorted(
            classified_word
            for classified_word in classified
            if len(classified_word) > 1
            and (is_secret_name(classified_word) or classified_word.lower() in ("key", "keys"))
        )
    )
    return _names_pattern(names).finditer(text) if 0 < len(names) < _MAX_PATTERN_NAMES else _NAME.finditer(text)


def _mask_values(text: str, classified: tuple[str, ...] = ()) -> str:
    parts: list[str] = []
    cursor = assignment_count = mention_count = 0
    for match in _name_matches(text, classified):
        start, end = match.span()
        if start < cursor or (start and text[start - 1] in _NAME_CHARS):
            continue
        name = match[0] if end - start <= _MAX_NAME_LENGTH else text[end - _MAX_NAME_LENGTH : end]
        if name[0] in _ESCAPE_CHARS and text[start - 1 : start] == "\\":  # the n of a line's end
            name = name[1:]
        if not is_secret_name(name):
            name = _phrase_name(text, start, name)
            if not name:
                continue
        operator = _OPERATOR.match(text, end)
        if operator is not None:
            assignment_count += 1
            if assignment_count > _MAX_ASSIGNMENTS:
                return "".join([*parts, text[cursor:start], _TRUNCATION_TEXT.format(_MAX_ASSIGNMENTS)])
        else:
            mention_count += 1
            if mention_count > _MAX_MENTIONS:
                if (
                    text.find(_TRUNCATION_START, max(0, start - len(_TRUNCATION_TEXT)), start) >= 0
                ):  # it was truncated before
                    break
                return "".join([*parts, text[cursor:start], _TRUNCATION_TEXT.format(_MAX_MENTIONS)])
        for span in _find_secrets(text, start, end, name, operator) or ():
            if span.begin >= cursor:
                parts += text[cursor : span.begin], span.mask
                cursor = span.end
    return "".join([*parts, text[cursor:]]) if parts else text


def _phrase_name(text: str, start: int, name: str) -> str:
    """Return the name of which a word is the end: "Secret Access Key: x"."""
    if name.lower() not in ("key", "keys") or text[start - 1 : start] != " ":
        return ""
    preceding_word = _LAST_WORD.search(text, max(0, start - 21), start - 1)
    full_name = f"{preceding_word[0]}_{name}" if preceding_word is not None else ""
    return full_name if full_name and is_secret_name(full_name) else ""


def _find_secrets(  # noqa: PLR0911 - a rule each
    text: str, start: int, end: int, name: str, operator: re.Match[str] | None
) -> list[SecretSpan] | None:
    """Return the secrets that belong to the name at a position of a text."""
    if operator is not None:
        if operator["sign"] == ":" and text[start - 1 : start] == ":" and text[end] == ":":  # a part of an ARN
            return None
        block_match = _BLOCK.match(text, end)
        if block_match is not None:
            return [SecretSpan(*block_match.span(2))] if not block_match[2].startswith("***") else None
        tag_match = _TAG.match(text, end)
        is_quoted = bool(operator["close"])
        if tag_match is not None:
            span = find_value(text, tag_match.end(), ":", name, is_quoted=is_quoted)
        else:
            type_match = _TYPE_ANNOTATION.match(text, end) if not is_quoted and operator["sign"] == ":" else None
            if type_match is not None and type_match[2].lower() in rules().types:
                return _to_list(find_value(text, type_match.end(), "=", name, is_quoted=False))
            span = find_value(text, operator.end(), operator["sign"], name, is_quoted=is_quoted)
        if span is not None:
            return [span]
        return _find_list_secrets(text, operator.end(), name) or pairs.find_secrets(text, start, end, name)
    type_match = _TYPE_ANNOTATION.match(text, end)
    if type_match is not None and type_match[2].lower() in rules().types:
        return _to_list(find_value(text, type_match.end(), "=", name, is_quoted=False))
    if name.lower().endswith(prose.PIPED_FLAGS):
        return prose.find_piped_secret(text, start, name)
    return (
        _find_flag_value(text, start, end, name)
        or pairs.find_secrets(text, start, end, name)
        or prose.find_prose_secrets(text, start, end, name)
    )


def _to_list(span: SecretSpan | None) -> list[SecretSpan] | None:
    return None if span is None else [span]


def _find_list_secrets(text: str, start: int, name: str) -> list[SecretSpan] | None:
    """Return the secrets of a list behind a name."""
    list_start = _LIST.match(text, start)
    if list_start is None:
        return None
    spans: list[SecretSpan] = []
    position = list_start.end()
    last_is_secret = name.lower().endswith("auth")
    while len(spans) < _MAX_LIST_ITEMS and (item := _ITEM.match(text, position)) is not None:
        position = item.end()
        is_secret = looks_secret(item[2]) or (
            last_is_secret and not item[3] and spans == [] and text[position : position + 1] == ")"
        )
        if is_secret and not PLACEHOLDER.match(item[2]):
            spans.append(SecretSpan(item.start(2), item.end(2)))
        if not item[3]:
            break
    return spans or None


def _find_flag_value(text: str, start: int, end: int, name: str) -> list[SecretSpan] | None:
    """Return the value behind a flag: ``--password x``, ``'--password', 'x'``, ``- --password`` and ``- x`` of YAML."""
    if text[start] != "-":
        return None
    if start > 0 and text[start - 1] not in " \t\r\n\"'[(,=`":
        return None
    separator = _FLAG_END.match(text, end)
    if separator is None:
        return None
    begin = separator.end()
    quote = text[begin]
    if quote in QUOTE_CHARS:
        close = text.find(quote, begin + 1, begin + MAX_VALUE_LENGTH)
        value_end = close + 1 if close >= 0 else len(text)
    else:
        match = BARE_VALUE.match(text, begin)
        value_end = match.end() if match is not None else begin
    value = text[begin:value_end].strip(QUOTE_CHARS)
    if not value or value.lower() in rules().prose or is_harmless(name.lstrip("-"), value):
        return None
    return [SecretSpan(begin, value_end)]


def _mask_credentials(match: re.Match[str]) -> str:
    value = match[2]
    return match[0] if is_harmless("authorization", value) else f"{match[1]}{MASK}"


def _mask_scheme_token(match: re.Match[str]) -> str:
    scheme, value = match[1], match[2]
    if value.endswith("=") and match.string[match.end() : match.end() + 1] in ('"', "'"):  # Bearer error="…"
        return match[0]
    if PLACEHOLDER.match(value) or not (looks_secret(value) or (len(value) >= _MIN_BEARER_LENGTH and value.isalnum())):
        return match[0]
    if scheme.lower() == "basic" and not (len(value) >= 12 and any(map(str.isupper, value))):
        return match[0]
    return f"{match[0][: len(match[0]) - len(value)]}{MASK}"
