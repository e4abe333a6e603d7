"""Type texts that are Avro JSON: ``["null", "string"]``, ``{"type": "array", "items": "long"}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.translation.columns.field import Field

if TYPE_CHECKING:
    from collections.abc import Callable

_DEEPEST = 32

_decode = msgspec.json.Decoder().decode


def field(text: str, known: Callable[[str], bool]) -> Field | None:
    """Return what the Avro JSON in ``text`` says, as a column without a name; None when it is no Avro JSON.

    ``known`` says whether the table has a row for a logical type (``timestamp-millis``); then that is the type.
    """
    try:
        return _Reading(known).field("", _decode(text), 0)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


class _Reading:
    """One reading of a document, with what the table knows."""

    def __init__(self, known: Callable[[str], bool]) -> None:
        self._known = known

    def field(self, name: str, node: Any, depth: int) -> Field | None:
        if depth > _DEEPEST:
            return Field(name)
        if isinstance(node, str):
            return Field(name, node)
        if isinstance(node, list):
            return self._union(name, node, depth)
        if isinstance(node, dict):
            return self._object(name, node, depth)
        return None

    def _union(self, name: str, node: list[Any], depth: int) -> Field | None:
        branches = [branch for branch in node if branch != "null"]
        if len(branches) == 1:
            return self.field(name, branches[0], depth)
        fields = [self.field(f"_{position}", branch, depth + 1) for position, branch in enumerate(branches)]
        return Field(name, "union", fields=[member for member in fields if member is not None]) if branches else None

    def _object(self, name: str, node: dict[str, Any], depth: int) -> Field | None:
        kind = node.get("type")
        if not isinstance(kind, str):
            return self.field(name, kind, depth + 1)
        logical = node.get("logicalType")
        if isinstance(logical, str) and self._known(logical):
            return Field(name, logical)
        if kind in ("record", "error"):
            return self._record(name, node, depth)
        if kind in ("array", "map"):
            inside = "_element" if kind == "array" else "value"
            child = self.field(inside, node.get("items" if kind == "array" else "values"), depth + 1)
            fields = [] if child is None else [child]
            return Field(name, kind, fields=fields if kind == "array" else [Field("key", "string"), *fields])
        return Field(name, "fixed(16)" if kind == "fixed" else kind)

    def _record(self, name: str, node: dict[str, Any], depth: int) -> Field:
        own = node.get("name")
        space = node.get("namespace")
        # a record's full name, so that a member that names it again is seen to recur
        kind = f"{space}.{own}" if isinstance(space, str) and space and isinstance(own, str) else own
        fields = []
        for member in node.get("fields") or []:
            if isinstance(member, dict) and isinstance(member.get("name"), str):
                child = self.field(member["name"], member.get("type"), depth + 1)
                if child is not None:
                    if isinstance(member.get("doc"), str):
                        child.description = member["doc"]
                    fields.append(child)
        return Field(name, kind if isinstance(kind, str) and kind else "record", fields=fields)
