"""The whole catalogue as canonical NDJSON: two catalogues say the same iff their dumps are equal.

Each line is a proposal that writes the aspect or point again. What is only layout is evened out: keys and keyed arrays are
sorted, nulls dropped, an emptied aspect equals an absent one and ``status{removed: false}`` equals none.
The catalogue stores no systemMetadata, receive times or version counters, so none are in a dump.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.patch_layout import Elements, PatchError, Record, Shape
from dh_bridge.catalog.templates import STAMP, TEMPLATES, Template
from dh_bridge.datahub.proposal import upsert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.catalog.store import Catalog

_encode = msgspec.json.Encoder(order="deterministic").encode


def dump(catalog: Catalog) -> Iterator[bytes]:
    """Yield the lines, each with its newline, sorted by URN, aspects by name before points by aspect, time and document."""
    for urn in catalog.entities():
        kind = entity_type(urn)
        for name, value in catalog.aspects(urn).items():
            said = canonical(name, value)
            if said is not None:
                yield _encode(upsert(kind, urn, name, said)) + b"\n"
        for name in catalog.timeseries_aspects(urn):
            for point in catalog.timeseries(urn, name):
                yield _encode(upsert(kind, urn, name, _without_nulls(point))) + b"\n"


def canonical(aspect: str, value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the aspect in the one form that says what it says; None when it says nothing."""
    template = TEMPLATES.get(aspect)
    value = _without_nulls(value)
    if template is not None:
        with suppress(PatchError):  # column lineage that cannot be patched has no keys to be sorted by
            value = template.without_emptied(template.value(_sorted(template, template.tree(value))))
    return value if _says_something(template, value) else None


def _sorted(shape: Shape, tree: Any) -> Any:
    """Return a tree with its keys in order, without what removals leave: empty parts, columns of which only the path is left."""
    if not isinstance(tree, dict):
        return tree
    said = {key: _sorted(shape.child(key), tree[key]) for key in sorted(tree)}
    if isinstance(shape, Record) and not isinstance(shape, Template):
        return {key: item for key, item in said.items() if key not in shape.fields or _holds_leaf(item)}
    if isinstance(shape, Elements) and isinstance(shape.item, Record) and shape.item.fields:
        return {key: item for key, item in said.items() if not item.keys() <= set(shape.keys)}
    return said


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _says_something(template: Template | None, value: dict[str, Any]) -> bool:
    """Say whether anything is left beside empty arrays and maps, defaults, and the stamps of when it was written."""
    default = {} if template is None else template.default
    return any(
        _holds_leaf(item)
        for key, item in value.items()
        if key not in default or (item != default[key] and default[key] is not STAMP)
    )


def _holds_leaf(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_leaf, value.values()))
    if isinstance(value, list):
        return any(map(_holds_leaf, value))
    return True
