"""Kept values: what a leaf is called as a custom property, and how long it may be."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.fine_grained import path_ends
from dh_bridge.redaction import has_hidden_value, is_hidden_key, is_secret_name, redact_json

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_VALUE_CHARS = 4000
MAX_PROPERTIES = 200
MAX_PROPERTY_BYTES = 64 * 1024
PREFIX = "openlineage."

_compact = msgspec.json.Encoder(order="deterministic").encode


def json_text(value: Any) -> str:
    """Return a JSON value as property text: strings as they are, the rest as compact JSON with sorted keys."""
    if isinstance(value, str):
        return value
    if value is True:
        return "true"
    if value is False:
        return "false"
    return _compact(value).decode()


def truncate(value: str, max_chars: int = MAX_VALUE_CHARS) -> str:
    """Return ``value`` cut to ``max_chars`` characters, the marker with count and hash included."""
    if len(value) <= max_chars:
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    head_chars = max_chars - len(f"…[+{len(value)} chars, sha256:{digest}]")
    return f"{value[:head_chars]}…[+{len(value) - head_chars} chars, sha256:{digest}]"


def truncate_middle(value: str, head: int = 2600, tail: int = 1300) -> str:
    """Return a stack trace cut in the middle: Java puts the cause at the end, Python too."""
    if len(value) <= head + tail + 100:
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{value[:head]}…[+{len(value) - head - tail} chars, sha256:{digest}]…{value[-tail:]}"


def digest_properties(prefix: str, raw: bytes) -> dict[str, str]:
    """Return what stays of bulk that is withheld: its hash and its size in bytes."""
    return {f"{prefix}.sha256": hashlib.sha256(raw).hexdigest(), f"{prefix}.bytes": str(len(raw))}


def property_text(key: str, value: Any, *, is_secret: bool = False) -> str | None:
    """Return the property text of ``value`` under ``key``, capped; None for a null (no statement).

    Events hold no secrets any more, but the name of a property may say more of a value than the facet did: then it is masked.
    ``is_secret``: a name above ``key`` hides the value.
    """
    if value is None:
        return None
    if is_secret or (is_secret_name(key) and is_hidden_key(key)):
        value = redact_json(value, key, is_hidden=True)
    return truncate(json_text(value))


def masked_property_text(key: str, value: Any) -> str | None:
    """Return what :func:`property_text` returns of a value that was not masked with its event, for example of a Python caller."""
    return property_text(key, redact_json(value, key))


def present_property_text(key: str, value: Any) -> str:
    """Return what :func:`property_text` returns of a value that is there."""
    return property_text(key, value) or ""


def flatten(
    prefix: str, value: Mapping[str, Any], target: dict[str, str] | None = None, *, is_secret: bool = False
) -> dict[str, str]:
    """Return each leaf of ``value`` under ``prefix.<path>``; lists are compact JSON; nulls and what is empty are no statement."""
    properties: dict[str, str] = {} if target is None else target
    for name, member in value.items():
        key = f"{prefix}.{name}"
        if isinstance(member, (dict, list)) and not member:
            continue
        secret = is_secret or (name == "value" and has_hidden_value(value))
        if isinstance(member, dict):
            flatten(key, member, properties, is_secret=secret or is_hidden_key(key))
            continue
        text = property_text(key, member, is_secret=secret)
        if text is not None:
            properties[key] = text
    return properties


MemberKey = str | tuple[str, ...]
"""What a member of a joined property is called; or that, and what it is about, of which several may be called so.

That is a job or a URN, two of them, or the path of a pair of columns.
"""


class MergedProperty:
    """A property that several statements make together: a JSON object, of which each states some members."""

    __slots__ = ("_text", "members", "name")

    def __init__(self, name: str, members: Mapping[MemberKey, Any]) -> None:
        self.name = name
        self.members = members
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The members as property text, capped; worked out once."""
        if self._text is None:
            self._text = truncate(json_text(_values_by_unique_name(self.members)))
        return self._text

    def __contains__(self, name: str) -> bool:
        return name == self.name

    def merge_members(self, other: MergedProperty) -> MergedProperty:
        """Return the property of both; of two members with one name, that of ``other``."""
        return MergedProperty(self.name, {**self.members, **other.members})


def _values_by_unique_name(members: Mapping[MemberKey, Any]) -> dict[str, Any]:
    """Return members by what they are called; of those that are called the same, each by its URNs: ``orders`` of two servers."""
    names = [member if isinstance(member, str) else member[0] for member in members]
    values_by_name = dict(zip(names, members.values(), strict=True))
    if len(values_by_name) == len(names):
        return values_by_name
    counts = Counter(names)
    return {
        name if counts[name] == 1 or isinstance(member, str) else "<-".join(path_ends(member[1]) or member[1:]): value
        for name, (member, value) in zip(names, members.items(), strict=True)
    }


class PrefixedNames(dict[str, str]):
    """Property -> what it is called with the prefix of the settings; starts anew when it is full."""

    _MAX_NAMES = 4096

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def __missing__(self, key: str) -> str:
        if len(self) >= self._MAX_NAMES:
            self.clear()
        name = self[key] = self._prefix + key
        return name


def limit_properties(properties: dict[str, str]) -> dict[str, str]:
    """Return at most 200 properties and 64 KiB of them, the last keys of the alphabet dropped first."""
    size = sum(len(key) + len(value) for key, value in properties.items())
    if len(properties) <= MAX_PROPERTIES and size <= MAX_PROPERTY_BYTES:
        return properties
    selection: dict[str, str] = {}
    size = 0
    for key in sorted(properties):
        size += len(key.encode("utf-8", "surrogatepass")) + len(properties[key].encode("utf-8", "surrogatepass"))
        if len(selection) >= MAX_PROPERTIES or size > MAX_PROPERTY_BYTES:
            break
        selection[key] = properties[key]
    return selection
