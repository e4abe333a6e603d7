"""Checks a sample of events before the first write: what would make a messy catalogue, and the settings that prevent it.

``datasets``, ``paths``, ``jobs`` and ``runs`` collect names in samples of bounded size (``sample``) and return findings
(``finding``, ``kinds``). ``trial`` applies each proposed setting to all names of the sample before it is shown. ``validity``
checks single events and proposals. ``text_output`` and ``yaml_output`` write the findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.checking.datasets import DatasetChecker
from dh_bridge.checking.finding import Finding
from dh_bridge.checking.jobs import JobChecker
from dh_bridge.checking.runs import RunChecker
from dh_bridge.checking.trial import NameSample, try_settings
from dh_bridge.checking.yaml_output import format_findings
from dh_bridge.options import Options

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from dh_bridge.openlineage.events import Event
    from dh_bridge.settings import Settings

__all__ = ["EventChecker", "Finding", "check_events"]

LIMIT = 20_000
"""Datasets, jobs and runs that are remembered. Of a longer input, a sample is remembered."""


class EventChecker:
    """Collects the names of events, and returns findings. Names that ``settings`` already solve are no findings."""

    def __init__(self, settings: Settings, *, limit: int = LIMIT) -> None:
        options = Options(settings)
        self._masking = options.masking
        self._settings = settings
        self._sample = NameSample(limit)
        self._datasets = DatasetChecker(options, limit, self._sample)
        self._jobs = JobChecker(options, limit)
        self._runs = RunChecker(limit)
        self._event_count = 0
        self._findings: list[Finding] | None = None

    def see(self, event: Event) -> None:
        """Add one event to the sample."""
        self._event_count += 1
        self._findings = None
        self._masking.mask_event(event)
        self._datasets.see(event)
        self._jobs.see(event)
        if event.kind != "dataset":
            self._sample.add_job(event)
        if event.kind == "run":
            self._runs.see(event)

    def findings(self) -> list[Finding]:
        """Return the findings of all events so far."""
        if self._findings is None:
            findings = [*self._datasets.findings(), *self._jobs.findings(), *self._runs.findings()]
            self._findings = try_settings(self._settings, self._sample, findings)
        return self._findings

    @property
    def sampled_fraction(self) -> float:
        """The part of all names that is in the sample, 0 to 1."""
        return min(self._datasets.sampled_fraction, self._jobs.sampled_fraction)

    def to_yaml(self, ignored_kinds: Collection[str] = ()) -> str:
        """Return the proposed settings as YAML, with the evidence as comments."""
        findings = [finding for finding in self.findings() if finding.kind not in ignored_kinds]
        return format_findings(findings, events=self._event_count, sampled_fraction=self.sampled_fraction)


def check_events(events: Iterable[Event], settings: Settings, *, limit: int = LIMIT) -> EventChecker:
    """Return a checker that saw all ``events``."""
    checker = EventChecker(settings, limit=limit)
    for event in events:
        checker.see(event)
    return checker
