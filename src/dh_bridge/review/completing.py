"""Run aspects that several calls write in parts: each call completes what the others wrote, and erases nothing.

Without a ledger, a call may hold the START of a run, and another one its end. Both write the properties and the relationships
of the run. Where the target can be read, the aspect that is present and the new one are merged. Of two values, the value of the
call with the later start or end wins, so the result does not depend on the order of the calls.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.creates import LEFT_OUT
from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SinkError
from dh_bridge.sinks.abilities import SinkWrapper
from dh_bridge.sinks.base import Delivery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.abilities import Readable, ReadableSink
    from dh_bridge.sinks.base import StoredAspect

log = logging.getLogger("dh_bridge.delivery")

PROPERTIES = "dataProcessInstanceProperties"
RELATIONSHIPS = "dataProcessInstanceRelationships"
_RUN_ASPECTS = (PROPERTIES, RELATIONSHIPS)
_DATA_JOB = "urn:li:dataJob:"

_Aspect = dict[str, Any]
_Aspects = dict[str, _Aspect]


class RunCompletingSink(SinkWrapper):
    """A sink for calls without a ledger; it reads the aspects of the runs of which a call does not know start and end.

    ``prefix`` is that of the custom properties (``openlineage.``). If the server does not allow to read one run, the aspects of
    that run are left out; if it allows to read none, CREATE proposals are left out. ``dropped_counts`` counts both.
    """

    def __init__(self, sink: ReadableSink, *, prefix: str) -> None:
        super().__init__(sink)
        self._readable: Readable = sink
        self._merger = RunMerger(prefix)
        self._can_read = True
        self._incomplete: set[str] = set()

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Merge the aspects of incomplete runs with those that are present, and deliver them as UPSERT."""
        incomplete = self._merger.incomplete_runs(proposals)
        # A batch may end between the properties of a run and its relationships.
        runs, self._incomplete = incomplete | self._incomplete, incomplete
        positions = [
            position
            for position, proposal in enumerate(proposals)
            if proposal.aspect_name in _RUN_ASPECTS and proposal.entity_urn in runs
        ]
        if not positions:
            return self._sink.emit(proposals)
        present = self._read_present({proposals[position].entity_urn for position in positions})
        unreadable_urns = set(self._readable.forbidden_urns)
        merged_proposals = dict(enumerate(proposals))
        newer_runs: set[str] = set()
        for position in positions:
            proposal = proposals[position]
            if self._can_read and proposal.entity_urn not in unreadable_urns:
                merged_proposals[position] = self._merge(
                    proposal, present.setdefault(proposal.entity_urn, {}), newer_runs
                )
            elif self._can_read:  # a whole aspect would replace what other calls wrote of the run
                del merged_proposals[position]
                self.dropped_counts["not-readable"] += 1
            elif proposal.change_type == "CREATE":
                del merged_proposals[position]
                self.dropped_counts[LEFT_OUT] += 1
        return _with_originals(self._sink.emit(list(merged_proposals.values())), merged_proposals, proposals)

    def _read_present(self, urns: set[str]) -> dict[str, _Aspects]:
        """Return the present aspects of runs; none if the server rejects reads."""
        if not self._can_read:
            return {}
        try:
            aspects_by_urn = self._readable.read(dict.fromkeys(sorted(urns), _RUN_ASPECTS))
        except SinkError as error:
            if error.retryable:
                raise
            self._can_read = False
            log.warning("cannot read the aspects of runs: %s", error)
            return {}
        return {urn: _aspect_values(aspects) for urn, aspects in aspects_by_urn.items()}

    def _merge(self, proposal: Proposal, present: _Aspects, newer_runs: set[str]) -> Proposal:
        """Return the UPSERT of a run's aspect, and remember its value as present."""
        urn, name, value = proposal.entity_urn, proposal.aspect_name, proposal.value
        present_value = present.get(name)
        if present_value is not None:
            if name == PROPERTIES and self._merger.is_newer(value, present_value):
                newer_runs.add(urn)
            older, newer = (present_value, value) if urn in newer_runs else (value, present_value)
            merge = self._merger.merge_properties if name == PROPERTIES else self._merger.merge_relationships
            value = merge(older, newer)
        present[name] = value
        return upsert(proposal.entity_type, urn, name, value)


def _aspect_values(aspects: Mapping[str, StoredAspect]) -> _Aspects:
    return {name: aspect.value for name, aspect in aspects.items()}


def _with_originals(
    delivery: Delivery, sent_proposals: Mapping[int, Proposal], proposals: Sequence[Proposal]
) -> Delivery:
    """Return a delivery whose failures are about the proposals that the caller passed."""
    originals = {id(proposal): proposals[position] for position, proposal in sent_proposals.items()}
    failed = [
        type(failure)(originals.get(id(failure.proposal), failure.proposal), failure.reason, failure.retryable)
        for failure in delivery.failures
    ]
    return Delivery(delivery.delivered_count, failed)


class RunMerger:
    """Merges the aspects of runs; ``prefix`` is that of the custom properties (``openlineage.``)."""

    def __init__(self, prefix: str) -> None:
        self._start = f"{prefix}startTime"
        self._end = f"{prefix}endTime"
        self._run_id = f"{prefix}runId"

    def incomplete_runs(self, proposals: Sequence[Proposal]) -> set[str]:
        """Return the URNs of the runs whose START, end or both are missing in the proposals."""
        return {
            proposal.entity_urn
            for proposal in proposals
            if proposal.aspect_name in _RUN_ASPECTS
            and (
                proposal.change_type == "CREATE"
                or (proposal.aspect_name == PROPERTIES and self._end not in _custom_properties(proposal.value))
            )
        }

    def is_newer(self, written: Mapping[str, Any], present: Mapping[str, Any]) -> bool:
        """Return whether the new properties have a later event than the present ones; at the same time an end is later."""
        return self._last_event(written) > self._last_event(present)

    def _last_event(self, properties: Mapping[str, Any]) -> tuple[str, bool]:
        custom = _custom_properties(properties)
        times = [custom[key].rstrip("Z") for key in (self._start, self._end) if key in custom]
        return max(times, default=""), self._end in custom

    def merge_properties(self, older: _Aspect, newer: _Aspect) -> _Aspect:
        """Return the properties of a run that two calls wrote; the earlier creation time is used."""
        custom = {**_custom_properties(older), **_custom_properties(newer)}
        first = min(
            older, newer, key=lambda properties: int(properties.get("created", {}).get("time", 0)) or float("inf")
        )
        if self._start in _custom_properties(first):
            custom[self._start] = _custom_properties(first)[self._start]
        merged = {**older, **newer, "customProperties": {key: custom[key] for key in sorted(custom)}}
        if "created" in first:
            merged["created"] = first["created"]
        if merged.get("name") == custom.get(self._run_id) and "name" in older:
            merged["name"] = older["name"]  # the run id is the name of a run for which no event had a better one
        return merged

    @staticmethod
    def merge_relationships(older: _Aspect, newer: _Aspect) -> _Aspect:
        """Return the relationships of a run that two calls wrote."""
        merged = {**older, **newer}
        # The call with inputs or outputs names the dataJob, another call the dataFlow of a flow-level job.
        templates = (newer.get("parentTemplate"), older.get("parentTemplate"))
        if job := next((urn for urn in templates if urn and urn.startswith(_DATA_JOB)), None):
            merged["parentTemplate"] = job
        upstream = {*older.get("upstreamInstances", ()), *newer.get("upstreamInstances", ())}
        merged["upstreamInstances"] = sorted(upstream)
        return merged


def _custom_properties(properties: Mapping[str, Any]) -> Mapping[str, str]:
    return properties.get("customProperties") or {}
