"""What is wrong with many events: findings of `dh-bridge check`, unknown facets, unknown platforms; each leads to its events."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.checking import EventChecker
from dh_bridge.checking.kinds import KINDS, rank_of
from dh_bridge.checking.validity import ValidityChecker
from dh_bridge.facets import find_misplaced_facet, registry
from dh_bridge.naming.datasets import dataset_name, datasets_of
from dh_bridge.openlineage.events import DeadLetter, Event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.bridge import Bridge
    from dh_bridge.checking import Finding
    from dh_bridge.facet_support.context import AttachPoint
    from dh_bridge.openlineage.events import Facets

LOG_LOCATION = "log:"
"""Start of the location of an event of the log; its position follows."""
_LOG_POSITION = re.compile(r"^log:(\d+)")
_RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MAX_GROUPS = 1_000
"""Facets and namespaces that are counted, at most: senders choose them."""
_MAX_NAMES = 20_000
"""Names that may lead from a finding to its events, at most."""
_GROWING_KINDS = ("name-per-run", "staging-folder", "temporary-table", "part-file", "dated-name")
_MAX_NAME_LENGTH = 300


class EventFinding(msgspec.Struct, frozen=True):
    """A problem of several events.

    ``is_growing``: whether names change with the runs, so that the catalogue grows without end. ``positions``: events of the log that
    have it. ``search``: a text that its events contain, None if there is none.
    """

    kind: str
    title: str
    harm: str
    remedy: str
    text: str
    count: int
    examples: list[str]
    effect: str
    is_growing: bool
    positions: list[int]
    search: str | None


class UnknownPart(msgspec.Struct, frozen=True):
    """A facet or a platform that no mapping knows.

    ``group`` is what it belongs to: run, job or dataset; of a platform, the namespace. ``events`` is how many have it. ``location``
    is one of them, and ``position`` its position in the log.
    """

    name: str
    group: str
    events: int
    location: str
    position: int | None


class EventFindings(msgspec.Struct, frozen=True):
    """What is wrong with events, and the settings that `dh-bridge check` proposes as YAML."""

    events: int
    findings: list[EventFinding]
    unknown_facets: list[UnknownPart]
    unknown_platforms: list[UnknownPart]
    yaml: str


class _UnknownParts:
    """Counts unknown parts by name and group, with the latest event that has each."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], list[Any]] = {}

    def add(self, parts: set[tuple[str, str]], location: str) -> None:
        for part in parts:
            entry = self._counts.get(part)
            if entry is not None:
                entry[0] += 1
                entry[1] = location
            elif len(self._counts) < _MAX_GROUPS:
                self._counts[part] = [1, location]

    def rows(self) -> list[UnknownPart]:
        """Return the parts, the most frequent first."""
        rows = [
            UnknownPart(name, group, count, location, _position_of(location))
            for (name, group), (count, location) in self._counts.items()
        ]
        return sorted(rows, key=lambda row: (-row.events, row.name, row.group))


class EventSurvey:
    """Collects what is wrong with events; its memory is bounded.

    Args:
        bridge: The translator, whose settings are those of the check.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._naming = bridge.options.naming
        self._checker = EventChecker(bridge.settings)
        self._validity = ValidityChecker(bridge)
        self._facets, self._platforms = _UnknownParts(), _UnknownParts()
        self._names: dict[str, None] = {}
        self.event_count = 0

    def see(self, item: Event | DeadLetter) -> None:
        """Add an event. A location such as ``log:17`` leads to the event of the log."""
        self.event_count += 1
        deque(self._validity.check(item), maxlen=0)
        if isinstance(item, DeadLetter):
            return
        self._checker.see(item)  # it masks the secrets of the event
        self._facets.add(set(unknown_facets(item)), item.location)
        self._platforms.add(set(self._unknown_platforms(item)), item.location)
        if len(self._names) < _MAX_NAMES:
            datasets = (item.inputs, item.outputs, [] if item.dataset is None else [item.dataset])
            names = [
                item.name,
                *(text for group in datasets for entry in group for text in (entry.namespace, entry.name)),
            ]
            self._names.update(dict.fromkeys(name for name in names if name and len(name) <= _MAX_NAME_LENGTH))

    def findings(self) -> EventFindings:
        """Return what is wrong with the events so far."""
        validity, names = list(self._validity.findings()), self._checker.findings()
        rows = [self._row(finding) for finding in sorted((*validity, *names), key=lambda item: rank_of(item.kind))]
        return EventFindings(
            self.event_count,
            rows,
            self._facets.rows(),
            self._platforms.rows(),
            self._checker.to_yaml() if names else "",
        )

    def _row(self, finding: Finding) -> EventFinding:
        kind = KINDS[finding.kind]
        positions = [_position_of(example) for example in finding.examples]
        return EventFinding(
            kind=finding.kind,
            title=kind.title,
            harm=kind.harm,
            remedy=kind.remedy,
            text=finding.text,
            count=finding.count,
            examples=list(finding.examples),
            effect=finding.effect,
            is_growing=finding.kind in _GROWING_KINDS,
            positions=list(dict.fromkeys(position for position in positions if position is not None)),
            search=next((text for text in _texts_of(finding) if text in self._names or _RUN_ID.fullmatch(text)), None),
        )

    def _unknown_platforms(self, event: Event) -> Iterator[tuple[str, str]]:
        for dataset in datasets_of(event, self._naming):
            name = dataset_name(dataset, self._naming)
            if name.platform and name.platform not in self._naming.platforms:
                yield name.platform, dataset.namespace[:_MAX_NAME_LENGTH]


def unknown_facets(event: Event) -> Iterator[tuple[str, str]]:
    """Yield the key and the group of each facet that no module of ``dh_bridge.facets`` reads; its fields become properties."""
    datasets = [*event.inputs, *event.outputs, *([] if event.dataset is None else [event.dataset])]
    groups: list[tuple[AttachPoint, Facets]] = [("run", event.run_facets), ("job", event.job_facets)]
    for dataset in datasets:
        groups += [("dataset", facets) for facets in (dataset.facets, dataset.input_facets, dataset.output_facets)]
    for attach, facets in groups:
        for key in facets.keys() - registry()[attach].keys():
            if attach == "dataset" or find_misplaced_facet(attach, key, event) is None:
                yield key[:_MAX_NAME_LENGTH], attach


def _texts_of(finding: Finding) -> Iterator[str]:
    """Yield texts that the events of a finding may contain: names and namespaces."""
    for key in finding.promise:
        yield key.partition("\n")[2]
    if isinstance(finding.value, dict):
        yield from (str(finding.value.get(key)) for key in ("name", "namespace"))
    yield from finding.examples
    for text in (*finding.examples, finding.text):
        yield from re.findall(r"[^\s,;()'\"]{3,}", text)


def _position_of(location: str) -> int | None:
    match = _LOG_POSITION.match(location)
    return None if match is None else int(match[1])
