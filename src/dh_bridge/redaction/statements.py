"""Secrets in SQL: literals behind names, passwords of users, arguments of functions, comments."""

from __future__ import annotations

import re

from dh_bridge.redaction.assignments import looks_secret, without_assignments
from dh_bridge.redaction.mode import MASK
from dh_bridge.redaction.names import secret_name
from dh_bridge.redaction.rules import rules

#: Literals, quoted names and comments; a dollar-quoted text by its opening sign alone.
_QUOTED = re.compile(
    r"'[^']*(?:''[^']*)*'?|\"[^\"]*\"?|--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?|\$(?:[A-Za-z_]\w{0,40})?\$"
)
#: Unquoted passwords: ``IDENTIFIED BY tiger``, ``PASSWORD = abc123``.
_IDENTIFIED = re.compile(
    r"(\bidentified\s{1,4}(?:with\s{1,4}\w{1,40}\s{1,4})?by\s{1,4}(?:values?\s{1,4}|password\s{1,4})?)([^\s'\";,$()]{1,200})",
    re.IGNORECASE,
)
_UNQUOTED = re.compile(
    r"(\b(?:password|passwd|pwd|passphrase|secret|token|access_key|secret_key)\s{0,4}=\s{0,4})([\w!@#%^&*+~.\-/=]{6,200})",
    re.IGNORECASE,
)
#: ``SET x.password = value`` up to the end of the statement.
_SET = re.compile(
    r"((?:\A|[;\n])[ \t]{0,20}set\s{1,8}(?:(?:session|local|global|persist)\s{1,4})?)([^;\n]{1,2000})", re.IGNORECASE
)
_BEFORE = 64  # characters before a literal that are looked at
_WORD_BACKWARDS = re.compile(r"[\w.\-]{2,60}")
_LITERAL = re.compile(r"'[^']*'")
_BRACKET = re.compile(r"\(")
_FUNCTION_BACKWARDS = re.compile(r"\s{0,4}([A-Za-z0-9_]{1,40})")
_LONGEST_FUNCTION = 44
_ARGUMENTS = 500  # characters of a call that are looked at
_PREFIXES = "nNeEbBuUrRxX&"
_PARTS = re.compile(r"'[^']*(?:''[^']*)*'|\"[^\"]*\"|[(),\[\]]")


def is_statement(text: str) -> bool:
    """Return whether a text begins as a SQL statement does."""
    return rules().sql_start.match(text) is not None


def without_literals(text: str) -> str:
    """Return a statement without the literals that are secrets."""
    lower = text.lower()
    if "identified" in lower:
        text = _IDENTIFIED.sub(_unquoted, text)
    if "=" in text:
        if "set" in lower:
            text = _SET.sub(_setting, text)
        text = _UNQUOTED.sub(_unless_column, text)
    quoted = "'" in text or '"' in text
    if quoted and "sp_" in lower:
        text = rules().procedures.sub(_without_all_literals, text)
    if quoted and "(" in text:
        text = _without_arguments(text)
    return _without_quoted(text) if quoted or "--" in text or "/*" in text or "$" in text else text


def _without_quoted(text: str) -> str:
    parts: list[str] = []
    done = position = 0
    while (match := _QUOTED.search(text, position)) is not None:
        start, position = match.span()
        part = match[0]
        if part[0] == "$":
            position, masked = _dollar_quoted(text, start, position, part)
        elif part[0] in "-/":
            masked = without_assignments(part)
        else:
            masked = _literal(text, start, position, part)
        if masked is not None and masked != text[start:position]:
            parts += text[done:start], masked
            done = position
    return "".join([*parts, text[done:]]) if parts else text


def _dollar_quoted(text: str, start: int, end: int, tag: str) -> tuple[int, str | None]:
    """Return where to go on behind the tag of a dollar-quoted text, and the mask of a secret."""
    if not _is_secret(text[max(0, start - _BEFORE) : start]):
        return end, None
    close = text.find(tag, end)
    return (len(text), f"{tag}{MASK}") if close < 0 else (close + len(tag), f"{tag}{MASK}{tag}")


def _literal(text: str, start: int, end: int, part: str) -> str | None:
    inner = part[1:].removesuffix(part[0])
    if not inner or inner.startswith((MASK, "[REDACTED")) or text[end : end + 1] == ".":
        return None
    if _is_secret(text[max(0, start - _BEFORE) : start]):
        return f"{part[0]}{MASK}{part[0]}" if len(part) > 1 and part[-1] == part[0] else f"{part[0]}{MASK}"
    return without_assignments(part) if "=" in part or ":" in part else None


def _is_secret(before: str) -> bool:
    """Return whether a literal is a secret by the text before it: ``PASSWORD = N``, ``IDENTIFIED BY ``, ``'token' ``."""
    before = before.rstrip(_PREFIXES) if before[-1:] in _PREFIXES and before[-2:-1] in " \t\r\n=(,:>" else before
    words = before.rstrip(" \t\r\n=:>(,") if before[-1:] not in "(," else before.rstrip("(").rstrip(" \t=")
    if words == before:
        return False
    if before.rstrip(" \t\r\n").endswith(","):  # 'password', 'x': a pair of a map
        return words[-1:] in "'\"" and _names_secret(words.rstrip("'\"")) and _opens_map(before)
    if before.rstrip(" \t\r\n").endswith("("):
        return False
    if words[-3:].lower() in (" by", "\tby", "\nby"):
        return "identified" in words.lower()
    if words[-7:].lower() == " values":
        return "identified" in words.lower()
    return _names_secret(words.rstrip("\"'`]"))


def _opens_map(before: str) -> bool:
    return "map" in before.lower() or "(" not in before


def _names_secret(words: str) -> bool:
    match = _WORD_BACKWARDS.match(words[::-1])
    return match is not None and secret_name(match[0][::-1])


def _without_all_literals(call: re.Match[str]) -> str:
    return _LITERAL.sub(f"'{MASK}'", call[0])


def _unquoted(match: re.Match[str]) -> str:
    value = match[2]
    return (
        match[0] if value.startswith(MASK) or value.lower() in ("password", "values", "random") else f"{match[1]}{MASK}"
    )


def _unless_column(match: re.Match[str]) -> str:
    return f"{match[1]}{MASK}" if looks_secret(match[2]) else match[0]


def _setting(match: re.Match[str]) -> str:
    body = match[2]
    name, equals, value = body.partition("=")
    if not equals or not secret_name(name.strip().strip("`\"'@")):
        return match[1] + (without_assignments(body) if equals else body)
    blank = value[: len(value) - len(value.lstrip())]
    value = value.strip()
    if not value or value.startswith(("***", "[REDACTED", "${", "'", '"', "$$")):
        return match[0]
    return f"{match[1]}{name}={blank}{MASK}"


def _without_arguments(text: str) -> str:
    """Return ``text`` without the literals that functions take as secrets."""
    found = rules()
    parts: list[str] = []
    done = 0
    for call in _BRACKET.finditer(text):
        if call.start() < done:
            continue
        name = _FUNCTION_BACKWARDS.match(text[max(0, call.start() - _LONGEST_FUNCTION) : call.start()][::-1])
        positions = found.arguments.get(name[1][::-1].lower()) if name is not None else None
        if positions is None:
            continue
        depth, position = 1, 1
        for part in _PARTS.finditer(text, call.end(), call.end() + _ARGUMENTS):
            sign = part[0]
            if sign in "([":
                depth += 1
            elif sign in ")]":
                depth -= 1
                if depth == 0:
                    break
            elif sign == ",":
                position += depth == 1
            elif depth == 1 and position in positions and len(sign) > 2 and "***" not in sign and "=" not in sign:
                parts += text[done : part.start()], f"{sign[0]}{MASK}{sign[0]}"
                done = part.end()
    return "".join([*parts, text[done:]]) if parts else text
