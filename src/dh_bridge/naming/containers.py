"""The containers above a dataset, as DataHub's connectors make them: guids of a few key fields.

``{*part}`` in a field makes one container for each leading run of that part: the folders of a path.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from dh_bridge.datahub.urns import container_urn, datahub_guid
from dh_bridge.naming.patterns import NameTemplate, PatternPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dh_bridge.naming.models import ContainerRow

PlatformScope = tuple[str, str | None, str]
"""Platform, instance, environment."""
ParentPath = str | tuple[str | None, ...]
ContainerUrns = tuple[tuple[str, ...], str | None]
_MAX_CACHED_NAMES = 50_000
_MAX_FOLDER_LEVELS = 64
"""Folders over a dataset that have containers; a name of thousands, which is cut in the URN anyway, would take minutes."""


class ContainerLevel:
    """One level of containers of a system. ``names`` are its required parts, ``rest_parts`` the part with a star."""

    __slots__ = ("_env_as_instance", "_fields", "_keep", "_keys", "level", "names", "rest_part")

    def __init__(self, row: ContainerRow, location: str) -> None:
        self.level = row.level
        self._keep = row.case == "keep"
        self._env_as_instance = row.env_as_instance
        self._keys = tuple(row.fields)
        self._fields = tuple(NameTemplate(text, location) for text in row.fields.values())
        rest_parts = [
            token.name for field in self._fields for token in field.row if isinstance(token, PatternPart) and token.rest
        ]
        self.rest_part = rest_parts[0] if rest_parts else None
        self.names = frozenset(name for field in self._fields for name in field.names) - {self.rest_part}

    def urns(
        self, scope: PlatformScope, values: Mapping[str, str], cased: Mapping[str, str], prefixes: Sequence[str]
    ) -> list[str]:
        """Return the URNs of this level, outermost first; none when a part is missing. ``prefixes`` are the folders, outermost first."""
        platform, instance, env = scope
        instance_key = instance or (env if self._env_as_instance else None)
        part_values = values if self._keep else cased
        if self.rest_part is None:
            return self._urn(platform, instance_key, part_values)
        name = self.rest_part
        return [urn for prefix in prefixes for urn in self._urn(platform, instance_key, {**part_values, name: prefix})]

    def _urn(self, platform: str, instance: str | None, values: Mapping[str, str]) -> list[str]:
        fields = [field.fill_exactly(values) for field in self._fields]
        if None in fields:
            return []
        return [
            container_urn(
                datahub_guid({"platform": platform, "instance": instance, **dict(zip(self._keys, fields, strict=True))})
            )
        ]


class ContainerLevels:
    """All levels of a system, outermost first. What one table's database and schema are is remembered for the next."""

    def __init__(self, rows: Sequence[ContainerRow], location: str) -> None:
        self._levels = [ContainerLevel(row, location) for row in rows]
        self._names = tuple(sorted({name for container_level in self._levels for name in container_level.names}))
        self._rest_part = next(
            (container_level.rest_part for container_level in self._levels if container_level.rest_part is not None),
            None,
        )
        self._cache: dict[tuple[object, ...], ContainerUrns] = {}

    def __bool__(self) -> bool:
        """Whether there is any level."""
        return bool(self._levels)

    def __call__(
        self,
        level: str,
        scope: PlatformScope,
        values: Mapping[str, str],
        cased: Mapping[str, str],
        parent_path: ParentPath,
    ) -> ContainerUrns:
        """Return (the containers above the name, nearest first; that of its own level, None for a table).

        ``values`` are the parts of the name, ``cased`` the same in the connector's case, ``parent_path`` the folders over it:
        a path, or the parts of a dotted name.
        """
        parent_path = _limit_depth(parent_path) if self._rest_part is not None else ()
        key = (level, scope, *map(cased.get, self._names), parent_path)
        container_urns = self._cache.get(key)
        if container_urns is None:
            if len(self._cache) >= _MAX_CACHED_NAMES:
                self._cache.clear()
            container_urns = self._cache[key] = self._build(level, scope, values, cased, _path_prefixes(parent_path))
        return container_urns

    def _build(
        self,
        level: str,
        scope: PlatformScope,
        values: Mapping[str, str],
        cased: Mapping[str, str],
        prefixes: Sequence[str],
    ) -> ContainerUrns:
        container_urns: list[str] = []
        for container_level in self._levels:
            urns = container_level.urns(scope, values, cased, prefixes)
            if container_level.level == level:
                return tuple(container_urns[::-1]), urns[-1] if urns else None
            container_urns += urns
        return tuple(container_urns[::-1]), None


def _limit_depth(parent_path: ParentPath) -> ParentPath:
    """Return the folders up to the limit; they are part of the cached result."""
    if isinstance(parent_path, str):
        return (
            parent_path
            if parent_path.count("/") < _MAX_FOLDER_LEVELS
            else "/".join(parent_path.split("/", _MAX_FOLDER_LEVELS)[:_MAX_FOLDER_LEVELS])
        )
    return parent_path[:_MAX_FOLDER_LEVELS]


def _path_prefixes(parent_path: ParentPath) -> list[str]:
    """Return the leading runs: ``a``, ``a/b`` … of a path, ``a``, ``a.b`` … of dotted parts."""
    if isinstance(parent_path, str):
        return list(accumulate(parent_path.split("/"), "{}/{}".format)) if parent_path else []
    return list(accumulate([part for part in parent_path if part is not None], "{}.{}".format))
