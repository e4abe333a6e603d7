"""Subsets: the conditions of the ``subset`` facet as predicates, as partitions, and as the columns that they use.

A predicate is for people and reads like SQL: ``(dt = '2024-01-01') AND (x > 3)``. OpenLineage writes every literal as
text, so texts that look like numbers have no quotes.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Literal

from dh_bridge.facet_support.context import PartitionSpec
from dh_bridge.facet_support.facet_spec import Facet
from dh_bridge.model.facts import PARTITION
from dh_bridge.model.properties import json_text, truncate
from dh_bridge.redaction import REDACTED, is_hidden_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.facet_support.context import Role
    from dh_bridge.model.fold import Registers
    from dh_bridge.model.merge import Version

Literals = Literal["keep", "hash", "drop"]

_COMPARISONS = {
    "EQUAL": "=", "GREATER_THAN": ">", "GREATER_EQUAL_THAN": ">=", "LESS_THAN": "<", "LESS_EQUAL_THAN": "<=",
}  # fmt: skip
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?\Z", re.ASCII)
_PLAIN_IDENTIFIER = re.compile(r"[\w$.-]+\Z")
_MAX_DEPTH = 50
_UNKNOWN_TEXT = "?"


class Partition(Facet):
    """One partition: its values by dimension, and its name."""

    identifier: str | None = None
    dimensions: dict[str, Any] | None = None


class Condition(Facet):
    """A condition or a side of a comparison; ``type`` states which members are used."""

    type: str | None = None
    locations: list[str] | None = None
    partitions: list[Partition] | None = None
    left: Condition | None = None
    right: Condition | None = None
    operator: str | None = None
    comparison: str | None = None
    field: str | None = None
    value: Any = None


class ConditionRenderer:
    """Renders conditions; collects the ``fields`` that they use and the ``notes`` (path, reason) of values that are lost."""

    def __init__(self, literals: Literals = "keep") -> None:
        self.fields: list[tuple[str, str]] = []
        self.notes: list[tuple[str, str]] = []
        self._literals = literals

    def predicate(self, condition: Condition, path: str) -> str | None:
        """Return the condition at ``path`` as text of at most 4,000 characters; None if it is empty."""
        predicate = self._render_condition(condition, path, 0)
        return truncate(predicate) if predicate else None

    def _render_condition(self, condition: Condition, path: str, depth: int) -> str | None:
        kind = _condition_type(condition)
        if depth > _MAX_DEPTH:
            self.notes.append((path, "too-large"))
            return "…"
        if kind == "location":
            quoted_locations = [_quote(location) for location in condition.locations or ()]
            return f"LOCATION IN ({', '.join(quoted_locations)})" if quoted_locations else None
        if kind == "partition":
            return _join_alternatives(_render_partition(partition) for partition in condition.partitions or ())
        if kind == "binary":
            return self._render_binary(condition, path, depth)
        if kind == "compare":
            return self._render_comparison(condition, path, depth)
        self.notes.append((path, "malformed"))
        return None

    def _render_binary(self, condition: Condition, path: str, depth: int) -> str | None:
        operands = [
            predicate
            for name, operand in (("left", condition.left), ("right", condition.right))
            if operand is not None and (predicate := self._render_condition(operand, f"{path}.{name}", depth + 1))
        ]
        if len(operands) < 2:
            self.notes.append((f"{path}.operator", "malformed"))
            return operands[0] if operands else None
        return f"({operands[0]}) {(condition.operator or _UNKNOWN_TEXT).strip().upper()} ({operands[1]})"

    def _render_comparison(self, condition: Condition, path: str, depth: int) -> str | None:
        left, right = condition.left, condition.right
        if left is None and right is None:
            self.notes.append((path, "malformed"))
            return None
        comparison = (condition.comparison or _UNKNOWN_TEXT).strip().upper()
        operands = (
            self._render_operand(left, right, f"{path}.left", depth + 1),
            self._render_operand(right, left, f"{path}.right", depth + 1),
        )
        return f"{operands[0]} {_COMPARISONS.get(comparison, comparison)} {operands[1]}"

    def _render_operand(self, operand: Condition | None, other_operand: Condition | None, path: str, depth: int) -> str:
        if operand is None:
            return _UNKNOWN_TEXT
        kind = (operand.type or "").lower()
        if operand.field is not None and kind != "literal":
            self.fields.append((f"{path}.field", operand.field))
            return (
                operand.field
                if _PLAIN_IDENTIFIER.match(operand.field)
                else '"' + operand.field.replace('"', '""') + '"'
            )
        if kind == "literal" or operand.value is not None:
            return self._render_literal(
                operand.value, other_operand.field if other_operand is not None else None, f"{path}.value"
            )
        predicate = self._render_condition(operand, path, depth)
        return f"({predicate})" if predicate else _UNKNOWN_TEXT

    def _render_literal(self, value: Any, field: str | None, path: str) -> str:
        if value is None:
            return "NULL"
        if self._literals == "drop":
            self.notes.append((path, "policy:subset.literals"))
            return _UNKNOWN_TEXT
        if field is not None and is_hidden_key(field):
            self.notes.append((path, "secret"))
            return _quote(REDACTED)
        if self._literals == "hash":
            return _quote(hash_value(json_text(value)))
        return _render_value(value)


def hash_value(value: str) -> str:
    """Return the hash that replaces a value which may be personal data."""
    return "sha256:" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def build_partition_spec(condition: Condition, predicate: str, entries: int = 1) -> PartitionSpec:
    """Return the part that a condition with this predicate covers: partitions or locations by themselves, else a query."""
    kind = _condition_type(condition)
    if kind == "location":
        members = sorted({json_text([location])[1:-1] for location in condition.locations or ()})
        return PartitionSpec("PARTITION", _join_members(members), tuple(members), entries)
    if kind == "partition":
        partitions = [
            partition for partition in condition.partitions or () if partition.dimensions or partition.identifier
        ]
        members = sorted({_partition_member(partition) for partition in partitions})
        identifier = partitions[0].identifier if len(partitions) == 1 else None
        name = truncate(identifier) if identifier else _join_members(members)
        return PartitionSpec("PARTITION", name, tuple(members), entries)
    return PartitionSpec("QUERY", predicate, (), entries)


def partition_specs(registers: Registers, version: Version, *roles: Role) -> list[PartitionSpec]:
    """Return the parts that the entries of the event of ``version`` cover, in order, from the first side that has any."""
    values = registers.get(PARTITION)
    if not values:
        return []
    event = version[:3]
    for role in roles:
        specs_by_entry = [
            (entry_id[2], versioned[1])
            for entry_id, versioned in values.items()
            if entry_id[1] == role and entry_id[0] == event
        ]
        if specs_by_entry:
            return [spec for _, spec in sorted(specs_by_entry, key=lambda entry: entry[0])]
    return []


def single_partition_spec(registers: Registers, version: Version) -> PartitionSpec | None:
    """Return the part that the event of ``version`` reads; None if it reads several parts or the complete dataset."""
    specs = partition_specs(registers, version, "input", "dataset")
    return specs[0] if len(specs) == 1 and specs[0].entries == 1 else None


def combine_partition_specs(specs: list[PartitionSpec]) -> PartitionSpec | None:
    """Return the part that several entries of one event and dataset cover together; None if it is not a set of partitions."""
    if not specs or len(specs) < specs[0].entries or any(spec.kind != "PARTITION" for spec in specs):
        return None
    if all(spec.partition == specs[0].partition for spec in specs):
        return specs[0]
    members = sorted({member for spec in specs for member in spec.members})
    return PartitionSpec("PARTITION", _join_members(members), tuple(members), specs[0].entries)


def combine_predicates(predicates: Iterable[str]) -> str:
    """Return the predicate of a dataset that one event names several times."""
    return truncate(_join_alternatives(dict.fromkeys(predicates)) or "")


def _condition_type(condition: Condition) -> str:
    """Return the type of a condition; if it is absent, the type is inferred from the members."""
    type_name = (condition.type or "").strip().lower()
    if type_name in ("location", "partition", "binary", "compare"):
        return type_name
    if condition.locations is not None:
        return "location"
    if condition.partitions is not None:
        return "partition"
    return "compare" if condition.comparison is not None else "binary" if condition.operator is not None else ""


def _render_partition(partition: Partition) -> str:
    dimensions = partition.dimensions or {}
    values = " AND ".join(f"{name} = {_render_value(dimensions[name], is_typed=True)}" for name in sorted(dimensions))
    if partition.identifier:
        name = f"PARTITION {_quote(partition.identifier)}"
        return f"{name} ({values})" if values else name
    return values


def _partition_member(partition: Partition) -> str:
    return json_text(partition.dimensions or {"identifier": partition.identifier or ""})


def _join_members(members: list[str]) -> str:
    return truncate(f"[{','.join(members)}]")


def _join_alternatives(predicates: Iterable[str]) -> str | None:
    alternatives = [predicate for predicate in predicates if predicate]
    return (
        alternatives[0]
        if len(alternatives) == 1
        else " OR ".join(f"({predicate})" for predicate in alternatives) or None
    )


def _render_value(value: Any, *, is_typed: bool = False) -> str:
    """Return a value in SQL syntax. ``is_typed``: a text is a text; otherwise OpenLineage may have converted another type to text."""
    if isinstance(value, str):
        return value if not is_typed and _NUMBER.match(value) else _quote(value)
    return (
        json_text(value)
        if isinstance(value, (bool, int, float))
        else "NULL"
        if value is None
        else _quote(json_text(value))
    )


def _quote(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
