"""State mode *read*: an aspect that a proposal would replace is read first, and merged with the proposal.

PATCH merges on the server; this module is for complete aspects. In aspects that only the bridge writes, sets are united and
properties are merged; new values win. The schema of another writer is not changed with ``schema.write: if_absent``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import upsert
from dh_bridge.sinks.abilities import SinkWrapper
from dh_bridge.sinks.base import Delivery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.abilities import Readable, ReadableSink
    from dh_bridge.sinks.base import StoredAspect


SET_FIELDS = frozenset(("inputs", "outputs", "inputEdges", "outputEdges", "upstreamInstances", "subjects"))
"""Arrays that are sets: their order has no meaning, and elements of other writers remain."""
_MERGED_FIELDS: dict[str, tuple[str, ...] | None] = {
    "dataProcessInstanceProperties": None,
    "dataProcessInstanceRelationships": None,
    "dataProcessInstanceInput": None,
    "dataProcessInstanceOutput": None,
    "querySubjects": None,
    "assertionInfo": ("customProperties",),
    "queryProperties": ("customProperties",),
    "containerProperties": ("customProperties",),
}
"""Aspect -> the fields that are merged with the present ones; None: all. Other fields are replaced together."""

_SCHEMA = "schemaMetadata"


class MergingSink(SinkWrapper):
    """A sink that reads before it writes; ``dropped_counts`` counts schemas that were left to their owner, and what we may not read.

    ``pipeline`` is the name that our own writes have.
    """

    def __init__(self, sink: ReadableSink, *, join: bool, keep_schemas: bool, pipeline: str) -> None:
        super().__init__(sink)
        self._readable: Readable = sink
        self._join = join
        self._keep_schemas = keep_schemas
        self._pipeline = pipeline

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Read the aspects that the proposals replace, and deliver the proposals that still change something."""
        aspects_to_read: dict[str, set[str]] = {}
        for item in proposals:
            if self._needs_read(item):
                aspects_to_read.setdefault(item.entity_urn, set()).add(item.aspect_name)
        present_aspects = self._readable.read(aspects_to_read) if aspects_to_read else {}
        unreadable_urns = set(self._readable.forbidden_urns)
        present = {
            (urn, name): item.value for urn, aspects in present_aspects.items() for name, item in aspects.items()
        }
        sent_proposals: list[Proposal] = []
        originals: dict[int, Proposal] = {}
        for item in proposals:
            key = item.entity_urn, item.aspect_name
            if item.entity_urn in unreadable_urns and self._needs_read(item):
                self.dropped_counts["not-readable"] += 1  # written whole it would replace what others wrote
                continue
            if item.aspect_name == _SCHEMA and self._needs_read(item):
                present_schema = present_aspects.get(item.entity_urn, {}).get(_SCHEMA)
                if present_schema is not None and not self._is_own(present_schema):
                    self.dropped_counts["schema-owned"] += 1
                    continue
            merged_proposal = item
            if self._join and self._needs_read(item) and key in present and item.aspect_name in _MERGED_FIELDS:
                merged_proposal = upsert(
                    item.entity_type, *key, merge_aspect(item.aspect_name, present[key], item.value)
                )
            if self._needs_read(item):
                present[key] = merged_proposal.value
            originals[id(merged_proposal)] = item
            sent_proposals.append(merged_proposal)
        delivery = self._sink.emit(sent_proposals)
        failed = [
            type(item)(originals.get(id(item.proposal), item.proposal), item.reason, item.retryable)
            for item in delivery.failures
        ]
        return Delivery(delivery.delivered_count, failed)

    def _needs_read(self, proposal: Proposal) -> bool:
        if proposal.change_type != "UPSERT":
            return False
        return (
            self._keep_schemas
            if proposal.aspect_name == _SCHEMA
            else self._join and proposal.aspect_name in _MERGED_FIELDS
        )

    def _is_own(self, present: StoredAspect) -> bool:
        """Return whether the bridge wrote an aspect last; True if the target stores no writer."""
        if present.run_id is None and present.pipeline_name is None:
            return present.actor is None
        return present.pipeline_name == self._pipeline or (present.run_id or "").startswith("dh_bridge-")


def merge_aspect(aspect: str, present: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the written aspect merged with the present one; written values win, and a run has its first creation time."""
    fields = _MERGED_FIELDS[aspect]
    if fields is not None:
        merged_fields = {
            name: _merge_objects(present[name], written[name])
            for name in fields
            if present.get(name) and written.get(name)
        }
        return {**written, **{name: present[name] for name in fields if present.get(name)}, **merged_fields}
    merged = _merge_objects(present, written)
    audit_stamps = [value["created"] for value in (present, written) if value.get("created", {}).get("time")]
    if audit_stamps:
        merged["created"] = min(audit_stamps, key=lambda audit_stamp: int(audit_stamp["time"]))
    return merged


def _merge_objects(present: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**present, **written}
    for name in present.keys() & written.keys():
        present_value, written_value = present[name], written[name]
        if isinstance(present_value, dict) and isinstance(written_value, dict) and name == "customProperties":
            merged[name] = {**present_value, **written_value}
        elif name in SET_FIELDS and isinstance(present_value, list) and isinstance(written_value, list):
            merged[name] = written_value + [element for element in present_value if element not in written_value]
    return merged
