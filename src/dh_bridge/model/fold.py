"""Adding facts to registers with the merge function of their kind: one loop for runs and for shared entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.model.facts import Fact, FactKind
from dh_bridge.model.merge import Version, Versioned

if TYPE_CHECKING:
    from collections.abc import Iterable

#: the merged facts of one entity, and of all entities
Registers = dict[FactKind, dict[Any, Versioned]]
FactsByEntity = dict[str, Registers]


def add_facts(facts: FactsByEntity, stated_facts: Iterable[Fact], version: Version) -> None:
    """Add facts of one version to ``facts``."""
    for entity, fact_kind, key, value in stated_facts:
        registers = facts.get(entity)
        if registers is None:
            facts[entity] = {fact_kind: {key: (version, value)}}
            continue
        elements = registers.get(fact_kind)
        if elements is None:
            registers[fact_kind] = {key: (version, value)}
            continue
        old = elements.get(key)
        new = (version, value)
        elements[key] = new if old is None else fact_kind.merge(old, new)


def merge_facts(target: FactsByEntity, source: FactsByEntity, *, shared_only: bool = True) -> None:
    """Merge the registers of ``source`` into ``target``: only shared kinds of facts, unless ``shared_only`` is False."""
    for entity, registers in source.items():
        target_registers = target.get(entity)
        for fact_kind, elements in registers.items():
            if shared_only and not fact_kind.shared:
                continue
            if target_registers is None:
                target_registers = target[entity] = {}
            target_elements = target_registers.get(fact_kind)
            if target_elements is None:
                target_registers[fact_kind] = dict(elements)
            else:
                merge_elements(target_elements, fact_kind, elements)


def merge_elements(target: dict[Any, Versioned], fact_kind: FactKind, elements: dict[Any, Versioned]) -> None:
    """Merge the elements of one kind of fact into ``target``."""
    for key, versioned in elements.items():
        old = target.get(key)
        target[key] = versioned if old is None else fact_kind.merge(old, versioned)


def value(registers: Registers, fact_kind: FactKind, key: Any = "") -> Any:
    """Return the value at ``fact_kind`` and ``key``, or None."""
    elements = registers.get(fact_kind)
    if elements is None:
        return None
    versioned = elements.get(key)
    return None if versioned is None else versioned[1]


def active_elements(registers: Registers, fact_kind: FactKind, tombstone: Any) -> dict[Any, Versioned]:
    """Return the elements of a kind that are later than its tombstone."""
    elements = registers.get(fact_kind)
    if not elements or tombstone not in elements:
        return elements or {}
    deleted_at = elements[tombstone][0]
    return {key: versioned for key, versioned in elements.items() if key != tombstone and versioned[0] > deleted_at}


def first_by_precedence(registers: Registers, fact_kind: FactKind) -> Any:
    """Return the value with the first precedence, or None."""
    elements = registers.get(fact_kind)
    return elements[min(elements)][1] if elements else None
