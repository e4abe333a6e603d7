"""Finds all values of one kind in an aspect: its schema is compiled once, and other values are not visited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import schemas

if TYPE_CHECKING:
    from collections.abc import Callable


class SchemaTree:
    """A node of an aspect's JSON that is a chosen value or has chosen values below it."""

    __slots__ = ("elements", "fields", "is_scalar")

    def __init__(self, fields: dict[str, SchemaTree], elements: SchemaTree | None, *, is_scalar: bool = False) -> None:
        self.is_scalar = is_scalar
        self.fields = fields
        self.elements = elements

    def map_values(self, value: Any, change: Callable[[Any, str], Any], path: str = "") -> Any:
        """Return ``value`` with ``change(value, path)`` in place of each chosen value; itself where all are the same objects.

        The path is that of the schema: ``fields[].description``.
        """
        if self.is_scalar:
            return change(value, path)
        if isinstance(value, list) and self.elements is not None:
            elements = [self.elements.map_values(element, change, f"{path}[]") for element in value]
            is_unchanged = all(new is old for new, old in zip(elements, value, strict=True))
            return value if is_unchanged else elements
        if isinstance(value, dict):
            inner = f"{path}." if path else ""
            members = {
                name: tree.map_values(value[name], change, inner + name)
                for name, tree in self.fields.items()
                if name in value
            }
            return value if all(new is value[name] for name, new in members.items()) else {**value, **members}
        return value

    def find(self, steps: list[str]) -> tuple[SchemaTree | None, str]:
        """Return the node at a JSON pointer of a PATCH, None if it has no chosen value, and its path."""
        tree: SchemaTree | None = self
        path = ""
        for step in steps:
            if tree is None:
                break
            if step in tree.fields:
                tree, path = tree.fields[step], f"{path}.{step}" if path else step
            else:  # a key of an element
                tree, path = tree.elements, f"{path}[]"
        return tree, path


def compile_tree(schema: schemas.Schema, is_chosen: Callable[[schemas.Schema, str], bool]) -> SchemaTree | None:
    """Return the tree of an aspect's schema, None if it has no chosen value; values of maps are excluded.

    ``is_chosen`` gets the field of the record that has the value, and the Avro type of the value (``string``).
    """
    return _compile_tree(schema, schema, schemas.named_types(schema), is_chosen)


def _compile_tree(
    avro: Any, field: schemas.Schema, types: dict[str, schemas.Schema], is_chosen: Callable[[schemas.Schema, str], bool]
) -> SchemaTree | None:
    """Return the tree of an Avro type in a record's field."""
    branches = schemas.branches(avro)
    if len(branches) > 1:
        return _tree_if_relevant(
            {schemas.wire_name(branch): _compile_tree(branch, {}, types, is_chosen) for branch in branches}, None
        )
    inner = types.get(branches[0], branches[0]) if isinstance(branches[0], str) else branches[0]
    if not isinstance(inner, dict):
        return SchemaTree({}, None, is_scalar=True) if is_chosen(field, inner) else None
    if inner["type"] == "record":
        return _tree_if_relevant(
            {member["name"]: _compile_tree(member["type"], member, types, is_chosen) for member in inner["fields"]},
            None,
        )
    return (
        _tree_if_relevant({}, _compile_tree(inner["items"], field, types, is_chosen))
        if inner["type"] == "array"
        else None
    )


def _tree_if_relevant(fields: dict[str, SchemaTree | None], elements: SchemaTree | None) -> SchemaTree | None:
    relevant_fields = {name: tree for name, tree in fields.items() if tree is not None}
    return SchemaTree(relevant_fields, elements) if relevant_fields or elements is not None else None
