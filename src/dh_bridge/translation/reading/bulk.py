"""Bulk inside a facet that is otherwise of use: its hash and size stay, it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.properties import digest_properties, text

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


def without_bulk(
    key: str, body: dict[str, Any], leaf: str, reason: str, at: Place
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return ``body`` without ``leaf``, and what stays of it: ``<key>.<leaf>.sha256`` and ``.bytes`` (of its JSON text)."""
    found = body.get(leaf)
    if found is None:
        return body, {}
    at.withheld(leaf, reason)
    raw = text(found).encode("utf-8", "surrogatepass")
    left = {name: value for name, value in body.items() if name != leaf}
    return left, digest_properties(f"{key}.{leaf}", raw)
