"""Kept values: what a leaf is called as a custom property, and how long it may be."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.fine_grained import ends
from dh_bridge.redaction import hides, hides_value, redacted_json, secret_name

if TYPE_CHECKING:
    from collections.abc import Mapping

VALUE_CAP = 4000
KEY_CAP = 200
BYTES_CAP = 64 * 1024
PREFIX = "openlineage."

_compact = msgspec.json.Encoder(order="deterministic").encode


def text(value: Any) -> str:
    """Return a JSON value as property text: strings as they are, the rest as compact JSON with sorted keys."""
    if isinstance(value, str):
        return value
    if value is True:
        return "true"
    if value is False:
        return "false"
    return _compact(value).decode()


def capped(value: str, cap: int = VALUE_CAP) -> str:
    """Return ``value`` cut to ``cap`` characters, the marker with count and hash included."""
    if len(value) <= cap:
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    room = cap - len(f"…[+{len(value)} chars, sha256:{digest}]")
    return f"{value[:room]}…[+{len(value) - room} chars, sha256:{digest}]"


def head_and_tail(value: str, head: int = 2600, tail: int = 1300) -> str:
    """Return a stack trace cut in the middle: Java puts the cause at the end, Python too."""
    if len(value) <= head + tail + 100:
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{value[:head]}…[+{len(value) - head - tail} chars, sha256:{digest}]…{value[-tail:]}"


def digest_properties(prefix: str, raw: bytes) -> dict[str, str]:
    """Return what stays of bulk that is withheld: its hash and its size in bytes."""
    return {f"{prefix}.sha256": hashlib.sha256(raw).hexdigest(), f"{prefix}.bytes": str(len(raw))}


def kept(key: str, value: Any, *, hidden: bool = False) -> str | None:
    """Return the property text of ``value`` under ``key``, capped; None for a null (no statement).

    Events hold no secrets any more, but the name of a property may say more of a value than the facet did: then it is masked.
    ``hidden``: a name above ``key`` hides the value.
    """
    if value is None:
        return None
    if hidden or (secret_name(key) and hides(key)):
        value = redacted_json(value, key, hidden=True)
    return capped(text(value))


def kept_unmasked(key: str, value: Any) -> str | None:
    """Return what :func:`kept` returns of a value that was not masked with its event, for example of a Python caller."""
    return kept(key, redacted_json(value, key))


def worded(key: str, value: Any) -> str:
    """Return what :func:`kept` returns of a value that is there."""
    return kept(key, value) or ""


def flattened(
    prefix: str, value: Mapping[str, Any], into: dict[str, str] | None = None, *, hidden: bool = False
) -> dict[str, str]:
    """Return each leaf of ``value`` under ``prefix.<path>``; lists are compact JSON; nulls and what is empty are no statement."""
    found: dict[str, str] = {} if into is None else into
    for name, member in value.items():
        key = f"{prefix}.{name}"
        if isinstance(member, (dict, list)) and not member:
            continue
        secret = hidden or (name == "value" and hides_value(value))
        if isinstance(member, dict):
            flattened(key, member, found, hidden=secret or hides(key))
            continue
        written = kept(key, member, hidden=secret)
        if written is not None:
            found[key] = written
    return found


Member = str | tuple[str, ...]
"""What a member of a joined property is called; or that, and what it is about, of which several may be called so.

That is a job or a URN, two of them, or the path of a pair of columns.
"""


class Joined:
    """A property that several statements make together: a JSON object, of which each states some members."""

    __slots__ = ("_text", "members", "name")

    def __init__(self, name: str, members: Mapping[Member, Any]) -> None:
        self.name = name
        self.members = members
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The members as property text, capped; worked out once."""
        if self._text is None:
            self._text = capped(text(_told_apart(self.members)))
        return self._text

    def __contains__(self, name: str) -> bool:
        return name == self.name

    def with_members(self, other: Joined) -> Joined:
        """Return the property of both; of two members with one name, that of ``other``."""
        return Joined(self.name, {**self.members, **other.members})


def _told_apart(members: Mapping[Member, Any]) -> dict[str, Any]:
    """Return members by what they are called; of those that are called the same, each by its URNs: ``orders`` of two servers."""
    called = [member if isinstance(member, str) else member[0] for member in members]
    found = dict(zip(called, members.values(), strict=True))
    if len(found) == len(called):
        return found
    times = Counter(called)
    return {
        name if times[name] == 1 or isinstance(member, str) else "<-".join(ends(member[1]) or member[1:]): said
        for name, (member, said) in zip(called, members.items(), strict=True)
    }


class Names(dict[str, str]):
    """Property -> what it is called with the prefix of the settings; starts anew when it is full."""

    _MOST = 4096

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def __missing__(self, key: str) -> str:
        if len(self) >= self._MOST:
            self.clear()
        found = self[key] = self._prefix + key
        return found


def bounded(properties: dict[str, str]) -> dict[str, str]:
    """Return at most 200 properties and 64 KiB of them, the last keys of the alphabet dropped first."""
    size = sum(len(key) + len(value) for key, value in properties.items())
    if len(properties) <= KEY_CAP and size <= BYTES_CAP:
        return properties
    left: dict[str, str] = {}
    size = 0
    for key in sorted(properties):
        size += len(key.encode("utf-8", "surrogatepass")) + len(properties[key].encode("utf-8", "surrogatepass"))
        if len(left) >= KEY_CAP or size > BYTES_CAP:
            break
        left[key] = properties[key]
    return left
