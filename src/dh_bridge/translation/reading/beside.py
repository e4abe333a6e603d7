"""What another facet of the same run, job or dataset says, for facets that it stands in for.

One that is null, of no use or deleted says nothing, so that nothing is withheld for its sake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.openlineage.events import Dataset, Facets
    from dh_bridge.translation.context import Place

_decode = msgspec.json.Decoder(dict[str, Any]).decode


def beside(at: Place, key: str) -> dict[str, Any]:
    """Return the facet ``key`` beside the one that is being read, whatever bag it is in; empty where it says nothing."""
    return _first(_bags(at), key)


def of_job(at: Place, key: str) -> dict[str, Any]:
    """Return the facet ``key`` of the event's job; empty where it says nothing."""
    return _first((at.event.job_facets,), key)


def of_run(at: Place, key: str) -> dict[str, Any]:
    """Return the facet ``key`` of the event's run; empty where it says nothing."""
    return _first((at.event.run_facets,), key)


def of_dataset(dataset: Dataset, key: str) -> dict[str, Any]:
    """Return the facet ``key`` of a dataset of the event; empty where it says nothing."""
    return _first((dataset.facets,), key)


def fields_of(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a schema facet that was read here; none where they are no list of objects."""
    fields = schema.get("fields")
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []


def _first(bags: Iterable[Facets], key: str) -> dict[str, Any]:
    for facets in bags:
        if (raw := facets.get(key)) is None:
            continue
        try:
            found = _decode(raw)
        except (msgspec.MsgspecError, RecursionError):
            continue
        if found.get("_deleted") is not True:
            return {name: said for name, said in found.items() if said not in (None, "", [], {})}
    return {}


def _bags(at: Place) -> Iterator[Facets]:
    if at.attach != "dataset":
        yield from (at.event.job_facets, at.event.run_facets)
        return
    for dataset, _, _, where in at.entries:
        if at.where.startswith(f"{where}."):
            yield from (dataset.facets, dataset.input_facets, dataset.output_facets)
