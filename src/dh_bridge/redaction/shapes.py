"""Secrets that are recognised by their shape alone: user info of URLs, query parameters, armoured keys, tokens."""

from __future__ import annotations

import re
from functools import cache

from dh_bridge.redaction.mode import MASK, REDACTED
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.words import TOKEN

#: ``user:password@``. The password ends at the last @ of the authority; one with a slash ends at the first @ behind it.
_USERINFO = re.compile(
    r"(:(?<=[\w+.-]:)(?:\\?/){2}[^/\\\s:@\"'<>]{0,200}):(?:[^/\s\"'<>]{1,500}@|(?!\d{1,5}[/?#])[^\s\"'<>:?@]{1,200}@)"
)
#: A token in place of the user, as in addresses of Git repositories: no user name is so long and has digits.
_TOKEN_USER = re.compile(r"(https?://)(?=[^/\s:@\d]{0,100}\d)[^/\s:@\"'<>]{20,500}@")
#: The same, URL-encoded: ``postgres%3A%2F%2Fann%3Ax%40db``.
_ENCODED_SLASHES = re.compile("%3A%2F%2F", re.IGNORECASE)
_ENCODED_END = re.compile("[\\s\"'&]|%2F", re.IGNORECASE)
_MAX_USERINFO_LENGTH = 500
#: ``thin:user/password@host`` of Oracle; ``/DB:password=x;`` of DB2; ``/USER=u,PASSWORD=x`` of Teradata (see `texts`).
_ORACLE_LOGIN = re.compile(
    r"(oracle:\w{1,9}:[^\s/@:\"']{1,100}/)(?:\\?\"[^\"\n]{1,200}\"|[^\s@\"'/]{1,200})(?=@)", re.IGNORECASE
)
#: ``user:password@tcp(host)/db`` of Go, ``user:password@/db``.
_GO_USERINFO = re.compile(
    r"(?<![\w.%+/-])([\w.-]{1,64}:)(?!\*{3}@)([^\s@/\"'():]{1,200})(?=@(?:(?:tcp|tcp6|unix)\(|/\w))"
)
_ODBC = re.compile(r"(odbc_connect=)[^&\s\"']{1,2000}", re.IGNORECASE)
_ARMOUR_END = "-----END "
_JWT_HEAD = re.compile(r"(?<![A-Za-z0-9])eyJ[\w-]*")
_JWT_TAIL = re.compile(r"\.[\w-]{8,}(?:\.[\w-]*){0,3}|\.\.[\w-]{8,}(?:\.[\w-]*){1,2}")
_MIN_HEAD_LENGTH = 11
#: No token is shorter.
_MIN_TOKEN_LENGTH = 14


def has_sign(text: str) -> bool:
    """Return whether ``text`` has a sign of a secret with a shape of its own, other than a token that begins a word."""
    return any([sign in text for sign in _signs()])  # noqa: C419 - faster


@cache
def _signs() -> tuple[str, ...]:
    return ("@", "%40", "odbc_connect=", "-----BEGIN", "---- BEGIN", "PuTTY", "eyJ", *rules().inner_prefixes)


def mask_shapes(text: str, kinds: int) -> str:
    """Return ``text`` without the secrets that have a shape of their own; ``kinds`` are those of its words."""
    if not kinds & TOKEN and not has_sign(text):
        return text
    if "@" in text and ":" in text:
        text = _USERINFO.sub(rf"\1:{MASK}@", text)
        text = _TOKEN_USER.sub(rf"\1{MASK}@", text)
        if "racle:" in text or "RACLE:" in text:
            text = _ORACLE_LOGIN.sub(rf"\1{MASK}", text)
        if "@tcp" in text or "@unix(" in text or "@/" in text:
            text = _GO_USERINFO.sub(rf"\1{MASK}", text)
    if "%40" in text:
        text = _mask_encoded_userinfo(text)
    if "odbc_connect=" in text:
        text = _ODBC.sub(rf"\1{MASK}", text)
    if len(text) < _MIN_TOKEN_LENGTH:
        return text
    if "-----BEGIN" in text:
        text = _mask_armour(text)
    if "---- BEGIN" in text or "PuTTY" in text:
        for file in rules().key_files:
            text = _mask_key_files(text, file.begin, file.end)
    if "eyJ" in text:
        text = _mask_web_tokens(text)
    return _mask_tokens(text, kinds)


def _mask_tokens(text: str, kinds: int) -> str:
    secret_rules = rules()
    prefixes = [prefix for prefix in secret_rules.inner_prefixes if prefix in text]
    if kinds & TOKEN:
        prefixes += set(secret_rules.token_start.findall(text))
    for prefix in prefixes:
        text = secret_rules.tokens[prefix].mask_tokens(text, REDACTED)
    return text


def _mask_encoded_userinfo(text: str) -> str:
    parts: list[str] = []
    cursor = 0
    for slashes in _ENCODED_SLASHES.finditer(text):
        start = slashes.end()
        if start < cursor:
            continue
        end = text.find("%40", start, start + _MAX_USERINFO_LENGTH)
        user, colon, password = text[start : max(start, end)].replace("%3a", "%3A").partition("%3A")
        if end > 0 and colon and password and not _ENCODED_END.search(user + password):
            parts += text[cursor : start + len(user) + len(colon)], MASK
            cursor = end
    return "".join([*parts, text[cursor:]]) if parts else text


def _mask_armour(text: str) -> str:
    """Return ``text`` without armoured keys; after an incomplete key, the rest of the text is hidden."""
    parts: list[str] = []
    cursor = 0
    while (begin := rules().armour.search(text, cursor)) is not None:
        parts += text[cursor : begin.start()], REDACTED
        end = text.find(_ARMOUR_END, begin.end())
        cursor = len(text) if end < 0 else end + len(_ARMOUR_END)
        close = text.find("-----", cursor) if end >= 0 else -1
        if close >= 0:
            cursor = close + len("-----")
    return "".join([*parts, text[cursor:]])


def _mask_key_files(text: str, begin: str, end: str) -> str:
    """Return ``text`` without the parts between two texts; a part without an end hides the rest."""
    parts: list[str] = []
    cursor = 0
    while (start := text.find(begin, cursor)) >= 0:
        parts += text[cursor:start], REDACTED
        close = text.find(end, start + len(begin))
        if close < 0:
            return "".join(parts)
        cursor = close + len(end)
    return "".join([*parts, text[cursor:]])


def _mask_web_tokens(text: str) -> str:
    """Return ``text`` without JSON web tokens; a head is looked at once, however many begin inside it."""
    parts: list[str] = []
    cursor = position = 0
    while (head := _JWT_HEAD.search(text, position)) is not None:
        position = head.end()
        tail = _JWT_TAIL.match(text, position) if position - head.start() >= _MIN_HEAD_LENGTH else None
        if tail is not None:
            parts += text[cursor : head.start()], REDACTED
            cursor = position = tail.end()
    return "".join([*parts, text[cursor:]])
