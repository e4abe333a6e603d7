"""JSON patches, applied as DataHub's server applies them; pure.

A path follows the tree of a shape (``/inputDatasetEdges/<urn>``), so intermediate levels are created, and the removal of an
absent value does nothing (TemplateUtil.populateTopLevelKeys in DataHub's entity-registry).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.catalog.fine_grained import check_entries
from dh_bridge.catalog.patch_layout import PatchError
from dh_bridge.catalog.templates import TEMPLATES
from dh_bridge.datahub import pointers
from dh_bridge.datahub.generic_aspect import plain_operations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.catalog.patch_layout import AspectShape

_ABSENT: Any = object()


class AspectDraft:
    """An aspect that is being patched; ``is_changed``: a patch had an effect.

    A field becomes a tree when a patch first names it (``patched_fields``): most patches do not touch the longest array of an
    aspect.
    """

    def __init__(
        self, aspect: str, value: dict[str, Any] | None, *, keys: Mapping[str, list[str]] | None = None
    ) -> None:
        """Start from the stored ``value``, or None; a PatchError when it cannot be patched. ``keys`` re-key some arrays."""
        template = TEMPLATES.get(aspect)
        if template is None:
            raise PatchError(f"DataHub does not support PATCH for {aspect}: use UPSERT")
        self.aspect = aspect
        self.template = template.with_keys(keys) if keys else template
        stored = template.default if value is None else value
        self.tree: dict[str, Any] = {field: item for field, item in stored.items() if item is not None}
        self.patched_fields: set[str] = set()
        self.is_changed = False
        check_entries(self.tree.get("fineGrainedLineages"))  # the server lays out all of it, and refuses

    def value(self) -> dict[str, Any]:
        """Return the aspect in UPSERT form."""
        child, touched = self.template.child, self.patched_fields
        value = {field: child(field).value(item) if field in touched else item for field, item in self.tree.items()}
        return self.template.drop_emptied(value)

    def lay_out(self, field: str) -> None:
        """Replace a field by its tree, which shares nothing with its source."""
        if field in self.tree:
            self.tree[field] = self.template.child(field).tree(self.tree[field])
        self.patched_fields.add(field)

    def apply(self, payload: Any) -> None:
        """Apply a list of operations, or ``{"arrayPrimaryKeys", "patch"}``: all of it, or nothing and a PatchError."""
        if isinstance(payload, dict) and "patch" in payload:
            self._apply_keyed(payload)
            return
        if isinstance(payload, list):
            payload = plain_operations(self.aspect, payload)
        undo_log: list[tuple[dict[str, Any], str, Any]] = []
        try:
            self._apply_all(payload, undo_log)
        except PatchError:
            for node, segment, old in reversed(undo_log):
                if old is _ABSENT:
                    node.pop(segment, None)
                else:
                    node[segment] = old
            raise
        self.is_changed = self.is_changed or bool(undo_log)

    def _apply_all(self, payload: Any, undo_log: list[tuple[dict[str, Any], str, Any]]) -> None:
        if not isinstance(payload, (list, tuple)):
            raise PatchError("expected a list of operations as the patch")
        for operation in payload:
            _apply_operation(operation, self, undo_log)
        missing_fields = self.template.required.difference(self.tree)
        if undo_log and missing_fields:
            raise PatchError(f"the patched aspect has no {' and '.join(sorted(missing_fields))}, which is required")

    def _apply_keyed(self, payload: dict[str, Any]) -> None:
        """Apply a patch that names its own keys (SDK 1.5 and later) on a tree laid out by them."""
        keys = payload.get("arrayPrimaryKeys") or {}
        if not isinstance(keys, dict) or not all(isinstance(names, list) for names in keys.values()):
            raise PatchError("arrayPrimaryKeys must map field names to arrays of key fields")
        keyed_draft = AspectDraft(self.aspect, self.value(), keys=keys)
        keyed_draft.apply(payload["patch"])
        if keyed_draft.is_changed:
            self.tree, self.is_changed = keyed_draft.value(), True
            for field in self.patched_fields | keyed_draft.patched_fields:
                self.lay_out(field)


def _apply_operation(operation: Any, draft: AspectDraft, undo_log: list[tuple[dict[str, Any], str, Any]]) -> None:
    """Apply one operation to the draft's tree; ``undo_log`` gets the old values."""
    operation_name, path = _name_and_path(operation)
    segments = pointers.steps(path)
    if segments[0] not in draft.patched_fields:
        draft.lay_out(segments[0])
    shape: AspectShape = draft.template
    node = draft.tree
    last_segment = segments.pop()
    for segment in segments:
        shape = shape.child(segment)
        child_node = node.get(segment)
        if child_node is None:
            if operation_name == "remove":
                return
            child_node = node[segment] = {}
            undo_log.append((node, segment, _ABSENT))
        elif not isinstance(child_node, dict):
            raise PatchError(f"{path}: {segment} is not an object")
        node = child_node
    old = node.get(last_segment, _ABSENT)
    if operation_name == "remove":
        if old is not _ABSENT:
            undo_log.append((node, last_segment, node.pop(last_segment)))
        return
    if operation_name == "replace" and old is _ABSENT:
        raise PatchError(f"{path}: cannot replace a value that does not exist")
    if operation.get("value") is None:
        raise PatchError(f"{path}: {operation_name} requires a value")
    try:
        new = shape.child(last_segment).tree(operation["value"])
    except PatchError as error:
        raise PatchError(f"{path}: {error}") from error
    if new != old:
        undo_log.append((node, last_segment, old))
        node[last_segment] = new


def _name_and_path(operation: Any) -> tuple[str, str]:
    """Return the operation's kind and path; a PatchError for another kind than add, remove and replace."""
    if not isinstance(operation, dict):
        raise PatchError("expected an object with op, path and value as the operation")
    operation_name, path = operation.get("op"), operation.get("path")
    if operation_name not in ("add", "remove", "replace"):
        raise PatchError(f"unknown op {operation_name!r}: expected add, remove or replace")
    if not isinstance(path, str) or not path.startswith("/"):
        raise PatchError(f"path {path!r} does not start with a slash")
    return operation_name, path
