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
from dh_bridge.sinks.abilities import Around
from dh_bridge.sinks.base import Delivery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.abilities import Readable, ReadableSink
    from dh_bridge.sinks.base import Present

log = logging.getLogger("dh_bridge.delivery")

PROPERTIES = "dataProcessInstanceProperties"
RELATIONSHIPS = "dataProcessInstanceRelationships"
_RUN_ASPECTS = (PROPERTIES, RELATIONSHIPS)
_DATA_JOB = "urn:li:dataJob:"

_Aspect = dict[str, Any]
_Aspects = dict[str, _Aspect]


class CompletingRuns(Around):
    """A sink for calls without a ledger; it reads the aspects of the runs of which a call does not know start and end.

    ``prefix`` is that of the custom properties (``openlineage.``). If the server does not allow to read one run, the aspects of
    that run are left out; if it allows to read none, CREATE proposals are left out. ``left_out`` counts both.
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
        chosen = [at for at, one in enumerate(proposals) if one.aspect_name in _RUN_ASPECTS and one.entity_urn in runs]
        if not chosen:
            return self._sink.emit(proposals)
        present = self._present({proposals[at].entity_urn for at in chosen})
        unread = set(self._readable.forbidden)
        merged = dict(enumerate(proposals))
        newer_runs: set[str] = set()
        for at in chosen:
            proposal = proposals[at]
            if self._can_read and proposal.entity_urn not in unread:
                merged[at] = self._merged(proposal, present.setdefault(proposal.entity_urn, {}), newer_runs)
            elif self._can_read:  # a whole aspect would replace what other calls wrote of the run
                del merged[at]
                self.left_out["not-readable"] += 1
            elif proposal.change_type == "CREATE":
                del merged[at]
                self.left_out[LEFT_OUT] += 1
        return _with_originals(self._sink.emit(list(merged.values())), merged, proposals)

    def _present(self, urns: set[str]) -> dict[str, _Aspects]:
        """Return the present aspects of runs; none from a server that refuses to be read."""
        if not self._can_read:
            return {}
        try:
            found = self._readable.read(dict.fromkeys(sorted(urns), _RUN_ASPECTS))
        except SinkError as error:
            if error.retryable:
                raise
            self._can_read = False
            log.warning("the aspects of runs cannot be read: %s", error)
            return {}
        return {urn: _values(aspects) for urn, aspects in found.items()}

    def _merged(self, proposal: Proposal, present: _Aspects, newer_runs: set[str]) -> Proposal:
        """Return the UPSERT of a run's aspect, and remember its value as present."""
        urn, name, value = proposal.entity_urn, proposal.aspect_name, proposal.value
        held = present.get(name)
        if held is not None:
            if name == PROPERTIES and self._merger.is_newer(value, held):
                newer_runs.add(urn)
            older, newer = (held, value) if urn in newer_runs else (value, held)
            merge = self._merger.properties if name == PROPERTIES else self._merger.relationships
            value = merge(older, newer)
        present[name] = value
        return upsert(proposal.entity_type, urn, name, value)


def _values(aspects: Mapping[str, Present]) -> _Aspects:
    return {name: aspect.value for name, aspect in aspects.items()}


def _with_originals(delivery: Delivery, sent: Mapping[int, Proposal], proposals: Sequence[Proposal]) -> Delivery:
    """Return a delivery whose failures are about the proposals that the caller passed."""
    originals = {id(proposal): proposals[at] for at, proposal in sent.items()}
    failed = [
        type(one)(originals.get(id(one.proposal), one.proposal), one.reason, one.retryable) for one in delivery.failed
    ]
    return Delivery(delivery.delivered, failed)


class RunMerger:
    """Merges the aspects of runs; ``prefix`` is that of the custom properties (``openlineage.``)."""

    def __init__(self, prefix: str) -> None:
        self._start = f"{prefix}startTime"
        self._end = f"{prefix}endTime"
        self._run_id = f"{prefix}runId"

    def incomplete_runs(self, proposals: Sequence[Proposal]) -> set[str]:
        """Return the URNs of the runs of which the proposals know the START or the end only, or neither."""
        return {
            proposal.entity_urn
            for proposal in proposals
            if proposal.aspect_name in _RUN_ASPECTS
            and (
                proposal.change_type == "CREATE"
                or (proposal.aspect_name == PROPERTIES and self._end not in _custom(proposal.value))
            )
        }

    def is_newer(self, ours: Mapping[str, Any], present: Mapping[str, Any]) -> bool:
        """Return whether our properties know a later event than the present ones; of the same instant an end is later."""
        return self._last_event(ours) > self._last_event(present)

    def _last_event(self, properties: Mapping[str, Any]) -> tuple[str, bool]:
        custom = _custom(properties)
        times = [custom[key].rstrip("Z") for key in (self._start, self._end) if key in custom]
        return max(times, default=""), self._end in custom

    def properties(self, older: _Aspect, newer: _Aspect) -> _Aspect:
        """Return the properties of a run that two calls wrote; the run was created when the earlier of them says."""
        custom = {**_custom(older), **_custom(newer)}
        first = min(older, newer, key=lambda one: int(one.get("created", {}).get("time", 0)) or float("inf"))
        if self._start in _custom(first):
            custom[self._start] = _custom(first)[self._start]
        whole = {**older, **newer, "customProperties": {key: custom[key] for key in sorted(custom)}}
        if "created" in first:
            whole["created"] = first["created"]
        if whole.get("name") == custom.get(self._run_id) and "name" in older:
            whole["name"] = older["name"]  # the run id is the name of a run for which no event had a better one
        return whole

    @staticmethod
    def relationships(older: _Aspect, newer: _Aspect) -> _Aspect:
        """Return the relationships of a run that two calls wrote."""
        whole = {**older, **newer}
        # The call that knows inputs or outputs names the dataJob, another call the dataFlow of a flow-level job.
        templates = (newer.get("parentTemplate"), older.get("parentTemplate"))
        if job := next((urn for urn in templates if urn and urn.startswith(_DATA_JOB)), None):
            whole["parentTemplate"] = job
        upstream = {*older.get("upstreamInstances", ()), *newer.get("upstreamInstances", ())}
        whole["upstreamInstances"] = sorted(upstream)
        return whole


def _custom(properties: Mapping[str, Any]) -> Mapping[str, str]:
    return properties.get("customProperties") or {}
