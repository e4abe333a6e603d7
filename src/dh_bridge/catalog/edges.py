"""The relationships of an aspect, and the column lineage inside it; pure."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import schemas, urns
from dh_bridge.datahub.relationships import relationships

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM, DOWNSTREAM, NEITHER = 1, -1, 0

_DOWNSTREAM_RELATIONSHIPS = {"Produces", "DataProcessInstanceProduces"}
"""Lineage with a downstream target: fields that DataHub annotates ``isUpstream: false``, which the bundled schemas lack."""

COLUMN_LINEAGE_FIELD = "fineGrainedLineages"
COLUMN_LINEAGE_ASPECTS = frozenset({"dataJobInputOutput", "upstreamLineage"})
"""The aspects that may hold COLUMN_LINEAGE_FIELD."""


def entity_type(urn: str) -> str:
    """Return the entity type in a URN, or "" for any other string."""
    parts = urn.split(":", 3)
    return parts[2] if len(parts) > 3 and parts[0] == "urn" else ""


def relations(aspect: str, value: dict[str, Any]) -> dict[tuple[str, str], int]:
    """Return ``(name, target URN) -> lineage`` (1: the target is upstream, -1: it is downstream, 0: no lineage)."""
    directions = _lineage_directions(aspect)
    lineage_by_relation: dict[tuple[str, str], int] = {}
    for name, target, path in relationships(aspect, value):
        direction = directions.get(path[2:].partition("[")[0], NEITHER) if directions else NEITHER
        lineage_by_relation[name, target] = direction or lineage_by_relation.get((name, target), NEITHER)
    return lineage_by_relation


def key_relations(urn: str) -> dict[tuple[str, str], int]:
    """Return the relations of an entity's key aspect, as `relations` does: a job is part of its flow.

    DataHub writes the key aspect by itself with the first aspect of an entity.
    """
    names = _key_fields(entity_type(urn))
    return relations(urns.key_aspect(urn), dict(zip(names, urns.parse_urn(urn)[1], strict=False))) if names else {}


@cache
def _key_fields(type_name: str) -> tuple[str, ...]:
    """Return the fields of the key of an entity type; none where the key has no relationship."""
    schema = schemas.aspect_schema(
        schemas.profile_versions()[-1], "corpUserKey" if type_name == "corpuser" else f"{type_name}Key"
    )
    fields = schema["fields"] if schema else []
    return tuple(field["name"] for field in fields) if any("Relationship" in field for field in fields) else ()


@cache
def _lineage_directions(aspect: str) -> dict[str, int]:
    """Return field -> side, for the fields of an aspect whose relationships are annotated as lineage."""
    schema = schemas.aspect_schema(schemas.profile_versions()[-1], aspect)
    directions = {field["name"]: _lineage_direction(field) for field in schema["fields"]} if schema else {}
    return {name: direction for name, direction in directions.items() if direction}


def _lineage_direction(node: Any) -> int:
    """Return the side that the first lineage annotation at or below a part of a schema names."""
    if isinstance(node, list):
        return next(filter(None, map(_lineage_direction, node)), NEITHER)
    if not isinstance(node, dict):
        return NEITHER
    if node.get("isLineage"):
        return DOWNSTREAM if node["name"] in _DOWNSTREAM_RELATIONSHIPS else UPSTREAM
    return next(filter(None, map(_lineage_direction, node.values())), NEITHER)


def column_edges(value: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield ``(downstream, upstream, operation)`` for each pair that ``fineGrainedLineages`` states, without repeats."""
    entries = value.get(COLUMN_LINEAGE_FIELD)
    if not entries:
        return
    yielded_edges = set()
    for entry in entries:
        operation = entry.get("transformOperation") or "NONE"
        for downstream in entry.get("downstreams") or ():
            for upstream in entry.get("upstreams") or ():
                edge = (downstream, upstream, operation)
                if edge not in yielded_edges:
                    yielded_edges.add(edge)
                    yield edge
