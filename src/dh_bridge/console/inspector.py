"""The event inspector: an event with the outcome of each field, beside the aspects that it becomes."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.bundled import EXAMPLES
from dh_bridge.catalog.store import Catalog
from dh_bridge.console.json_lines import JsonLine, ValueLine, to_lines
from dh_bridge.console.links import AspectLines, LinkFinder
from dh_bridge.console.parameters import EntityLink, entity_link
from dh_bridge.naming.datasets import dataset_name, enumerate_datasets
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.read import events_of, read_events
from dh_bridge.report.fields import parse_document
from dh_bridge.report.reasons import find_reason

if TYPE_CHECKING:
    from dh_bridge.bridge import Bridge
    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource
    from dh_bridge.openlineage.events import Dataset

_MAX_EVENTS = 50
_LOCATION = "event"
_PARTS = {"inputs": "$.inputs[{}]", "outputs": "$.outputs[{}]"}


class InspectedField(msgspec.Struct, frozen=True):
    """A field: its line in the event, its outcome with the target or reason, and the lines of aspects that it became."""

    line: int
    path: str
    outcome: str
    target: str | None
    reason: str | None
    meaning: str | None
    is_loss: bool
    links: list[int]


class InspectedEvent(msgspec.Struct, frozen=True):
    """An event as lines; secrets are masked."""

    location: str
    type: str | None
    time: str
    job: str
    lines: list[JsonLine]
    first_line: int
    fields: list[InspectedField]
    counts: dict[str, int]


class InspectedAspect(msgspec.Struct, frozen=True):
    """An aspect or point as lines; its title is the line before the first."""

    name: str
    first_line: int
    lines: list[JsonLine]


class InspectedEntity(msgspec.Struct, frozen=True):
    """An entity with the aspects that the events give it; ``title_line`` is the number of its title."""

    entity: EntityLink
    title_line: int
    aspects: list[InspectedAspect]


class UnusableEvent(msgspec.Struct, frozen=True):
    """An event that cannot be used."""

    location: str
    reason: str


class Inspection(msgspec.Struct, frozen=True):
    """Events, what they become, and the events that cannot be used. Lines are numbered over events and aspects together."""

    events: list[InspectedEvent]
    entities: list[InspectedEntity]
    unusable: list[UnusableEvent]
    rejected: list[str]
    filtered: dict[str, int]


class ExampleEvent(msgspec.Struct, frozen=True):
    """An example event: its file, its position there, and what it is."""

    file: str
    position: int
    title: str


class ExampleList(msgspec.Struct, frozen=True):
    """The example events of the package."""

    examples: list[ExampleEvent]


class ExampleText(msgspec.Struct, frozen=True):
    """The JSON of an example event."""

    text: str


def answer_inspect(source: ConsoleSource, parameters: RequestParameters) -> Inspection:
    """Return what the events in the body become, with the settings of the console. Nothing is stored."""
    return inspect_events(source.bridge, parameters.body)


def inspect_events(bridge: Bridge, body: bytes) -> Inspection:
    """Return what events become.

    Args:
        bridge: The translator.
        body: One event, an array of them, or one on each line; at most 50.

    Raises:
        ValueError: There is no event.
    """
    items = list(events_of(body.strip(), _LOCATION, bridge.zone, max_events=_MAX_EVENTS)) if body.strip() else []
    if not items:
        raise ValueError("no event: paste the JSON of an OpenLineage event")
    translations = list(bridge.stream(items, report=True, window=None))
    events = [bridge.options.masking.mask_event(item) for item in items if isinstance(item, Event)]
    with Catalog(":memory:") as catalog:
        failures = catalog.apply(list(chain.from_iterable(translation.proposals for translation in translations)))
        entities, aspect_lines, next_line = _entities(catalog)
    report: dict[str, list[dict[str, Any]]] = {}
    for translation in translations:
        for line in translation.report.lines() if translation.report is not None else ():
            report.setdefault(line["event"], []).append(line)
    links = LinkFinder(aspect_lines)
    inspected_events = []
    for event in events:
        inspected = _inspect_event(
            event, report.get(event.location, []), links, _part_datasets(event, bridge), next_line
        )
        next_line += len(inspected.lines)
        inspected_events.append(inspected)
    dead = [item for item in items if isinstance(item, DeadLetter)]
    dead += [letter for translation in translations for letter in translation.dead if letter not in dead]
    return Inspection(
        events=inspected_events,
        entities=entities,
        unusable=[UnusableEvent(letter.location, letter.reason) for letter in dead],
        rejected=[failure.reason for failure in failures.failures],
        filtered=dict(sum((translation.counts.filtered for translation in translations), Counter())),
    )


def _entities(catalog: Catalog) -> tuple[list[InspectedEntity], list[AspectLines], int]:
    """Return all entities with their aspects as numbered lines; runs and jobs first."""
    entities: list[InspectedEntity] = []
    aspect_lines: list[AspectLines] = []
    number = 0
    for urn in sorted(catalog.entities(), key=_order):
        title_line = number
        number += 1
        aspects = []
        contents = [*catalog.aspects(urn).items()]
        contents += [
            (name, point) for name in catalog.timeseries_aspects(urn) for point in catalog.timeseries(urn, name)
        ]
        for name, value in contents:
            lines, values = to_lines(value, number)
            aspects.append(InspectedAspect(name, number, lines))
            aspect_lines.append(AspectLines(urn, name, title_line, values))
            number += len(lines)
        entities.append(InspectedEntity(entity_link(catalog, urn), title_line, aspects))
    return entities, aspect_lines, number


_TYPE_ORDER = ("dataProcessInstance", "dataJob", "dataFlow", "dataset", "assertion")


def _order(urn: str) -> tuple[int, str]:
    kind = urn.split(":")[2]
    return _TYPE_ORDER.index(kind) if kind in _TYPE_ORDER else len(_TYPE_ORDER), urn


def _inspect_event(
    event: Event, report: list[dict[str, Any]], links: LinkFinder, datasets: dict[str, list[str]], first_line: int
) -> InspectedEvent:
    lines, values = to_lines(parse_document(event.raw), first_line)
    by_path = {line["path"]: line for line in report}
    fields = [
        _inspect_field(value_line, by_path[value_line.path], links, datasets)
        for value_line in values
        if value_line.path in by_path
    ]
    return InspectedEvent(
        location=event.location,
        type=event.type,
        time=next((str(value_line.value) for value_line in values if value_line.path == "$.eventTime"), ""),
        job=event.name,
        lines=lines,
        first_line=first_line,
        fields=fields,
        counts=dict(Counter(field.outcome for field in fields)),
    )


def _inspect_field(
    value_line: ValueLine, line: dict[str, Any], links: LinkFinder, datasets: dict[str, list[str]]
) -> InspectedField:
    reason = find_reason(line["reason"] or "")
    urns = next((urns for part, urns in datasets.items() if value_line.path.startswith(part)), [])
    return InspectedField(
        line=value_line.line,
        path=value_line.path,
        outcome=line["outcome"],
        target=line["target"],
        reason=line["reason"],
        meaning=reason.meaning if reason is not None else None,
        is_loss=line["outcome"] == "dropped" and (reason is None or reason.is_loss),
        links=links.find(line["target"], value_line, urns) if line["target"] else [],
    )


def _part_datasets(event: Event, bridge: Bridge) -> dict[str, list[str]]:
    """Return the datasets of each part of an event: ``$.inputs[0]`` -> URNs."""
    naming = bridge.options.naming

    def urns(entry: Dataset) -> list[str]:
        names = (dataset_name(part, naming).endpoint for _, part in enumerate_datasets([entry], naming))
        return [urn for urn in names if urn]

    parts = {"$.dataset": urns(event.dataset)} if event.dataset is not None else {}
    for direction, path in _PARTS.items():
        parts |= {path.format(position): urns(entry) for position, entry in enumerate(getattr(event, direction))}
    return parts


def answer_examples(_source: ConsoleSource, _parameters: RequestParameters) -> ExampleList:
    """Return the example events of the package."""
    return ExampleList(
        [
            ExampleEvent(file, position, f"{event.type or event.kind} {event.name}")
            for file, position, event in _examples()
        ]
    )


def answer_example(_source: ConsoleSource, parameters: RequestParameters) -> ExampleText:
    """Return the example ``position`` of ``file``."""
    wanted = parameters.required("file"), parameters.number("position", 0, maximum=100_000)
    for file, position, event in _examples():
        if (file, position) == wanted:
            return ExampleText(msgspec.json.format(event.raw, indent=2).decode())
    raise ValueError(f"there is no example {wanted[1]} in {wanted[0]} (api/examples lists them)")


@cache
def _examples() -> tuple[tuple[str, int, Event], ...]:
    """Return the file, the position and the event of each example."""
    return tuple(
        (path.stem, position, event)
        for path in sorted(EXAMPLES.glob("*.ndjson"), key=lambda path: path.name)
        for position, event in enumerate(read_events([path]))
        if isinstance(event, Event)
    )
