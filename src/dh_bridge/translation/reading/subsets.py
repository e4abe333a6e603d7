"""Subsets: the conditions of the ``subset`` facet as predicates, as partitions, and as the columns that they look at.

A predicate is for people and reads like SQL: ``(dt = '2024-01-01') AND (x > 3)``. OpenLineage writes every literal as
text, so what looks like a number stands without quotes.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Literal

from dh_bridge.redaction import REDACTED, hides
from dh_bridge.translation.context import Part
from dh_bridge.translation.facet import Facet
from dh_bridge.translation.facts import PARTITION
from dh_bridge.translation.properties import capped, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.translation.context import Role
    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.merge import Stamp

Literals = Literal["keep", "hash", "drop"]

_COMPARISONS = {
    "EQUAL": "=", "GREATER_THAN": ">", "GREATER_EQUAL_THAN": ">=", "LESS_THAN": "<", "LESS_EQUAL_THAN": "<=",
}  # fmt: skip
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?\Z", re.ASCII)
_PLAIN = re.compile(r"[\w$.-]+\Z")
_DEEPEST = 50
_UNSAID = "?"


class Partition(Facet):
    """One partition: its values by dimension, and what it is called."""

    identifier: str | None = None
    dimensions: dict[str, Any] | None = None


class Condition(Facet):
    """A condition or a side of a comparison; ``type`` says which of the members count."""

    type: str | None = None
    locations: list[str] | None = None
    partitions: list[Partition] | None = None
    left: Condition | None = None
    right: Condition | None = None
    operator: str | None = None
    comparison: str | None = None
    field: str | None = None
    value: Any = None


class Rendering:
    """Writes conditions; collects the ``fields`` that they look at and the ``notes`` (path, reason) of what is lost."""

    def __init__(self, literals: Literals = "keep") -> None:
        self.fields: list[tuple[str, str]] = []
        self.notes: list[tuple[str, str]] = []
        self._literals = literals

    def predicate(self, condition: Condition, path: str) -> str | None:
        """Return the condition at ``path`` as text of at most 4,000 characters; None when it says nothing."""
        found = self._condition(condition, path, 0)
        return capped(found) if found else None

    def _condition(self, condition: Condition, path: str, depth: int) -> str | None:
        kind = _kind(condition)
        if depth > _DEEPEST:
            self.notes.append((path, "too-large"))
            return "…"
        if kind == "location":
            quoted = [_quoted(place) for place in condition.locations or ()]
            return f"LOCATION IN ({', '.join(quoted)})" if quoted else None
        if kind == "partition":
            return _either(_partition(one) for one in condition.partitions or ())
        if kind == "binary":
            return self._binary(condition, path, depth)
        if kind == "compare":
            return self._compare(condition, path, depth)
        self.notes.append((path, "malformed"))
        return None

    def _binary(self, condition: Condition, path: str, depth: int) -> str | None:
        sides = [
            found
            for name, side in (("left", condition.left), ("right", condition.right))
            if side is not None and (found := self._condition(side, f"{path}.{name}", depth + 1))
        ]
        if len(sides) < 2:
            self.notes.append((f"{path}.operator", "malformed"))
            return sides[0] if sides else None
        return f"({sides[0]}) {(condition.operator or _UNSAID).strip().upper()} ({sides[1]})"

    def _compare(self, condition: Condition, path: str, depth: int) -> str | None:
        left, right = condition.left, condition.right
        if left is None and right is None:
            self.notes.append((path, "malformed"))
            return None
        word = (condition.comparison or _UNSAID).strip().upper()
        sides = (
            self._side(left, right, f"{path}.left", depth + 1),
            self._side(right, left, f"{path}.right", depth + 1),
        )
        return f"{sides[0]} {_COMPARISONS.get(word, word)} {sides[1]}"

    def _side(self, side: Condition | None, other: Condition | None, path: str, depth: int) -> str:
        if side is None:
            return _UNSAID
        kind = (side.type or "").lower()
        if side.field is not None and kind != "literal":
            self.fields.append((f"{path}.field", side.field))
            return side.field if _PLAIN.match(side.field) else '"' + side.field.replace('"', '""') + '"'
        if kind == "literal" or side.value is not None:
            return self._literal(side.value, other.field if other is not None else None, f"{path}.value")
        found = self._condition(side, path, depth)
        return f"({found})" if found else _UNSAID

    def _literal(self, value: Any, field: str | None, path: str) -> str:
        if value is None:
            return "NULL"
        if self._literals == "drop":
            self.notes.append((path, "policy:subset.literals"))
            return _UNSAID
        if field is not None and hides(field):
            self.notes.append((path, "secret"))
            return _quoted(REDACTED)
        if self._literals == "hash":
            return _quoted(hashed(text(value)))
        return _value(value)


def hashed(value: str) -> str:
    """Return what stands for a value that may be personal data."""
    return "sha256:" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def part(condition: Condition, predicate: str, entries: int = 1) -> Part:
    """Return what a condition with this predicate covers: partitions or places by themselves, else a query."""
    kind = _kind(condition)
    if kind == "location":
        members = sorted({text([place])[1:-1] for place in condition.locations or ()})
        return Part("PARTITION", _listed(members), tuple(members), entries)
    if kind == "partition":
        partitions = [one for one in condition.partitions or () if one.dimensions or one.identifier]
        members = sorted({_member(one) for one in partitions})
        identifier = partitions[0].identifier if len(partitions) == 1 else None
        name = capped(identifier) if identifier else _listed(members)
        return Part("PARTITION", name, tuple(members), entries)
    return Part("QUERY", predicate, (), entries)


def parts_of(slots: Slots, stamp: Stamp, *roles: Role) -> list[Part]:
    """Return what the entries of the event of ``stamp`` cover, on the first side that says so, in their order."""
    cells = slots.get(PARTITION)
    if not cells:
        return []
    event = stamp[:3]
    for wanted in roles:
        found = [(mark[2], cell[1]) for mark, cell in cells.items() if mark[1] == wanted and mark[0] == event]
        if found:
            return [one for _, one in sorted(found, key=lambda entry: entry[0])]
    return []


def part_of(slots: Slots, stamp: Stamp) -> Part | None:
    """Return the one part that the event of ``stamp`` reads; None when it names several or the whole."""
    found = parts_of(slots, stamp, "input", "dataset")
    return found[0] if len(found) == 1 and found[0].entries == 1 else None


def whole(parts: list[Part]) -> Part | None:
    """Return what entries of one event and one dataset cover together; None when that is no set of partitions."""
    if not parts or len(parts) < parts[0].entries or any(one.kind != "PARTITION" for one in parts):
        return None
    if all(one.partition == parts[0].partition for one in parts):
        return parts[0]
    members = sorted({member for one in parts for member in one.members})
    return Part("PARTITION", _listed(members), tuple(members), parts[0].entries)


def together(predicates: Iterable[str]) -> str:
    """Return the predicate of a dataset that one event names several times."""
    return capped(_either(dict.fromkeys(predicates)) or "")


def _kind(condition: Condition) -> str:
    """Return the type of a condition, by its members where it does not say."""
    said = (condition.type or "").strip().lower()
    if said in ("location", "partition", "binary", "compare"):
        return said
    if condition.locations is not None:
        return "location"
    if condition.partitions is not None:
        return "partition"
    return "compare" if condition.comparison is not None else "binary" if condition.operator is not None else ""


def _partition(one: Partition) -> str:
    dimensions = one.dimensions or {}
    values = " AND ".join(f"{name} = {_value(dimensions[name], typed=True)}" for name in sorted(dimensions))
    if one.identifier:
        name = f"PARTITION {_quoted(one.identifier)}"
        return f"{name} ({values})" if values else name
    return values


def _member(one: Partition) -> str:
    return text(one.dimensions or {"identifier": one.identifier or ""})


def _listed(members: list[str]) -> str:
    return capped(f"[{','.join(members)}]")


def _either(predicates: Iterable[str]) -> str | None:
    found = [predicate for predicate in predicates if predicate]
    return found[0] if len(found) == 1 else " OR ".join(f"({predicate})" for predicate in found) or None


def _value(value: Any, *, typed: bool = False) -> str:
    """Return a value as SQL writes it; ``typed``: text is text, else OpenLineage has made text of whatever it was."""
    if isinstance(value, str):
        return value if not typed and _NUMBER.match(value) else _quoted(value)
    return text(value) if isinstance(value, (bool, int, float)) else "NULL" if value is None else _quoted(text(value))


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
