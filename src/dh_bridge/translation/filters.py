"""What the user leaves out, counted by the rule that did it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.settings.filters import AllowDeny, FilterSettings


class Filters:
    """The filters of a configuration; ``dropped`` counts events, datasets and facets by rule.

    ``idle``: there are none, so that nobody needs to ask.
    """

    def __init__(self, settings: FilterSettings) -> None:
        self.dropped: Counter[str] = Counter()
        self._settings = settings
        self._events = any((settings.job_namespace, settings.job_name, settings.producer, settings.event_type))
        self._datasets = any((settings.dataset_namespace, settings.dataset_name))
        self._facets = bool(settings.facet)
        self._through = bool(settings.through)
        self.idle = not (self._events or self._datasets or self._facets or self._through)

    def anew(self) -> Filters:
        """Return the same filters with nothing counted yet: looking through the settings takes as long as an event."""
        found = object.__new__(Filters)
        found.__dict__.update(self.__dict__)
        found.dropped = Counter()
        return found

    def count(self, rule: str) -> str:
        """Count a drop and return its rule."""
        self.dropped[rule] += 1
        return rule

    def event(self, event: Event) -> str | None:
        """Return the rule that leaves the event out, None when it stays."""
        if not self._events:
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
        return self._first(texts)

    def dataset(self, dataset: Dataset) -> str | None:
        """Return the rule that leaves the dataset out, None when it stays."""
        refusal = self.mention(dataset.namespace, dataset.name) if self._datasets else None
        return None if refusal is None else self.count(refusal)

    def mention(self, namespace: str, name: str) -> str | None:
        """Return the rule that leaves out a dataset which a facet mentions, None when it stays; mentions are not counted."""
        rules = (("dataset_namespace", namespace), ("dataset_name", name))
        found = ((rule, getattr(self._settings, rule).refusal(text)) for rule, text in rules)
        return next((f"{rule} {refusal}" for rule, refusal in found if refusal is not None), None)

    @property
    def of_datasets(self) -> bool:
        """Whether any dataset may be left out or run through."""
        return self._datasets or self._through

    def facet(self, key: str) -> str | None:
        """Return the rule that leaves the facet out, None when it stays."""
        return self._first([("facet", self._settings.facet, key)]) if self._facets else None

    def through(self, dataset: Dataset) -> bool:
        """Whether lineage runs through the dataset, which is not written itself."""
        if not self._through or not self._settings.runs_through(dataset.namespace, dataset.name):
            return False
        self.count("through")
        return True

    def _first(self, texts: Sequence[tuple[str, AllowDeny, str]]) -> str | None:
        for name, rule, text in texts:
            refusal = rule.refusal(text)
            if refusal is not None:
                return self.count(f"{name} {refusal}")
        return None
