"""Secrets that belong to a name, without a sign of assignment between them.

``{"name": "DB_PASSWORD", "value": "x"}``, ``<password>x</password>``, ``set("password", "x")``, ``setPassword("x")``, ``password != "x"``.
"""

from __future__ import annotations

import re

from dh_bridge.redaction.names import is_secret_name
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.values import SecretSpan, find_value, is_harmless, is_password, is_type, looks_secret

#: In front of a name: ``"name": "``, ``- name: ``, ``<entry key="``, ``<name>``.
_NAME_PREFIX = re.compile(r"(?:name|key|id|variable)\\{0,3}[\"']?\s{0,4}[:=>]\s{0,4}\\{0,3}[\"']?\Z", re.IGNORECASE)
#: Behind it: ``", "value": ``, a new line and ``value: ``, ``</name><value>``.
_VALUE = re.compile(
    r"[^{}\[\]]{0,160}?\bw?(?:default_?|parameter|secret|string_?|plain_?|text_?)?value\\{0,3}[\"']?\s{0,4}([:=>])(?!=)[ \t\r\n]{0,40}",
    re.IGNORECASE,
)
_OTHER_NAME = re.compile(r"\b(?:name|key)\\{0,3}[\"']?\s{0,4}[:=]|<name>|\n\s{0,40}- |\w\s{0,4}[{(]", re.IGNORECASE)
_CONTENT = re.compile(r"([^<>\s][^<>]{0,2000}?)\s{0,40}<")
#: In front of a name that follows its value: ``"value": "x", "name": "``.
_PRECEDING_VALUE = re.compile(
    r"value\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}(\\{0,3}[\"'])([^\"'\\]{1,200})\1\s{0,4},\s{0,8}\\{0,3}[\"']?(?:name|key)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?\Z",
    re.IGNORECASE,
)
#: An element of XML: the texts before and after its name.
_ELEMENT_PREFIX = re.compile(r"(?:<|&lt;)(?:[\w-]{1,20}:)?\Z")
_ELEMENT = re.compile(
    r"(?:\s[^<>]{0,200})?(?:>|&gt;)\s{0,40}(?:<!\[CDATA\[)?([^<>\]&\s][^<>\]&]{0,2000}?)\s{0,40}(?=\]\]>|</|&lt;/)"
)
_VALUE_OF_ELEMENT = re.compile(r"\s[^<>]{0,100}?\bvalue\s{0,4}=\s{0,4}[\"']([^\"'<>]{1,2000})[\"']")
#: ``key="password">x<``.
_ATTRIBUTE = re.compile(r"[\"'][^<>]{0,100}(?<!/)>\s{0,40}([^<>\s][^<>]{0,2000}?)\s{0,40}</")
_PAIR = re.compile(r"\\{0,3}[\"']\s{0,4}(?:,|->)\s{0,8}(?:\w{1,20}\s?=\s?)?[bNuErf]?\\{0,3}([\"'])([^\"'\n]{1,2000})\1")
_CALL_PREFIX = re.compile(
    r"([\w.]{1,60})[ \t]?[\[(](?:\s{0,8}\\{0,3}[\"'][^\"'()]{0,60}[\"']\s{0,4},|\s{0,8}[\w.]{1,40}\s{0,4},){0,8}\s{0,8}[bu]?\\{0,3}[\"']\Z"
)
_METHOD = re.compile(r"[ \t]?\([ \t]{0,4}[buN]?\\{0,3}([\"'])([^\"'\n]{1,2000})\1[ \t]{0,4}[).,]")
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_COMPARISON_OPERATOR = re.compile(
    r"[\"'`\]]?\s{1,8}(?:not\s{1,8})?(in|like|ilike|rlike|regexp)\s{0,8}[\[(]?\s{0,8}(?=[\"'])", re.IGNORECASE
)
_ITEM = re.compile(r"([\"'])([^\"'\n]{0,2000})\1\s{0,8}(,?)\s{0,8}")
#: ``login ann password x`` of a file .netrc, and ``requirepass x`` of Redis.
_NETRC = re.compile(r"\b(?:login|machine)\s{1,8}\S{1,100}\s{1,8}\Z")
_FOLLOWING_WORD = re.compile(r"[ \t]{1,8}([^\s\"'=:,;]{1,200})")
#: ``ENV NAME x`` of a Dockerfile, ``\set name 'x'`` of psql.
_DIRECTIVE = re.compile(r"(?:(?:\A|[\n;])[ \t]{0,20}(?:ENV|ARG)|\\set|(?:\A|[\n ;])setx)[ \t]{1,4}\Z")
_FOLLOWING_QUOTED = re.compile(r"[ \t]{1,8}([\"'])([^\"'\n]{1,400})\1")
_PASSWORDS = ("password", "passwd", "passphrase", "pwd")
_DEFAULT = re.compile(r"[\"'][ \t]{0,8}\{[^{}]{0,200}?\bdefault[ \t]{0,8}=[ \t]{0,8}[\"']([^\"'\n]{1,400})[\"']")
_SETTER_PREFIXES = ("set_", "with_", "put_", "add_")
_LOOKBEHIND_LENGTH = 120
_MAX_LIST_ITEMS = 10_000


def find_secrets(text: str, start: int, end: int, name: str) -> list[SecretSpan] | None:
    """Return the secrets that belong to the name at a position of a text, None if it has none."""
    next_char = text[end : end + 1]
    previous_char = text[start - 1 : start] if start else ""
    if previous_char and previous_char in "\"':=> ":
        spans = _find_member_value(text, start, end, name)
        if spans is not None:
            return spans
    if previous_char and previous_char in "<;:":
        return _find_element_content(text, start, end, name)
    if previous_char and previous_char in "\"'" and next_char and next_char in "\"'\\":
        return _find_pair_value(text, start, end, name) or _find_default(text, start, end, name)
    if next_char in ("(", " ") and text[end : end + 2] != " (" and "(" in text[end : end + 2]:
        return _find_method_argument(text, end, name)
    if next_char and next_char in " \"'`]\t\n":
        return _find_compared_literals(text, end, name) or _find_directive_value(text, start, end, name)
    return None


def _find_member_value(text: str, start: int, end: int, name: str) -> list[SecretSpan] | None:
    """Return the value of a pair of members: ``"name": "DB_PASSWORD", "value": "x"``, in either order."""
    if _NAME_PREFIX.search(text, max(0, start - 24), start) is None:
        return None
    element = _ATTRIBUTE.match(text, end)
    if element is not None and not is_harmless(name, element[1]):
        return [SecretSpan(*element.span(1))]
    value_part = _VALUE.match(text, end)
    if value_part is not None and _OTHER_NAME.search(text, end, value_part.end()) is None:
        if value_part[1] == ">":
            content = _CONTENT.match(text, value_part.end())
            return None if content is None or is_harmless(name, content[1]) else [SecretSpan(*content.span(1))]
        span = find_value(text, value_part.end(), "=", name, is_quoted=True)
        return None if span is None else [span]
    value_match = _PRECEDING_VALUE.search(text, max(0, start - 300), start)
    if value_match is not None and not is_harmless(name, value_match[2]):
        return [SecretSpan(*value_match.span(2))]
    return None


def _find_element_content(text: str, start: int, end: int, name: str) -> list[SecretSpan] | None:
    """Return the content of an element of XML: ``<password>x</password>``."""
    if _ELEMENT_PREFIX.search(text, max(0, start - 26), start) is None:
        return None
    element = _ELEMENT.match(text, end) or _VALUE_OF_ELEMENT.match(text, end)
    if element is None or is_harmless(name, element[1]) or is_type(text, element[1], element.end(1)):
        return None
    return None if element[1].lower() in rules().prose else [SecretSpan(*element.span(1))]


def _find_pair_value(text: str, start: int, end: int, name: str) -> list[SecretSpan] | None:
    """Return the value of a pair of quoted texts: ``.option("password", "x")``, ``Map("password" -> "x")``."""
    pair = _PAIR.match(text, end)
    if pair is None or is_harmless(name, pair[2].rstrip("\\")):
        return None
    if "->" not in text[end : pair.start(1)]:
        call = _CALL_PREFIX.search(text, max(0, start - _LOOKBEHIND_LENGTH), start)
        if call is None or not _is_setter(call[1].rpartition(".")[2]):
            return None
    return [SecretSpan(pair.start(2), pair.start(2) + len(pair[2].rstrip("\\")))]


def _is_setter(method: str) -> bool:
    secret_rules = rules()
    lower = method.lower()
    return lower in secret_rules.setters or (
        _WORD_BOUNDARY.sub("_", method).lower().startswith(_SETTER_PREFIXES) and "column" not in lower
    )


def _find_default(text: str, start: int, end: int, name: str) -> list[SecretSpan] | None:
    """Return the default of a variable of Terraform: ``variable "db_password" { default = "x" }``."""
    if not text.startswith("variable ", max(0, start - 10)):
        return None
    match = _DEFAULT.match(text, end)
    return None if match is None or is_harmless(name, match[1]) else [SecretSpan(*match.span(1))]


def _find_method_argument(text: str, end: int, name: str) -> list[SecretSpan] | None:
    """Return the value that a method sets: ``setPassword("x")``, ``token.equals("x")``."""
    owner, _, method = name.rpartition(".")
    if method in ("equals", "equalsIgnoreCase"):
        comparison = _METHOD.match(text, end) if is_secret_name(owner) else None
        return [SecretSpan(*comparison.span(2))] if comparison is not None and looks_secret(comparison[2]) else None
    method_words = _WORD_BOUNDARY.sub("_", method).lower()
    is_setter = method_words in rules().setter_names or (
        method_words.startswith(_SETTER_PREFIXES) and is_secret_name(method_words)
    )
    match = _METHOD.match(text, end) if is_setter else None
    return None if match is None or is_harmless(name, match[2]) else [SecretSpan(*match.span(2))]


def _find_compared_literals(text: str, end: int, name: str) -> list[SecretSpan] | None:
    """Return the literals that a secret is compared with: ``api_key IN ('x')``."""
    comparison = _COMPARISON_OPERATOR.match(text, end)
    if comparison is None:
        return None
    spans: list[SecretSpan] = []
    position = comparison.end()
    while len(spans) < _MAX_LIST_ITEMS and (item := _ITEM.match(text, position)) is not None:
        position = item.end()
        value = item[2]
        if value and "%" not in value and not is_harmless(name, value) and (looks_secret(value) or is_password(name)):
            spans.append(SecretSpan(*item.span(2)))
        if not item[3] or comparison[1].lower() != "in":
            break
    return spans or None


def _find_directive_value(text: str, start: int, end: int, name: str) -> list[SecretSpan] | None:
    """Return the word behind a name in files of settings: ``ENV DB_PASSWORD x``, ``requirepass x``, ``login ann password x``."""
    preceding = text[max(0, start - _LOOKBEHIND_LENGTH) : start]
    if (
        name.lower() in ("requirepass", "masterauth")
        or _DIRECTIVE.search(preceding)
        or (name.lower() == "password" and _NETRC.search(preceding))
    ):
        word_match = _FOLLOWING_WORD.match(text, end)
        if (
            word_match is not None
            and not is_harmless(name, word_match[1])
            and word_match[1].lower() not in rules().prose
            and not is_type(text, word_match[1], word_match.end(1))
        ):
            return [SecretSpan(*word_match.span(1))]
        quoted_match = _FOLLOWING_QUOTED.match(text, end)
        return (
            [SecretSpan(*quoted_match.span(2))]
            if quoted_match is not None and not is_harmless(name, quoted_match[2])
            else None
        )
    quoted_match = _FOLLOWING_QUOTED.match(text, end) if name.lower().endswith(_PASSWORDS) else None
    if (
        quoted_match is None
        or not looks_secret(quoted_match[2])
        or " " in quoted_match[2]
        or is_harmless(name, quoted_match[2])
    ):
        return None
    return [SecretSpan(*quoted_match.span(2))]
