"""Type texts that are Avro JSON: ``["null", "string"]``, ``{"type": "array", "items": "long"}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.columns.schema import SchemaFacetField

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_DEPTH = 32

_decode = msgspec.json.Decoder().decode


def parse(text: str, is_known_type: Callable[[str], bool]) -> SchemaFacetField | None:
    """Return the Avro JSON in ``text`` as a column without a name; None if it is not Avro JSON.

    ``is_known_type`` returns whether the table has a row for a logical type (``timestamp-millis``); then that is the type.
    """
    try:
        return _AvroParser(is_known_type).field("", _decode(text), 0)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


class _AvroParser:
    """One parse of a document, with the known types of the table."""

    def __init__(self, is_known_type: Callable[[str], bool]) -> None:
        self._is_known_type = is_known_type

    def field(self, name: str, node: Any, depth: int) -> SchemaFacetField | None:
        if depth > _MAX_DEPTH:
            return SchemaFacetField(name)
        if isinstance(node, str):
            return SchemaFacetField(name, node)
        if isinstance(node, list):
            return self._union(name, node, depth)
        if isinstance(node, dict):
            return self._object(name, node, depth)
        return None

    def _union(self, name: str, node: list[Any], depth: int) -> SchemaFacetField | None:
        branches = [branch for branch in node if branch != "null"]
        if len(branches) == 1:
            return self.field(name, branches[0], depth)
        fields = [self.field(f"_{position}", branch, depth + 1) for position, branch in enumerate(branches)]
        return (
            SchemaFacetField(name, "union", fields=[member for member in fields if member is not None])
            if branches
            else None
        )

    def _object(self, name: str, node: dict[str, Any], depth: int) -> SchemaFacetField | None:
        kind = node.get("type")
        if not isinstance(kind, str):
            return self.field(name, kind, depth + 1)
        logical = node.get("logicalType")
        if isinstance(logical, str) and self._is_known_type(logical):
            return SchemaFacetField(name, logical)
        if kind in ("record", "error"):
            return self._record(name, node, depth)
        if kind in ("array", "map"):
            child_name = "_element" if kind == "array" else "value"
            child = self.field(child_name, node.get("items" if kind == "array" else "values"), depth + 1)
            fields = [] if child is None else [child]
            return SchemaFacetField(
                name, kind, fields=fields if kind == "array" else [SchemaFacetField("key", "string"), *fields]
            )
        return SchemaFacetField(name, "fixed(16)" if kind == "fixed" else kind)

    def _record(self, name: str, node: dict[str, Any], depth: int) -> SchemaFacetField:
        record_name = node.get("name")
        namespace = node.get("namespace")
        # a record's full name, so that a member that names it again is seen to recur
        kind = (
            f"{namespace}.{record_name}"
            if isinstance(namespace, str) and namespace and isinstance(record_name, str)
            else record_name
        )
        fields = []
        for member in node.get("fields") or []:
            if isinstance(member, dict) and isinstance(member.get("name"), str):
                child = self.field(member["name"], member.get("type"), depth + 1)
                if child is not None:
                    if isinstance(member.get("doc"), str):
                        child.description = member["doc"]
                    fields.append(child)
        return SchemaFacetField(name, kind if isinstance(kind, str) and kind else "record", fields=fields)
