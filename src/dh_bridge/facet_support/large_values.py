"""Bulk inside a facet that is otherwise of use: its hash and size stay, it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.model.properties import digest_properties, json_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


def drop_large_value(
    key: str, content: dict[str, Any], field_name: str, reason: str, ctx: FacetContext
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return ``content`` without ``field_name``, and what stays of it: ``<key>.<leaf>.sha256`` and ``.bytes`` (of its JSON text)."""
    large_value = content.get(field_name)
    if large_value is None:
        return content, {}
    ctx.note_dropped(field_name, reason)
    raw = json_text(large_value).encode("utf-8", "surrogatepass")
    remaining = {name: value for name, value in content.items() if name != field_name}
    return remaining, digest_properties(f"{key}.{field_name}", raw)
