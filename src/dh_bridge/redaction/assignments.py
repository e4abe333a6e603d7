"""Secrets behind a name in a text: ``password=x``, ``"token": "x"``, ``X-Api-Key: x``, ``--db-password x``, ``Bearer x``."""

from __future__ import annotations

import re

from dh_bridge.redaction.mode import MASK, REDACTED
from dh_bridge.redaction.names import secret_name
from dh_bridge.redaction.rules import rules

_SIGN = re.compile("[=:]|%3D")
_NAME_BACKWARDS = re.compile(r"[\w.\-]{2,100}")
_BARE = re.compile(r"[^\s\"'`&;,)}\]<>|\\]{1,2000}")
_BARE_OF_URL = re.compile(r"(?:[^\s\"'&;<>|\\,]|,(?![\w.-]{1,40}=|\s|$)){1,2000}")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_PLACEHOLDER = re.compile(
    r"\$\{|\$\(|\{\{|%\(|\$[A-Z_]+\Z|<[\w -]+>|\[REDACTED|\*{3}|[*xX.]{3,}\Z|os\.environ|os\.getenv|env\[|None\b|null\b|true\Z|false\Z",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_CALL = re.compile(r"[A-Za-z_][\w.]*[(\[]")
_SPACES = " \t"
_QUOTES = "\"'`"
_BEHIND = 104  # characters before a sign that may be its name, with quotes and blanks
_PASSWORDS = ("password", "passwd", "passphrase", "pwd", "_key", "-key", "apikey", "secret", "_pw", "passcode")
#: A flag begins a word, so that a line of dashes is looked at once.
_FLAG = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]{1,60})[ \t]+(?=[^\s-])")
_SCHEME = re.compile(r"\b(bearer|basic|token|apikey|negotiate)[ \t]{1,4}([\w\-.~+/=]{6,4000})", re.IGNORECASE)
_AUTHORIZATION = re.compile(
    r"(authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:[A-Za-z]{3,12}[ \t]{1,4})?)"
    r"(?!\*{3})([^\s\"',]{4,})(?=[\s\"',]|\Z)(?![ \t]{1,4}\*{3})",
    re.IGNORECASE,
)
_SYMBOLS = frozenset("!@#$%^&*+=~?")
_LEAST, _LEAST_OF_DIGITS, _LEAST_OF_BEARER = 6, 8, 20
_MAX_NAMES = 2_000
"""Names of secrets in one text whose values are looked at, one by one. A text with more is hidden from there on."""


def without_assignments(text: str) -> str:
    """Return ``text`` without the values that stand behind the names of secrets."""
    if "uthoriz" in text or "UTHORIZ" in text:
        text = _AUTHORIZATION.sub(_credentials, text)
    if " " in text:
        lower = text.lower()
        if "bearer" in lower or "basic " in lower or "token " in lower or "apikey " in lower or "negotiate" in lower:
            text = _SCHEME.sub(_after_scheme, text)
        if "-" in text:
            text = _without_flags(text)
    return _without_values(text) if "=" in text or ":" in text or "%3D" in text else text


def looks_secret(value: str) -> bool:
    """Return whether a word looks like a secret rather than like a word of prose or code."""
    value = value.rstrip(".,:;")
    if len(value) < _LEAST or _DATE.match(value) or _DOTTED.match(value):
        return False
    letters = digits = symbols = False
    for char in value[:200]:
        letters = letters or char.isalpha()
        digits = digits or char.isdigit()
        symbols = symbols or char in _SYMBOLS
    return (digits and (letters or len(value) >= _LEAST_OF_DIGITS)) or (symbols and letters)


def _without_values(text: str) -> str:
    parts: list[str] = []
    done = names = 0
    for sign in _SIGN.finditer(text):
        start = sign.start()
        if start < done or start < 2:
            continue
        if sign[0] == ":" and (
            text[start + 1 : start + 2] == ":" or text[start - 1] == ":"
        ):  # a cast of SQL, a scope of C++
            continue
        before = text[start - 3 : start] if start > 2 else text[:start]
        if not (before[-1].isalnum() or before[-1] in " \t\"'`\\]_"):
            continue
        name, quoted = _name_before(text, start)
        if not name or not secret_name(name):
            continue
        names += 1
        if names > _MAX_NAMES:
            return "".join([*parts, text[done:start], REDACTED])
        span = _value_behind(text, sign.end(), sign[0], name, quoted=quoted)
        if span is not None:
            parts += text[done : span[0]], MASK
            done = span[1]
    return "".join([*parts, text[done:]]) if parts else text


def _name_before(text: str, end: int) -> tuple[str, bool]:
    """Return the name in front of a sign, and whether it is quoted."""
    window = text[max(0, end - _BEHIND) : end].rstrip(_SPACES)
    bare = window.rstrip("\"'`\\]")
    match = _NAME_BACKWARDS.match(bare[::-1])
    if match is None:
        return "", False
    name = match[0][::-1]
    if name.lower() in ("key", "keys"):  # "Secret Access Key: x"
        earlier = bare[: -len(name)]
        more = _NAME_BACKWARDS.match(earlier.rstrip(_SPACES)[::-1])
        if more is not None and len(earlier) - len(earlier.rstrip(_SPACES)) == 1:
            name = f"{more[0][::-1]}_{name}"
    return name, len(bare) < len(window)


def _value_behind(text: str, start: int, sign: str, name: str, *, quoted: bool) -> tuple[int, int] | None:
    """Return where the secret behind a sign begins and ends; None where there is none."""
    tight = text[start - 2 : start - 1] not in _SPACES
    while start < len(text) and text[start] in "=>~":
        start += 1
    begin = start
    limit = min(len(text), start + 8)
    while begin < limit and text[begin] in _SPACES:
        begin += 1
    if begin >= len(text) or text.startswith(MASK, begin):
        return None
    spaced = begin > start
    inner = begin
    while inner < min(len(text), begin + 4) and text[inner] == "\\":
        inner += 1
    if inner < len(text) and text[inner] in _QUOTES:
        return _quoted_value(text, begin, inner, colon=sign == ":", name_quoted=quoted)
    if name.lower().endswith("cookie") and sign == ":":
        return _to_end_of_line(text, begin)
    pattern = _BARE_OF_URL if sign == "=" and not spaced and text[begin] not in "([{" else _BARE
    match = (_BARE if _in_brackets(text, begin) else pattern).match(text, begin)
    if match is None:
        return None
    value = match[0]
    if _PLACEHOLDER.match(value) or value == MASK:
        return None
    if sign == ":":
        secret = _behind_colon(text, value, match.end(), name, spaced=spaced)
    elif spaced or not tight:
        secret = (looks_secret(value) or _ends_line(text, value, match.end(), name)) and not _CALL.match(value)
    else:
        reference = _DOTTED.match(value) is not None and secret_name(value)
        secret = not reference and not _CALL.match(value)
    return (begin, match.end()) if secret else None


def _in_brackets(text: str, begin: int) -> bool:
    """Return whether the value may stand in brackets, whose end is no part of it: ``connect(password=x, y)``."""
    return text.rfind("(", max(0, begin - 200), begin) >= 0 or text.rfind("{", max(0, begin - 200), begin) >= 0


def _behind_colon(text: str, value: str, end: int, name: str, *, spaced: bool) -> bool:
    if not spaced:
        return _is_password(name) and looks_secret(value)
    if value.lower().rstrip(".,;:") in rules().prose:
        return False
    if looks_secret(value):
        return True
    return _ends_line(text, value, end, name)


def _ends_line(text: str, value: str, end: int, name: str) -> bool:
    """Return whether a word may be a password: the last one of a line, behind a name that leaves no doubt."""
    last = end >= len(text) or text[end] in "\r\n\\"
    return last and _is_password(name) and len(value) >= _LEAST and value.isalnum()


def _is_password(name: str) -> bool:
    lower = name.lower()
    return lower.endswith(_PASSWORDS) or lower.startswith("x-")


def _quoted_value(text: str, begin: int, inner: int, *, colon: bool, name_quoted: bool) -> tuple[int, int] | None:
    quote = text[inner]
    close = text.find(quote, inner + 1)
    while close > 0 and quote == "'" and text[close : close + 2] == "''":
        close = text.find(quote, close + 2)
    value = text[inner + 1 : close if close >= 0 else len(text)].rstrip("\\")
    if not value.strip() or _PLACEHOLDER.match(value):
        return None
    if colon and not name_quoted and not (len(value) >= _LEAST and " " not in value):
        return None
    return begin, close + 1 if close >= 0 else len(text)


def _to_end_of_line(text: str, begin: int) -> tuple[int, int] | None:
    end = min((place for sign in "\r\n\"'" if (place := text.find(sign, begin, begin + 4000)) >= 0), default=len(text))
    return (begin, end) if "=" in text[begin:end] and not text.startswith(MASK, begin) else None


def _without_flags(text: str) -> str:
    parts: list[str] = []
    done = 0
    for flag in _FLAG.finditer(text):
        start = flag.end()
        if start < done or not secret_name(flag[1].lstrip("-")):
            continue
        quote = text[start]
        if quote in _QUOTES:
            close = text.find(quote, start + 1, start + 2000)
            end = close + 1 if close >= 0 else len(text)
        else:
            match = _BARE.match(text, start)
            end = match.end() if match is not None else start
        value = text[start:end].strip(_QUOTES)
        if not value or value.lower() in rules().prose or _PLACEHOLDER.match(value):
            continue
        parts += text[done:start], MASK
        done = end
    return "".join([*parts, text[done:]]) if parts else text


def _credentials(match: re.Match[str]) -> str:
    value = match[2]
    return match[0] if _PLACEHOLDER.match(value) else f"{match[1]}{MASK}"


def _after_scheme(match: re.Match[str]) -> str:
    word, value = match[1], match[2]
    if _PLACEHOLDER.match(value) or not (looks_secret(value) or (len(value) >= _LEAST_OF_BEARER and value.isalnum())):
        return match[0]
    if word.lower() == "basic" and not (len(value) >= 12 and any(map(str.isupper, value))):
        return match[0]
    return f"{match[0][: len(match[0]) - len(value)]}{MASK}"
