"""The engine of an event from its processing_engine facet, for facets that repeat it or depend on the version."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Engine(msgspec.Struct, frozen=True):
    """Version of the engine and of its OpenLineage adapter; "" if the event does not have it."""

    version: str = ""
    adapter: str = ""


NO_ENGINE = Engine()


def engine_of(ctx: FacetContext) -> Engine:
    """Return the engine that the event of ``ctx`` names."""
    raw = ctx.event.run_facets.get("processing_engine")
    return NO_ENGINE if raw is None else _parse_engine(bytes(raw))


@lru_cache(maxsize=512)
def _parse_engine(raw: bytes) -> Engine:
    try:
        content = _decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return NO_ENGINE
    version, adapter = content.get("version"), content.get("openlineageAdapterVersion")
    return Engine(
        version if isinstance(version, str) else "",
        adapter if isinstance(adapter, str) else "",
    )


def drop_repeated_fields(ctx: FacetContext, content: dict[str, Any], engine_fields: dict[str, str]) -> dict[str, Any]:
    """Return ``content`` without fields that repeat processing_engine, with notes; ``engine_fields``: name -> ``version`` or ``adapter``."""
    engine = engine_of(ctx)
    remaining = dict(content)
    for field_name, engine_field in engine_fields.items():
        value = remaining.get(field_name)
        if value and value == getattr(engine, engine_field):
            name = "version" if engine_field == "version" else "openlineageAdapterVersion"
            ctx.note_dropped(field_name, f"duplicate-of:processing_engine.{name}")
            del remaining[field_name]
    return remaining
