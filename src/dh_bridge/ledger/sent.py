"""What was sent last, so that only what changed is sent again (one proposal per aspect and batch).

Of an UPSERT a hash is kept, of a PATCH one for each of its operations, of a point in time one for each point. Paths that we
added and that are no longer said are removed where that is ours to do: edges of a job, our custom properties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.aspect_diff import (
    REMOVED,
    fingerprint,
    patch_diff,
    path_fingerprints,
    proposal_fingerprint,
    removal,
    restoration,
)
from dh_bridge.datahub.patches import KEYED, REQUIRED
from dh_bridge.datahub.proposal import Proposal, patch, upsert
from dh_bridge.datahub.timeseries import is_timeseries
from dh_bridge.datahub.urns import entity_type
from dh_bridge.ledger.fingerprints import (
    FOREVER,
    GONE,
    UNSURE,
    Aspect,
    Aspects,
    is_buried,
    is_removed,
    point_key,
    removal_key,
)
from dh_bridge.translation.runs.other_runs import RUN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Iterator

DAY = 86_400_000
_OURS = ("/customProperties/",)
#: the key of an entry that others fill too: without it the entry could not be read
_KEY = "/fieldPath"
#: Of these nothing leaves that no facet has withdrawn, so what is not rendered any more is to go.
_ALL_OURS = ("dataJobInputOutput", "upstreamLineage", "globalTags", "ownership", "editableSchemaMetadata")
#: Of these neither, and they are written whole: what is rendered no more is sent empty.
_EMPTIED: dict[str, dict[str, list[Any]]] = {
    "querySubjects": {"subjects": []},
    "dataProcessInstanceInput": {"inputs": []},
    "dataProcessInstanceOutput": {"outputs": []},
    "dataProcessInstanceRelationships": {"upstreamInstances": []},
}
_REVIVED = ("dataFlow", "dataJob")

_POINT = "SELECT hash, time FROM sent_point WHERE key = ?"
_PUT_POINT = """
    INSERT INTO sent_point (key, hash, time) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET hash = excluded.hash, time = excluded.time
"""
_decode = msgspec.msgpack.Decoder(Aspects).decode
_encode = msgspec.msgpack.Encoder().encode


class Sent:
    """The hashes of what was sent; ``refresh`` is the age in milliseconds at which an unchanged aspect is sent again.

    ``points``: the age at which points in time are forgotten. Those that a run still comes to must not be, or they would be
    sent again at that age: they are noted anew at half of it. What is noted of ``new`` runs was of ones that were pruned.

    ``revive``: a flow or job of that age is made visible again with it. ``refuses`` says what is
    withheld: what that says, and takes back, is not noted, so it is still to be sent.
    """

    def __init__(  # noqa: PLR0913 - what the ledger's settings say
        self,
        connection: sqlite3.Connection,
        *,
        refresh: int = 7 * DAY,
        points: int = 30 * DAY,
        full: bool = False,
        revive: bool = True,
        refuses: Callable[[Proposal], bool] = lambda _one: False,
    ) -> None:
        self._connection = connection
        self._refresh = refresh
        self._points = points
        self._full = full
        self._revived = _REVIVED if revive else ()
        self._refuses = refuses
        #: URNs, of what was last asked for, of which nothing was sent before
        self.fresh: set[str] = set()
        self.new: Collection[str] = ()

    def changed(
        self, proposals: Iterable[Proposal], now: int, *, whole: Collection[str] = (), quiet: bool = False
    ) -> list[Proposal]:
        """Return what of ``proposals`` is to be sent at ``now`` (milliseconds), and note it as sent.

        ``whole`` are URNs of which all aspects are among the proposals: a removal that is not among them is undone. ``quiet``:
        there is no news of them, so what is unchanged is not sent again, however old it is.
        """
        found: list[Proposal] = []
        self.fresh = set()
        by_urn: dict[str, list[Proposal]] = {urn: [] for urn in whole}
        for proposal in proposals:
            by_urn.setdefault(proposal.entity_urn, []).append(proposal)
        for urn, group in by_urn.items():
            found.extend(self._of_entity(urn, group, now, whole=urn in whole, quiet=quiet))
        return found

    def between(self, first: int, last: int) -> Iterator[tuple[str, set[str]]]:
        """Yield the URNs and aspects (no points in time) that were last sent from ``first`` to ``last`` (milliseconds)."""
        for urn, aspects in self._connection.execute("SELECT urn, aspects FROM sent ORDER BY urn"):
            if names := {name for name, aspect in _decode(aspects).items() if first <= aspect.time <= last}:
                yield urn, names

    def is_last(self, proposal: Proposal) -> bool:
        """Say whether a proposal, as it was sent, is what was last sent of what it says."""
        name = proposal.aspect_name
        if is_timeseries(name):
            row = self._connection.execute(_POINT, (point_key(proposal),)).fetchone()
            return row is not None and row[0] == fingerprint(proposal.value)
        last = self._known(proposal.entity_urn).get(name)
        if last is None:
            return False
        if proposal.change_type != "PATCH":
            return last.whole == fingerprint(proposal.value)
        return all(
            last.parts.get(one["path"], GONE) == GONE
            if one["op"] == "remove"
            else last.parts.get(one["path"]) == fingerprint(one)
            for one in proposal.value
        )

    def forget(self, proposal: Proposal) -> None:
        """Note that a proposal did not arrive: what it said, and what it took back, is sent with the next change."""
        urn, name = proposal.entity_urn, proposal.aspect_name
        if is_timeseries(name):
            self._connection.execute("DELETE FROM sent_point WHERE key = ?", (point_key(proposal),))
            return
        known = self._known(urn)
        if (last := known.get(name)) is None:
            return
        paths = [operation["path"] for operation in proposal.value] if proposal.change_type == "PATCH" else ()
        unsure = {path: UNSURE for path in paths if last.parts.get(path) != GONE}
        known[name] = Aspect(last.time, UNSURE, {**last.parts, **unsure})
        self._write(urn, known)

    def remember(self, proposal: Proposal, time: int) -> None:
        """Note that a proposal that was forgotten is on its way again, as it was at ``time``; of a patch it stays unsure."""
        urn, name = proposal.entity_urn, proposal.aspect_name
        if is_timeseries(name):
            self._connection.execute(_PUT_POINT, (point_key(proposal), fingerprint(proposal.value), time))
        elif proposal.change_type != "PATCH":
            known = self._known(urn)
            if name not in known or known[name].whole == UNSURE:
                self._write(urn, {**known, name: Aspect(time, fingerprint(proposal.value))})

    def bury(self, urn: str) -> None:
        """Note that an entity was deleted for good: as removed, and never to be refreshed, until there is news of it."""
        self._write(urn, {"status": Aspect(FOREVER, REMOVED)})

    def is_buried(self, urn: str) -> bool:
        """Whether an entity was deleted for good, and there was no news of it."""
        return is_buried(self._known(urn))

    def note_removal(self, urn: str, now: int) -> None:
        """Note that a run was removed softly at ``now``, for as long as points are: told of again by then, it is made visible."""
        self._connection.execute(_PUT_POINT, (removal_key(urn), REMOVED, now))

    def _of_entity(
        self, urn: str, proposals: list[Proposal], now: int, *, whole: bool, quiet: bool
    ) -> Iterator[Proposal]:
        known = self._known(urn)
        if is_buried(known) and any(
            one.aspect_name == "status" and fingerprint(one.value) == REMOVED for one in proposals
        ):
            return  # what is removed all the same is not to come back as a ghost
        if whole:
            if not known and urn.startswith(RUN):
                known.update(self._removal_of(urn))
            proposals += _taken_back(urn, proposals, known)
        proposals = [one for one in proposals if not self._refuses(one)]
        before = dict(known)
        last = max((aspect.time for aspect in known.values()), default=now)
        stale = self._full or (abs(now - last) > self._refresh and not quiet)
        sends = False
        for proposal in proposals:
            if is_timeseries(proposal.aspect_name):
                changed = self._of_point(proposal, now)
            elif proposal.change_type == "PATCH":
                changed = self._of_patch(proposal, known, now, stale=stale)
            else:
                changed = self._of_upsert(proposal, known, now, stale=stale)
            if changed:
                sends = True
                yield from changed
        if sends and stale and known and before and entity_type(urn) in self._revived and not self._full:
            revival = restoration(entity_type(urn), urn)
            if not self._refuses(revival):
                yield revival
        if known and not before:
            self.fresh.add(urn)
        if known != before or sends:
            self._write(urn, known)

    def _of_upsert(self, proposal: Proposal, known: Aspects, now: int, *, stale: bool) -> list[Proposal]:
        mark = proposal_fingerprint(proposal)
        old = known.get(proposal.aspect_name)
        if old is not None and old.whole == mark and not stale:
            return []
        known[proposal.aspect_name] = Aspect(now, mark)
        return [proposal]

    def _of_point(self, proposal: Proposal, now: int) -> list[Proposal]:
        key, mark = point_key(proposal), fingerprint(proposal.value)
        old, time = self._connection.execute(_POINT, (key,)).fetchone() or (None, 0)
        same = old == mark and not self._full and proposal.entity_urn not in self.new
        if not same or abs(now - time) > self._points // 2:
            self._connection.execute(_PUT_POINT, (key, mark, now))
        return [] if same else [proposal]

    def _of_patch(self, proposal: Proposal, known: Aspects, now: int, *, stale: bool) -> list[Proposal]:
        name, operations = proposal.aspect_name, proposal.value
        whole = proposal_fingerprint(proposal)
        old = known.get(name)
        if old is not None and old.whole == whole and not stale:
            return []
        marks = path_fingerprints(operations)
        parts = old.parts if old is not None else {}
        diff = patch_diff(parts, marks)
        gone = [path for path in diff.gone if parts[path] != GONE and _is_ours(name, path)]
        again = [path for path in gone if parts[path] == UNSURE]
        kept = {path: mark for path, mark in parts.items() if path not in marks and path not in gone}
        known[name] = Aspect(now, whole, {**kept, **marks, **dict.fromkeys(again, GONE)})
        if old is None or stale:
            changed = operations
        else:
            changed = _completed(name, operations, diff.changed) if diff.changed else []
        # What may not be there is removed by a patch of its own: a server may refuse it for that, and all that is beside it.
        certain = [*changed, *(removal(path) for path in gone if path not in again)]
        apart = [certain, [removal(path) for path in again]]
        return [patch(proposal.entity_type, proposal.entity_urn, name, some) for some in apart if some]

    def _known(self, urn: str) -> Aspects:
        row = self._connection.execute("SELECT aspects FROM sent WHERE urn = ?", (urn,)).fetchone()
        return _decode(row[0]) if row is not None else {}

    def _removal_of(self, urn: str) -> Aspects:
        """Return what is left of a run that was pruned: its removal, for as long as that is noted."""
        row = self._connection.execute(_POINT, (removal_key(urn),)).fetchone()
        return {} if row is None else {"status": Aspect(row[1], REMOVED)}

    def _write(self, urn: str, known: Aspects) -> None:
        self._connection.execute("INSERT OR REPLACE INTO sent (urn, aspects) VALUES (?, ?)", (urn, _encode(known)))


def _is_ours(aspect: str, path: str) -> bool:
    """Return whether it is ours to remove what an earlier patch added at a path."""
    return (aspect in _ALL_OURS or path.startswith(_OURS)) and not path.endswith(_KEY)


def _taken_back(urn: str, proposals: list[Proposal], known: Aspects) -> list[Proposal]:
    """Return what is to be sent beside all that is said of an entity: aspects that are said no more, and an end of our removal."""
    said = {one.aspect_name for one in proposals}
    emptied = [name for name in _ALL_OURS if name not in said and name in known and known[name].parts]
    found = [patch(entity_type(urn), urn, name, []) for name in emptied]
    left = _EMPTIED.keys() & known.keys() - said if said else ()  # nothing at all is said of what others carry
    found += [upsert(entity_type(urn), urn, name, _EMPTIED[name]) for name in sorted(left)]
    if is_removed(known) and "status" not in said:
        found.append(restoration(entity_type(urn), urn))
    return found


def _completed(name: str, operations: list[dict[str, Any]], paths: set[str]) -> list[dict[str, Any]]:
    """Return the operations of ``paths``, with those that the server's template needs beside them."""
    needed = {*paths, *REQUIRED.get(name, ())}
    if name in KEYED:
        field, key = KEYED[name]
        needed.update(f"/{field}/{path.split('/', 3)[2]}/{key}" for path in paths)
    return [operation for operation in operations if operation["path"] in needed]
