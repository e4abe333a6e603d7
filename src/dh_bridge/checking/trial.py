"""Tries proposed settings on all names of the sample, with the settings engine, before they are shown.

A setting is shown only if each name that it promises to change gets exactly the promised URN, and if no other name changes
for the worse. A setting that fails is dropped; its finding stays. Settings are tried one after the other, each together with
the settings that passed before it, so that those that are shown work together.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.checking.finding import count_text
from dh_bridge.checking.sample import Sample
from dh_bridge.errors import SettingsError
from dh_bridge.identity import Identity
from dh_bridge.naming import Naming
from dh_bridge.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.checking.finding import Finding
    from dh_bridge.identity import Job
    from dh_bridge.naming import Name
    from dh_bridge.openlineage.events import Dataset, Event

_MAX_TRIED_SETTINGS = 100
"""Settings that are tried, at most. Each of them compiles the naming systems again, which takes 30 ms."""
_LISTS = {("naming", "rules"), ("identity", "rules"), ("temporary", "datasets")}
_MAPPINGS = {("naming", "locations"), ("identity", "namespaces"), ("naming", "project_numbers")}


class NameSample:
    """All names of a sample of events: datasets, and jobs with their producers."""

    def __init__(self, limit: int) -> None:
        self._datasets: Sample[set[tuple[str, str]]] = Sample(limit, set)
        self._jobs: Sample[set[tuple[str, str, str]]] = Sample(limit, set)

    def add_dataset(self, dataset: Dataset) -> None:
        """Add the name of a dataset."""
        names = self._datasets.note_of(f"{dataset.namespace}\n{dataset.name}")
        if names is not None:
            names.add((dataset.namespace, dataset.name))

    def add_job(self, event: Event) -> None:
        """Add the job of an event."""
        names = self._jobs.note_of(f"{event.namespace}\n{event.producer or ''}\n{event.name}")
        if names is not None:
            names.add((event.namespace, event.producer or "", event.name))

    def datasets(self) -> Iterator[tuple[str, str]]:
        """Yield namespace and name of each dataset."""
        yield from chain.from_iterable(names for _, names in self._datasets.items())

    def jobs(self) -> Iterator[tuple[str, str, str]]:
        """Yield namespace, producer and name of each job."""
        yield from chain.from_iterable(names for _, names in self._jobs.items())


class SettingTrial:
    """Tries the settings of findings, one after the other."""

    def __init__(self, settings: Settings, sample: NameSample) -> None:
        self._settings = settings
        self._sample = sample
        self._names: dict[tuple[str, str], Name] | None = None
        self._jobs: dict[tuple[str, str, str], Job] | None = None
        self._tried_count = 0

    def try_all(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield each finding, without its setting if that fails; findings with placeholders are not tried."""
        for finding in findings:
            if not finding.path or not (finding.sure or finding.promise):
                yield finding
                continue
            self._tried_count += 1
            try:
                effect = self._try(finding) if self._tried_count <= _MAX_TRIED_SETTINGS else None
            except SettingsError:  # a name cannot be a pattern
                effect = None
            if effect is None:
                yield finding.without_setting()
            else:
                yield msgspec.structs.replace(finding, effect=finding.effect or effect)

    def _try(self, finding: Finding) -> str | None:
        """Return the effect of a setting, None if it fails. Later settings are tried together with those that are sure."""
        settings = with_setting(self._settings, finding)
        if settings is None:
            return None
        effect = ""
        area = finding.path[0]
        if area == "naming":
            names = self._compute_names(settings)
            if not _is_promise_of_datasets(finding, self._present_names(), names):
                return None
            effect = _effect(
                ((old.endpoint, names[key].endpoint) for key, old in self._present_names().items()), "dataset"
            )
            if finding.sure:
                self._names = names
        elif finding.path in {("identity", "rules"), ("identity", "namespaces")}:
            jobs = self._compute_jobs(settings)
            if not _is_promise_of_jobs(finding, self._present_jobs(), jobs):
                return None
            effect = _effect(((old.flow_urn, jobs[key].flow_urn) for key, old in self._present_jobs().items()), "flow")
            if finding.sure:
                self._jobs = jobs
        elif area == "temporary":
            collapsed = {
                f"{namespace}\n{name}"
                for namespace, name in self._sample.datasets()
                if settings.temporary.is_listed(namespace, name)
                and not self._settings.temporary.is_listed(namespace, name)
            }
            if collapsed != set(finding.promise):
                return None
        if finding.sure:
            self._settings = settings
        return effect

    def _present_names(self) -> dict[tuple[str, str], Name]:
        if self._names is None:
            self._names = self._compute_names(self._settings)
        return self._names

    def _present_jobs(self) -> dict[tuple[str, str, str], Job]:
        if self._jobs is None:
            self._jobs = self._compute_jobs(self._settings)
        return self._jobs

    def _compute_names(self, settings: Settings) -> dict[tuple[str, str], Name]:
        naming = Naming(settings.naming, settings.mappings)
        return {(namespace, name): naming(namespace, name) for namespace, name in self._sample.datasets()}

    def _compute_jobs(self, settings: Settings) -> dict[tuple[str, str, str], Job]:
        identity = Identity(settings.identity, settings.mappings, settings.dbt, dataset_env=settings.naming.env)
        return {
            (namespace, producer, name): identity.job(namespace, name, producer or None)
            for namespace, producer, name in self._sample.jobs()
        }


def _effect(changes: Iterable[tuple[str | None, str | None]], noun: str) -> str:
    """Return what URNs become, from pairs of an old and a new one."""
    changed = {(old, new) for old, new in changes if old != new}
    old_count, new_count = (len({pair[side] for pair in changed}) for side in (0, 1))
    if not changed:
        return "no URN changes"
    if old_count == 1:
        return f"1 {noun} gets another URN"
    return f"{count_text(old_count, noun)} {'become' if new_count < old_count else 'get other URNs:'} {new_count:,}"


def with_setting(settings: Settings, finding: Finding) -> Settings | None:
    """Return the settings with the setting that a finding proposes; None if the result is not valid."""
    document: dict[str, Any] = settings.model_dump(mode="python", exclude_unset=True)
    area, key = finding.path
    section = document.setdefault(area, {})
    if finding.path in _LISTS:
        new_members = [finding.value]
        present = list(section.get(key, ()))
        section[key] = [*present, *new_members] if area == "identity" else [*new_members, *present]
    elif finding.path in _MAPPINGS:
        name, value = finding.value
        present_value = section.get(key, {}).get(name)
        if isinstance(value, list) and present_value:
            value = [*present_value, *value]
        section[key] = {**section.get(key, {}), name: value}
    else:
        section[key] = finding.value
    try:
        return Settings.model_validate(document)
    except ValueError:
        return None


def _is_promise_of_datasets(
    finding: Finding, before: dict[tuple[str, str], Name], after: dict[tuple[str, str], Name]
) -> bool:
    """Return whether the promised names get their URNs, and no other name changes for the worse."""
    for (namespace, name), new in after.items():
        old = before[namespace, name]
        key = f"{namespace}\n{name}"
        if key in finding.promise:
            if new.endpoint != finding.promise[key]:
                return False
            if _loses_platform(old, new) and not finding.has_evidence:
                return False
        elif new.endpoint != old.endpoint and not _is_better(finding, old, new):
            return False
    return True


def _loses_platform(old: Name, new: Name) -> bool:
    """Return whether a name of a system with its own naming gets another platform."""
    return old.system is not None and old.platform != new.platform


def _is_better(finding: Finding, old: Name, new: Name) -> bool:
    """Return whether a change that is not promised is an improvement: the name lacks fewer levels, on the same platform."""
    if old.endpoint is not None and new.endpoint is None:
        return False
    if _loses_platform(old, new):
        return False
    if finding.path in _MAPPINGS:  # an alias changes all names of its namespace, in the same way
        return True
    return len(new.missing_levels) < len(old.missing_levels)


def _is_promise_of_jobs(
    finding: Finding, before: dict[tuple[str, str, str], Job], after: dict[tuple[str, str, str], Job]
) -> bool:
    """Return whether the promised jobs get their flow, and no other job changes."""
    if finding.path == ("identity", "namespaces"):
        return True
    for (namespace, producer, name), new in after.items():
        old = before[namespace, producer, name]
        key = f"{namespace}\n{name}"
        if key in finding.promise:
            flow, _, job_id = str(finding.promise[key]).partition("\n")
            if (new.flow_name, new.platform, new.cluster) != (flow, old.platform, old.cluster):
                return False
            if job_id and new.job_id != job_id:
                return False
        elif (new.flow_urn, new.job_urn) != (old.flow_urn, old.job_urn) and not (
            finding.kind == "dotted-flow" and new.flow_name.startswith(old.flow_name)
        ):
            return False
    return True


def try_settings(settings: Settings, sample: NameSample, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, with those settings that pass."""
    # Aliases first, as rules see the names that they make; of several rules for one job, the first one applies.
    ordered = sorted(findings, key=lambda finding: (finding.path in _LISTS, finding.kind == "dotted-flow"))
    return list(SettingTrial(settings, sample).try_all(ordered))
