"""Secrets that sentences, tables and pipes name, without a sign of assignment behind the name.

``The password is x``, ``user ann / password x``, ``Client secret (x)``, ``| password | x |``, ``echo x | docker login --password-stdin``.
A value in prose has to look random: ``the token is unique`` and ``password sha256`` are none.
"""

from __future__ import annotations

import re

from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.values import SecretSpan, is_harmless, is_type, looks_random

_VALUE = r"[\"'`(*]{0,3}([^\s\"'`()<>|,;*]{8,200})"
_WORDS = r"(?:[ \t]{1,4}[A-Za-z]{1,20})"
#: Behind the name: the value, or some words and a verb or a colon before it.
_SENTENCE = re.compile(
    rf"[\"'`*)]{{0,3}}(?:{_WORDS}{{0,6}}?[ \t]{{1,4}}(?:is|are|to|as|equals|ist|est|es)\b|{_WORDS}{{1,3}}?[ \t]{{0,2}}:)?[ \t]{{1,4}}{_VALUE}"
)
#: A cell of a table of Markdown.
_CELL = re.compile(r"[ \t*`\"]{0,8}\|[ \t*`\"]{0,8}([^\s\"'`<>|*]{6,200})[ \t*`\"]{0,8}(?=[|\r\n]|\Z)")
#: A file of properties with blanks between names and values: ``spark.ssl.keyPassword x``.
_PROPERTY = re.compile(r"[ \t]{1,40}([^\s\"'`=:]{4,400})[ \t]{0,8}(?=[\r\n]|\Z)")
_PROPERTY_ROOTS = ("spark.", "fs.", "hive.", "hadoop.", "javax.", "flink.", "kafka.", "ssl.", "sasl.")
_PIPED = re.compile(
    r"\b(?:echo|printf)[ \t]{1,4}(?:-n[ \t]{1,4}|[\"']?%s[\"']?[ \t]{1,4})?([\"']?)([^\s\"'|]{4,200})\1[ \t]{0,4}\|[^|\n]{0,200}\Z"
)
#: Flags without an argument: the secret comes from the program before.
PIPED_FLAGS = ("password-stdin", "passphrase-fd", "token-stdin")
_LOOKBEHIND_LENGTH = 400


def find_prose_secrets(text: str, start: int, end: int, name: str) -> list[SecretSpan] | None:
    """Return the secret that the text around a name states, None if there is none."""
    next_char = text[end : end + 1]
    if not next_char or next_char not in " \t\"'`*|)":
        return None
    if next_char in " \t" and name.lower().startswith(_PROPERTY_ROOTS):
        match = _PROPERTY.match(text, end)
        if match is not None and _is_line_start(text, start) and not _says_something(text, name, match):
            return [SecretSpan(*match.span(1))]
    cell = _CELL.match(text, end)
    match = cell or _SENTENCE.match(text, end)
    if match is None:
        return None
    value = match[1].rstrip(".:!?")
    if not looks_random(value) or _says_something(text, name, match):
        return None
    return [SecretSpan(match.start(1), match.start(1) + len(value))]


def find_piped_secret(text: str, start: int, name: str) -> list[SecretSpan] | None:
    """Return the secret that is piped into a program: ``echo x | docker login --password-stdin``."""
    match = _PIPED.search(text, max(0, start - _LOOKBEHIND_LENGTH), start)
    return None if match is None or is_harmless(name, match[2]) else [SecretSpan(*match.span(2))]


def _is_line_start(text: str, start: int) -> bool:
    line = text.rfind("\n", 0, start) + 1
    return start - line <= 40 and not text[line:start].strip()


def _says_something(text: str, name: str, match: re.Match[str]) -> bool:
    """Return whether the value is a word about the secret, a type, or a placeholder."""
    value = match[1]
    return value.lower() in rules().prose or is_harmless(name, value) or is_type(text, value, match.end(1))
