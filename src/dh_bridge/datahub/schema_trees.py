"""The values of one kind inside an aspect, wherever its schema has them: compiled once, walked without a look at the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import schemas

if TYPE_CHECKING:
    from collections.abc import Callable


class Tree:
    """A place in an aspect's JSON at which, or below which, chosen values are."""

    __slots__ = ("elements", "fields", "is_leaf")

    def __init__(self, fields: dict[str, Tree], elements: Tree | None, *, is_leaf: bool = False) -> None:
        self.is_leaf = is_leaf
        self.fields = fields
        self.elements = elements

    def changed(self, value: Any, change: Callable[[Any, str], Any], path: str = "") -> Any:
        """Return ``value`` with ``change(value, path)`` in place of each chosen value; itself where all are the same objects.

        The path is that of the schema: ``fields[].description``.
        """
        if self.is_leaf:
            return change(value, path)
        if isinstance(value, list) and self.elements is not None:
            elements = [self.elements.changed(element, change, f"{path}[]") for element in value]
            same = all(new is old for new, old in zip(elements, value, strict=True))
            return value if same else elements
        if isinstance(value, dict):
            inner = f"{path}." if path else ""
            members = {
                name: tree.changed(value[name], change, inner + name)
                for name, tree in self.fields.items()
                if name in value
            }
            return value if all(new is value[name] for name, new in members.items()) else {**value, **members}
        return value

    def at(self, steps: list[str]) -> tuple[Tree | None, str]:
        """Return the place that a JSON pointer of a PATCH leads to, None where no chosen value is, and its path."""
        tree: Tree | None = self
        path = ""
        for step in steps:
            if tree is None:
                break
            if step in tree.fields:
                tree, path = tree.fields[step], f"{path}.{step}" if path else step
            else:  # a key of an element
                tree, path = tree.elements, f"{path}[]"
        return tree, path


def compiled(schema: schemas.Schema, chosen: Callable[[schemas.Schema, str], bool]) -> Tree | None:
    """Return the places of an aspect's schema, None where it has no chosen value; values of maps are not among them.

    ``chosen`` decides by the record's field that a value is in, and by the value's own Avro type (``string``).
    """
    return _tree(schema, schema, schemas.named_types(schema), chosen)


def _tree(
    avro: Any, field: schemas.Schema, types: dict[str, schemas.Schema], chosen: Callable[[schemas.Schema, str], bool]
) -> Tree | None:
    """Return the place of an Avro type in a record's field."""
    branches = schemas.branches(avro)
    if len(branches) > 1:
        return _kept({schemas.wire_name(branch): _tree(branch, {}, types, chosen) for branch in branches}, None)
    inner = types.get(branches[0], branches[0]) if isinstance(branches[0], str) else branches[0]
    if not isinstance(inner, dict):
        return Tree({}, None, is_leaf=True) if chosen(field, inner) else None
    if inner["type"] == "record":
        return _kept({one["name"]: _tree(one["type"], one, types, chosen) for one in inner["fields"]}, None)
    return _kept({}, _tree(inner["items"], field, types, chosen)) if inner["type"] == "array" else None


def _kept(fields: dict[str, Tree | None], elements: Tree | None) -> Tree | None:
    kept = {name: tree for name, tree in fields.items() if tree is not None}
    return Tree(kept, elements) if kept or elements is not None else None
