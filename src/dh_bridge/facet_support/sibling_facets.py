"""Reads other facets of the same run, job or dataset, for facets that replace or repeat them.

A facet that is null, not usable or deleted counts as empty, so that no field is dropped because of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.openlineage.events import Dataset, Facets

_decode = msgspec.json.Decoder(dict[str, Any]).decode


def sibling_facet(ctx: FacetContext, key: str) -> dict[str, Any]:
    """Return the facet ``key`` of the entity whose facet is read, from any group; empty if it is absent."""
    return _first_facet(_facet_maps(ctx), key)


def job_facet(ctx: FacetContext, key: str) -> dict[str, Any]:
    """Return the facet ``key`` of the event's job; empty if it is absent."""
    return _first_facet((ctx.event.job_facets,), key)


def run_facet(ctx: FacetContext, key: str) -> dict[str, Any]:
    """Return the facet ``key`` of the event's run; empty if it is absent."""
    return _first_facet((ctx.event.run_facets,), key)


def dataset_facet(dataset: Dataset, key: str) -> dict[str, Any]:
    """Return the facet ``key`` of a dataset of the event; empty if it is absent."""
    return _first_facet((dataset.facets,), key)


def schema_field_objects(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a schema facet that was read here; none if they are not a list of objects."""
    fields = schema.get("fields")
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []


def _first_facet(facet_maps: Iterable[Facets], key: str) -> dict[str, Any]:
    for facets in facet_maps:
        if (raw := facets.get(key)) is None:
            continue
        try:
            facet = _decode(raw)
        except (msgspec.MsgspecError, RecursionError):
            continue
        if facet.get("_deleted") is not True:
            return {name: value for name, value in facet.items() if value not in (None, "", [], {})}
    return {}


def _facet_maps(ctx: FacetContext) -> Iterator[Facets]:
    if ctx.attach != "dataset":
        yield from (ctx.event.job_facets, ctx.event.run_facets)
        return
    for dataset, _, _, path in ctx.entries:
        if ctx.path.startswith(f"{path}."):
            yield from (dataset.facets, dataset.input_facets, dataset.output_facets)
