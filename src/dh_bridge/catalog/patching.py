"""JSON patches, applied as DataHub's server applies them; pure.

A path walks the tree of a shape (``/inputDatasetEdges/<urn>``), so intermediate levels spring into being, and the removal
of what is absent does nothing (TemplateUtil.populateTopLevelKeys in DataHub's entity-registry).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.catalog.fine_grained import check_entries
from dh_bridge.catalog.patch_layout import PatchError
from dh_bridge.catalog.templates import TEMPLATES
from dh_bridge.datahub import pointers
from dh_bridge.datahub.generic_aspect import operations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.catalog.patch_layout import Shape

_ABSENT: Any = object()


class Draft:
    """An aspect that is being patched; ``changed`` says whether a patch did anything.

    A field is laid out when a patch first names it (``touched``): most patches leave the longest array of an aspect alone.
    """

    def __init__(
        self, aspect: str, value: dict[str, Any] | None, *, keys: Mapping[str, list[str]] | None = None
    ) -> None:
        """Start from the stored ``value``, or None; a PatchError when it cannot be patched. ``keys`` re-key some arrays."""
        template = TEMPLATES.get(aspect)
        if template is None:
            raise PatchError(f"DataHub has no PATCH for {aspect}: write it as UPSERT")
        self.aspect = aspect
        self.template = template.keyed(keys) if keys else template
        stored = template.default if value is None else value
        self.tree: dict[str, Any] = {field: item for field, item in stored.items() if item is not None}
        self.touched: set[str] = set()
        self.changed = False
        check_entries(self.tree.get("fineGrainedLineages"))  # the server lays out all of it, and refuses

    def value(self) -> dict[str, Any]:
        """Return the aspect in UPSERT form."""
        child, touched = self.template.child, self.touched
        value = {field: child(field).value(item) if field in touched else item for field, item in self.tree.items()}
        return self.template.without_emptied(value)

    def lay_out(self, field: str) -> None:
        """Replace a field by its tree, which shares nothing with what it was made of."""
        if field in self.tree:
            self.tree[field] = self.template.child(field).tree(self.tree[field])
        self.touched.add(field)

    def apply(self, payload: Any) -> None:
        """Apply a list of operations, or ``{"arrayPrimaryKeys", "patch"}``: all of it, or nothing and a PatchError."""
        if isinstance(payload, dict) and "patch" in payload:
            self._apply_keyed(payload)
            return
        if isinstance(payload, list):
            payload = operations(self.aspect, payload)
        undo: list[tuple[dict[str, Any], str, Any]] = []
        try:
            self._apply_all(payload, undo)
        except PatchError:
            for node, segment, old in reversed(undo):
                if old is _ABSENT:
                    node.pop(segment, None)
                else:
                    node[segment] = old
            raise
        self.changed = self.changed or bool(undo)

    def _apply_all(self, payload: Any, undo: list[tuple[dict[str, Any], str, Any]]) -> None:
        if not isinstance(payload, (list, tuple)):
            raise PatchError("a patch is a list of operations")
        for operation in payload:
            _apply_one(operation, self, undo)
        missing = self.template.required.difference(self.tree)
        if undo and missing:
            raise PatchError(f"the aspect would lack {' and '.join(sorted(missing))}, which it must have")

    def _apply_keyed(self, payload: dict[str, Any]) -> None:
        """Apply a patch that names its own keys (SDK 1.5 and later) on a tree laid out by them."""
        keys = payload.get("arrayPrimaryKeys") or {}
        if not isinstance(keys, dict) or not all(isinstance(names, list) for names in keys.values()):
            raise PatchError("arrayPrimaryKeys must map field names to arrays of key fields")
        other = Draft(self.aspect, self.value(), keys=keys)
        other.apply(payload["patch"])
        if other.changed:
            self.tree, self.changed = other.value(), True
            for field in self.touched | other.touched:
                self.lay_out(field)


def _apply_one(operation: Any, draft: Draft, undo: list[tuple[dict[str, Any], str, Any]]) -> None:
    """Apply one operation to the draft's tree, noting in ``undo`` what each changed place held."""
    kind, path = _head(operation)
    segments = pointers.steps(path)
    if segments[0] not in draft.touched:
        draft.lay_out(segments[0])
    shape: Shape = draft.template
    node = draft.tree
    last = segments.pop()
    for segment in segments:
        shape = shape.child(segment)
        below = node.get(segment)
        if below is None:
            if kind == "remove":
                return
            below = node[segment] = {}
            undo.append((node, segment, _ABSENT))
        elif not isinstance(below, dict):
            raise PatchError(f"{path}: {segment} is no object")
        node = below
    old = node.get(last, _ABSENT)
    if kind == "remove":
        if old is not _ABSENT:
            undo.append((node, last, node.pop(last)))
        return
    if kind == "replace" and old is _ABSENT:
        raise PatchError(f"{path}: nothing there to replace")
    if operation.get("value") is None:
        raise PatchError(f"{path}: {kind} needs a value")
    try:
        new = shape.child(last).tree(operation["value"])
    except PatchError as error:
        raise PatchError(f"{path}: {error}") from error
    if new != old:
        undo.append((node, last, old))
        node[last] = new


def _head(operation: Any) -> tuple[str, str]:
    """Return the operation's kind and path; a PatchError for another kind than add, remove and replace."""
    if not isinstance(operation, dict):
        raise PatchError("an operation is an object with op, path and value")
    kind, path = operation.get("op"), operation.get("path")
    if kind not in ("add", "remove", "replace"):
        raise PatchError(f"op {kind!r} is none of add, remove, replace")
    if not isinstance(path, str) or not path.startswith("/"):
        raise PatchError(f"path {path!r} does not start with a slash")
    return kind, path
