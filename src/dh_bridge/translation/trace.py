"""What the report needs to know of an event: where its fields end, and which facts each facet stated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.translation.facts import (
    ASSERTION_PROPERTIES,
    DATASET_FIELD,
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    GONE,
    JOB_EDGE,
    JOB_FIELD,
    JOB_PROPERTIES,
    METRIC,
    OPERATION_PROPERTIES,
    RUN_BY_DATASET,
    RUN_COUNT,
    RUN_PROPERTIES,
    STATISTIC,
    UPSTREAM_MARK,
    Part,
    Slot,
)
from dh_bridge.translation.properties import Joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.facts import Statement

Destination = Slot | Part | str
"""Where a field may go: into facts of a kind, into a part of them, or into a path of an aspect (``operation.urn``)."""


class Reached(NamedTuple):
    """The note of a field that goes elsewhere than the row of its facet says; the first target that is written counts."""

    targets: tuple[Destination, ...]


Note = str | Reached
"""Why a field is dropped, or where it went."""


class TracedFact(NamedTuple):
    """A fact that a facet stated: its kind, and what the names of its targets depend on.

    ``names`` are the properties that it makes, ``field`` is the field or metric that it is about, ``edge`` the side
    (``input``, ``output``) and the URN at the end of the edge that carries its properties. ``of_flow``: it is about a flow.
    """

    kind: Slot
    names: tuple[str, ...] = ()
    field: str = ""
    edge: tuple[str, str] = ("", "")
    of_flow: bool = False


class Trace:
    """The record of one event, made only if a report is asked for.

    ``notes`` are pairs of a path in the event and what became of the field there; ``facts`` are the facts by the path of the
    facet that stated them.
    """

    __slots__ = ("facts", "notes")

    def __init__(self) -> None:
        self.notes: list[tuple[str, Note]] = []
        self.facts: dict[str, list[TracedFact]] = {}


_PROPERTIES = frozenset((
    RUN_PROPERTIES, JOB_PROPERTIES, DATASET_PROPERTIES, OPERATION_PROPERTIES, ASSERTION_PROPERTIES,
))  # fmt: skip


def traced(statements: Iterator[Statement], facts: list[TracedFact]) -> Iterator[Statement]:
    """Yield the facts of a facet, and record each in ``facts``."""
    for statement in statements:
        facts.append(_traced(*statement))
        yield statement


def _traced(entity: str, kind: Slot, key: Any, value: Any) -> TracedFact:  # noqa: PLR0911 - a line for each shape of keys
    of_flow = entity.startswith("urn:li:dataFlow:")
    if kind in _PROPERTIES:
        return TracedFact(kind, _names(value), of_flow=of_flow)
    if kind is EDGE_PROPERTIES:
        return TracedFact(kind, _names(value), edge=(key[0], key[1]))
    if kind is JOB_EDGE:
        return TracedFact(kind, _names(value), edge=("job", key))
    if kind is UPSTREAM_MARK:
        return TracedFact(kind, (key[1],), edge=("upstream", key[0]))
    if kind is STATISTIC:
        return TracedFact(kind, field=key[2], edge=(key[0], key[1]))
    if kind is RUN_BY_DATASET:
        return TracedFact(kind, (key[0],))
    if kind is RUN_COUNT:
        return TracedFact(kind, (key,))
    if kind is METRIC:
        return TracedFact(kind, field=key[1])
    return TracedFact(kind, field=key[0], of_flow=of_flow) if kind in (JOB_FIELD, DATASET_FIELD) else TracedFact(kind)


def _names(properties: Any) -> tuple[str, ...]:
    if properties is GONE:
        return ()
    return (properties.name,) if type(properties) is Joined else tuple(properties)
