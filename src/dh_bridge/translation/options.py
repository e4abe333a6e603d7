"""Everything that a translation depends on, compiled once: settings, mappings, profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.datahub.profiles import Profile, profile
from dh_bridge.translation.columns import default_types, load
from dh_bridge.translation.identity import Identity
from dh_bridge.translation.naming import Naming

if TYPE_CHECKING:
    from dh_bridge.settings import Settings

DEFAULT_PROFILE = "0.15.0"


class Options:
    """The compiled choices of one configuration; shared by every translation that uses it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.profile: Profile = profile(settings.profile or DEFAULT_PROFILE)
        self.naming = Naming(settings.naming, settings.mappings)
        self.identity = Identity(settings.identity, settings.mappings, settings.dbt)
        self.prefix = settings.properties.prefix + "."
        self.actor = settings.actor
        self.queries = settings.queries == "on"
        schema = settings.schema_
        overlay = settings.mappings is not None and (settings.mappings / "tables" / "column_types.yaml").exists()
        self.column_types = load(settings.mappings, schema.types) if schema.types or overlay else default_types()
        self.keep_ephemeral = settings.dbt.ephemeral == "keep"
