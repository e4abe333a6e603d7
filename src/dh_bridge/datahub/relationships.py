"""The edges that DataHub's graph index would draw from an aspect: compiled from the ``@Relationship`` annotations.

An annotation is on a field, or on an outer field with a path (``/*/destinationUrn``). If both name the same field, the outer
one wins, as in DataHub (a column's tag is ``SchemaFieldTaggedWith``, not ``TaggedWith``).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

# A rule: the steps from here to the URN, and the name of the relationship.
_Rule = tuple[tuple[str, ...], str]


class _Node:
    """A node of an aspect's JSON that is a URN or has URNs below it: its relationship, if it is one, its fields, its elements."""

    __slots__ = ("elements", "fields", "name")

    def __init__(self, name: str, fields: dict[str, _Node], elements: _Node | None) -> None:
        self.name = name
        self.fields = fields
        self.elements = elements

    def iter_targets(self, value: Any, path: str) -> Iterator[tuple[str, str, str]]:
        """Yield (relationship, URN, path) of everything below ``value``."""
        if self.name and isinstance(value, str):
            yield self.name, value, path
        if isinstance(value, list) and self.elements is not None:
            for index, element in enumerate(value):
                yield from self.elements.iter_targets(element, f"{path}[{index}]")
        elif isinstance(value, dict):
            if self.elements is not None:
                for key, element in value.items():
                    yield from self.elements.iter_targets(element, f"{path}.{key}")
            for name, node in self.fields.items():
                if name in value:
                    yield from node.iter_targets(value[name], f"{path}.{name}")


def relationships(aspect_name: str, value: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (relationship name, target URN, JSON path) of an aspect's wire JSON; nothing for an aspect that is not bundled.

    Example: ``("Consumes", "urn:li:dataset:(…)", "$.inputDatasetEdges[0].destinationUrn")``.
    """
    node = _relationship_tree(aspect_name)
    return iter(()) if node is None else node.iter_targets(value, "$")


@cache
def _relationship_tree(aspect_name: str) -> _Node | None:
    schema = schemas.aspect_schema(schemas.profile_versions()[-1], aspect_name)
    return None if schema is None else _compile_node(schema, [], schemas.named_types(schema))


def _compile_node(avro: Any, rules: list[_Rule], types: dict[str, schemas.Schema]) -> _Node | None:
    """Return the compiled node of an Avro type, None if it contains no URN of a relationship."""
    branches = schemas.branches(avro)
    if len(branches) > 1:
        tagged = {schemas.wire_name(branch): _compile_node(branch, rules, types) for branch in branches}
        return _node_if_relevant("", tagged, None)
    inner = types.get(branches[0], branches[0]) if isinstance(branches[0], str) else branches[0]
    if not isinstance(inner, dict):
        return _node_if_relevant(next((name for steps, name in rules if not steps), ""), {}, None)
    if inner["type"] == "record":
        fields = {
            field["name"]: _compile_node(field["type"], _field_rules(field, rules), types) for field in inner["fields"]
        }
        return _node_if_relevant("", fields, None)
    elements = inner.get("items", inner.get("values"))
    return (
        None
        if elements is None
        else _node_if_relevant("", {}, _compile_node(elements, _rules_below("*", rules), types))
    )


def _node_if_relevant(name: str, fields: dict[str, _Node | None], elements: _Node | None) -> _Node | None:
    relevant_fields = {field: node for field, node in fields.items() if node is not None}
    return _Node(name, relevant_fields, elements) if name or relevant_fields or elements else None


def _rules_below(step: str, rules: list[_Rule]) -> list[_Rule]:
    return [(steps[1:], name) for steps, name in rules if steps[:1] == (step,)]


def _field_rules(field: schemas.Schema, rules: list[_Rule]) -> list[_Rule]:
    """Return the rules below a record's field: the outer ones first, then its own annotation."""
    annotation = field.get("Relationship", {})
    if "name" in annotation:
        return [*_rules_below(field["name"], rules), ((), annotation["name"])]
    paths = [(tuple(path.strip("/").split("/")), rule["name"]) for path, rule in annotation.items()]
    return [*_rules_below(field["name"], rules), *paths]
