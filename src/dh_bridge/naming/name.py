"""The name of a dataset: the result of :class:`~dh_bridge.naming.Naming`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.naming.names import unquote_identifier
from dh_bridge.naming.normalize import NeedsQuotes, dialect_case

if TYPE_CHECKING:
    from collections.abc import Callable


#: Reasons why a dataset of an unknown namespace is dropped, by the setting ``naming.unknown``.
DROPPED_BY_SETTING, REFUSED_BY_SETTING = "filtered: naming.unknown", "policy:naming.unknown"

_QUOTES = '"`['
#: System of ``mappings/naming`` -> the signs that open a quoted identifier in it. Names are stored with the id of their
#: system alone, so that the form of stored states stays; the readers of systems add the notes of their files.
QUOTES_BY_SYSTEM: dict[str | None, str] = {}
#: Note of a name whose namespace belongs to no system and no platform of DataHub.
UNKNOWN_NAMESPACE = "unknown-namespace"
#: Note of a name of such a namespace that facets of its event gave.
BY_FACET = "by-facet"
#: What such a name needs.
BY_FACET_TEXT = (
    "namespace is unknown and only facets name the dataset: set platform and rename in a rule of naming.rules"
)
#: Note of a name that known tools give to temporary and staging datasets.
TEMPORARY_NAME = "temporary"
#: The note of the part of its dataset that a name names begins so: `part:dt=2026-11-01`.
PART = "part:"
#: Notes that name a missing level begin so.
LACKS = "lacks:"
FIRST_TIER = ("database", "catalog", "project", "keyspace")
SECOND_TIER = ("schema", "dataset")
_LEVEL_SETTINGS = {
    **dict.fromkeys(FIRST_TIER, "default_database"),
    **dict.fromkeys(SECOND_TIER, "default_schema"),
}


class Name(msgspec.Struct, frozen=True, gc=False):
    """One OpenLineage (namespace, name) pair and its names in DataHub.

    ``namespace`` and ``name`` are as the producer sent them; ``safe_namespace`` is without credentials: show and store that
    one. ``urn`` is the entity, a dataset or (for a database, schema, bucket …) a container; ``endpoint`` is the dataset URN for
    lineage, the same as ``urn`` for a dataset. Both are None if ``skip`` has the reason why there is no dataset.
    ``dataset_name`` is the name in the endpoint, without the instance.
    """

    namespace: str
    name: str
    safe_namespace: str
    urn: str | None
    level: str
    endpoint: str | None
    fqn: str | None
    system: str | None
    rule: str
    platform: str
    dataset_name: str
    env: str
    instance: str | None
    skip: str | None = None
    lower_columns: bool = False
    column_case: NeedsQuotes | None = None
    notes: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        # never the namespace as given: it may hold a password
        return f"Name({self.safe_namespace!r}, {self.name!r} -> {self.urn or self.skip!r} by {self.rule!r})"

    @property
    def column_quotes(self) -> str:
        """The signs that open a quoted identifier in the name's system; "" where columns are as they are."""
        return QUOTES_BY_SYSTEM.get(self.system, "")

    @property
    def column_speller(self) -> Callable[[str], str] | None:
        """How the system's connector spells a column; None: as it is."""
        return self.spell_column if self.lower_columns or self.column_case is not None or self.column_quotes else None

    @property
    def missing_levels(self) -> tuple[str, ...]:
        """The levels of a table's name that this one lacks, such as ``database``: it joins nothing that a connector writes."""
        return tuple(note.removeprefix(LACKS) for note in self.notes if note.startswith(LACKS))

    @property
    def part(self) -> str:
        """The part of the dataset that was cut off the name: partitions of a path, a shard or partition of BigQuery; "" for all of it."""
        return next((note.removeprefix(PART) for note in self.notes if note.startswith(PART)), "")

    @property
    def gap(self) -> str:
        """The missing level of the name, and the setting that adds it; "" if the name is complete."""
        levels = self.missing_levels
        if not levels:
            return BY_FACET_TEXT if BY_FACET in self.notes else ""
        settings = ", ".join(dict.fromkeys(_LEVEL_SETTINGS.get(level, "parts") for level in levels))
        return f"name lacks the {' and the '.join(levels)}: set {settings} in a rule of naming.rules"

    @property
    def refusal(self) -> EventError | None:
        """The error if the settings reject the name (``naming.unknown: fail``), None for all other names."""
        if self.skip != REFUSED_BY_SETTING:
            return None
        remedy = "add a rule to naming.rules, or set naming.unknown to keep or drop"
        return EventError("no naming system matches this namespace", location=self.safe_namespace, remedy=remedy)

    def spell_column(self, column: str) -> str:
        """Return the name of a column as the system's connector writes it."""
        if column and column[0] in _QUOTES and (quotes := self.column_quotes):
            column = unquote_identifier(column, quotes)
        if self.lower_columns:
            return column.lower()
        return column if self.column_case is None or not column else dialect_case(column, self.column_case)
