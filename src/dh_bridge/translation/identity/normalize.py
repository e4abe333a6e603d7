"""Words of a job's identity: cleaned names, canonical namespaces, ids cut to DataHub's limits.

DataHub refuses an URN of more than 512 bytes as ``java.net.URLEncoder`` counts them.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from dh_bridge.datahub.urns import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.settings.identity import IdentitySettings

PLACEHOLDER = "unknown"
DEFAULT_NAMESPACE = "default"
FLOW_LIMIT = 320
JOB_LIMIT = 512
CLUSTER_LIMIT = 200  # leaves a flow's id 36 bytes at worst; the specification does not cut namespaces

_CONTROL = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029\u241f]+")
_LONE = re.compile("[\ud800-\udfff]")
_LOGIN = re.compile(r"(?<=://)[^/\s:@]*:[^/\s]+@")
_PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-*_ "
_REMEMBERED, _LONGEST = 4096, 1000  # namespaces that are remembered: jobs are many, their namespaces few
_TAIL = 18  # "--" and 16 hex digits


def clean(text: str, empty: str) -> str:
    """Return ``text`` in one line without outer blanks; ``empty`` when nothing is left."""
    if text.isascii():
        if not text.isprintable():
            text = _CONTROL.sub(" ", text)
        return text.strip() or empty
    return _LONE.sub("\ufffd", _CONTROL.sub(" ", text)).strip() or empty


def without_login(text: str) -> str:
    """Return ``text`` without ``user:password@`` of its URLs: a URN is shown to everybody, and outlives a password."""
    return _LOGIN.sub("", text) if "@" in text and "://" in text else text


def url_length(text: str) -> int:
    """Return how long ``java.net.URLEncoder`` makes ``text``, in bytes."""
    data = text.encode()
    return len(data) + 2 * len(data.translate(None, _PLAIN))


def fits(text: str, room: int) -> bool:
    """Whether :func:`url_length` of ``text`` is ``room`` at most."""
    return (3 * len(text) <= room and text.isascii()) or url_length(text) <= room


def cut(component: str, room: int) -> str:
    """Return ``component`` so that it takes at most ``room`` bytes, escaped and URL-encoded.

    A longer one becomes its longest prefix that fits, ``--`` and 16 hex digits of its sha256.
    """
    if len(component) <= room and fits(encode(component), room):
        return component
    left = room - _TAIL
    for end, char in enumerate(component):
        left -= url_length(encode(char))
        if left < 0:
            return f"{component[:end]}--{sha256(component.encode()).hexdigest()[:16]}"
    raise AssertionError(component)  # pragma: no cover - it did not fit with 18 bytes more


def fitted(component: str, urn: Callable[[str], str], limit: int) -> tuple[str, str]:
    """Return the component, cut if its URN would take more than ``limit`` bytes, and the URN."""
    made = urn(component)
    if fits(made, limit):
        return component, made
    short = cut(component, url_length(encode(component)) - url_length(made) + limit)
    return short, urn(short)


class Words:
    """The configured part of it: letter case and groups of namespaces."""

    def __init__(self, settings: IdentitySettings) -> None:
        self._lower_namespace = settings.lowercase.namespace
        self._lower_name = settings.lowercase.name
        self._canonical = {
            self._cased(clean(without_login(alias), DEFAULT_NAMESPACE)): clean(group.canonical, DEFAULT_NAMESPACE)
            for group in settings.namespaces
            for alias in (*group.aliases, group.canonical)
        }
        self._known: dict[str, str] = {}

    def _cased(self, namespace: str) -> str:
        return namespace.lower() if self._lower_namespace else namespace

    def namespace(self, raw: str) -> str:
        """Return the canonical job namespace."""
        found = self._known.get(raw)
        if found is None:
            namespace = self._cased(clean(without_login(raw), DEFAULT_NAMESPACE))
            found = self._canonical.get(namespace, namespace)
            if len(raw) <= _LONGEST and len(self._known) < _REMEMBERED:
                self._known[raw] = found
        return found

    def name(self, raw: str) -> str:
        """Return the cleaned job name."""
        name = clean(without_login(raw), PLACEHOLDER)
        return name.lower() if self._lower_name else name
