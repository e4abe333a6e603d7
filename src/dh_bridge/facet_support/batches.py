"""Batches of Great Expectations: the part of a table that was validated, if it is not the whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.assertions import meaningful_value
from dh_bridge.facet_support.context import PartitionSpec
from dh_bridge.facet_support.subsets import Condition, Partition, build_partition_spec
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_METHODS = ("splitter_method", "partitioner_method")
_WHOLE_TABLE = "on_whole_table"
_SAMPLE = "SAMPLE"


def batch_partition_spec(meta: Mapping[str, Any]) -> PartitionSpec | None:
    """Return the part of its table that the batch is: of a split table, of a query or drawn by chance; None for all of it.

    What identifies a batch that was not split off a table is a name that its user gave it, and no part.
    """
    batch = meta.get("batch_spec") or meta.get("batch_kwargs")
    if not isinstance(batch, dict):
        return None
    query = meaningful_value(batch.get("query"))
    if isinstance(query, str):
        return PartitionSpec("QUERY", present_property_text("query", query), ())
    methods = [batch[key] for key in _METHODS if isinstance(batch.get(key), str)]
    if any(not method.endswith(_WHOLE_TABLE) for method in methods):
        definition = meta.get("active_batch_definition")
        definition_identifiers = definition.get("batch_identifiers") if isinstance(definition, dict) else None
        identifiers = batch.get("batch_identifiers") or definition_identifiers
        if identifiers and isinstance(identifiers, dict):
            return build_partition_spec(Condition("partition", partitions=[Partition(dimensions=identifiers)]), "")
    return PartitionSpec("QUERY", _SAMPLE, ()) if batch.get("sampling_method") else None
