"""Fingerprints of what was sent last, so that only changes are sent again (one proposal per aspect and batch).

An UPSERT has one hash, a PATCH one for each operation, a point in time one for each point. Paths that the bridge added and no
longer renders are removed if they are the bridge's own: edges of a job, custom properties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX
from dh_bridge.datahub.aspect_diff import (
    REMOVED_FINGERPRINT,
    changed_operations,
    fingerprint,
    patch_diff,
    path_fingerprints,
    proposal_fingerprint,
    removal_operation,
    restoring_proposal,
)
from dh_bridge.datahub.proposal import Proposal, patch, upsert
from dh_bridge.datahub.timeseries import is_timeseries
from dh_bridge.datahub.urns import entity_type
from dh_bridge.ledger.compression import compression_of
from dh_bridge.ledger.fingerprints import (
    NO_REFRESH_TIME,
    PATH_REMOVED,
    UNCERTAIN,
    AspectFingerprint,
    AspectFingerprints,
    is_hard_deleted,
    is_soft_deleted,
    point_key,
    removal_key,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Iterator

DAY_MILLIS = 86_400_000
_OWN_PATH_PREFIXES = ("/customProperties/",)
#: the key of an entry that other writers fill, too: without it the entry is unreadable
_KEY_SUFFIX = "/fieldPath"
#: Paths below these are removed when they are no longer rendered: no facet can withdraw them explicitly.
_OWN_PATCHED_ASPECTS = ("dataJobInputOutput", "upstreamLineage", "globalTags", "ownership", "editableSchemaMetadata")
#: The same for aspects that are written as a whole: they are then sent empty.
_EMPTY_ASPECTS: dict[str, dict[str, list[Any]]] = {
    "querySubjects": {"subjects": []},
    "dataProcessInstanceInput": {"inputs": []},
    "dataProcessInstanceOutput": {"outputs": []},
    "dataProcessInstanceRelationships": {"upstreamInstances": []},
}
_REVIVED_TYPES = ("dataFlow", "dataJob")

_SELECT_POINT = "SELECT hash, time FROM sent_point WHERE key = ?"
_WRITE_POINT = """
    INSERT INTO sent_point (key, hash, time) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET hash = excluded.hash, time = excluded.time
"""
_decode = msgspec.msgpack.Decoder(AspectFingerprints).decode
_encode = msgspec.msgpack.Encoder().encode


class SentFingerprints:
    """The fingerprints of what was sent; after ``refresh_millis`` an unchanged aspect is sent again.

    ``point_millis``: the age at which fingerprints of points are deleted. If a run still renders such a point, its fingerprint
    is renewed at half of that age; otherwise the point would be sent again. The fingerprints of ``new_run_keys`` are those of
    pruned runs.

    ``undelete``: a flow or job of that age is restored, too. ``is_withheld`` returns whether a proposal is excluded; such
    proposals have no fingerprint, so they are still to be sent.
    """

    def __init__(  # noqa: PLR0913 - the ledger's settings
        self,
        connection: sqlite3.Connection,
        *,
        refresh_millis: int = 7 * DAY_MILLIS,
        point_millis: int = 30 * DAY_MILLIS,
        full: bool = False,
        undelete: bool = True,
        is_withheld: Callable[[Proposal], bool] = lambda _one: False,
    ) -> None:
        self._connection = connection
        self._compression = compression_of(connection)
        self._refresh_millis = refresh_millis
        self._point_millis = point_millis
        self._is_full = full
        self._revived_types = _REVIVED_TYPES if undelete else ()
        self._is_withheld = is_withheld
        #: URNs of the last request for which nothing was sent before
        self.first_sent_urns: set[str] = set()
        self.new_run_keys: Collection[str] = ()

    def select_changed(
        self, proposals: Iterable[Proposal], now: int, *, complete_urns: Collection[str] = (), is_rerender: bool = False
    ) -> list[Proposal]:
        """Return those of ``proposals`` that are to be sent at ``now`` (milliseconds), and store them as sent.

        ``complete_urns``: URNs of which all aspects are among the proposals; if the removal is not among them, it is undone.
        ``is_rerender``: no event named them, so unchanged aspects are not sent again, whatever their age.
        """
        changed_proposals: list[Proposal] = []
        self.first_sent_urns = set()
        by_urn: dict[str, list[Proposal]] = {}
        for proposal in proposals:
            by_urn.setdefault(proposal.entity_urn, []).append(proposal)
        # sorted: the order of a set differs from process to process
        by_urn |= {urn: [] for urn in sorted(set(complete_urns) - by_urn.keys())}
        for urn, group in by_urn.items():
            changed_proposals.extend(
                self._select_for_entity(urn, group, now, is_complete=urn in complete_urns, is_rerender=is_rerender)
            )
        return changed_proposals

    def sent_between(self, first: int, last: int) -> Iterator[tuple[str, set[str]]]:
        """Yield the URNs and aspects (no points in time) that were last sent from ``first`` to ``last`` (milliseconds)."""
        for urn, aspects in self._connection.execute("SELECT urn, aspects FROM sent ORDER BY urn"):
            fingerprints = _decode(self._compression.decompress(aspects))
            if names := {name for name, aspect in fingerprints.items() if first <= aspect.time <= last}:
                yield urn, names

    def is_last_sent(self, proposal: Proposal) -> bool:
        """Return whether a proposal has the values that were sent last."""
        name = proposal.aspect_name
        if is_timeseries(name):
            row = self._connection.execute(_SELECT_POINT, (point_key(proposal),)).fetchone()
            return row is not None and row[0] == fingerprint(proposal.value)
        stored_fingerprint = self._read(proposal.entity_urn).get(name)
        if stored_fingerprint is None:
            return False
        if proposal.change_type != "PATCH":
            return stored_fingerprint.fingerprint == fingerprint(proposal.value)
        return all(
            stored_fingerprint.path_fingerprints.get(operation["path"], PATH_REMOVED) == PATH_REMOVED
            if operation["op"] == "remove"
            else stored_fingerprint.path_fingerprints.get(operation["path"]) == fingerprint(operation)
            for operation in proposal.value
        )

    def mark_unsent(self, proposal: Proposal) -> None:
        """Record that a proposal did not arrive: its values and removals are sent with the next change."""
        urn, name = proposal.entity_urn, proposal.aspect_name
        if is_timeseries(name):
            self._connection.execute("DELETE FROM sent_point WHERE key = ?", (point_key(proposal),))
            return
        fingerprints = self._read(urn)
        if (stored_fingerprint := fingerprints.get(name)) is None:
            return
        paths = [operation["path"] for operation in proposal.value] if proposal.change_type == "PATCH" else ()
        uncertain_paths = {
            path: UNCERTAIN for path in paths if stored_fingerprint.path_fingerprints.get(path) != PATH_REMOVED
        }
        fingerprints[name] = AspectFingerprint(
            stored_fingerprint.time, UNCERTAIN, {**stored_fingerprint.path_fingerprints, **uncertain_paths}
        )
        self._write(urn, fingerprints)

    def mark_sent(self, proposal: Proposal, time: int) -> None:
        """Record that a deleted proposal is queued again with its values of ``time``; of a patch they remain uncertain."""
        urn, name = proposal.entity_urn, proposal.aspect_name
        if is_timeseries(name):
            self._connection.execute(_WRITE_POINT, (point_key(proposal), fingerprint(proposal.value), time))
        elif proposal.change_type != "PATCH":
            fingerprints = self._read(urn)
            if name not in fingerprints or fingerprints[name].fingerprint == UNCERTAIN:
                self._write(urn, {**fingerprints, name: AspectFingerprint(time, fingerprint(proposal.value))})

    def mark_hard_deleted(self, urn: str) -> None:
        """Record that an entity was hard-deleted: it is not refreshed until an event names it."""
        self._write(urn, {"status": AspectFingerprint(NO_REFRESH_TIME, REMOVED_FINGERPRINT)})

    def is_hard_deleted(self, urn: str) -> bool:
        """Whether an entity was hard-deleted, and no event has named it since."""
        return is_hard_deleted(self._read(urn))

    def record_removal(self, urn: str, now: int) -> None:
        """Record that a run was soft-deleted at ``now``, as long as fingerprints of points live.

        If an event names it, it is restored.
        """
        self._connection.execute(_WRITE_POINT, (removal_key(urn), REMOVED_FINGERPRINT, now))

    def _select_for_entity(
        self, urn: str, proposals: list[Proposal], now: int, *, is_complete: bool, is_rerender: bool
    ) -> Iterator[Proposal]:
        fingerprints = self._read(urn)
        if is_hard_deleted(fingerprints) and any(
            candidate.aspect_name == "status" and fingerprint(candidate.value) == REMOVED_FINGERPRINT
            for candidate in proposals
        ):
            return  # do not restore an entity that stays removed
        if is_complete:
            if not fingerprints and urn.startswith(RUN_URN_PREFIX):
                fingerprints.update(self._read_removal(urn))
            proposals += _withdrawals(urn, proposals, fingerprints)
        proposals = [candidate for candidate in proposals if not self._is_withheld(candidate)]
        stored_fingerprints = dict(fingerprints)
        last_sent = max((aspect.time for aspect in fingerprints.values()), default=now)
        is_stale = self._is_full or (abs(now - last_sent) > self._refresh_millis and not is_rerender)
        has_changes = False
        for proposal in proposals:
            if is_timeseries(proposal.aspect_name):
                changed = self._select_point(proposal, now)
            elif proposal.change_type == "PATCH":
                changed = self._select_patch(proposal, fingerprints, now, is_stale=is_stale)
            else:
                changed = self._select_upsert(proposal, fingerprints, now, is_stale=is_stale)
            if changed:
                has_changes = True
                yield from changed
        if (
            has_changes
            and is_stale
            and fingerprints
            and stored_fingerprints
            and entity_type(urn) in self._revived_types
            and not self._is_full
        ):
            revival = restoring_proposal(entity_type(urn), urn)
            if not self._is_withheld(revival):
                yield revival
        if fingerprints and not stored_fingerprints:
            self.first_sent_urns.add(urn)
        if fingerprints != stored_fingerprints or has_changes:
            self._write(urn, fingerprints)

    def _select_upsert(
        self, proposal: Proposal, fingerprints: AspectFingerprints, now: int, *, is_stale: bool
    ) -> list[Proposal]:
        new_fingerprint = proposal_fingerprint(proposal)
        stored_fingerprint = fingerprints.get(proposal.aspect_name)
        if stored_fingerprint is not None and stored_fingerprint.fingerprint == new_fingerprint and not is_stale:
            return []
        fingerprints[proposal.aspect_name] = AspectFingerprint(now, new_fingerprint)
        return [proposal]

    def _select_point(self, proposal: Proposal, now: int) -> list[Proposal]:
        key, new_fingerprint = point_key(proposal), fingerprint(proposal.value)
        stored_fingerprint, time = self._connection.execute(_SELECT_POINT, (key,)).fetchone() or (None, 0)
        is_unchanged = (
            stored_fingerprint == new_fingerprint and not self._is_full and proposal.entity_urn not in self.new_run_keys
        )
        if not is_unchanged or abs(now - time) > self._point_millis // 2:
            self._connection.execute(_WRITE_POINT, (key, new_fingerprint, now))
        return [] if is_unchanged else [proposal]

    def _select_patch(
        self, proposal: Proposal, fingerprints: AspectFingerprints, now: int, *, is_stale: bool
    ) -> list[Proposal]:
        name, operations = proposal.aspect_name, proposal.value
        new_fingerprint = proposal_fingerprint(proposal)
        stored_fingerprint = fingerprints.get(name)
        if stored_fingerprint is not None and stored_fingerprint.fingerprint == new_fingerprint and not is_stale:
            return []
        new_by_path = path_fingerprints(operations)
        stored_by_path = stored_fingerprint.path_fingerprints if stored_fingerprint is not None else {}
        diff = patch_diff(stored_by_path, new_by_path)
        removed_paths = [
            path for path in diff.removed_paths if stored_by_path[path] != PATH_REMOVED and _may_remove(name, path)
        ]
        uncertain_paths = [path for path in removed_paths if stored_by_path[path] == UNCERTAIN]
        kept_by_path = {
            path: path_hash
            for path, path_hash in stored_by_path.items()
            if path not in new_by_path and path not in removed_paths
        }
        fingerprints[name] = AspectFingerprint(
            now, new_fingerprint, {**kept_by_path, **new_by_path, **dict.fromkeys(uncertain_paths, PATH_REMOVED)}
        )
        if stored_fingerprint is None or is_stale:
            changed = operations
        else:
            changed = changed_operations(name, operations, diff.changed_paths)
        # A value that may be absent is removed by a patch of its own: a server may reject this patch with all its operations.
        certain_operations = [
            *changed,
            *(removal_operation(path) for path in removed_paths if path not in uncertain_paths),
        ]
        patches = [certain_operations, [removal_operation(path) for path in uncertain_paths]]
        return [
            patch(proposal.entity_type, proposal.entity_urn, name, patch_operations)
            for patch_operations in patches
            if patch_operations
        ]

    def _read(self, urn: str) -> AspectFingerprints:
        row = self._connection.execute("SELECT aspects FROM sent WHERE urn = ?", (urn,)).fetchone()
        return _decode(self._compression.decompress(row[0])) if row is not None else {}

    def _read_removal(self, urn: str) -> AspectFingerprints:
        """Return the fingerprint of a pruned run: its removal, as long as it is stored."""
        row = self._connection.execute(_SELECT_POINT, (removal_key(urn),)).fetchone()
        return {} if row is None else {"status": AspectFingerprint(row[1], REMOVED_FINGERPRINT)}

    def _write(self, urn: str, fingerprints: AspectFingerprints) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO sent (urn, aspects) VALUES (?, ?)",
            (urn, self._compression.compress(_encode(fingerprints))),
        )


def _may_remove(aspect: str, path: str) -> bool:
    """Return whether the bridge may remove what an earlier patch added at a path."""
    return (aspect in _OWN_PATCHED_ASPECTS or path.startswith(_OWN_PATH_PREFIXES)) and not path.endswith(_KEY_SUFFIX)


def _withdrawals(urn: str, proposals: list[Proposal], fingerprints: AspectFingerprints) -> list[Proposal]:
    """Return further proposals for an entity: aspects that are no longer rendered, and the end of the bridge's own removal."""
    aspect_names = {proposal.aspect_name for proposal in proposals}
    emptied_names = [
        name
        for name in _OWN_PATCHED_ASPECTS
        if name not in aspect_names and name in fingerprints and fingerprints[name].path_fingerprints
    ]
    extra_proposals = [patch(entity_type(urn), urn, name, []) for name in emptied_names]
    unrendered_names = (
        _EMPTY_ASPECTS.keys() & fingerprints.keys() - aspect_names if aspect_names else ()
    )  # the facts of this entity are carried by others
    extra_proposals += [upsert(entity_type(urn), urn, name, _EMPTY_ASPECTS[name]) for name in sorted(unrendered_names)]
    if is_soft_deleted(fingerprints) and "status" not in aspect_names:
        extra_proposals.append(restoring_proposal(entity_type(urn), urn))
    return extra_proposals
