"""Learning: proposes settings for a sample of events, each with its evidence. It never changes a setting.

``sample`` stores a bounded part of the input, ``namespace_aliases`` finds namespaces of one server, ``datasets`` (with
``incomplete_names`` and ``double_names``) and ``jobs`` follow the events, ``finding`` is a result, ``yaml_output`` writes
results as YAML to paste.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.learning.datasets import DatasetLearner
from dh_bridge.learning.finding import Finding
from dh_bridge.learning.jobs import JobLearner
from dh_bridge.learning.yaml_output import format_findings
from dh_bridge.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.openlineage.events import Event
    from dh_bridge.settings import Settings

__all__ = ["Finding", "Learner", "learn"]

LIMIT = 20_000
"""Datasets, jobs and runs that are followed; of a longer input a sample."""


class Learner:
    """Collects evidence from events; rules that the ``settings`` already have are not proposed again."""

    def __init__(self, settings: Settings, *, limit: int = LIMIT) -> None:
        options = Options(settings)
        self._masking = options.masking
        self._datasets = DatasetLearner(options, limit)
        self._jobs = JobLearner(options, limit)
        self._events = 0

    def see(self, event: Event) -> None:
        """Note one event."""
        self._events += 1
        self._masking.mask_event(event)
        self._datasets.see(event)
        self._jobs.see(event)

    def findings(self) -> list[Finding]:
        """Return what was noticed so far."""
        return [*self._datasets.findings(), *self._jobs.findings()]

    def to_yaml(self) -> str:
        """Return the proposals as YAML, with the evidence as comments."""
        sampled_fraction = min(self._datasets.sampled_fraction, self._jobs.sampled_fraction)
        return format_findings(self.findings(), events=self._events, sampled_fraction=sampled_fraction)


def learn(events: Iterable[Event], settings: Settings, *, limit: int = LIMIT) -> Learner:
    """Return a learner that saw all ``events``."""
    learner = Learner(settings, limit=limit)
    for event in events:
        learner.see(event)
    return learner
