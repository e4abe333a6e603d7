"""The engine of an event: what its processing_engine facet says, for facets that repeat it or depend on the version."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Engine(msgspec.Struct, frozen=True):
    """Version of the engine and of its OpenLineage adapter, "" where the event does not tell."""

    version: str = ""
    adapter: str = ""


NONE = Engine()


def engine_of(at: Place) -> Engine:
    """Return the engine that the event of ``at`` names."""
    raw = at.event.run_facets.get("processing_engine")
    return NONE if raw is None else _read(bytes(raw))


@lru_cache(maxsize=512)
def _read(raw: bytes) -> Engine:
    try:
        body = _decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return NONE
    version, adapter = body.get("version"), body.get("openlineageAdapterVersion")
    return Engine(
        version if isinstance(version, str) else "",
        adapter if isinstance(adapter, str) else "",
    )


def unrepeated(at: Place, body: dict[str, Any], leaves: dict[str, str]) -> dict[str, Any]:
    """Return ``body`` without what processing_engine says too, noted; ``leaves``: name -> ``version`` or ``adapter``."""
    engine = engine_of(at)
    left = dict(body)
    for leaf, field in leaves.items():
        said = left.get(leaf)
        if said and said == getattr(engine, field):
            name = "version" if field == "version" else "openlineageAdapterVersion"
            at.withheld(leaf, f"duplicate-of:processing_engine.{name}")
            del left[leaf]
    return left
