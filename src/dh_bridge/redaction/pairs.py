"""Secrets that belong to a name, without a sign of assignment between them.

``{"name": "DB_PASSWORD", "value": "x"}``, ``<password>x</password>``, ``set("password", "x")``, ``setPassword("x")``, ``password != "x"``.
"""

from __future__ import annotations

import re

from dh_bridge.redaction.names import secret_name
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.values import Found, is_harmless, is_password, is_type, looks_secret, value_behind

#: In front of a name: ``"name": "``, ``- name: ``, ``<entry key="``, ``<name>``.
_NAMED = re.compile(r"(?:name|key|id|variable)\\{0,3}[\"']?\s{0,4}[:=>]\s{0,4}\\{0,3}[\"']?\Z", re.IGNORECASE)
#: Behind it: ``", "value": ``, a new line and ``value: ``, ``</name><value>``.
_VALUE = re.compile(
    r"[^{}\[\]]{0,160}?\bw?(?:default_?|parameter|secret)?value\\{0,3}[\"']?\s{0,4}([:=>])(?!=)[ \t\r\n]{0,40}",
    re.IGNORECASE,
)
_OTHER_NAME = re.compile(r"\b(?:name|key)\\{0,3}[\"']?\s{0,4}[:=]|<name>|\n\s{0,40}- |\w\s{0,4}[{(]", re.IGNORECASE)
_CONTENT = re.compile(r"([^<>\s][^<>]{0,2000}?)\s{0,40}<")
#: In front of a name that follows its value: ``"value": "x", "name": "``.
_VALUE_BEFORE = re.compile(
    r"value\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}(\\{0,3}[\"'])([^\"'\\]{1,200})\1\s{0,4},\s{0,8}\\{0,3}[\"']?(?:name|key)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?\Z",
    re.IGNORECASE,
)
#: An element of XML: what stands in front of its name, and behind it.
_OPENED = re.compile(r"(?:<|&lt;)(?:[\w-]{1,20}:)?\Z")
_ELEMENT = re.compile(
    r"(?:\s[^<>]{0,200})?(?:>|&gt;)\s{0,40}(?:<!\[CDATA\[)?([^<>\]&\s][^<>\]&]{0,2000}?)\s{0,40}(?=\]\]>|</|&lt;/)"
)
_VALUE_OF_ELEMENT = re.compile(r"\s[^<>]{0,100}?\bvalue\s{0,4}=\s{0,4}[\"']([^\"'<>]{1,2000})[\"']")
#: ``key="password">x<``.
_ATTRIBUTE = re.compile(r"[\"'][^<>]{0,100}(?<!/)>\s{0,40}([^<>\s][^<>]{0,2000}?)\s{0,40}</")
_PAIR = re.compile(r"\\{0,3}[\"']\s{0,4}(?:,|->)\s{0,8}(?:\w{1,20}\s?=\s?)?[bNuErf]?\\{0,3}([\"'])([^\"'\n]{1,2000})\1")
_CALLED = re.compile(
    r"([\w.]{1,60})[ \t]?[\[(](?:\s{0,8}\\{0,3}[\"'][^\"'()]{0,60}[\"']\s{0,4},|\s{0,8}[\w.]{1,40}\s{0,4},){0,8}\s{0,8}[bu]?\\{0,3}[\"']\Z"
)
_METHOD = re.compile(r"[ \t]?\([ \t]{0,4}[buN]?\\{0,3}([\"'])([^\"'\n]{1,2000})\1[ \t]{0,4}[).,]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TEST = re.compile(
    r"[\"'`\]]?\s{1,8}(?:not\s{1,8})?(in|like|ilike|rlike|regexp)\s{0,8}[\[(]?\s{0,8}(?=[\"'])", re.IGNORECASE
)
_ITEM = re.compile(r"([\"'])([^\"'\n]{0,2000})\1\s{0,8}(,?)\s{0,8}")
#: ``login ann password x`` of a file .netrc, and ``requirepass x`` of Redis.
_NETRC = re.compile(r"\b(?:login|machine)\s{1,8}\S{1,100}\s{1,8}\Z")
_WORD_BEHIND = re.compile(r"[ \t]{1,8}([^\s\"'=:,;]{1,200})")
#: ``ENV NAME x`` of a Dockerfile, ``\set name 'x'`` of psql.
_DIRECTIVE = re.compile(r"(?:(?:\A|[\n;])[ \t]{0,20}(?:ENV|ARG)|\\set|(?:\A|[\n ;])setx)[ \t]{1,4}\Z")
_QUOTED_BEHIND = re.compile(r"[ \t]{1,8}([\"'])([^\"'\n]{1,400})\1")
_PASSWORDS = ("password", "passwd", "passphrase", "pwd")
_DEFAULT = re.compile(r"[\"'][ \t]{0,8}\{[^{}]{0,200}?\bdefault[ \t]{0,8}=[ \t]{0,8}[\"']([^\"'\n]{1,400})[\"']")
_SETTERS = ("set_", "with_", "put_", "add_")
_BEFORE = 120


def of_name(text: str, start: int, end: int, name: str) -> list[Found] | None:
    """Return the secrets that belong to the name at a place of a text, None where there is none."""
    sign = text[end : end + 1]
    previous = text[start - 1 : start] if start else ""
    if previous and previous in "\"':=> ":
        found = _of_named(text, start, end, name)
        if found is not None:
            return found
    if previous and previous in "<;:":
        return _of_element(text, start, end, name)
    if previous and previous in "\"'" and sign and sign in "\"'\\":
        return _of_pair(text, start, end, name) or _of_default(text, start, end, name)
    if sign in ("(", " ") and text[end : end + 2] != " (" and "(" in text[end : end + 2]:
        return _of_method(text, end, name)
    if sign and sign in " \"'`]\t\n":
        return _of_test(text, end, name) or _of_word(text, start, end, name)
    return None


def _of_named(text: str, start: int, end: int, name: str) -> list[Found] | None:
    """Return the value of a pair of members: ``"name": "DB_PASSWORD", "value": "x"``, in either order."""
    if _NAMED.search(text, max(0, start - 24), start) is None:
        return None
    element = _ATTRIBUTE.match(text, end)
    if element is not None and not is_harmless(name, element[1]):
        return [Found(*element.span(1))]
    value = _VALUE.match(text, end)
    if value is not None and _OTHER_NAME.search(text, end, value.end()) is None:
        if value[1] == ">":
            content = _CONTENT.match(text, value.end())
            return None if content is None or is_harmless(name, content[1]) else [Found(*content.span(1))]
        found = value_behind(text, value.end(), "=", name, quoted=True)
        return None if found is None else [found]
    before = _VALUE_BEFORE.search(text, max(0, start - 300), start)
    if before is not None and not is_harmless(name, before[2]):
        return [Found(*before.span(2))]
    return None


def _of_element(text: str, start: int, end: int, name: str) -> list[Found] | None:
    """Return the content of an element of XML: ``<password>x</password>``."""
    if _OPENED.search(text, max(0, start - 26), start) is None:
        return None
    element = _ELEMENT.match(text, end) or _VALUE_OF_ELEMENT.match(text, end)
    if element is None or is_harmless(name, element[1]) or is_type(text, element[1], element.end(1)):
        return None
    return None if element[1].lower() in rules().prose else [Found(*element.span(1))]


def _of_pair(text: str, start: int, end: int, name: str) -> list[Found] | None:
    """Return the value of a pair of quoted texts: ``.option("password", "x")``, ``Map("password" -> "x")``."""
    pair = _PAIR.match(text, end)
    if pair is None or is_harmless(name, pair[2].rstrip("\\")):
        return None
    if "->" not in text[end : pair.start(1)]:
        call = _CALLED.search(text, max(0, start - _BEFORE), start)
        if call is None or not _sets(call[1].rpartition(".")[2]):
            return None
    return [Found(pair.start(2), pair.start(2) + len(pair[2].rstrip("\\")))]


def _sets(method: str) -> bool:
    found = rules()
    lower = method.lower()
    return lower in found.setters or (_HUMP.sub("_", method).lower().startswith(_SETTERS) and "column" not in lower)


def _of_default(text: str, start: int, end: int, name: str) -> list[Found] | None:
    """Return the default of a variable of Terraform: ``variable "db_password" { default = "x" }``."""
    if not text.startswith("variable ", max(0, start - 10)):
        return None
    match = _DEFAULT.match(text, end)
    return None if match is None or is_harmless(name, match[1]) else [Found(*match.span(1))]


def _of_method(text: str, end: int, name: str) -> list[Found] | None:
    """Return what a method sets: ``setPassword("x")``, ``token.equals("x")``."""
    before, _, method = name.rpartition(".")
    if method in ("equals", "equalsIgnoreCase"):
        test = _METHOD.match(text, end) if secret_name(before) else None
        return [Found(*test.span(2))] if test is not None and looks_secret(test[2]) else None
    last = _HUMP.sub("_", method).lower()
    sets = last in rules().setter_names or (last.startswith(_SETTERS) and secret_name(last))
    match = _METHOD.match(text, end) if sets else None
    return None if match is None or is_harmless(name, match[2]) else [Found(*match.span(2))]


def _of_test(text: str, end: int, name: str) -> list[Found] | None:
    """Return the literals that a secret is compared with: ``api_key IN ('x')``."""
    test = _TEST.match(text, end)
    if test is None:
        return None
    found: list[Found] = []
    position = test.end()
    while len(found) < 200 and (item := _ITEM.match(text, position)) is not None:
        position = item.end()
        value = item[2]
        if value and "%" not in value and not is_harmless(name, value) and (looks_secret(value) or is_password(name)):
            found.append(Found(*item.span(2)))
        if not item[3] or test[1].lower() != "in":
            break
    return found or None


def _of_word(text: str, start: int, end: int, name: str) -> list[Found] | None:
    """Return the word behind a name in files of settings: ``ENV DB_PASSWORD x``, ``requirepass x``, ``login ann password x``."""
    before = text[max(0, start - _BEFORE) : start]
    if (
        name.lower() in ("requirepass", "masterauth")
        or _DIRECTIVE.search(before)
        or (name.lower() == "password" and _NETRC.search(before))
    ):
        word = _WORD_BEHIND.match(text, end)
        if word is not None and not is_harmless(name, word[1]) and word[1].lower() not in rules().prose:
            return [Found(*word.span(1))]
        quoted = _QUOTED_BEHIND.match(text, end)
        return [Found(*quoted.span(2))] if quoted is not None and not is_harmless(name, quoted[2]) else None
    quoted = _QUOTED_BEHIND.match(text, end) if name.lower().endswith(_PASSWORDS) else None
    if quoted is None or not looks_secret(quoted[2]) or " " in quoted[2] or is_harmless(name, quoted[2]):
        return None
    return [Found(*quoted.span(2))]
