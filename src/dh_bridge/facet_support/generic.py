"""Facets whose fields all become properties, and unknown facets: one rule for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import (
    PROPERTY_KINDS,
    Facet,
    FacetSpec,
    FactFunction,
    OpenFacet,
    as_property,
    content_of,
    dropped,
    facet,
    property_fact,
    read_object,
    retract_properties,
)
from dh_bridge.facet_support.named_parameters import configuration
from dh_bridge.model.facts import (
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    JOB_FIELD,
    RUN_BY_DATASET,
    RUN_PROPERTIES,
    Facts,
)
from dh_bridge.model.precedence import FIELD_STATED
from dh_bridge.model.properties import digest_properties, flatten, json_text, property_text, truncate

if TYPE_CHECKING:
    import msgspec

    from dh_bridge.facet_support.context import AttachPoint, FacetContext
    from dh_bridge.openlineage.events import Facets

#: Maximal number of unknown facets that are stored of one group.
MAX_UNKNOWN_FACETS = 20


def property_facet(*keys: str, attach: AttachPoint, doc: str, producer: str = "") -> FacetSpec:
    """Return a facet whose fields all become properties ``<key>.<path>`` of the entity that it is attached to."""

    def extract(facet: OpenFacet, ctx: FacetContext) -> Facts:
        if facet.properties is None:
            facet.properties = flatten(keys[0], facet.content)
        if facet.properties:
            yield property_fact(ctx, facet.properties)

    extract.__doc__ = doc
    return facet(*keys, attach=attach, outcomes={"**": as_property()}, producer=producer, is_cached=True)(extract)


class BulkFacet(Facet, forbid_unknown_fields=False):
    """A facet whose content is skipped, which is much faster than to decode it."""


class BulkFacetSpec(FacetSpec):
    """A facet that is dropped as a whole, so its fields are neither known nor unknown ones."""

    def __init__(  # noqa: PLR0913 - the columns of the facets table
        self,
        extractor: FactFunction,
        *,
        key: str,
        attach: AttachPoint,
        struct: type[BulkFacet],
        reason: str,
        producer: str,
    ) -> None:
        super().__init__(
            extractor, keys=(key,), attach=attach, struct=struct, outcomes={"**": dropped(reason)}, retract=None,
            since="0.15.0", producer=producer, is_cached=False,
        )  # fmt: skip
        self.struct = None

    def _extract_leniently(self, raw: msgspec.Raw, ctx: FacetContext) -> Facts:
        document = read_object(raw, ctx)
        if document is None:
            return
        if document.get("_deleted") is True:
            yield from retract_properties(document, ctx, is_known=ctx.options.is_stateful)
            return
        ctx.raw = raw
        yield from self.extractor(BulkFacet(), ctx)


def bulk_facet(  # noqa: PLR0913 - the columns of the facets table
    key: str,
    *,
    attach: AttachPoint,
    reason: str,
    doc: str,
    producer: str = "",
    struct: type[BulkFacet] = BulkFacet,
    count: BulkCounter | None = None,
) -> FacetSpec:
    """Return a facet that is dropped for ``reason``; its hash and size become properties.

    ``count`` returns the number of elements from the parts that ``struct`` reads.
    """

    def extract(facet: BulkFacet, ctx: FacetContext) -> Facts:
        properties = digest_properties(key, bytes(ctx.raw))
        if count is not None:
            properties[f"{key}.count"] = str(count(facet))
        yield property_fact(ctx, properties)

    extract.__doc__ = doc
    return BulkFacetSpec(extract, key=key, attach=attach, struct=struct, reason=reason, producer=producer)


BulkCounter = Callable[[Any], int]


def drop_large_value(
    key: str, content: dict[str, Any], field_name: str, reason: str, ctx: FacetContext
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return ``content`` without a large value, and the hash and size of its JSON: ``<key>.<field>.sha256`` and ``.bytes``."""
    large_value = content.get(field_name)
    if large_value is None:
        return content, {}
    ctx.note_dropped(field_name, reason)
    raw = json_text(large_value).encode("utf-8", "surrogatepass")
    remaining = {name: value for name, value in content.items() if name != field_name}
    return remaining, digest_properties(f"{key}.{field_name}", raw)


def map_facet(
    key: str, *, separate_names: tuple[str, ...] = (), flow_name: str = "", doc: str, producer: str = ""
) -> FacetSpec:
    """Return a run facet whose open map ``properties`` becomes one redacted JSON property ``key``.

    ``separate_names`` become separate properties, too; the value of ``flow_name`` is the name of the job's flow.
    """

    def extract(facet: OpenFacet, ctx: FacetContext) -> Facts:
        if facet.properties is None:
            facet.properties = _map_properties(key, facet.content, separate_names, ctx)
        if facet.properties:
            yield property_fact(ctx, facet.properties)
        if flow_name and ctx.job is not None and not ctx.job.placeholder and not ctx.job.skip:
            nested_map = facet.content.get("properties")
            name = nested_map.get(flow_name) if isinstance(nested_map, dict) else None
            if isinstance(name, str) and name.strip():
                yield ctx.job.flow_urn, JOB_FIELD, ("name", FIELD_STATED), truncate(name)

    extract.__doc__ = doc
    outcomes = {f"properties.{flow_name}": as_property(JOB_FIELD["name"])} if flow_name else {}
    outcomes |= {
        f"properties.{name}": as_property(RUN_PROPERTIES[f"{key}.{name}"], RUN_PROPERTIES) for name in separate_names
    }
    return facet(key, attach="run", outcomes={**outcomes, "**": as_property()}, producer=producer, is_cached=True)(
        extract
    )


def _map_properties(
    key: str, content: dict[str, Any], separate_names: tuple[str, ...], ctx: FacetContext
) -> dict[str, str]:
    nested_map = content.get("properties")
    values = nested_map if isinstance(nested_map, dict) else content  # the older form has no inner object
    remaining = {name: value for name, value in content.items() if name != "properties"} if values is nested_map else {}
    values = configuration(values, "properties" if values is nested_map else "", ctx)
    properties = flatten(key, remaining)
    value_text = property_text(key, values) if values else None
    if value_text:
        properties[key] = value_text
    for name in separate_names:
        text = property_text(f"{key}.{name}", values.get(name))
        if text is not None:
            properties[f"{key}.{name}"] = text
    return properties


def opaque_facet(*keys: str, attach: AttachPoint, doc: str, producer: str = "") -> FacetSpec:
    """Return a facet that becomes one JSON property, as unknown facets do, but with a row in the table of facets."""

    def extract(facet: OpenFacet, ctx: FacetContext) -> Facts:
        yield from _opaque_facts(facet.content, ctx)

    extract.__doc__ = doc
    kinds = (DATASET_PROPERTIES, EDGE_PROPERTIES, RUN_BY_DATASET) if attach == "dataset" else (PROPERTY_KINDS[attach],)
    return facet(*keys, attach=attach, outcomes={"**": as_property(*kinds)}, producer=producer)(extract)


def sort_known_first(facets: Facets, specs: Mapping[str, FacetSpec]) -> list[tuple[str, msgspec.Raw]]:
    """Return a group of facets with its unknown facets last, in alphabetical order, so that the limit does not depend on their order."""
    return sorted(facets.items(), key=lambda entry: "" if entry[0] in specs else entry[0])


def unknown_facet_facts(raw: msgspec.Raw, ctx: FacetContext) -> Facts:
    """Yield the property of an unknown facet: one compact JSON under ``facet.<name>``."""
    document = read_object(raw, ctx)
    if document is None:
        return
    if document.get("_deleted") is True:
        yield from retract_properties(document, ctx, is_known=ctx.options.is_stateful and not _is_about_edge(ctx))
        return
    if "unknown_facets" in ctx.options.settings.excluded_metadata:
        ctx.note_dropped("", "policy:excluded_metadata")
        return
    yield from _opaque_facts(content_of(document), ctx)


def _opaque_facts(content: dict[str, Any], ctx: FacetContext) -> Facts:
    key = f"facet.{ctx.key}"
    value_text = property_text(key, content)
    if not content or value_text is None:
        return
    if _is_about_edge(ctx):
        direction = _edge_direction(ctx)
        yield ctx.task_urn, EDGE_PROPERTIES, (direction, ctx.dataset_urn, key), {key: value_text}
        if ctx.run_urn:
            yield ctx.run_urn, RUN_BY_DATASET, (f"{direction}s.{key}", ctx.dataset_urn), value_text
    else:
        yield property_fact(ctx, {key: value_text})


def _is_about_edge(ctx: FacetContext) -> bool:
    """Return whether the facet is about how a job reads or writes a dataset, not about the dataset."""
    return ctx.attach == "dataset" and ctx.facet_group != "facets" and ctx.task_urn != ""


def _edge_direction(ctx: FacetContext) -> str:
    """Return the direction of the job's edge to the dataset, for every group of facets."""
    return "output" if ctx.role == "output" else "input"
