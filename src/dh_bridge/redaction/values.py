"""Values after the names of secrets: their beginning and end, and whether they are secrets."""

from __future__ import annotations

import re
from typing import NamedTuple

from dh_bridge.redaction.mode import MASK
from dh_bridge.redaction.names import is_secret_name
from dh_bridge.redaction.rules import rules

BARE_VALUE = re.compile(r"[^\s\"'`&;,)}\]<>|\\]{1,2000}")
QUOTE_CHARS = "\"'`"
SPACE_CHARS = " \t"
MAX_VALUE_LENGTH = 4_000
"""Characters of a quoted value, or of a line, that are looked at."""

_BARE_OF_URL = re.compile(r"(?:[^\s\"'&;<>|\\,]|,(?![\w.-]{1,40}=|\s|$)){1,2000}")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
PLACEHOLDER = re.compile(
    r"\$\{|\$\(|\{\{|%\(|%[A-Z_]{2,60}%|\$[A-Za-z_]+\Z|\$env:|\{[a-z_]{0,40}\}?\Z|<[\w -]+>|\[REDACTED|\*{3}|[*xX.•]{3,}\Z|os\.environ|os\.getenv|env\[|None\b|null\b|true\Z|false\Z"
    r"|[^\w]{0,8}\Z|%s\b|:\w{1,30}\Z|!?ENC\[|\?\Z|!(?:vault|reference|ref|sub|env|secret|include)\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_CALL = re.compile(r"[A-Za-z_][\w.]*[(\[]")
_HEAD = re.compile(r"[A-Za-z_]\w*")
_REFERENCE = re.compile(r"[a-z_][a-z_]*\Z")
_JDBC_PREFIX = "jdbc:"
_PASSWORDS = (
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "_key",
    "-key",
    "apikey",
    "secret",
    "_pw",
    "passcode",
    "pass",
    "secretkey",
    "accesskey",
    "privatekey",
    "kennwort",
    "passwort",
    "passe",
)
#: Algorithms, versions, dates and numbers with a unit.
_NAMED = re.compile(
    r"(?:sha|md|base|aes|utf|rsa|pbkdf|argon|hmac|pkcs|x|http|oauth|iso|ipv|int|float|python|java|v)-?\d|\d{4}-\d\d|\d+[a-z]{0,3}\Z|[\d.]+\Z",
    re.IGNORECASE,
)
_NAMING_CHARS = frozenset("_/\\()[]{}<>|=#:")
_KIND_CHANGES = re.compile(r"(?<=[A-Za-z])[0-9!@$%^&+~?]|(?<=[0-9!@$%^&+~?])[A-Za-z]")
#: Letters of one case, or digits: names have long runs, secrets have short ones.
_RUN = re.compile("[a-z]+|[A-Z]+|[0-9]+|.")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_MIN_RANDOM_LENGTH = 8
#: ``Bearer {token}``: the scheme before a placeholder.
_SCHEME_PREFIX = re.compile(r"(?:bearer|basic|token|apikey)[ \t]{1,4}", re.IGNORECASE)
_SYMBOL_CHARS = frozenset("!@#$%^&*+=~?")
_MIN_LENGTH, _MIN_DIGITS_LENGTH = 6, 8
_MIN_PATH_LENGTH = 16


class SecretSpan(NamedTuple):
    """A secret in a text: its start, its end, and its replacement."""

    begin: int
    end: int
    mask: str = MASK


def looks_secret(value: str) -> bool:
    """Return whether a word looks like a secret rather than like a word of prose or code."""
    value = value.rstrip(".,:;")
    if len(value) < _MIN_LENGTH or _DATE.match(value) or _DOTTED.match(value):
        return False
    letters = digits = symbols = False
    for char in value[:200]:
        letters = letters or char.isalpha()
        digits = digits or char.isdigit()
        symbols = symbols or char in _SYMBOL_CHARS
    return (digits and (letters or len(value) >= _MIN_DIGITS_LENGTH)) or (symbols and letters)


def looks_random(value: str) -> bool:
    """Return whether a word of prose looks like a generated secret: letters and digits take turns, and it names nothing.

    >>> looks_random("Xk9vQ2mZpL7r"), looks_random("base64-encoded"), looks_random("customer_2024"), looks_random("v1.20.3")
    (True, False, False, False)
    """
    if len(value) < _MIN_RANDOM_LENGTH or _NAMED.match(value) or _NAMING_CHARS.intersection(value):
        return False
    if _UUID.match(value):
        return True
    return any(len(part) >= _MIN_RANDOM_LENGTH and _is_random(part) for part in value.split("-"))


def _is_random(part: str) -> bool:
    if len(_KIND_CHANGES.findall(part)) >= 3:
        return True
    run_count = len(_RUN.findall(part))
    if len(part) >= 16 and 2 * run_count >= len(part):
        return True
    return any(map(str.isdigit, part)) and 5 * run_count >= 2 * len(part) >= 24


def is_password(name: str) -> bool:
    """Return whether a name certainly has a secret value."""
    lower = name.lower()
    return lower.endswith(_PASSWORDS) or lower.startswith("x-")


def is_harmless(name: str, value: str) -> bool:
    """Return whether the value only describes a secret: a mechanism, a type, a directory, a placeholder."""
    lower = value.lower()
    scheme = _SCHEME_PREFIX.match(value)
    return (
        PLACEHOLDER.match(value, 0 if scheme is None else scheme.end()) is not None
        or (lower.isdigit() and len(lower) < _MIN_LENGTH and name.lower() == "pass")  # PASS=12 WARN=0 of dbt
        or lower in rules().placeholders
        or lower in rules().types
        or is_description(name, value)
    )


def is_description(name: str, value: str) -> bool:
    """Return whether a value behind the name of a secret is a mechanism (``auth: kerberos``) or a directory (``PWD=/home/ann``).

    >>> is_description("http.auth", "kerberos"), is_description("PWD", "/home/ann"), is_description("password", "kerberos")
    (True, True, False)
    """
    label = name.lower()
    if label.endswith(("auth", "authorization")):
        return value.lower() in rules().mechanisms
    is_path = value.startswith(("/", "~", ".")) or value[1:3] in (":\\", ":/")
    return is_path and label.rpartition(".")[2] in rules().directories


def is_type(text: str, value: str, end: int) -> bool:
    """Return whether a value is the type of a column: ``varchar(64)``, ``bigint``, ``Optional[str]``."""
    head = _HEAD.match(value)
    if head is None or head[0].lower() not in rules().types:
        return False
    return head.end() == len(value) or value[head.end()] in "([<" or text[end : end + 1] in "(["


def find_value(  # noqa: PLR0911, PLR0912 - a line for each form
    text: str, start: int, operator: str, name: str, *, is_quoted: bool
) -> SecretSpan | None:
    """Return the secret after a sign, None if there is none."""
    is_tight = text[start - len(operator) - 1 : start - len(operator)] not in SPACE_CHARS
    limit = min(len(text), start + 8)
    begin = start
    while begin < limit and text[begin] in SPACE_CHARS:
        begin += 1
    if begin >= len(text) or text.startswith(MASK, begin):
        return None
    is_spaced = begin > start
    quote_start = begin
    while quote_start < min(len(text), begin + 4) and text[quote_start] == "\\":
        quote_start += 1
    if text[quote_start : quote_start + 1] in ("b", "N", "E", "u", "r", "f") and text[
        quote_start + 1 : quote_start + 2
    ] in ("'", '"'):
        quote_start += 1
    if text.startswith("&quot;", begin):
        close = text.find("&quot;", begin + 6, begin + MAX_VALUE_LENGTH)
        return (
            SecretSpan(begin + 6, close)
            if close > begin + 6 and not is_harmless(name, text[begin + 6 : close])
            else None
        )
    if quote_start < len(text) and text[quote_start] in QUOTE_CHARS:
        return _find_quoted_value(text, begin, quote_start, name, has_colon=operator == ":", is_name_quoted=is_quoted)
    if name.lower().endswith("cookie") and operator == ":":
        return _find_cookie(text, begin)
    in_url = operator == "=" and not is_spaced and text[begin] not in "([{"
    match = (_BARE_OF_URL if in_url and not _is_in_brackets(text, begin) else BARE_VALUE).match(text, begin)
    if match is None:
        return None
    value = match[0]
    if value == MASK or is_harmless(name, value) or (operator in ("!=", "<>") and not looks_secret(value)):
        return None
    if operator == ":":
        is_secret = _is_secret_after_colon(text, value, match.end(), name, is_spaced=is_spaced)
    elif is_spaced or not is_tight:
        is_secret = (
            looks_secret(value) or _is_password_at_line_end(text, value, match.end(), name)
        ) and not _CALL.match(value)
    else:
        is_secret = not _is_reference(text, value, match.end(), name) and not _CALL.match(value)
        if is_secret and in_url and _is_part_of_path(text, begin - len(operator) - len(name) - 1, value):
            return None
    return SecretSpan(begin, match.end()) if is_secret else None


def _is_reference(text: str, value: str, end: int, name: str) -> bool:
    """Return whether a word is the name of a variable: ``f(password=password)``, ``token=config.api_token``."""
    if _DOTTED.match(value) is not None and is_secret_name(value):
        return True
    if not text[end : end + 1] or text[end] not in ",)":
        return False
    return _REFERENCE.match(value) is not None and (value == name.lower() or ("_" in value and is_secret_name(value)))


def _is_part_of_path(text: str, position: int, value: str) -> bool:
    """Return whether a pair is a directory of a partitioned table: ``s3://lake/t/secret=1/part-0``."""
    if position < 0 or text[position] != "/":
        return False
    first_part = value.partition("/")[0]
    if "," in value or "?" in value or text.rfind(_JDBC_PREFIX, max(0, position - 300), position) >= 0:
        return False
    return len(first_part) < _MIN_PATH_LENGTH or not looks_secret(first_part)


def _is_in_brackets(text: str, begin: int) -> bool:
    """Return whether the value may be in brackets, whose end is no part of it: ``connect(password=x, y)``."""
    return text.rfind("(", max(0, begin - 200), begin) >= 0 or text.rfind("{", max(0, begin - 200), begin) >= 0


def _is_secret_after_colon(text: str, value: str, end: int, name: str, *, is_spaced: bool) -> bool:
    if is_type(text, value, end):
        return False
    if not is_spaced:
        return is_password(name) and looks_secret(value)
    if value.lower().rstrip(".,;:") in rules().prose:
        return False
    if looks_secret(value):
        return True
    return _is_password_at_line_end(text, value, end, name)


def _is_password_at_line_end(text: str, value: str, end: int, name: str) -> bool:
    """Return whether a word may be a password: the last one of a line, after a name that certainly has a secret value."""
    is_last = end >= len(text) or text[end] in "\r\n\\)'\""
    return is_last and is_password(name) and len(value) >= _MIN_LENGTH and value.isalnum()


def _find_quoted_value(  # noqa: PLR0913 - the context of the value
    text: str, begin: int, quote_start: int, name: str, *, has_colon: bool, is_name_quoted: bool
) -> SecretSpan | None:
    quote = text[quote_start]
    close = text.find(quote, quote_start + 1)
    while close > 0 and quote == "'" and text[close : close + 2] == "''":
        close = text.find(quote, close + 2)
    value = text[quote_start + 1 : close if close >= 0 else len(text)].rstrip("\\")
    if not value.strip() or is_harmless(name, value):
        return None
    if has_colon and not is_name_quoted and not (len(value) >= _MIN_LENGTH and " " not in value):
        return None
    return SecretSpan(begin, close + 1 if close >= 0 else len(text))


def _find_cookie(text: str, begin: int) -> SecretSpan | None:
    match = _COOKIE.match(text, begin)
    return None if match is None else SecretSpan(begin, match.end())


_COOKIE = re.compile(r"(?=[^\r\n\"'=]{1,200}=)[^\r\n\"']{1,4000}")
