"""Everything that a translation depends on, compiled once: settings, mappings, profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.cache import Memory
from dh_bridge.datahub.profiles import Profile, profile
from dh_bridge.datahub.validation import validator
from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.masking import Masking
from dh_bridge.redaction import OFF
from dh_bridge.translation.filters import Filters
from dh_bridge.translation.identity import Identity
from dh_bridge.translation.naming import Naming
from dh_bridge.translation.naming.datasets import dataset_name, datasets_of
from dh_bridge.translation.properties import Names
from dh_bridge.translation.value_maps import Tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.datahub.proposal import Remembered
    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.settings import Settings


class Options:
    """The compiled choices of one configuration; shared by every translation that uses it.

    ``stateful``: the translations keep what events say beyond a call, in a ledger.
    """

    def __init__(self, settings: Settings, *, stateful: bool = False) -> None:
        self.settings = settings
        self.stateful = stateful
        #: whether the target can write an aspect only where it is absent; the report is about what arrives there
        self.creates = True
        #: whether parents that only their children name are written: where their own events will be known, too
        self.stubs = stateful and settings.ledger.stub_parents
        self.profile: Profile = profile(settings.profile)
        if settings.profile is not None:
            self.need_environments()
        self.validator = validator(self.profile)
        #: what was rendered of entities that runs share, see `render/remembered.py`
        self.memory: Memory[tuple[Remembered, ...]] = Memory()
        #: the columns of schema facets, by these choices, see `facets/schema.py`
        self.schemas: Memory[Any] = Memory()
        #: what columnLineage facets say by these choices, see `facets/column_lineage.py`
        self.column_lineage: Memory[Any] = Memory()
        self.masking = Masking(on=settings.redaction != OFF)
        self.tables = Tables(settings)
        self.naming = Naming(settings.naming, settings.mappings)
        self.identity = Identity(settings.identity, settings.mappings, settings.dbt)
        self.filters = Filters(settings.filters)
        self.prefix = settings.properties.prefix + "."
        self.names = Names(self.prefix)
        self.actor = settings.actor
        self.queries = settings.queries == "on"
        self.keep_ephemeral = settings.dbt.ephemeral == "keep"
        self.temporary = settings.temporary

    def need_environments(self) -> None:
        """Refuse an environment of datasets that the profile does not know; without a chosen one it may still be a server's."""
        for where, env in _environments(self.settings):
            if env not in self.profile.environments:
                now = "choose a later `profile`, that of your server, or another environment"
                raise SettingsError(f"DataHub {self.profile.name} does not know {env}", where=where, now=now)

    def refusal(self, event: Event) -> str | None:
        """Return why the settings refuse ``event`` whole, None when they do not, or when a filter leaves it out anyway."""
        said = self._not_named(event) if self.settings.naming.unknown == "fail" else None
        return None if said is None or self.filters.anew().event(event) is not None else said

    def about(self, dataset: Dataset) -> str:
        """Return what a DatasetEvent is about: the URN of its dataset, else how its producer calls it."""
        name = dataset_name(dataset, self.naming, keep_ephemeral=self.keep_ephemeral)
        return name.endpoint or f"{dataset.namespace} {dataset.name}"

    def _not_named(self, event: Event) -> str | None:
        names = (
            dataset_name(one, self.naming, keep_ephemeral=self.keep_ephemeral)
            for one in datasets_of(event, self.naming)
            if self.filters.mention(one.namespace, one.name) is None
        )
        return next((str(name.refusal) for name in names if name.refusal is not None), None)


def _environments(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the environments of datasets, and where the settings say them."""
    yield "naming.env", settings.naming.env
    for position, rule in enumerate(settings.naming.rules):
        if rule.env is not None:
            yield f"naming.rules[{position}].env", rule.env
    if "dbt" in settings.identity.join.tools:
        yield "identity.join.dbt.env", settings.identity.join.dbt.env
