"""Precedence and properties: which facts are rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.model.facts import TOMBSTONE
from dh_bridge.model.properties import MergedProperty, limit_properties

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.model.facts import FactKind
    from dh_bridge.model.fold import Registers
    from dh_bridge.model.merge import Versioned


def combine_properties(registers: Registers, fact_kind: FactKind, prefix: str) -> dict[str, str]:
    """Return the custom properties of all facets, prefixed; if two facets have the same key, the later version wins.

    Facets of one event have the same version: among them the key decides, so the order of arrival has no effect.
    """
    properties = _gather_properties(registers, fact_kind)
    return {prefix + key: text for key, text in limit_properties(properties).items()} if properties else {}


def excess_keys(registers: Registers, fact_kind: FactKind) -> list[str]:
    """Return the keys, without a prefix, that :func:`combine_properties` leaves out because there are too many."""
    properties = _gather_properties(registers, fact_kind)
    return sorted(properties.keys() - limit_properties(properties).keys())


def _gather_properties(registers: Registers, fact_kind: FactKind) -> dict[str, str]:
    elements = registers.get(fact_kind)
    if not elements:
        return {}
    items: Iterable[tuple[Any, Versioned]] = elements.items()
    if len(elements) > 1:
        items = sorted(items, key=lambda entry: (entry[1][0], entry[0]))
    texts: dict[str, str] = {}
    merged_properties: dict[str, MergedProperty] = {}
    for _, (_, properties) in items:
        if type(properties) is MergedProperty:
            name = properties.name
            merged_properties[name] = (
                merged_properties[name].merge_members(properties) if name in merged_properties else properties
            )
        elif properties is not TOMBSTONE:
            texts.update(properties)
    for name, merged_property in merged_properties.items():
        texts[name] = merged_property.text
    return texts


def winning_fields(registers: Registers, fact_kind: FactKind) -> Iterator[tuple[str, Any]]:
    """Yield (field, value) of a kind with keys (field, precedence): the first value by precedence.

    GONE if it was withdrawn.
    """
    elements = registers.get(fact_kind)
    if not elements:
        return
    best: dict[str, tuple[int, Any]] = {}
    for (field, precedence), (_, value) in elements.items():
        rank = precedence if value is not TOMBSTONE else 1_000_000 + precedence
        if field not in best or rank < best[field][0]:
            best[field] = (rank, value)
    for field in sorted(best):
        yield field, best[field][1]
