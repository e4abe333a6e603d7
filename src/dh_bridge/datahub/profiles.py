"""Version profiles: the entities, aspects and fields of each DataHub version."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache

from dh_bridge.datahub import schemas
from dh_bridge.datahub.versions import parse_version
from dh_bridge.errors import SettingsError


@dataclass(frozen=True)
class Profile:
    """What one DataHub server line understands; ``name`` is the folder of its schemas."""

    name: str
    version: tuple[int, ...]
    _pairs: frozenset[tuple[str, str]] = field(repr=False, compare=False)

    def has_aspect(self, entity_type: str, aspect_name: str) -> bool:
        """Return whether the aspect belongs to the entity: it is the key aspect, or one of its entityAspects."""
        return (entity_type, aspect_name) in self._pairs

    def is_at_least(self, *version: int) -> bool:
        """Return whether this profile is that version or a later one: ``at_least(1, 3)``."""
        return self.version >= version

    def has_field(self, aspect_name: str, path: str) -> bool:
        """Return whether the aspect has a field at the dotted ``path``, for example ``result.severity``."""
        return _has_field(self.name, aspect_name, path)

    @property
    def environments(self) -> frozenset[str]:
        """What its FabricType holds: ``PRD``, for one, since 1.1."""
        return _environments(self.name)

    def is_timeseries(self, aspect_name: str) -> bool:
        """Return whether the aspect is a timeseries; False if the profile does not have the aspect."""
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
    return schemas.profile_versions()


def newest_profile() -> str:
    """Return the name of the newest bundled profile: the default if no version is set."""
    return known_profiles()[-1]


@lru_cache
def profile(datahub_version: str | None = None) -> Profile:
    """Return the profile for a version that a person stated, for example ``1.4``, ``0.15.0.5`` or ``v1.4.0.3``.

    Args:
        datahub_version: the version; the newest profile that is not above it is returned. None stands for the newest profile.

    Raises:
        SettingsError: the text is no version, or the version is below the oldest profile or has a later major number than
            the newest one.
    """
    if datahub_version is None:
        return _load_profile(newest_profile())
    version = parse_version(datahub_version)
    if version is not None and version[0] > schemas.version_numbers(newest_profile())[0]:
        version = None
    return _load_profile(_nearest_profile(version, datahub_version))


def server_profile(version: str) -> Profile:
    """Return the profile for the version that a server named: the newest one for a server that is newer than all profiles.

    Raises:
        SettingsError: the server is older than the oldest profile.
    """
    return _load_profile(_nearest_profile(parse_version(version), version))


def _nearest_profile(version: tuple[int, ...] | None, datahub_version: str) -> str:
    candidates = [
        supported
        for supported in known_profiles()
        if version is not None and schemas.version_numbers(supported) <= version
    ]
    if not candidates:
        supported = ", ".join(known_profiles())
        raise SettingsError(
            f"unknown DataHub version {datahub_version!r}",
            location="datahub_version",
            remedy=f"use one of {supported}. For DataHub Cloud, use the version of its core. Upgrade a server older than 0.15.0",
        )
    return candidates[-1]


@cache
def _load_profile(name: str) -> Profile:
    return Profile(name, schemas.version_numbers(name), _entity_aspects(name))


def _entity_aspects(version: str) -> frozenset[tuple[str, str]]:
    """Return every (entity type, aspect name) that the keys of a profile allow."""
    pairs = set()
    for file in schemas.load_index(version).aspects.values():
        if file.endswith("Key.avsc"):
            aspect = schemas.load_schema(file)["Aspect"]
            pairs |= {(aspect["keyForEntity"], name) for name in (aspect["name"], *aspect["entityAspects"])}
    return frozenset(pairs)
