"""The shape of ``fineGrainedLineages``: transform operation / downstream field / query / upstream field.

Source: FineGrainedLineageTemplateHelper in DataHub's entity-registry. The server writes ``NONE`` for an entry without an
operation, takes the lowest confidence of an entry's upstreams, and rejects entries unless they have exactly one downstream.
"""

from __future__ import annotations

from typing import Any

from dh_bridge.catalog.patch_layout import AspectShape, ObjectShape, PatchError

_NO_OPERATION = "NONE"
_LEVELS = 4


class FineGrainedShape:
    """Column lineage, keyed by operation, downstream, query and upstream."""

    def __init__(self, levels: int = _LEVELS) -> None:
        self._child_shape: AspectShape = FineGrainedShape(levels - 1) if levels > 1 else ObjectShape()
        self._is_top = levels == _LEVELS

    def tree(self, value: Any) -> Any:
        """Return the entries by key."""
        if not self._is_top or not isinstance(value, list):
            raise PatchError(
                "expected the path /fineGrainedLineages/<operation>/<downstream>/<query>/<upstream> for column lineage"
            )
        check_entries(value)
        tree: dict[str, Any] = {}
        for entry in value:
            operation = tree.setdefault(entry.get("transformOperation") or _NO_OPERATION, {})
            pairs = operation.setdefault(entry["downstreams"][0], {}).setdefault(
                entry.get("query") or _NO_OPERATION, {}
            )
            upstreams = entry.get("upstreams") or []
            for upstream in upstreams:
                pairs[upstream] = {
                    "confidenceScore": entry.get("confidenceScore", 1.0),
                    "upstreamType": entry.get("upstreamType") or _upstream_type(upstreams[0]),
                    "downstreamType": entry.get("downstreamType") or "FIELD",
                }
        return tree

    def value(self, tree: Any) -> Any:
        """Return one entry for each operation, downstream and query that has upstreams left."""
        return [
            _entry(operation, downstream, query, pairs)
            for operation, downstreams in tree.items()
            for downstream, queries in downstreams.items()
            for query, pairs in queries.items()
            if pairs
        ]

    def child(self, segment: str) -> AspectShape:  # noqa: ARG002 - every key of a level has the same shape
        """Return the shape one level further down."""
        return self._child_shape


def check_entries(entries: Any) -> None:
    """Raise a PatchError for an entry that the server cannot patch, be it by a patch of another field."""
    for entry in entries or ():
        downstreams = entry.get("downstreams") if isinstance(entry, dict) else None
        if not isinstance(downstreams, list) or len(downstreams) != 1:
            raise PatchError("cannot patch column lineage: each entry requires exactly one downstream field")


def _upstream_type(urn: str) -> str:
    return "DATASET" if urn.startswith("urn:li:dataset:") else "FIELD_SET"


def _entry(operation: str, downstream: str, query: str, pairs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return an entry in the field order of its Avro schema."""
    last_values = {field: value for pair in pairs.values() for field, value in pair.items()}
    entry = {
        "upstreamType": last_values.get("upstreamType", "FIELD_SET"),
        "upstreams": list(pairs),
        "downstreamType": last_values.get("downstreamType", "FIELD"),
        "downstreams": [downstream],
        "transformOperation": operation,
        "confidenceScore": min(1.0, *(pair.get("confidenceScore", 1.0) for pair in pairs.values())),
    }
    if query not in ("", _NO_OPERATION):
        entry["query"] = query
    return entry
