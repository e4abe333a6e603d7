"""Secrets in SQL: literals behind names, passwords of users, arguments of functions, comments."""

from __future__ import annotations

import re

from dh_bridge.redaction.arguments import without_arguments, without_inserted
from dh_bridge.redaction.assignments import without_assignments
from dh_bridge.redaction.mode import MASK
from dh_bridge.redaction.names import secret_name
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.values import is_harmless, looks_secret
from dh_bridge.redaction.words import FUNCTION, HALF_KEY, NAME, OTHER, SCHEME

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
#: ``CREATE SECRET s AS 'x'``, ``CONNECT TO d USER u USING x``, ``OPENROWSET('p', 'h';'u';'x', …)``: the password is a group.
_FORMS = re.compile(
    r"\bcreate\s{1,4}(?:or\s{1,4}replace\s{1,4})?secret\s[^;]{0,200}?\sas\s{1,4}'([^']{1,2000})'"
    r"|\bconnect\s{1,4}to\s{1,4}\S{1,100}\s{1,4}user\s{1,4}\S{1,100}\s{1,4}using\s{1,4}['\"]?([^\s;'\"]{1,200})"
    r"|\bopen(?:rowset|datasource)\s{0,4}\(\s{0,4}'[^']{0,200}'\s{0,4},\s{0,4}'[^']{0,200}'\s{0,4};\s{0,4}'[^']{0,200}'\s{0,4};\s{0,4}'([^']{1,200})'",
    re.IGNORECASE,
)
#: ``UPDATE t SET value = 'x' WHERE name = 'db_password'``.
_NAMED_VALUE = re.compile(
    r"value\s{0,4}=\s{0,4}N?'([^']{1,400})'[^;']{0,200}\bwhere\s[^;']{0,100}\b\w{0,20}(?:name|key)\s{0,4}=\s{0,4}N?'([^']{1,100})'",
    re.IGNORECASE,
)
#: A literal inside a literal, of a call: ``… PASSWORD = ''x''``.
_DOUBLED = re.compile(r"''(?=[^'\s])([^'\n]{1,400})''")
#: ``api_key IN ('x', 'y')``.
_LISTED = re.compile(r"\s[iI][nN]\s{0,4}\(([^()]{1,4000})\)")
_NOT = re.compile(r"\s{1,4}not\Z", re.IGNORECASE)
_NAME_BEFORE = re.compile(r"([\w.]{2,60})\s{0,4}=?\s{0,4}\Z")
_BEFORE = 64  # characters before a literal that are looked at
_WORD_BACKWARDS = re.compile(r"[\w.\-]{2,60}")
_LITERAL = re.compile(r"'[^']*'")
_PREFIXES = "nNeEbBuUrRxX&"
#: ``@password varchar(20) =``, ``v_token VARCHAR2(30) :=``.
_TYPED_BEFORE = re.compile(r"([\w.]{2,60})\s{1,4}\w{2,20}(?:\s?\([\w, ]{0,20}\))?\s{0,4}:?=\s{0,4}\Z")
#: ``password = md5(``.
_HASHED = re.compile(r"([\w.]{2,60})[\"'`\]]?\s{0,4}(?:=|<>|!=)\s{0,4}\w{2,30}\(\Z")
_TESTED = re.compile(r"\s(?:not\s{1,4})?(?:like|ilike|rlike|in)\s{0,4}\(?\s{0,4}\Z", re.IGNORECASE)
_PRAGMA = re.compile(
    r"\bpragma\s{1,4}(?:\w{1,40}\.)?(?:hex|re|hexre|text)?key\s{0,4}=\s{0,4}\Z|\battach\b[^;]{0,60}\skey\s{1,4}\Z",
    re.IGNORECASE,
)
_KEY_BEFORE = re.compile(r"(\w{2,30})\s{1,4}(keys?)\s{0,4}=?\s{0,4}\Z", re.IGNORECASE)
_ALIAS = re.compile(r"\s{1,4}(?:as\s{1,4})[\"'`\[]?(\w{2,60})", re.IGNORECASE)
_CALL = re.compile(r"(\w{2,40})\s{0,2}\([^()]{0,60}\Z")
_EXECUTED = ("immediate", "exec", "execute", "sp_executesql", "do")
_DEEPEST = 2
_MAX_LITERALS = 5_000
"""Literals of one statement that are looked at; those behind them are found by the name and the sign before them alone."""


def is_statement(text: str) -> bool:
    """Return whether a text begins as a SQL statement does."""
    return rules().sql_start.match(text) is not None


def without_literals(text: str, kinds: int, depth: int = 0) -> str:
    """Return a statement without the literals that are secrets; ``kinds`` are those of its words."""
    found = rules()
    if kinds & OTHER:
        text = _IDENTIFIED.sub(_unquoted, text)
        text = found.procedures.sub(_without_all_literals, text)
    if kinds & NAME:
        if "=" in text:
            text = _SET.sub(_setting, text)
            text = _UNQUOTED.sub(_unless_column, text)
        text = without_forms(text)
        text = _DOUBLED.sub(_without_doubled, text)
        text = _NAMED_VALUE.sub(_of_named, text)
        text = _LISTED.sub(_of_list, text)
        if "(" in text and "'" in text:
            text = without_inserted(text)
    if kinds & FUNCTION and "(" in text:
        text = without_arguments(text, found.sql_parts, found.arguments)
    if kinds & (NAME | OTHER) or (kinds & HALF_KEY and _may_have_key(text)):
        return _without_quoted(text, depth)
    return text


def without_forms(text: str) -> str:
    """Return ``text`` without the secrets of statements that name them by their form alone."""
    return _FORMS.sub(_without_password, text)


def _may_have_key(text: str) -> bool:
    lower = text.lower()
    return "pragma" in lower or "attach" in lower or "encryption" in lower


def _without_quoted(text: str, depth: int) -> str:
    parts: list[str] = []
    done = position = looks = 0
    while looks < _MAX_LITERALS and (match := _QUOTED.search(text, position)) is not None:
        looks += 1
        start, position = match.span()
        part = match[0]
        if part[0] == "$":
            position, masked = _dollar_quoted(text, start, position, part)
        elif part[0] in "-/":
            masked = without_assignments(part, NAME | SCHEME)
        else:
            masked = _literal(text, start, position, part, depth)
        if masked is not None and masked != text[start:position]:
            parts += text[done:start], masked
            done = position
    return "".join([*parts, text[done:]]) if parts else text


def _dollar_quoted(text: str, start: int, end: int, tag: str) -> tuple[int, str | None]:
    """Return where to go on behind the tag of a dollar-quoted text, and the mask of a secret."""
    if not _is_secret(text[max(0, start - _BEFORE) : start], ""):
        return end, None
    close = text.find(tag, end)
    return (len(text), f"{tag}{MASK}") if close < 0 else (close + len(tag), f"{tag}{MASK}{tag}")


def _literal(text: str, start: int, end: int, part: str, depth: int) -> str | None:
    inner = part[1:].removesuffix(part[0])
    if not inner or inner.startswith((MASK, "[REDACTED")) or text[end : end + 1] == ".":
        return None
    before = text[max(0, start - _BEFORE) : start]
    alias = _ALIAS.match(text, end) if looks_secret(inner) else None
    if _is_secret(before, inner) or (alias is not None and part[0] == "'" and secret_name(alias[1])):
        return f"{part[0]}{MASK}{part[0]}" if len(part) > 1 and part[-1] == part[0] else f"{part[0]}{MASK}"
    if depth < _DEEPEST and part[0] == "'" and " " in inner and (is_statement(inner) or _is_executed(before)):
        nested = without_literals(inner.replace("''", "'"), NAME | OTHER | FUNCTION, depth + 1).replace("'", "''")
        return f"'{nested}'" if len(part) > 1 and part[-1] == "'" else f"'{nested}"
    return without_assignments(part, NAME | SCHEME) if "=" in part or ":" in part else None


def _is_executed(before: str) -> bool:
    return before.rstrip(" \t\r\n(nN").lower().endswith(_EXECUTED)


def _is_secret(before: str, value: str) -> bool:  # noqa: PLR0911 - a line for each form
    """Return whether a literal is a secret by the text before it: ``PASSWORD = N``, ``IDENTIFIED BY ``, ``'token' ``."""
    before = before.rstrip(_PREFIXES) if before[-1:] in _PREFIXES and before[-2:-1] in " \t\r\n=(,:>" else before
    words = before.rstrip(" \t\r\n=:>(,") if before[-1:] not in "(," else before.rstrip("(").rstrip(" \t=")
    if words == before:
        return False
    end = before.rstrip(" \t\r\n")
    if end.endswith(","):  # 'password', 'x': a pair of a map
        return words[-1:] in "'\"" and _names_secret(words.rstrip("'\""), value) and _opens_map(before)
    if end.endswith("("):
        hashed = _HASHED.search(before)
        return (hashed is not None and secret_name(hashed[1])) or (
            (test := _TESTED.search(before)) is not None and _is_tested(before[: test.start()], value)
        )
    if words[-3:].lower() in (" by", "\tby", "\nby", " as"):
        return "identified" in words.lower()
    if words[-7:].lower() == " values":
        return "identified" in words.lower()
    if end.endswith("=") and ("password for" in words.lower() or _typed(before)):
        return True
    if _PRAGMA.search(before) is not None or (
        (key := _KEY_BEFORE.search(before)) is not None and secret_name(f"{key[1]}_{key[2]}")
    ):
        return True
    if (test := _TESTED.search(before)) is not None:
        return _is_tested(before[: test.start()], value)
    if words.endswith(("<", "!")) and end.endswith((">", "=")):
        words = words.rstrip("<! ")
    if words[-3:].lower() == " to":
        words = words[:-3].rstrip()
    if words.lower().endswith("session authorization"):
        return False
    return _names_secret(words.rstrip("\"'`])"), value)


def _typed(before: str) -> bool:
    typed = _TYPED_BEFORE.search(before)
    return typed is not None and secret_name(typed[1])


def _is_tested(before: str, value: str) -> bool:
    """Return whether a literal that a column is compared with may be a secret."""
    return "%" not in value and looks_secret(value) and _names_secret(before.rstrip("\"'`] \t\r\n"), value)


def _opens_map(before: str) -> bool:
    call = _CALL.search(before)
    return "map" in before.lower() or "(" not in before or (call is not None and call[1].lower() in rules().setters)


def _names_secret(words: str, value: str) -> bool:
    match = _WORD_BACKWARDS.match(words[::-1])
    if match is None:
        return False
    name = match[0][::-1]
    return secret_name(name) and not (value and is_harmless_in_sql(name, value))


def is_harmless_in_sql(name: str, value: str) -> bool:
    """Return whether a literal behind the name of a secret is a pattern, or names a mechanism."""
    lower = name.lower()
    return (lower.endswith(("auth", "authorization")) and is_harmless(name, value)) or not value.strip("%_ ")


def _without_all_literals(call: re.Match[str]) -> str:
    return _LITERAL.sub(f"'{MASK}'", call[0])


def _without_password(form: re.Match[str]) -> str:
    group = form.lastindex or 0
    begin, end = form.start(group) - form.start(), form.end(group) - form.start()
    return form[0] if form[group].startswith(MASK) else f"{form[0][:begin]}{MASK}{form[0][end:]}"


def _without_doubled(match: re.Match[str]) -> str:
    text, start = match.string, match.start()
    name = _NAME_BEFORE.search(text, max(0, start - _BEFORE), start)
    if name is None or not secret_name(name[1]) or match[1].startswith(MASK):
        return match[0]
    return f"''{MASK}''"


def _of_list(match: re.Match[str]) -> str:
    before = _NOT.sub("", match.string[max(0, match.start() - _BEFORE) : match.start()]).rstrip('"`] \t\r\n')
    if not _names_secret(before, ""):
        return match[0]

    def hidden(literal: re.Match[str]) -> str:
        value = literal[0][1:-1]
        return f"'{MASK}'" if looks_secret(value) and _names_secret(before, value) else literal[0]

    return _LITERAL.sub(hidden, match[0])


def _of_named(pair: re.Match[str]) -> str:
    if not secret_name(pair[2]) or pair[1].startswith(MASK):
        return pair[0]
    begin, end = pair.start(1) - pair.start(), pair.end(1) - pair.start()
    return f"{pair[0][:begin]}{MASK}{pair[0][end:]}"


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
        return match[1] + (without_assignments(body, NAME) if equals else body)
    blank = value[: len(value) - len(value.lstrip())]
    value = value.strip()
    if not value or value.startswith(("***", "[REDACTED", "${", "'", '"', "$$")):
        return match[0]
    return f"{match[1]}{name}={blank}{MASK}"
