"""Secrets in SQL: literals behind names, passwords of users, arguments of functions, comments."""

from __future__ import annotations

import re

from dh_bridge.redaction.arguments import mask_arguments, mask_inserted_values
from dh_bridge.redaction.assignments import mask_assignments
from dh_bridge.redaction.commands import mask_commands
from dh_bridge.redaction.mode import MASK
from dh_bridge.redaction.names import is_secret_name
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.values import is_harmless, looks_secret
from dh_bridge.redaction.words import FUNCTION, HALF_KEY, NAME, PROCEDURE, PROGRAM, SCHEME

#: Literals, quoted names and comments; a dollar-quoted text by its opening sign alone.
_QUOTED = re.compile(
    r"'[^']*(?:''[^']*)*'?|\"[^\"]*\"?|--[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/)?|\$(?:[A-Za-z_]\w{0,40})?\$"
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
_IN_LIST = re.compile(r"\s[iI][nN]\s{0,4}\(([^()]{1,1000000})\)")
_NOT = re.compile(r"\s{1,4}not\Z", re.IGNORECASE)
_PRECEDING_NAME = re.compile(r"([\w.]{2,60})\s{0,4}=?\s{0,4}\Z")
_LOOKBEHIND_LENGTH = 64  # characters before a literal that are looked at
_REVERSED_NAME = re.compile(r"[\w.\-]{2,60}")
_LITERAL = re.compile(r"'[^']*'")
_LITERAL_PREFIXES = "nNeEbBuUrRxX&"
#: ``@password varchar(20) =``, ``v_token VARCHAR2(30) :=``.
_PRECEDING_TYPED_NAME = re.compile(r"([\w.]{2,60})\s{1,4}\w{2,20}(?:\s?\([\w, ]{0,20}\))?\s{0,4}:?=\s{0,4}\Z")
#: ``password = md5(``.
_HASH_COMPARISON = re.compile(r"([\w.]{2,60})[\"'`\]]?\s{0,4}(?:=|<>|!=)\s{0,4}\w{2,30}\(\Z")
_COMPARISON = re.compile(r"\s(?:not\s{1,4})?(?:like|ilike|rlike|in)\s{0,4}\(?\s{0,4}\Z", re.IGNORECASE)
_PRAGMA = re.compile(
    r"\bpragma\s{1,4}(?:\w{1,40}\.)?(?:hex|re|hexre|text)?key\s{0,4}=\s{0,4}\Z|\battach\b[^;]{0,60}\skey\s{1,4}\Z",
    re.IGNORECASE,
)
_PRECEDING_KEY = re.compile(r"(\w{2,30})\s{1,4}(keys?)\s{0,4}=?\s{0,4}\Z", re.IGNORECASE)
_ALIAS = re.compile(r"\s{1,4}(?:as\s{1,4})[\"'`\[]?(\w{2,60})", re.IGNORECASE)
_CALL = re.compile(r"(\w{2,40})\s{0,2}\([^()]{0,60}\Z")
_EXECUTE_WORDS = ("immediate", "exec", "execute", "sp_executesql", "do")
_MAX_DEPTH = 2
_MAX_LITERALS = 10_000
"""Literals and comments of one statement that are looked at. All behind them are hidden, so that a long statement costs little."""
_HIDDEN = {"'": f"'{MASK}'", '"': f'"{MASK}"', "-": f"--{MASK}", "/": f"/*{MASK}*/"}


def is_statement(text: str) -> bool:
    """Return whether a text begins as a SQL statement does."""
    return rules().sql_start.match(text) is not None


def mask_literals(text: str, kinds: int, depth: int = 0) -> str:
    """Return a statement without the literals that are secrets; ``kinds`` are those of its words."""
    secret_rules = rules()
    if kinds & PROCEDURE:
        text = _IDENTIFIED.sub(_mask_unquoted, text)
        text = secret_rules.procedures.sub(_mask_all_literals, text)
    if kinds & NAME:
        if "=" in text:
            text = _SET.sub(_mask_setting, text)
            text = _UNQUOTED.sub(_mask_unless_column, text)
        text = mask_statement_forms(text)
        text = _DOUBLED.sub(_mask_doubled, text)
        text = _NAMED_VALUE.sub(_mask_named_value, text)
        text = _IN_LIST.sub(_mask_list, text)
        if "(" in text and "'" in text:
            text = mask_inserted_values(text)
    if kinds & FUNCTION and "(" in text:
        text = mask_arguments(text, secret_rules.sql_calls, secret_rules.sql_arguments)
    if kinds & PROGRAM and not kinds & (NAME | PROCEDURE):
        text = _QUOTED.sub(_mask_commented_commands, text)
    if kinds & (NAME | PROCEDURE) or (kinds & HALF_KEY and _may_have_key(text)):
        return _mask_quoted(text, depth)
    return text


def mask_statement_forms(text: str) -> str:
    """Return ``text`` without the secrets of statements that name them by their form alone."""
    return _FORMS.sub(_mask_password, text)


def _mask_commented_commands(quoted: re.Match[str]) -> str:
    return mask_commands(quoted[0]) if quoted[0][0] in "-/" else quoted[0]


def _may_have_key(text: str) -> bool:
    lower = text.lower()
    return "pragma" in lower or "attach" in lower or "encryption" in lower


def _mask_quoted(text: str, depth: int) -> str:
    parts: list[str] = []
    cursor = position = literal_count = 0
    replacement: str | None
    while (match := _QUOTED.search(text, position)) is not None:
        literal_count += 1
        start, position = match.span()
        quoted_text = match[0]
        if literal_count > _MAX_LITERALS:
            position, replacement = _hide(text, position, quoted_text)
        elif quoted_text[0] == "$":
            position, replacement = _mask_dollar_quoted(text, start, position, quoted_text)
        elif quoted_text[0] in "-/":
            replacement = mask_assignments(mask_commands(quoted_text), NAME | SCHEME)
        else:
            replacement = _mask_literal(text, start, position, quoted_text, depth)
        if replacement is not None and replacement != text[start:position]:
            parts += text[cursor:start], replacement
            cursor = position
    return "".join([*parts, text[cursor:]]) if parts else text


def _hide(text: str, end: int, quoted_text: str) -> tuple[int, str]:
    """Return where to go on behind a literal or comment, and the mask of it, whatever it holds."""
    if quoted_text[0] != "$":
        return end, quoted_text if len(quoted_text) == 2 else _HIDDEN[quoted_text[0]]
    return _skip_dollar_quoted(text, end, quoted_text)


def _skip_dollar_quoted(text: str, end: int, tag: str) -> tuple[int, str]:
    close = text.find(tag, end)
    return (len(text), f"{tag}{MASK}") if close < 0 else (close + len(tag), f"{tag}{MASK}{tag}")


def _mask_dollar_quoted(text: str, start: int, end: int, tag: str) -> tuple[int, str | None]:
    """Return where to go on behind the tag of a dollar-quoted text, and the mask of a secret."""
    if not _is_secret(text[max(0, start - _LOOKBEHIND_LENGTH) : start], ""):
        return end, None
    return _skip_dollar_quoted(text, end, tag)


def _mask_literal(text: str, start: int, end: int, quoted_text: str, depth: int) -> str | None:
    content = quoted_text[1:].removesuffix(quoted_text[0])
    if not content or content.startswith((MASK, "[REDACTED")) or text[end : end + 1] == ".":
        return None
    preceding = text[max(0, start - _LOOKBEHIND_LENGTH) : start]
    alias = _ALIAS.match(text, end) if looks_secret(content) else None
    if _is_secret(preceding, content) or (alias is not None and quoted_text[0] == "'" and is_secret_name(alias[1])):
        return (
            f"{quoted_text[0]}{MASK}{quoted_text[0]}"
            if len(quoted_text) > 1 and quoted_text[-1] == quoted_text[0]
            else f"{quoted_text[0]}{MASK}"
        )
    if quoted_text[0] == "'" and " " in content and (is_statement(content) or _is_executed(preceding)):
        if depth >= _MAX_DEPTH:  # a statement in a statement in a statement
            return _HIDDEN["'"]
        nested = mask_literals(content.replace("''", "'"), NAME | PROCEDURE | FUNCTION, depth + 1).replace("'", "''")
        return f"'{nested}'" if len(quoted_text) > 1 and quoted_text[-1] == "'" else f"'{nested}"
    return mask_assignments(quoted_text, NAME | SCHEME) if "=" in quoted_text or ":" in quoted_text else None


def _is_executed(preceding: str) -> bool:
    return preceding.rstrip(" \t\r\n(nN").lower().endswith(_EXECUTE_WORDS)


def _is_secret(preceding: str, value: str) -> bool:  # noqa: PLR0911 - a line for each form
    """Return whether a literal is a secret by the text before it: ``PASSWORD = N``, ``IDENTIFIED BY ``, ``'token' ``."""
    preceding = (
        preceding.rstrip(_LITERAL_PREFIXES)
        if preceding[-1:] in _LITERAL_PREFIXES and preceding[-2:-1] in " \t\r\n=(,:>"
        else preceding
    )
    preceding_words = (
        preceding.rstrip(" \t\r\n=:>(,") if preceding[-1:] not in "(," else preceding.rstrip("(").rstrip(" \t=")
    )
    if preceding_words == preceding:
        return False
    trimmed = preceding.rstrip(" \t\r\n")
    if trimmed.endswith(","):  # 'password', 'x': a pair of a map
        return (
            preceding_words[-1:] in "'\""
            and _has_secret_name(preceding_words.rstrip("'\""), value)
            and _is_map_entry(preceding)
        )
    if trimmed.endswith("("):
        hash_match = _HASH_COMPARISON.search(preceding)
        return (hash_match is not None and is_secret_name(hash_match[1])) or (
            (comparison := _COMPARISON.search(preceding)) is not None
            and _is_compared_secret(preceding[: comparison.start()], value)
        )
    if preceding_words[-3:].lower() in (" by", "\tby", "\nby", " as"):
        return "identified" in preceding_words.lower()
    if preceding_words[-7:].lower() == " values":
        return "identified" in preceding_words.lower()
    if trimmed.endswith("=") and ("password for" in preceding_words.lower() or _is_typed_secret(preceding)):
        return True
    if _PRAGMA.search(preceding) is not None or (
        (key_match := _PRECEDING_KEY.search(preceding)) is not None and is_secret_name(f"{key_match[1]}_{key_match[2]}")
    ):
        return True
    if (comparison := _COMPARISON.search(preceding)) is not None:
        return _is_compared_secret(preceding[: comparison.start()], value)
    if preceding_words.endswith(("<", "!")) and trimmed.endswith((">", "=")):
        preceding_words = preceding_words.rstrip("<! ")
    if preceding_words[-3:].lower() == " to":
        preceding_words = preceding_words[:-3].rstrip()
    if preceding_words.lower().endswith("session authorization"):
        return False
    return _has_secret_name(preceding_words.rstrip("\"'`])"), value)


def _is_typed_secret(preceding: str) -> bool:
    match = _PRECEDING_TYPED_NAME.search(preceding)
    return match is not None and is_secret_name(match[1])


def _is_compared_secret(preceding: str, value: str) -> bool:
    """Return whether a literal that a column is compared with may be a secret."""
    return "%" not in value and looks_secret(value) and _has_secret_name(preceding.rstrip("\"'`] \t\r\n"), value)


def _is_map_entry(preceding: str) -> bool:
    call = _CALL.search(preceding)
    return (
        "map" in preceding.lower() or "(" not in preceding or (call is not None and call[1].lower() in rules().setters)
    )


def _has_secret_name(preceding_words: str, value: str) -> bool:
    match = _REVERSED_NAME.match(preceding_words[::-1])
    if match is None:
        return False
    name = match[0][::-1]
    return is_secret_name(name) and not (value and is_harmless_in_sql(name, value))


def is_harmless_in_sql(name: str, value: str) -> bool:
    """Return whether a literal behind the name of a secret is a pattern, or names a mechanism."""
    lower = name.lower()
    return (lower.endswith(("auth", "authorization")) and is_harmless(name, value)) or not value.strip("%_ ")


def _mask_all_literals(call: re.Match[str]) -> str:
    return _LITERAL.sub(f"'{MASK}'", call[0])


def _mask_password(form: re.Match[str]) -> str:
    group = form.lastindex or 0
    begin, end = form.start(group) - form.start(), form.end(group) - form.start()
    return form[0] if form[group].startswith(MASK) else f"{form[0][:begin]}{MASK}{form[0][end:]}"


def _mask_doubled(match: re.Match[str]) -> str:
    text, start = match.string, match.start()
    name = _PRECEDING_NAME.search(text, max(0, start - _LOOKBEHIND_LENGTH), start)
    if name is None or not is_secret_name(name[1]) or match[1].startswith(MASK):
        return match[0]
    return f"''{MASK}''"


def _mask_list(match: re.Match[str]) -> str:
    preceding = _NOT.sub("", match.string[max(0, match.start() - _LOOKBEHIND_LENGTH) : match.start()]).rstrip(
        '"`] \t\r\n'
    )
    if not _has_secret_name(preceding, ""):
        return match[0]

    def mask_literal(literal: re.Match[str]) -> str:
        value = literal[0][1:-1]
        return f"'{MASK}'" if looks_secret(value) and _has_secret_name(preceding, value) else literal[0]

    return _LITERAL.sub(mask_literal, match[0])


def _mask_named_value(pair: re.Match[str]) -> str:
    if not is_secret_name(pair[2]) or pair[1].startswith(MASK):
        return pair[0]
    begin, end = pair.start(1) - pair.start(), pair.end(1) - pair.start()
    return f"{pair[0][:begin]}{MASK}{pair[0][end:]}"


def _mask_unquoted(match: re.Match[str]) -> str:
    value = match[2]
    return (
        match[0] if value.startswith(MASK) or value.lower() in ("password", "values", "random") else f"{match[1]}{MASK}"
    )


def _mask_unless_column(match: re.Match[str]) -> str:
    return f"{match[1]}{MASK}" if looks_secret(match[2]) else match[0]


def _mask_setting(match: re.Match[str]) -> str:
    assignment = match[2]
    name, equals, value = assignment.partition("=")
    if not equals or not is_secret_name(name.strip().strip("`\"'@")):
        return match[1] + (mask_assignments(assignment, NAME) if equals else assignment)
    blank = value[: len(value) - len(value.lstrip())]
    value = value.strip()
    if not value or value.startswith(("***", "[REDACTED", "${", "'", '"', "$$")):
        return match[0]
    return f"{match[1]}{name}={blank}{MASK}"
