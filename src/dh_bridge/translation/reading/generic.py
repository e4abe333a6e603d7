"""Facets whose leaves are all kept, and facets that nobody knows: one rule each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import (
    PROPERTY_KINDS,
    Facet,
    FacetSpec,
    Open,
    State,
    body_of,
    facet,
    kept,
    property_statement,
    readable,
    withdrawn,
    withheld,
)
from dh_bridge.translation.facts import DATASET_PROPERTIES, EDGE_PROPERTIES, RUN_BY_DATASET, RUN_PROPERTIES, Statements
from dh_bridge.translation.properties import digest_properties, flattened
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.reading.given import configuration

if TYPE_CHECKING:
    import msgspec

    from dh_bridge.openlineage.events import Facets
    from dh_bridge.translation.context import Attach, Place

#: How many facets that nobody knows are kept of one bag.
MOST_UNKNOWN = 20


def kept_facet(*keys: str, at: Attach, doc: str, producer: str = "") -> FacetSpec:
    """Return a facet whose every leaf is a property ``<key>.<path>`` where it is attached."""

    def state(opened: Open, place: Place) -> Statements:
        if opened.properties is None:
            opened.properties = flattened(keys[0], opened.body)
        if opened.properties:
            yield property_statement(place, opened.properties)

    state.__doc__ = doc
    return facet(*keys, at=at, leaves={"**": kept()}, producer=producer, remember=True)(state)


class Bulk(Facet, forbid_unknown_fields=False):
    """A facet that is not read: its bytes are passed over, which is many times faster than to decode them."""


class BulkSpec(FacetSpec):
    """A facet that is withheld as a whole, so that none of its leaves is a known or an unknown one."""

    def __init__(  # noqa: PLR0913 - the columns of the facets table
        self, state: State, *, key: str, at: Attach, reads: type[Bulk], reason: str, producer: str
    ) -> None:
        super().__init__(
            state, keys=(key,), at=at, reads=reads, leaves={"**": withheld(reason)}, retracts=None,
            since="0.15.0", producer=producer, remember=False,
        )  # fmt: skip
        self.reads = None

    def _leniently(self, raw: msgspec.Raw, at: Place) -> Statements:
        document = readable(raw, at)
        if document is None:
            return
        if document.get("_deleted") is True:
            yield from withdrawn(document, at, known=at.options.stateful)
            return
        at.raw = raw
        yield from self.state(Bulk(), at)


def bulk_facet(  # noqa: PLR0913 - the columns of the facets table
    key: str,
    *,
    at: Attach,
    reason: str,
    doc: str,
    producer: str = "",
    reads: type[Bulk] = Bulk,
    count: Count | None = None,
) -> FacetSpec:
    """Return a facet that is withheld for ``reason``; its hash and size stay as properties.

    ``count`` says how many things are in it, from the parts that ``reads`` picks out.
    """

    def state(bulk: Bulk, place: Place) -> Statements:
        properties = digest_properties(key, bytes(place.raw))
        if count is not None:
            properties[f"{key}.count"] = str(count(bulk))
        yield property_statement(place, properties)

    state.__doc__ = doc
    return BulkSpec(state, key=key, at=at, reads=reads, reason=reason, producer=producer)


Count = Callable[[Any], int]


def map_facet(key: str, *, alone: tuple[str, ...] = (), doc: str, producer: str = "") -> FacetSpec:
    """Return a run facet whose open map ``properties`` is one redacted JSON under ``key``; ``alone``: on their own too."""

    def state(opened: Open, place: Place) -> Statements:
        if opened.properties is None:
            opened.properties = _mapped(key, opened.body, alone, place)
        if opened.properties:
            yield property_statement(place, opened.properties)

    state.__doc__ = doc
    leaves = {f"properties.{name}": kept(RUN_PROPERTIES[f"{key}.{name}"], RUN_PROPERTIES) for name in alone}
    return facet(key, at="run", leaves={**leaves, "**": kept()}, producer=producer, remember=True)(state)


def _mapped(key: str, body: dict[str, Any], alone: tuple[str, ...], at: Place) -> dict[str, str]:
    inner = body.get("properties")
    values = inner if isinstance(inner, dict) else body  # the older form has no inner object
    rest = {name: value for name, value in body.items() if name != "properties"} if values is inner else {}
    values = configuration(values, "properties" if values is inner else "", at)
    properties = flattened(key, rest)
    written = kept_text(key, values) if values else None
    if written:
        properties[key] = written
    for name in alone:
        text = kept_text(f"{key}.{name}", values.get(name))
        if text is not None:
            properties[f"{key}.{name}"] = text
    return properties


def opaque_facet(*keys: str, at: Attach, doc: str, producer: str = "") -> FacetSpec:
    """Return a facet that is kept as one JSON, as those that nobody knows; a module lists it in the table."""

    def state(opened: Open, place: Place) -> Statements:
        yield from _opaque(opened.body, place)

    state.__doc__ = doc
    kinds = (DATASET_PROPERTIES, EDGE_PROPERTIES, RUN_BY_DATASET) if at == "dataset" else (PROPERTY_KINDS[at],)
    return facet(*keys, at=at, leaves={"**": kept(*kinds)}, producer=producer)(state)


def known_first(facets: Facets, specs: Mapping[str, FacetSpec]) -> list[tuple[str, msgspec.Raw]]:
    """Return a bag with its unknown facets last, by the alphabet: which are too many is not for their order to say."""
    return sorted(facets.items(), key=lambda entry: "" if entry[0] in specs else entry[0])


def unknown(raw: msgspec.Raw, at: Place) -> Statements:
    """Yield what stays of a facet that no module knows: one compact JSON under ``facet.<name>``."""
    document = readable(raw, at)
    if document is None:
        return
    if document.get("_deleted") is True:
        yield from withdrawn(document, at, known=at.options.stateful and not _of_edge(at))
        return
    if at.options.settings.properties.unknown_facets == "drop":
        at.withheld("", "policy:properties.unknown_facets")
        return
    yield from _opaque(body_of(document), at)


def _opaque(body: dict[str, Any], at: Place) -> Statements:
    key = f"facet.{at.key}"
    written = kept_text(key, body)
    if not body or written is None:
        return
    if _of_edge(at):
        direction = _side(at)
        yield at.task, EDGE_PROPERTIES, (direction, at.dataset, key), {key: written}
        if at.run:
            yield at.run, RUN_BY_DATASET, (f"{direction}s.{key}", at.dataset), written
    else:
        yield property_statement(at, {key: written})


def _of_edge(at: Place) -> bool:
    """Whether the facet is about how a job reads or writes a dataset, not about the dataset."""
    return at.attach == "dataset" and at.bag != "facets" and at.task != ""


def _side(at: Place) -> str:
    """Return which edge of the job leads to the dataset, whatever bag the facet was put into."""
    return "output" if at.role == "output" else "input"
