"""The present aspects, and the result of proposals: a copy in memory, read aspect by aspect as proposals name them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.datahub.timeseries import is_timeseries
from dh_bridge.datahub.urns import entity_type, key_aspect
from dh_bridge.errors import SinkError
from dh_bridge.sinks.abilities import Readable
from dh_bridge.sinks.base import Closable, Delivery, SinkKind, StoredAspect, split_unreadable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal


class UrnList(Readable):
    """A target of which only the URNs are known: a file with one URN on each line."""

    def __init__(self, path: str) -> None:
        try:
            # not splitlines: other signs that end a line may be in names
            lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
        except OSError as error:
            raise SinkError(f"cannot read the file: {error.strerror or error}", location=path) from error
        except UnicodeDecodeError as error:
            raise SinkError(
                "expected a list of URNs in UTF-8", location=path, remedy=f"if it is a catalogue, use catalog:{path}"
            ) from error
        self.urns = {line.strip().strip('"') for line in lines if line.strip()}
        if self.urns and not any(urn.startswith("urn:li:") for urn in self.urns):
            raise SinkError("the file contains no URN", location=path, remedy="write one URN per line")

    def read(self, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, StoredAspect]]:
        """Return an entry without aspects for each URN that is listed."""
        return {urn: {} for urn in wanted if urn in self.urns}


class AspectChange(NamedTuple):
    """An aspect that proposals name: as it is there (None: not at all), and as they leave it.

    ``is_replaced``: it is written whole. ``removed_paths`` are the paths of what patches take away.
    """

    urn: str
    aspect: str
    before: StoredAspect | None
    after: dict[str, Any]
    is_replaced: bool
    removed_paths: frozenset[str] = frozenset()


class ReviewState(Closable, Readable):
    """A sink that writes to a copy; ``exists`` states which entities the target has, ``point_count`` counts points in time.

    ``refusals`` are proposals that the copy rejects, with the reason; the target would reject them too. ``unreadable_urns`` are
    entities without permission to read; they are not compared. ``version`` is that of the server, None for other targets.
    """

    name = "review"
    kind = SinkKind(scheme=name, is_persistent=False, is_readable=True)

    def __init__(self, target: Readable, *, version: str | None = None) -> None:
        self._version = version
        self.exists: dict[str, bool] = {}
        self.point_count = 0
        self.refusals: list[str] = []
        self.unreadable_urns: set[str] = set()
        self.target = target
        self._after = Catalog(":memory:")
        self._before: dict[tuple[str, str], StoredAspect | None] = {}
        self._replaced: set[tuple[str, str]] = set()
        self._removed_paths: dict[tuple[str, str], set[str]] = {}

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Read the aspects of the proposals that were not read before, then apply the proposals to the copy."""
        proposals, unreadable = split_unreadable(proposals, self._version)
        aspects_to_read: dict[str, set[str]] = {}
        for proposal in proposals:
            if proposal.entity_urn in self.unreadable_urns:
                continue
            if is_timeseries(proposal.aspect_name):
                self.point_count += 1
                if proposal.entity_urn not in self.exists:
                    aspects_to_read.setdefault(proposal.entity_urn, set())
                continue
            if proposal.change_type != "PATCH":
                self._replaced.add((proposal.entity_urn, proposal.aspect_name))
            elif removed_paths := [operation["path"] for operation in proposal.value if operation["op"] == "remove"]:
                self._removed_paths.setdefault((proposal.entity_urn, proposal.aspect_name), set()).update(removed_paths)
            if (proposal.entity_urn, proposal.aspect_name) not in self._before:
                aspects_to_read.setdefault(proposal.entity_urn, set()).add(proposal.aspect_name)
        present_aspects = (
            self.target.read({urn: {*names, key_aspect(urn)} for urn, names in aspects_to_read.items()})
            if aspects_to_read
            else {}
        )
        seeds = []
        self.unreadable_urns.update(aspects_to_read.keys() & set(self.target.forbidden_urns))
        for urn, names in aspects_to_read.items():
            if urn in self.unreadable_urns:
                continue
            self.exists[urn] = self.exists.get(urn, False) or urn in present_aspects
            for name in names:
                present = present_aspects.get(urn, {}).get(name)
                self._before[urn, name] = present
                if present is not None:
                    seeds.append(upsert(entity_type(urn), urn, name, present.value))
        self._after.apply(seeds)
        delivery = self._after.apply(proposals)
        failed = [*unreadable, *delivery.failures]
        # each aspect of an unreadable entity has the same reason: one line for each entity
        lines = dict.fromkeys(f"{failure.proposal.entity_urn}: {failure.reason}" for failure in unreadable)
        self.refusals += [line for line in lines if line not in self.refusals]
        self.refusals += [failure.reason for failure in delivery.failures]
        return Delivery(delivery.delivered_count, failed)

    def read(self, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, StoredAspect]]:
        """Return the present aspects: those that were written from the copy, all others from the target."""
        present_aspects = self.target.read(wanted)
        for urn, names in wanted.items():
            for name in names:
                if (urn, name) in self._before and (value := self._after.aspect(urn, name)) is not None:
                    present_aspects.setdefault(urn, {})[name] = StoredAspect(value)
        return present_aspects

    def changes(self) -> Iterator[AspectChange]:
        """Yield every aspect that the proposals named, sorted."""
        for urn, aspect in sorted(self._before):
            after = self._after.aspect(urn, aspect)
            if after is not None:
                is_replaced, removed_paths = (urn, aspect) in self._replaced, self._removed_paths.get((urn, aspect), ())
                yield AspectChange(urn, aspect, self._before[urn, aspect], after, is_replaced, frozenset(removed_paths))

    def close(self) -> None:
        """Forget the copy."""
        self._after.close()
