"""The leaves that a facet's own JSON schema names, to be compared with the rows of its module."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dh_bridge.facets import registry
from dh_bridge.report.report import declared_outcome
from support.public_data import NO_SPEC, SPEC

if TYPE_CHECKING:
    from dh_bridge.facet_support.facet_spec import FacetSpec

DEEPEST = 3


def leaf_paths(schema: str, definition: str) -> list[tuple[Any, ...]]:
    """Paths (keys and positions) of every leaf below a definition of a schema; conditions that nest are followed a little."""
    path = SPEC / schema
    if not path.exists():
        pytest.skip(NO_SPEC)
    document = json.loads(path.read_text(encoding="utf-8"))
    return sorted(set(_walk(document["$defs"][definition], document["$defs"], (), 0)), key=str)


def _walk(node: dict[str, Any], named: dict[str, Any], path: tuple[Any, ...], depth: int):
    reference = node.get("$ref")
    if reference is not None:
        if reference.startswith("#/") and depth < DEEPEST:
            yield from _walk(named[reference.rpartition("/")[2]], named, path, depth + (len(path) > 0))
        return
    for way in (*node.get("allOf", ()), *node.get("oneOf", ())):
        yield from _walk(way, named, path, depth)
    for name, member in node.get("properties", {}).items():
        yield from _walk(member, named, (*path, name), depth)
    if "items" in node:
        yield from _walk(node["items"], named, (*path, 0), depth)
    if node.get("additionalProperties") is True and node.get("type") == "object" and "properties" not in node and path:
        yield (*path, "any")
    if node.get("type") in ("string", "number", "integer", "boolean") or "const" in node:
        yield path


def spec_of(key: str, attach: str) -> FacetSpec:
    return registry()[attach][key]


def without_row(key: str, attach: str, schema: str, definition: str) -> list[tuple[Any, ...]]:
    """Leaves of the schema for which the module has no row; the schema has some leaves at all."""
    paths = leaf_paths(schema, definition)
    assert paths
    return [path for path in paths if declared_outcome(spec_of(key, attach), path) is None]
