"""The trace of an event for the report: the notes of its fields, and the facts that each facet stated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.model.facts import (
    ASSERTION_PROPERTIES,
    DATASET_FIELD,
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    JOB_EDGE,
    JOB_FIELD,
    JOB_PROPERTIES,
    METRIC,
    OPERATION_PROPERTIES,
    RUN_BY_DATASET,
    RUN_COUNT,
    RUN_PROPERTIES,
    STATISTIC,
    TOMBSTONE,
    UPSTREAM_PROPERTY,
    FactKind,
    FactPart,
)
from dh_bridge.model.properties import MergedProperty

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.model.facts import Fact

FieldTarget = FactKind | FactPart | str
"""Where a field may go: into facts of a kind, into a part of them, or into a path of an aspect (``operation.urn``)."""


class FieldTargets(NamedTuple):
    """The note of a field with other targets than the row of its facet; the first target that is written counts."""

    targets: tuple[FieldTarget, ...]


FieldNote = str | FieldTargets
"""The reason why a field is dropped, or its targets."""


class TracedFact(NamedTuple):
    """A fact that a facet stated: its kind, and the values that the names of its targets depend on.

    ``names`` are its properties, ``field`` is its field or metric. ``edge`` is the side (``input``, ``output``) and the URN at the
    end of the edge that has its properties. ``is_of_flow``: the fact is about a flow.
    """

    kind: FactKind
    names: tuple[str, ...] = ()
    field: str = ""
    edge: tuple[str, str] = ("", "")
    is_of_flow: bool = False


class Trace:
    """The record of one event, made only if a report is asked for.

    ``notes`` are pairs of a path in the event and the outcome of the field there; ``facts`` are the facts by the path of the
    facet that stated them.
    """

    __slots__ = ("facts", "notes")

    def __init__(self) -> None:
        self.notes: list[tuple[str, FieldNote]] = []
        self.facts: dict[str, list[TracedFact]] = {}


_PROPERTY_KINDS = frozenset((
    RUN_PROPERTIES, JOB_PROPERTIES, DATASET_PROPERTIES, OPERATION_PROPERTIES, ASSERTION_PROPERTIES,
))  # fmt: skip


def record_facts(stated_facts: Iterator[Fact], facts: list[TracedFact]) -> Iterator[Fact]:
    """Yield the facts of a facet, and record each in ``facts``."""
    for fact in stated_facts:
        facts.append(_traced_fact(*fact))
        yield fact


def _traced_fact(entity: str, kind: FactKind, key: Any, value: Any) -> TracedFact:  # noqa: PLR0911 - a line for each shape of keys
    of_flow = entity.startswith("urn:li:dataFlow:")
    if kind in _PROPERTY_KINDS:
        return TracedFact(kind, _property_names(value), is_of_flow=of_flow)
    if kind is EDGE_PROPERTIES:
        return TracedFact(kind, _property_names(value), edge=(key[0], key[1]))
    if kind is JOB_EDGE:
        return TracedFact(kind, _property_names(value), edge=("job", key))
    if kind is UPSTREAM_PROPERTY:
        return TracedFact(kind, (key[1],), edge=("upstream", key[0]))
    if kind is STATISTIC:
        return TracedFact(kind, field=key[2], edge=(key[0], key[1]))
    if kind is RUN_BY_DATASET:
        return TracedFact(kind, (key[0],))
    if kind is RUN_COUNT:
        return TracedFact(kind, (key,))
    if kind is METRIC:
        return TracedFact(kind, field=key[1])
    return (
        TracedFact(kind, field=key[0], is_of_flow=of_flow) if kind in (JOB_FIELD, DATASET_FIELD) else TracedFact(kind)
    )


def _property_names(properties: Any) -> tuple[str, ...]:
    if properties is TOMBSTONE:
        return ()
    return (properties.name,) if type(properties) is MergedProperty else tuple(properties)
