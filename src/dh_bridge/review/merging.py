"""State mode *read*: what a proposal would replace is read first, and what it does not say itself stays.

PATCH merges on the server; this is for what is written whole. Of the aspects that are only ours, sets grow, properties are
joined, ours win; a schema that another writer holds is left alone where the settings say ``schema.write: if_absent``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import upsert
from dh_bridge.sinks.abilities import Around
from dh_bridge.sinks.base import Delivery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.abilities import Readable, ReadableSink
    from dh_bridge.sinks.base import Present


SETS = frozenset(("inputs", "outputs", "inputEdges", "outputEdges", "upstreamInstances", "subjects"))
"""Arrays that are sets: their order says nothing, and what others added stands beside what is ours."""
_JOINED: dict[str, tuple[str, ...] | None] = {
    "dataProcessInstanceProperties": None,
    "dataProcessInstanceRelationships": None,
    "dataProcessInstanceInput": None,
    "dataProcessInstanceOutput": None,
    "querySubjects": None,
    "assertionInfo": ("customProperties",),
    "queryProperties": ("customProperties",),
    "containerProperties": ("customProperties",),
}
"""Aspect -> the fields that are joined with what is there; None: all of them. The others are one statement, replaced as one."""

_SCHEMA = "schemaMetadata"


class Merging(Around):
    """A sink that reads before it writes; ``left_out`` counts schemas that were left to their owner, and what we may not read.

    ``pipeline`` is the name that our own writes have.
    """

    def __init__(self, sink: ReadableSink, *, join: bool, keep_schemas: bool, pipeline: str) -> None:
        super().__init__(sink)
        self._readable: Readable = sink
        self._join = join
        self._keep_schemas = keep_schemas
        self._pipeline = pipeline

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Read what the proposals replace, and deliver what is then left to say."""
        wanted: dict[str, set[str]] = {}
        for one in proposals:
            if self._reads(one):
                wanted.setdefault(one.entity_urn, set()).add(one.aspect_name)
        found = self._readable.read(wanted) if wanted else {}
        unread = set(self._readable.forbidden)
        present = {(urn, name): one.value for urn, aspects in found.items() for name, one in aspects.items()}
        sent: list[Proposal] = []
        originals: dict[int, Proposal] = {}
        for one in proposals:
            key = one.entity_urn, one.aspect_name
            if one.entity_urn in unread and self._reads(one):
                self.left_out["not-readable"] += 1  # written whole it would replace what others wrote
                continue
            if one.aspect_name == _SCHEMA and self._reads(one):
                held = found.get(one.entity_urn, {}).get(_SCHEMA)
                if held is not None and not self._ours(held):
                    self.left_out["schema-owned"] += 1
                    continue
            written = one
            if self._join and self._reads(one) and key in present and one.aspect_name in _JOINED:
                written = upsert(one.entity_type, *key, joined(one.aspect_name, present[key], one.value))
            if self._reads(one):
                present[key] = written.value
            originals[id(written)] = one
            sent.append(written)
        delivery = self._sink.emit(sent)
        failed = [
            type(one)(originals.get(id(one.proposal), one.proposal), one.reason, one.retryable)
            for one in delivery.failed
        ]
        return Delivery(delivery.delivered, failed)

    def _reads(self, proposal: Proposal) -> bool:
        if proposal.change_type != "UPSERT":
            return False
        return self._keep_schemas if proposal.aspect_name == _SCHEMA else self._join and proposal.aspect_name in _JOINED

    def _ours(self, held: Present) -> bool:
        """Say whether we wrote an aspect last; a place that does not know is taken to be ours alone."""
        if held.run_id is None and held.pipeline_name is None:
            return held.actor is None
        return held.pipeline_name == self._pipeline or (held.run_id or "").startswith("dh_bridge-")


def joined(aspect: str, present: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return our aspect with what is there and we do not say; ours win, a run is created when it was first said to be."""
    fields = _JOINED[aspect]
    if fields is not None:
        kept = {name: _joined(present[name], ours[name]) for name in fields if present.get(name) and ours.get(name)}
        return {**ours, **{name: present[name] for name in fields if present.get(name)}, **kept}
    whole = _joined(present, ours)
    stamps = [one["created"] for one in (present, ours) if one.get("created", {}).get("time")]
    if stamps:
        whole["created"] = min(stamps, key=lambda stamp: int(stamp["time"]))
    return whole


def _joined(present: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    whole = {**present, **ours}
    for name in present.keys() & ours.keys():
        there, said = present[name], ours[name]
        if isinstance(there, dict) and isinstance(said, dict) and name == "customProperties":
            whole[name] = {**there, **said}
        elif name in SETS and isinstance(there, list) and isinstance(said, list):
            whole[name] = said + [one for one in there if one not in said]
    return whole
