"""Words of a job's identity: cleaned names, canonical namespaces, ids cut to DataHub's limits.

DataHub refuses an URN of more than 512 bytes as ``java.net.URLEncoder`` counts them.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from dh_bridge.datahub.urns import encode_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.settings.identity import IdentitySettings

PLACEHOLDER = "unknown"
DEFAULT_NAMESPACE = "default"
MAX_FLOW_BYTES = 320
MAX_JOB_BYTES = 512
MAX_CLUSTER_BYTES = 200  # leaves a flow's id 36 bytes at worst; the specification does not cut namespaces

_CONTROL = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029\u241f]+")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LOGIN = re.compile(r"(?<=://)[^/\s:@]*:[^/\s]+@")
_UNESCAPED_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-*_ "
_MAX_CACHED_NAMESPACES, _MAX_CACHED_LENGTH = (
    4096,
    1000,
)  # namespaces that are remembered: jobs are many, their namespaces few
_HASH_SUFFIX_BYTES = 18  # "--" and 16 hex digits


def clean(text: str, empty: str) -> str:
    """Return ``text`` in one line without outer blanks; ``empty`` when nothing is left."""
    if text.isascii():
        if not text.isprintable():
            text = _CONTROL.sub(" ", text)
        return text.strip() or empty
    return _LONE_SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text)).strip() or empty


def strip_login(text: str) -> str:
    """Return ``text`` without ``user:password@`` of its URLs: a URN is shown to everybody, and outlives a password."""
    return _LOGIN.sub("", text) if "@" in text and "://" in text else text


def url_length(text: str) -> int:
    """Return how long ``java.net.URLEncoder`` makes ``text``, in bytes."""
    data = text.encode()
    return len(data) + 2 * len(data.translate(None, _UNESCAPED_BYTES))


def is_within_limit(text: str, max_bytes: int) -> bool:
    """Whether :func:`url_length` of ``text`` is ``max_bytes`` at most."""
    return (3 * len(text) <= max_bytes and text.isascii()) or url_length(text) <= max_bytes


def cut_component(component: str, max_bytes: int) -> str:
    """Return ``component`` so that it takes at most ``max_bytes`` bytes, escaped and URL-encoded.

    A longer one becomes its longest prefix that fits, ``--`` and 16 hex digits of its sha256.
    """
    if len(component) <= max_bytes and is_within_limit(encode_part(component), max_bytes):
        return component
    remaining_bytes = max_bytes - _HASH_SUFFIX_BYTES
    for end, char in enumerate(component):
        remaining_bytes -= url_length(encode_part(char))
        if remaining_bytes < 0:
            return f"{component[:end]}--{sha256(component.encode()).hexdigest()[:16]}"
    raise AssertionError(component)  # pragma: no cover - it did not fit with 18 bytes more


def fit_urn(component: str, make_urn: Callable[[str], str], max_bytes: int) -> tuple[str, str]:
    """Return the component, cut if its URN would take more than ``max_bytes`` bytes, and the URN."""
    full_urn = make_urn(component)
    if is_within_limit(full_urn, max_bytes):
        return component, full_urn
    component_id = cut_component(component, url_length(encode_part(component)) - url_length(full_urn) + max_bytes)
    return component_id, make_urn(component_id)


class NameNormalizer:
    """The configured part of it: letter case and groups of namespaces."""

    def __init__(self, settings: IdentitySettings) -> None:
        self._lower_namespace = "namespace" in settings.lowercase
        self._lower_name = "name" in settings.lowercase
        self._canonical = {
            self._apply_case(clean(strip_login(alias), DEFAULT_NAMESPACE)): clean(canonical, DEFAULT_NAMESPACE)
            for canonical, aliases in settings.namespaces.items()
            for alias in (*aliases, canonical)
        }
        self._cache: dict[str, str] = {}

    def _apply_case(self, namespace: str) -> str:
        return namespace.lower() if self._lower_namespace else namespace

    def namespace(self, raw_namespace: str) -> str:
        """Return the canonical job namespace."""
        canonical_namespace = self._cache.get(raw_namespace)
        if canonical_namespace is None:
            namespace = self._apply_case(clean(strip_login(raw_namespace), DEFAULT_NAMESPACE))
            canonical_namespace = self._canonical.get(namespace, namespace)
            if len(raw_namespace) <= _MAX_CACHED_LENGTH and len(self._cache) < _MAX_CACHED_NAMESPACES:
                self._cache[raw_namespace] = canonical_namespace
        return canonical_namespace

    def name(self, raw_name: str) -> str:
        """Return the cleaned job name."""
        name = clean(strip_login(raw_name), PLACEHOLDER)
        return name.lower() if self._lower_name else name
