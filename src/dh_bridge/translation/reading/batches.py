"""Batches of Great Expectations: which part of a table was looked at, where it was not all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.assertions import said
from dh_bridge.translation.context import Part
from dh_bridge.translation.properties import worded
from dh_bridge.translation.reading.subsets import Condition, Partition, part

if TYPE_CHECKING:
    from collections.abc import Mapping

_METHODS = ("splitter_method", "partitioner_method")
_WHOLE = "on_whole_table"
_SAMPLE = "SAMPLE"


def part_of_batch(meta: Mapping[str, Any]) -> Part | None:
    """Return the part of its table that the batch is: of a split table, of a query or drawn by chance; None for all of it.

    What identifies a batch that was not split off a table is a name that its user gave it, and no part.
    """
    batch = meta.get("batch_spec") or meta.get("batch_kwargs")
    if not isinstance(batch, dict):
        return None
    query = said(batch.get("query"))
    if isinstance(query, str):
        return Part("QUERY", worded("query", query), ())
    methods = [batch[key] for key in _METHODS if isinstance(batch.get(key), str)]
    if any(not method.endswith(_WHOLE) for method in methods):
        definition = meta.get("active_batch_definition")
        named = definition.get("batch_identifiers") if isinstance(definition, dict) else None
        identifiers = batch.get("batch_identifiers") or named
        if identifiers and isinstance(identifiers, dict):
            return part(Condition("partition", partitions=[Partition(dimensions=identifiers)]), "")
    return Part("QUERY", _SAMPLE, ()) if batch.get("sampling_method") else None
