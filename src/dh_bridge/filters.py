"""What the user leaves out, counted by the rule that did it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.settings.filters import AllowDeny, FilterSettings


class Filters:
    """The filters of a configuration; ``drop_counts`` counts events, datasets and facets by rule.

    ``is_empty``: there are none, so that nobody needs to ask.
    """

    def __init__(self, settings: FilterSettings) -> None:
        self.drop_counts: Counter[str] = Counter()
        self._settings = settings
        self._has_event_filters = any(
            (settings.job_namespace, settings.job_name, settings.producer, settings.event_type)
        )
        self._has_dataset_filters = any((settings.dataset_namespace, settings.dataset_name))
        self._has_facet_filters = bool(settings.facet)
        self._has_collapse_filter = bool(settings.through)
        self.is_empty = not (
            self._has_event_filters or self._has_dataset_filters or self._has_facet_filters or self._has_collapse_filter
        )

    def copy_without_counts(self) -> Filters:
        """Return the same filters with nothing counted yet: looking through the settings takes as long as an event."""
        filters = object.__new__(Filters)
        filters.__dict__.update(self.__dict__)
        filters.drop_counts = Counter()
        return filters

    def count(self, rule: str) -> str:
        """Count a drop and return its rule."""
        self.drop_counts[rule] += 1
        return rule

    def rule_for_event(self, event: Event) -> str | None:
        """Return the rule that leaves the event out, None when it stays."""
        if not self._has_event_filters:
            return None
        settings = self._settings
        texts = [("producer", settings.producer, event.producer or "")]
        if event.kind != "dataset":
            texts += [
                ("job_namespace", settings.job_namespace, event.namespace),
                ("job_name", settings.job_name, event.name),
            ]
        if event.kind == "run":
            texts.append(("event_type", settings.event_type, event.type or ""))
        return self._first_rule(texts)

    def rule_for_dataset(self, dataset: Dataset) -> str | None:
        """Return the rule that leaves the dataset out, None when it stays."""
        refusal = self.rule_for_mention(dataset.namespace, dataset.name) if self._has_dataset_filters else None
        return None if refusal is None else self.count(refusal)

    def rule_for_mention(self, namespace: str, name: str) -> str | None:
        """Return the rule that leaves out a dataset which a facet mentions, None when it stays; mentions are not counted."""
        rules = (("dataset_namespace", namespace), ("dataset_name", name))
        refusals = ((rule, getattr(self._settings, rule).refusal(text)) for rule, text in rules)
        return next((f"{rule} {refusal}" for rule, refusal in refusals if refusal is not None), None)

    @property
    def can_affect_datasets(self) -> bool:
        """Whether any dataset may be left out or run through."""
        return self._has_dataset_filters or self._has_collapse_filter

    def rule_for_facet(self, key: str) -> str | None:
        """Return the rule that leaves the facet out, None when it stays."""
        return self._first_rule([("facet", self._settings.facet, key)]) if self._has_facet_filters else None

    def is_collapsed(self, dataset: Dataset) -> bool:
        """Whether lineage runs through the dataset, which is not written itself."""
        if not self._has_collapse_filter or not self._settings.is_collapsed(dataset.namespace, dataset.name):
            return False
        self.count("through")
        return True

    def _first_rule(self, texts: Sequence[tuple[str, AllowDeny, str]]) -> str | None:
        for name, rule, text in texts:
            refusal = rule.refusal(text)
            if refusal is not None:
                return self.count(f"{name} {refusal}")
        return None
