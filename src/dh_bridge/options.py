"""Everything that a translation depends on, compiled once: settings, mappings, profile."""

from __future__ import annotations

from datetime import timezone, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dh_bridge.cache import GenerationalCache
from dh_bridge.datahub.profiles import Profile, profile
from dh_bridge.datahub.validation import validator
from dh_bridge.errors import SettingsError
from dh_bridge.filters import Filters
from dh_bridge.identity import Identity
from dh_bridge.model.properties import PrefixedNames
from dh_bridge.naming import Naming
from dh_bridge.naming.datasets import dataset_name, datasets_of
from dh_bridge.openlineage.masking import EventMasker
from dh_bridge.redaction import OFF
from dh_bridge.value_maps import ValueMaps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.datahub.proposal import CachedProposal
    from dh_bridge.identity.rules import DatasetDefaults
    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.settings import Settings


_MAX_NAMINGS = 64
"""Pairs of environment and instance whose names are remembered."""


class Options:
    """The compiled settings and mappings; shared by all translations that use them.

    ``is_stateful``: the facts of events are stored beyond a call, in a ledger.
    """

    def __init__(self, settings: Settings, *, is_stateful: bool = False) -> None:
        self.settings = settings
        self.is_stateful = is_stateful
        #: whether the target can write an aspect only if it is absent; the report depends on it
        self.can_create = True
        #: whether parents that only their children name are written: where their own events will be known, too
        self.has_implied_parents = is_stateful and settings.ledger.implied_parents
        self.profile: Profile = profile(settings.datahub_version)
        self._has_known_environments = False
        if settings.datahub_version is not None:
            self.check_environments()
        self.validator = validator(self.profile)
        #: the rendered aspects of shared entities, see `render/cache.py`
        self.render_cache: GenerationalCache[tuple[CachedProposal, ...]] = GenerationalCache()
        #: the columns of schema facets, by these choices, see `facets/schema.py`
        self.schema_cache: GenerationalCache[Any] = GenerationalCache()
        #: the parsed columnLineage facets under these options, see `facets/column_lineage.py`
        self.column_lineage_cache: GenerationalCache[Any] = GenerationalCache()
        self.masking = EventMasker(is_enabled=settings.redaction != OFF)
        self.tables = ValueMaps(settings)
        self.naming = Naming(settings.naming, settings.mappings, keep_in_memory=settings.temporary.in_memory == "keep")
        self._namings: dict[tuple[str | None, str | None], Naming] = {}
        self.identity = Identity(settings.identity, settings.mappings, settings.dbt, dataset_env=settings.naming.env)
        self.filters = Filters(settings.filters, settings.temporary)
        self.prefix = settings.properties.prefix + "."
        self.property_names = PrefixedNames(self.prefix)
        self.has_queries = "queries" in settings.optional_metadata
        self.keep_ephemeral = settings.temporary.ephemeral == "keep"
        self.temporary_policy = settings.temporary.dataset_type
        self.skips_known_temporary = settings.temporary.known == "collapse"
        #: whether a time without a zone is read in the offset of the run's other events: a zone that was set is known better
        self.infers_zones = settings.event_time.default_zone.upper() == "UTC"

    def check_environments(self) -> None:
        """Reject an environment of datasets that the profile does not have; without a chosen profile, the server may have it."""
        if self._has_known_environments:
            return
        for setting_path, env in _environments(self.settings):
            if env not in self.profile.environments:
                remedy = (
                    "set `datahub_version` to the version of your server if that is later, or use another environment"
                )
                raise SettingsError(
                    f"DataHub {self.profile.name} has no environment {env}", location=setting_path, remedy=remedy
                )
        self._has_known_environments = True

    def naming_for(self, defaults: DatasetDefaults) -> Naming:
        """Return the naming of the datasets of a job whose rule gives ``defaults``."""
        env = defaults.env if defaults.env in self.profile.environments else None
        key = (env, defaults.instance)
        if key == (None, None):
            return self.naming
        naming = self._namings.get(key)
        if naming is None:
            if len(self._namings) >= _MAX_NAMINGS:
                self._namings.clear()
            naming = self._namings[key] = self.naming.with_defaults(*key)
        return naming

    def rejection_reason(self, event: Event) -> str | None:
        """Return why the settings refuse ``event`` whole, None when they do not, or when a filter leaves it out anyway."""
        reason = self._naming_refusal(event) if self.settings.naming.unknown == "fail" else None
        return (
            None if reason is None or self.filters.copy_without_counts().rule_for_event(event) is not None else reason
        )

    def subject_of(self, dataset: Dataset) -> str:
        """Return the subject of a DatasetEvent: the URN of its dataset, else its name in the event."""
        name = dataset_name(dataset, self.naming, keep_ephemeral=self.keep_ephemeral)
        return name.endpoint or f"{dataset.namespace} {dataset.name}"

    def _naming_refusal(self, event: Event) -> str | None:
        names = (
            dataset_name(dataset, self.naming, keep_ephemeral=self.keep_ephemeral)
            for dataset in datasets_of(event, self.naming)
            if self.filters.rule_for_mention(dataset.namespace, dataset.name) is None
        )
        return next((str(name.refusal) for name in names if name.refusal is not None), None)


def _environments(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the environments of datasets, and their locations in the settings."""
    yield "naming.env", settings.naming.env
    for position, rule in enumerate(settings.naming.rules):
        if rule.env is not None:
            yield f"naming.rules[{position}].env", rule.env
    for position, job_rule in enumerate(settings.identity.rules):
        env = job_rule.datasets.env or job_rule.env
        if env is not None and "{" not in env:
            yield f"identity.rules[{position}].env", env


def zone_of(settings: Settings) -> tzinfo:
    """Return the default time zone of times; a SettingsError for an unknown one."""
    name = settings.event_time.default_zone
    if name.upper() == "UTC":
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise SettingsError(
            f"unknown time zone {name!r}", location="event_time.default_zone", remedy="use a name such as Europe/Berlin"
        ) from error
