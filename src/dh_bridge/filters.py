"""The user's filters, with counts of dropped entities by rule."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dh_bridge.settings.filters import PatternList

if TYPE_CHECKING:
    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.settings.filters import FilterSettings
    from dh_bridge.settings.temporary import TemporarySettings

_PATTERN_SETTINGS = ("jobs", "datasets", "producers", "event_types", "facets")


class Filters:
    """The filters of a configuration; ``drop_counts`` counts events, datasets and facets by rule.

    ``is_empty``: there are none, which saves the look-ups.
    """

    def __init__(self, settings: FilterSettings, temporary: TemporarySettings) -> None:
        self.drop_counts: dict[str, int] = {}
        self._temporary = temporary
        self._lists = {setting: PatternList(getattr(settings, setting)) for setting in _PATTERN_SETTINGS}
        self.lists_temporary = bool(temporary.datasets)
        self.is_empty = not any(self._lists.values())

    def copy_without_counts(self) -> Filters:
        """Return the same filters with empty counts: reading the settings again takes as long as an event."""
        filters = object.__new__(Filters)
        filters.__dict__.update(self.__dict__)
        filters.drop_counts = {}
        return filters

    def count(self, rule: str) -> str:
        """Count a drop and return its rule."""
        self.drop_counts[rule] = self.drop_counts.get(rule, 0) + 1
        return rule

    def take_counts(self) -> Counter[str]:
        """Return the counts, and begin again."""
        counts, self.drop_counts = self.drop_counts, {}
        return Counter(counts)

    def rule_for_event(self, event: Event) -> str | None:
        """Return the rule that excludes the event, None if it is included."""
        rule = self._rule("producers", event.producer or "")
        if rule is None and event.kind != "dataset":
            rule = self._rule("jobs", event.name, event.namespace)
        if rule is None and event.kind == "run":
            rule = self._rule("event_types", event.type or "")
        return None if rule is None else self.count(rule)

    def rule_for_dataset(self, dataset: Dataset) -> str | None:
        """Return the rule that excludes the dataset, None if it is included."""
        rule = self.rule_for_mention(dataset.namespace, dataset.name)
        return None if rule is None else self.count(rule)

    def rule_for_mention(self, namespace: str, name: str) -> str | None:
        """Return the rule that excludes a dataset which a facet mentions, None if it is included; mentions are not counted."""
        return self._rule("datasets", name, namespace)

    @property
    def can_affect_datasets(self) -> bool:
        """Whether a setting leaves datasets out or calls them temporary."""
        return bool(self._lists["datasets"]) or self.lists_temporary

    def rule_for_facet(self, key: str) -> str | None:
        """Return the rule that excludes the facet, None if it is included."""
        rule = self._rule("facets", key)
        return None if rule is None else self.count(rule)

    def is_temporary(self, namespace: str, name: str, *, is_known: bool) -> bool:
        """Return whether a dataset is temporary by its name: lineage skips it, and it is not written.

        Args:
            namespace: The namespace as it was sent.
            name: The name as it was sent.
            is_known: Whether the written name is one that known tools give to temporary datasets.
        """
        is_listed = self._temporary.is_listed(namespace, name) if self.lists_temporary else None
        return (is_known and self._temporary.known == "collapse") if is_listed is None else is_listed

    def _rule(self, setting: str, name: str, namespace: str | None = None) -> str | None:
        """Return the setting and the pattern that leave a name out, as reports show them: ``jobs: !tmp_*``."""
        exclusion = self._lists[setting].exclusion(name, namespace)
        return None if exclusion is None else f"{setting}: {exclusion}"
