"""Version profiles: which entities, aspects and fields a DataHub server knows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache

from dh_bridge.datahub import schemas
from dh_bridge.errors import SettingsError

DEFAULT = "0.15.0"

_version = re.compile(r"v?(\d+(?:\.\d+)+)(?:[-+.]?[a-zA-Z].*)?").fullmatch


@dataclass(frozen=True)
class Profile:
    """What one DataHub server line understands; ``name`` is the folder of its schemas."""

    name: str
    version: tuple[int, ...]
    _pairs: frozenset[tuple[str, str]] = field(repr=False, compare=False)

    def has(self, entity_type: str, aspect_name: str) -> bool:
        """Say whether the aspect belongs to the entity: its key aspect, or one of its entityAspects."""
        return (entity_type, aspect_name) in self._pairs

    def at_least(self, *version: int) -> bool:
        """Say whether this profile is that version or a later one: ``at_least(1, 3)``."""
        return self.version >= version

    def has_field(self, aspect_name: str, path: str) -> bool:
        """Say whether the aspect has a field at the dotted ``path``, for example ``result.severity``."""
        return _has_field(self.name, aspect_name, path)

    @property
    def environments(self) -> frozenset[str]:
        """What its FabricType holds: ``PRD``, for one, since 1.1."""
        return _environments(self.name)

    def timeseries(self, aspect_name: str) -> bool:
        """Say whether the aspect is a timeseries; False when this profile has no such aspect."""
        schema = schemas.aspect_schema(self.name, aspect_name)
        return schema is not None and schemas.is_timeseries(schema)


@cache
def _has_field(version: str, aspect_name: str, path: str) -> bool:
    schema = schemas.aspect_schema(version, aspect_name)
    return schema is not None and schemas.descend(schema, path) is not None


@cache
def _environments(version: str) -> frozenset[str]:
    schema = schemas.aspect_schema(version, "datasetKey")
    fabric = None if schema is None else schemas.descend(schema, "origin")
    return frozenset() if fabric is None else frozenset(fabric["symbols"])


def known_profiles() -> tuple[str, ...]:
    """Return the names of the bundled profiles, oldest first."""
    return schemas.versions()


@lru_cache
def profile(name: str = DEFAULT) -> Profile:
    """Return the profile of that name, or for a server's full version the nearest one that is not above it.

    A name that is no version, or lies below every profile, is a SettingsError that lists the known ones.
    """
    matched = _version(name.strip())
    wanted = schemas.number(matched[1]) if matched else ()
    below = [known for known in known_profiles() if schemas.number(known) <= wanted]
    if not below:
        known = ", ".join(known_profiles())
        raise SettingsError(f"no schemas for DataHub {name!r}", where="profile", now=f"known are {known}")
    return Profile(below[-1], schemas.number(below[-1]), _entity_aspects(below[-1]))


def _entity_aspects(version: str) -> frozenset[tuple[str, str]]:
    """Return every (entity type, aspect name) that the keys of a profile allow."""
    pairs = set()
    for file in schemas.index(version).aspects.values():
        if file.endswith("Key.avsc"):
            aspect = schemas.load(file)["Aspect"]
            pairs |= {(aspect["keyForEntity"], name) for name in (aspect["name"], *aspect["entityAspects"])}
    return frozenset(pairs)
