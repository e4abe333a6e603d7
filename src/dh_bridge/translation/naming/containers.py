"""The containers above a dataset, as DataHub's connectors make them: guids of a few key fields.

``{*part}`` in a field makes one container for each leading run of that part: the folders of a path.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from dh_bridge.datahub.guid import datahub_guid
from dh_bridge.datahub.urns import container_urn
from dh_bridge.translation.naming.patterns import Part, Template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dh_bridge.translation.naming.models import ContainerRow

Place = tuple[str, str | None, str]
"""Platform, instance, environment."""
Above = str | tuple[str | None, ...]
Answer = tuple[tuple[str, ...], str | None]
_REMEMBERED = 50_000
_MOST_RUNS = 64
"""Folders over a dataset that have containers; a name of thousands, which is cut in the URN anyway, would take minutes."""


class Shelf:
    """One level of containers of a system. ``names`` are the parts that it asks for, ``spread`` the one with a star."""

    __slots__ = ("_env_as_instance", "_fields", "_keep", "_keys", "level", "names", "spread")

    def __init__(self, row: ContainerRow, where: str) -> None:
        self.level = row.level
        self._keep = row.case == "keep"
        self._env_as_instance = row.env_as_instance
        self._keys = tuple(row.fields)
        self._fields = tuple(Template(text, where) for text in row.fields.values())
        spread = [token.name for field in self._fields for token in field.row if isinstance(token, Part) and token.rest]
        self.spread = spread[0] if spread else None
        self.names = frozenset(name for field in self._fields for name in field.names) - {self.spread}

    def urns(self, place: Place, values: Mapping[str, str], cased: Mapping[str, str], runs: Sequence[str]) -> list[str]:
        """Return the URNs of this level, outermost first; none when a part is missing. ``runs`` are the folders, outermost first."""
        platform, instance, env = place
        held = instance or (env if self._env_as_instance else None)
        said = values if self._keep else cased
        if self.spread is None:
            return self._urn(platform, held, said)
        name = self.spread
        return [urn for run in runs for urn in self._urn(platform, held, {**said, name: run})]

    def _urn(self, platform: str, instance: str | None, values: Mapping[str, str]) -> list[str]:
        fields = [field.exact(values) for field in self._fields]
        if None in fields:
            return []
        return [
            container_urn(
                datahub_guid({"platform": platform, "instance": instance, **dict(zip(self._keys, fields, strict=True))})
            )
        ]


class Shelves:
    """All levels of a system, outermost first. What one table's database and schema are is remembered for the next."""

    def __init__(self, rows: Sequence[ContainerRow], where: str) -> None:
        self._shelves = [Shelf(row, where) for row in rows]
        self._names = tuple(sorted({name for shelf in self._shelves for name in shelf.names}))
        self._spread = next((shelf.spread for shelf in self._shelves if shelf.spread is not None), None)
        self._seen: dict[tuple[object, ...], Answer] = {}

    def __bool__(self) -> bool:
        """Whether there is any level."""
        return bool(self._shelves)

    def __call__(
        self, level: str, place: Place, values: Mapping[str, str], cased: Mapping[str, str], above: Above
    ) -> Answer:
        """Return (the containers above the name, nearest first; that of its own level, None for a table).

        ``values`` are the parts of the name, ``cased`` the same in the connector's case, ``above`` the folders over it:
        a path, or the parts of a dotted name.
        """
        above = _bounded(above) if self._spread is not None else ()
        key = (level, place, *map(cased.get, self._names), above)
        found = self._seen.get(key)
        if found is None:
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            found = self._seen[key] = self._made(level, place, values, cased, _runs(above))
        return found

    def _made(
        self, level: str, place: Place, values: Mapping[str, str], cased: Mapping[str, str], runs: Sequence[str]
    ) -> Answer:
        found: list[str] = []
        for shelf in self._shelves:
            urns = shelf.urns(place, values, cased, runs)
            if shelf.level == level:
                return tuple(found[::-1]), urns[-1] if urns else None
            found += urns
        return tuple(found[::-1]), None


def _bounded(above: Above) -> Above:
    """Return the folders without those that are too many; they are part of what is remembered."""
    if isinstance(above, str):
        return above if above.count("/") < _MOST_RUNS else "/".join(above.split("/", _MOST_RUNS)[:_MOST_RUNS])
    return above[:_MOST_RUNS]


def _runs(above: Above) -> list[str]:
    """Return the leading runs: ``a``, ``a/b`` … of a path, ``a``, ``a.b`` … of dotted parts."""
    if isinstance(above, str):
        return list(accumulate(above.split("/"), "{}/{}".format)) if above else []
    return list(accumulate([part for part in above if part is not None], "{}.{}".format))
