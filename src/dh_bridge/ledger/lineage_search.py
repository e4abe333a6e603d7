"""Finds the jobs and datasets around one of them, by the links of a ledger."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from dh_bridge.ledger.lineage_links import links_of

if TYPE_CHECKING:
    from dh_bridge.ledger.lineage_links import LineageLinks
    from dh_bridge.ledger.shared import SharedEntityStore


class LineageSearch:
    """Finds the entities around others, at most ``max_count`` on each side."""

    def __init__(self, links: LineageLinks, shared: SharedEntityStore, max_count: int) -> None:
        self._links = links
        self._shared = shared
        self._max_count = max_count

    def around(self, urn: str, side: int, depth: int) -> list[str]:
        """Return the entities on one side of an entity, the nearest first, one step further than ``depth``."""
        around = {urn: 0}  # URN -> steps
        pending = deque([urn])
        while pending and around[pending[0]] <= depth and len(around) <= self._max_count:
            near = pending.popleft()
            for name in self._neighbours(near, side):
                if name not in around:
                    around[name] = around[near] + 1
                    pending.append(name)
        return list(around)[1 : self._max_count + 1]

    def _neighbours(self, urn: str, side: int) -> list[str]:
        named = sorted(name for name, of_side in links_of(urn, self._shared.registers_of(urn)) if of_side == side)
        return [*named, *self._links.naming(urn, -side, self._max_count)]
