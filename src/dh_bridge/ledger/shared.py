"""Shared entities: for each job, flow, dataset and assertion the merged facts of all runs.

A run that changes usually adds facts, which are merged. If it withdraws a fact (a snapshot leaves out an output), the kind is
merged again from all runs that touch the entity and from ``base``, the facts of evicted runs.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import chain
from typing import TYPE_CHECKING, Any

from dh_bridge.aggregate.edge_expiry import drop_expired_edges
from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX
from dh_bridge.ledger.codec import decode_verified, seal
from dh_bridge.ledger.compression import compression_of
from dh_bridge.ledger.lineage_links import NO_LINKS, LineageLinks, links_of
from dh_bridge.model.facts import EDGE_LAST_USED, INPUT_EDGE, LAST_COMPLETE_RUN, OUTPUT_EDGE
from dh_bridge.state_codec.codec import decode_registers, encode_registers

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.ledger.lineage_links import Links
    from dh_bridge.ledger.runs import RunStore, StoredRun
    from dh_bridge.model.facts import FactKind
    from dh_bridge.model.fold import FactsByEntity, Registers
    from dh_bridge.model.merge import Versioned
    from dh_bridge.settings import Settings


_MAX_CACHED_ENTITIES = 4_000
EQUAL_BASE = b""
"""What is stored as the base of an entity whose facts are all of evicted runs, of job events or of dataset events."""
_NO_ELEMENTS: dict[Any, Versioned] = {}


class SharedEntity:
    """The facts of one entity: ``registers`` of all runs, ``base`` of evicted runs; ``links``: the stored ones."""

    __slots__ = ("base", "entity_id", "links", "registers")

    def __init__(self, entity_id: int, base: Registers, registers: Registers, links: Links) -> None:
        self.entity_id = entity_id
        self.links = links
        self.base = base
        self.registers = registers


class SharedEntityStore:
    """The shared entities, in memory and in the file.

    ``changed_urns``: those of this batch. ``withdrawn_kinds``: those of which a run withdrew a fact in this batch, each with
    the kind.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._compression = compression_of(connection)
        self._links = LineageLinks(connection)
        self._has_links = self._links.are_stored
        self._entities: OrderedDict[str, SharedEntity | None] = OrderedDict()
        self._stale_elements: dict[str, set[tuple[FactKind, Any]]] = {}
        self._new_contributors: dict[str, set[int]] = {}
        self._unrendered: set[str] = set()
        self.changed_urns: set[str] = set()
        self.withdrawn_kinds: set[tuple[str, FactKind]] = set()

    def registers_of(self, urn: str) -> Registers:
        """Return the facts of an entity; empty for an unknown one. The caller must not change them."""
        entity = self._load(urn)
        return entity.registers if entity is not None else {}

    def replace_contribution(self, record: StoredRun, new_facts: FactsByEntity) -> None:
        """Replace the contributions of a run to all its entities."""
        old_facts = record.contribution
        record.contribution = new_facts
        for urn, new_registers in new_facts.items():
            old_registers = old_facts.get(urn)
            if old_registers is None:
                self._new_contributors.setdefault(urn, set()).add(record.run_id)
            self._merge_change(urn, old_registers or {}, new_registers)
        for urn in old_facts.keys() - new_facts.keys():
            self._merge_change(urn, old_facts[urn], {})

    def add_permanently(self, facts: FactsByEntity) -> None:
        """Merge facts that are never withdrawn: of job and dataset events, and of evicted runs."""
        for urn, registers in facts.items():
            entity = self._load_or_create(urn)
            self._unrendered.add(urn)
            for fact_kind, elements in registers.items():
                base_elements = entity.base.setdefault(fact_kind, {})
                for key, versioned in elements.items():
                    previous = base_elements.get(key)
                    base_elements[key] = versioned if previous is None else fact_kind.merge(previous, versioned)
            self._merge_change(urn, {}, registers)

    def drop_expired_edges(self, urn: str, settings: Settings) -> None:
        """Delete the expired edges of a job; its aspects do not change."""
        entity = self._load(urn)
        remaining = drop_expired(entity.base, entity.registers, settings) if entity is not None else None
        if entity is not None and remaining is not None:
            entity.base, entity.registers = remaining
            self._unrendered.add(urn)

    def merge_stale(self, runs: RunStore) -> None:
        """Merge the facts again of which a run withdrew something."""
        for urn, element_keys in self._stale_elements.items():
            entity = self._load_or_create(urn)
            contributions = (runs.contribution_of(run_id).get(urn, {}) for run_id in self.contributor_ids(urn))
            merged_elements = _merge_elements(element_keys, chain([entity.base], contributions))
            for fact_kind, key in element_keys:
                self._set_element(urn, entity.registers, fact_kind, key, merged_elements.get((fact_kind, key)))
        self._stale_elements.clear()

    def contributor_ids(self, urn: str) -> set[int]:
        """Return the numbers of the runs that contribute to an entity."""
        entity = self._load(urn)
        if entity is None:
            return set()
        rows = self._connection.execute("SELECT run FROM contribution WHERE entity = ?", (entity.entity_id,))
        return {run_id for (run_id,) in rows} | self._new_contributors.get(urn, set())

    def has_contributors(self, urn: str) -> bool:
        """Whether a stored run contributes to an entity."""
        entity = self._load(urn)
        if entity is None:
            return False
        row = self._connection.execute(
            "SELECT 1 FROM contribution WHERE entity = ? LIMIT 1", (entity.entity_id,)
        ).fetchone()
        return row is not None or urn in self._new_contributors

    def remove_contributor(self, run_id: int) -> list[tuple[str, bool]]:
        """Delete the links from a run to entities; return its URNs of runs, each with whether other runs still name it."""
        query = "SELECT urn FROM shared JOIN contribution ON entity = shared.id WHERE run = ? AND urn GLOB ?"
        named_runs = [urn for (urn,) in self._connection.execute(query, (run_id, f"{RUN_URN_PREFIX}*"))]
        self._connection.execute("DELETE FROM contribution WHERE run = ?", (run_id,))
        return [(urn, self.has_contributors(urn)) for urn in named_runs]

    def drop(self, urn: str) -> None:
        """Delete an entity that is no longer needed."""
        self._connection.execute("DELETE FROM shared WHERE urn = ?", (urn,))
        self._entities.pop(urn, None)
        self._unrendered.discard(urn)
        self.changed_urns.discard(urn)

    def save(self) -> None:
        """Write the changes of this batch, and close the batch."""
        executemany = self._connection.executemany
        rows = []
        for urn in self.changed_urns | self._unrendered:
            entity = self._load_or_create(urn)
            registers = encode_registers(entity.registers)
            base = encode_registers(entity.base) if entity.base else None
            if base is not None:
                base = EQUAL_BASE if base == registers else seal(base, self._compression)
            rows.append((base, seal(registers, self._compression), entity.entity_id))
            if self._has_links and (links := links_of(urn, entity.registers)) != entity.links:
                self._links.replace(entity.entity_id, entity.links, links)
                entity.links = links
        executemany("UPDATE shared SET base = ?, registers = ? WHERE id = ?", rows)
        executemany(
            "INSERT OR IGNORE INTO contribution (entity, run) VALUES (?, ?)",
            (
                (self._load_or_create(urn).entity_id, run_id)
                for urn, run_ids in self._new_contributors.items()
                for run_id in run_ids
            ),
        )
        for changes in (self.changed_urns, self.withdrawn_kinds, self._unrendered, self._new_contributors):
            changes.clear()
        while len(self._entities) > _MAX_CACHED_ENTITIES:
            self._entities.popitem(last=False)

    def skip_rendering(self, urns: set[str]) -> None:
        """Mark entities as not to be rendered in this batch; they are written all the same."""
        self._unrendered |= urns
        self.changed_urns -= urns

    def clear_cache(self) -> None:
        """Clear the caches."""
        for cache in (
            self._entities,
            self._stale_elements,
            self._new_contributors,
            self._unrendered,
            self.changed_urns,
            self.withdrawn_kinds,
        ):
            cache.clear()

    def _merge_change(self, urn: str, old_registers: Registers, new_registers: Registers) -> None:
        """Merge the present facts ``new_registers`` of a run into an entity; kinds with withdrawn facts become stale."""
        registers = self._load_or_create(urn).registers
        for fact_kind, new_elements in new_registers.items():
            old_elements = old_registers.get(fact_kind, _NO_ELEMENTS)
            merged_elements, merge = registers.get(fact_kind, _NO_ELEMENTS), fact_kind.merge
            for key, new_element in new_elements.items():
                old_element = old_elements.get(key)
                if old_element is not None:
                    if old_element is new_element or old_element == new_element:
                        continue
                    if merge(old_element, new_element) != new_element:
                        self._mark_stale(urn, fact_kind, key)
                        continue
                previous = merged_elements.get(key)
                merged_versioned = new_element if previous is None else merge(previous, new_element)
                if merged_versioned is not previous and merged_versioned != previous:
                    if merged_elements is _NO_ELEMENTS:
                        merged_elements = registers[fact_kind] = {}
                    merged_elements[key] = merged_versioned
                    self.changed_urns.add(urn)
            for key in old_elements.keys() - new_elements.keys():
                self._mark_stale(urn, fact_kind, key)
        for fact_kind in old_registers.keys() - new_registers.keys():
            for key in old_registers[fact_kind]:
                self._mark_stale(urn, fact_kind, key)

    def _mark_stale(self, urn: str, fact_kind: FactKind, key: Any) -> None:
        self._stale_elements.setdefault(urn, set()).add((fact_kind, key))

    def _set_element(
        self, urn: str, registers: Registers, fact_kind: FactKind, key: Any, versioned: Versioned | None
    ) -> None:
        elements = registers.get(fact_kind)
        previous = None if elements is None else elements.get(key)
        if previous is versioned or previous == versioned:
            return
        self.changed_urns.add(urn)
        self.withdrawn_kinds.add((urn, fact_kind))
        if versioned is not None:
            registers.setdefault(fact_kind, {})[key] = versioned
        elif elements is not None:
            del elements[key]
            if not elements:
                del registers[fact_kind]

    def _load(self, urn: str) -> SharedEntity | None:
        if urn in self._entities:
            self._entities.move_to_end(urn)
            return self._entities[urn]
        row = self._connection.execute("SELECT id, base, registers FROM shared WHERE urn = ?", (urn,)).fetchone()
        entity = None
        if row is not None:
            location = f"the shared state of {urn}"
            stored_base = row[2] if row[1] == EQUAL_BASE else row[1]
            base, registers = (
                decode_verified(data, decode_registers, self._compression, location=location) if data else {}
                for data in (stored_base, row[2])
            )
            links = links_of(urn, registers) if self._has_links else NO_LINKS
            entity = SharedEntity(row[0], base, registers, links)
        self._entities[urn] = entity
        return entity

    def _load_or_create(self, urn: str) -> SharedEntity:
        entity = self._load(urn)
        if entity is None:
            (entity_id,) = self._connection.execute(
                "INSERT INTO shared (urn, registers) VALUES (?, x'') RETURNING id", (urn,)
            ).fetchone()
            entity = self._entities[urn] = SharedEntity(entity_id, {}, {}, NO_LINKS)
        return entity


def _merge_elements(
    element_keys: set[tuple[FactKind, Any]], contributions: Iterable[Registers]
) -> dict[tuple[FactKind, Any], Versioned]:
    """Return the merged facts of some kinds and keys over all contributing runs; those without a contributor are left out."""
    merged_elements: dict[tuple[FactKind, Any], Versioned] = {}
    for registers in contributions:
        for element_key in element_keys:
            fact_kind, key = element_key
            versioned = registers.get(fact_kind, _NO_ELEMENTS).get(key)
            if versioned is not None:
                merged_elements[element_key] = (
                    fact_kind.merge(merged_elements[element_key], versioned)
                    if element_key in merged_elements
                    else versioned
                )
    return merged_elements


_KINDS_BY_DIRECTION = {"input": INPUT_EDGE, "output": OUTPUT_EDGE}


def drop_expired(base: Registers, registers: Registers, settings: Settings) -> tuple[Registers, Registers] | None:
    """Return the facts of evicted runs (``base``) and all facts of an entity without their expired edges.

    None if no edge expired.

    An edge has expired for good if an evicted run completed without it and no later run used it: no stored run can restore it.
    It is not rendered, and would slow down each batch of its job. If a later run uses it, it is a new edge.
    """
    if settings.edges == "accumulate" or LAST_COMPLETE_RUN not in base:
        return None
    expiry_registers = {LAST_COMPLETE_RUN: base[LAST_COMPLETE_RUN], EDGE_LAST_USED: registers.get(EDGE_LAST_USED, {})}
    combined_registers = {**registers, **expiry_registers}
    if drop_expired_edges(combined_registers, settings) is combined_registers:
        return None
    return _drop_edges(base, expiry_registers, settings), _drop_edges(registers, expiry_registers, settings)


def _drop_edges(registers: Registers, expiry_registers: Registers, settings: Settings) -> Registers:
    remaining = {**drop_expired_edges({**registers, **expiry_registers}, settings)}
    edges = {
        (direction, urn) for direction, fact_kind in _KINDS_BY_DIRECTION.items() for urn in remaining.get(fact_kind, ())
    }
    last_uses = {key: versioned for key, versioned in registers.get(EDGE_LAST_USED, {}).items() if key in edges}
    return {
        **{fact_kind: remaining[fact_kind] for fact_kind in remaining if fact_kind not in expiry_registers},
        LAST_COMPLETE_RUN: registers[LAST_COMPLETE_RUN],
        EDGE_LAST_USED: last_uses,
    }
