"""Facets whose leaves are all kept, and facets that nobody knows: one rule each (facets.md 1.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dh_bridge.translation.facet import (
    PROPERTY_ASPECTS,
    FacetSpec,
    Leaf,
    Open,
    body_of,
    facet,
    kept,
    property_statement,
    readable,
)
from dh_bridge.translation.place import Attach, Place
from dh_bridge.translation.properties import digest_properties, flattened
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.slots import EDGE_PROPERTIES, Statements


def kept_facet(*keys: str, at: Attach, doc: str, producer: str = "", prefix: str | None = None) -> FacetSpec:
    """Return a facet whose every leaf is a property ``<key>.<path>`` where it is attached."""

    def state(opened: Open, place: Place) -> Statements:
        if opened.properties is None:
            opened.properties = flattened(prefix or keys[0], opened.body)
        if opened.properties:
            yield property_statement(place, opened.properties)

    state.__doc__ = doc
    return facet(*keys, at=at, leaves={"**": kept()}, producer=producer, remember=True)(state)


def bulk_facet(*keys: str, at: Attach, reason: str, doc: str, producer: str = "") -> FacetSpec:
    """Return a facet that is withheld for ``reason``; its hash and size stay as properties."""

    def state(_: Open, place: Place) -> Statements:
        yield property_statement(place, digest_properties(keys[0], bytes(place.raw)))

    state.__doc__ = doc
    return facet(*keys, at=at, leaves={"**": Leaf("withheld", (), reason)}, producer=producer)(state)


def opaque_facet(*keys: str, at: Attach, doc: str, producer: str = "") -> FacetSpec:
    """Return a facet that is kept as facets.md 1.4 keeps unknown ones, as one JSON; a module lists it in the table."""

    def state(opened: Open, place: Place) -> Statements:
        yield from _opaque(opened.body, place)

    state.__doc__ = doc
    targets = [f"{aspect}.customProperties[openlineage.facet.{keys[0]}]" for aspect in PROPERTY_ASPECTS[at]]
    if at == "dataset":
        targets.append("dataJobInputOutput.inputDatasetEdges[].properties")
    return facet(*keys, at=at, leaves={"**": kept(*targets)}, producer=producer)(state)


def unknown(raw: msgspec.Raw, at: Place) -> Statements:
    """Yield what stays of a facet that no module knows: one compact JSON under ``facet.<name>``."""
    document = readable(raw, at)
    if document is None or document.get("_deleted") is True:
        return
    yield from _opaque(body_of(document), at)


def _opaque(body: dict[str, Any], at: Place) -> Statements:
    key = f"facet.{at.key}"
    written = kept_text(key, body)
    if not body or written is None:
        return
    if at.attach == "dataset" and at.bag != "facets" and at.task:
        direction = "input" if at.bag == "inputFacets" else "output"
        yield at.task, EDGE_PROPERTIES, (direction, at.dataset, key), {key: written}
    else:
        yield property_statement(at, {key: written})


Unknown = Callable[[msgspec.Raw, Place], Statements]
