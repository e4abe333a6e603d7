"""Values that become custom properties: their names, their text, and their maximal size."""

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
    """Return the properties that replace a bulk value which is dropped: its hash and its size in bytes."""
    return {f"{prefix}.sha256": hashlib.sha256(raw).hexdigest(), f"{prefix}.bytes": str(len(raw))}


def property_text(key: str, value: Any, *, is_secret: bool = False) -> str | None:
    """Return the property text of ``value`` under ``key``, truncated; None for a null.

    Secrets of events were masked before. If the name of the property shows a secret that the name in the facet did not show,
    the value is masked here. ``is_secret``: a name above ``key`` hides the value.
    """
    if value is None:
        return None
    if is_secret or (is_secret_name(key) and is_hidden_key(key)):
        value = redact_json(value, key, is_hidden=True)
    return truncate(json_text(value))


def masked_property_text(key: str, value: Any) -> str | None:
    """Return :func:`property_text` of a value that was not masked with an event, for example of a Python caller."""
    return property_text(key, redact_json(value, key))


def present_property_text(key: str, value: Any) -> str:
    """Return :func:`property_text` of a value that is not null."""
    return property_text(key, value) or ""


def flatten(
    prefix: str, value: Mapping[str, Any], target: dict[str, str] | None = None, *, is_secret: bool = False
) -> dict[str, str]:
    """Return each field of ``value`` as ``prefix.<path>``. Lists are compact JSON. Nulls, empty lists and objects are skipped."""
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
"""The name of a member of a merged property; or the name and its subject, if several members can have one name.

The subject is a job or a URN, two of them, or the path of a pair of columns.
"""


class MergedProperty:
    """A property to which several facts contribute: a JSON object. Each fact has some of its members."""

    __slots__ = ("_text", "members", "name")

    def __init__(self, name: str, members: Mapping[MemberKey, Any]) -> None:
        self.name = name
        self.members = members
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The members as property text, truncated; computed once."""
        if self._text is None:
            self._text = truncate(json_text(_values_by_unique_name(self.members)))
        return self._text

    def __contains__(self, name: str) -> bool:
        return name == self.name

    def merge_members(self, other: MergedProperty) -> MergedProperty:
        """Return the union of both properties; if both have a name, the member of ``other`` wins."""
        return MergedProperty(self.name, {**self.members, **other.members})


def _values_by_unique_name(members: Mapping[MemberKey, Any]) -> dict[str, Any]:
    """Return values by name; members with the same name are listed by their URNs, for example ``orders`` of two servers."""
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
    """Property -> its name with the prefix of the settings; cleared when it is full."""

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
    """Return at most 200 properties and 64 KiB of them; the last names in alphabetical order are dropped first."""
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
