"""The whole catalogue as canonical NDJSON: two catalogues are equal if and only if their dumps are.

Each line is a proposal that writes the aspect or point again. Differences of layout are removed: keys and keyed arrays are
sorted, nulls dropped, an emptied aspect equals an absent one and ``status{removed: false}`` equals none. The catalogue stores
no systemMetadata, receive times or version counters, so none are in a dump.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.patch_layout import AspectShape, ObjectArrayShape, ObjectShape, PatchError
from dh_bridge.catalog.templates import AUDIT_STAMP, TEMPLATES, PatchTemplate
from dh_bridge.datahub.proposal import upsert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.catalog.store import Catalog

_encode = msgspec.json.Encoder(order="deterministic").encode


def dump_catalog(catalog: Catalog) -> Iterator[bytes]:
    """Yield the lines, each with its newline, sorted by URN, aspects by name before points by aspect, time and document."""
    for urn in catalog.entities():
        type_name = entity_type(urn)
        for name, value in catalog.aspects(urn).items():
            canonical_value = canonical_aspect(name, value)
            if canonical_value is not None:
                yield _encode(upsert(type_name, urn, name, canonical_value)) + b"\n"
        for name in catalog.timeseries_aspects(urn):
            for point in catalog.timeseries(urn, name):
                yield _encode(upsert(type_name, urn, name, _without_nulls(point))) + b"\n"


def canonical_aspect(aspect: str, value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the canonical form of an aspect; None if it is empty."""
    template = TEMPLATES.get(aspect)
    value = _without_nulls(value)
    if template is not None:
        with suppress(PatchError):  # column lineage that cannot be patched has no keys to be sorted by
            value = template.drop_emptied(template.value(_sorted_tree(template, template.tree(value))))
    return value if _has_content(template, value) else None


def _sorted_tree(shape: AspectShape, tree: Any) -> Any:
    """Return a tree with sorted keys, without the remains of removals: empty parts, and columns with a path only."""
    if not isinstance(tree, dict):
        return tree
    sorted_tree = {key: _sorted_tree(shape.child(key), tree[key]) for key in sorted(tree)}
    if isinstance(shape, ObjectShape) and not isinstance(shape, PatchTemplate):
        return {key: item for key, item in sorted_tree.items() if key not in shape.fields or _has_value(item)}
    if isinstance(shape, ObjectArrayShape) and isinstance(shape.item, ObjectShape) and shape.item.fields:
        return {key: item for key, item in sorted_tree.items() if not item.keys() <= set(shape.keys)}
    return sorted_tree


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _has_content(template: PatchTemplate | None, value: dict[str, Any]) -> bool:
    """Return whether it has values other than empty arrays and maps, defaults, and audit stamps."""
    default = {} if template is None else template.default
    return any(
        _has_value(item)
        for key, item in value.items()
        if key not in default or (item != default[key] and default[key] is not AUDIT_STAMP)
    )


def _has_value(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_value, value.values()))
    if isinstance(value, list):
        return any(map(_has_value, value))
    return True
