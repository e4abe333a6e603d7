"""What is there, and what proposals make of it: a copy in memory, read aspect by aspect as the proposals name them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.datahub.timeseries import is_timeseries
from dh_bridge.datahub.urns import entity_type, key_aspect
from dh_bridge.errors import SinkError
from dh_bridge.sinks.abilities import Readable
from dh_bridge.sinks.base import Closing, Delivery, Present, SinkKind, split_unreadable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal


class Listed(Readable):
    """A place of which only the URNs are known: a file with one on each line."""

    def __init__(self, path: str) -> None:
        try:
            # not splitlines: other signs that end a line may be in names
            lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
        except OSError as error:
            raise SinkError(f"cannot be read: {error.strerror or error}", where=path) from error
        except UnicodeDecodeError as error:
            raise SinkError("is no list of URNs", where=path, now=f"catalog:{path}, if it is a catalogue") from error
        self.urns = {line.strip().strip('"') for line in lines if line.strip()}
        if self.urns and not any(urn.startswith("urn:li:") for urn in self.urns):
            raise SinkError("names no URN", where=path, now="a list has one on each line")

    def read(self, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, Present]]:
        """Return an entry without aspects for each URN that is listed."""
        return {urn: {} for urn in wanted if urn in self.urns}


class Change(NamedTuple):
    """An aspect that proposals name: as it is there (None: not at all), and as they leave it.

    ``replaced``: it is written whole. ``taken`` are the paths of what patches take away.
    """

    urn: str
    aspect: str
    before: Present | None
    after: dict[str, Any]
    replaced: bool
    taken: frozenset[str] = frozenset()


class State(Closing, Readable):
    """A sink that writes to a copy; ``exists`` says which entities the place has, ``points`` counts points in time.

    ``refused`` says what the copy would not take, and why: the place would not either. ``unread`` are the entities that we may
    not read; nothing is compared of them. ``version`` is that of the server, None of a place that is none.
    """

    name = "review"
    kind = SinkKind(scheme=name, persistent=False, readable=True)

    def __init__(self, place: Readable, *, version: str | None = None) -> None:
        self._version = version
        self.exists: dict[str, bool] = {}
        self.points = 0
        self.refused: list[str] = []
        self.unread: set[str] = set()
        self.place = place
        self._after = Catalog(":memory:")
        self._before: dict[tuple[str, str], Present | None] = {}
        self._replaced: set[tuple[str, str]] = set()
        self._taken: dict[tuple[str, str], set[str]] = {}

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Read what the proposals name and was not read yet, then apply them to the copy."""
        proposals, unreadable = split_unreadable(proposals, self._version)
        new: dict[str, set[str]] = {}
        for one in proposals:
            if one.entity_urn in self.unread:
                continue
            if is_timeseries(one.aspect_name):
                self.points += 1
                if one.entity_urn not in self.exists:
                    new.setdefault(one.entity_urn, set())
                continue
            if one.change_type != "PATCH":
                self._replaced.add((one.entity_urn, one.aspect_name))
            elif taken := [operation["path"] for operation in one.value if operation["op"] == "remove"]:
                self._taken.setdefault((one.entity_urn, one.aspect_name), set()).update(taken)
            if (one.entity_urn, one.aspect_name) not in self._before:
                new.setdefault(one.entity_urn, set()).add(one.aspect_name)
        found = self.place.read({urn: {*names, key_aspect(urn)} for urn, names in new.items()}) if new else {}
        seeds = []
        self.unread.update(new.keys() & set(self.place.forbidden))
        for urn, names in new.items():
            if urn in self.unread:
                continue
            self.exists[urn] = self.exists.get(urn, False) or urn in found
            for name in names:
                present = found.get(urn, {}).get(name)
                self._before[urn, name] = present
                if present is not None:
                    seeds.append(upsert(entity_type(urn), urn, name, present.value))
        self._after.apply(seeds)
        delivery = self._after.apply(proposals)
        failed = [*unreadable, *delivery.failed]
        # each aspect of an unreadable entity has the same reason: one line for each entity
        lines = dict.fromkeys(f"{failure.proposal.entity_urn}: {failure.reason}" for failure in unreadable)
        self.refused += [line for line in lines if line not in self.refused]
        self.refused += [failure.reason for failure in delivery.failed]
        return Delivery(delivery.delivered, failed)

    def read(self, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, Present]]:
        """Return what is there by now: what was written is ours, all else as the place has it."""
        found = self.place.read(wanted)
        for urn, names in wanted.items():
            for name in names:
                if (urn, name) in self._before and (value := self._after.aspect(urn, name)) is not None:
                    found.setdefault(urn, {})[name] = Present(value)
        return found

    def changes(self) -> Iterator[Change]:
        """Yield every aspect that the proposals named, sorted."""
        for urn, aspect in sorted(self._before):
            after = self._after.aspect(urn, aspect)
            if after is not None:
                replaced, taken = (urn, aspect) in self._replaced, self._taken.get((urn, aspect), ())
                yield Change(urn, aspect, self._before[urn, aspect], after, replaced, frozenset(taken))

    def raw_names(self, urn: str) -> list[tuple[str, str]]:
        """Return the OpenLineage names that the proposals say a dataset has."""
        return self._after.raw_names(urn)

    def close(self) -> None:
        """Forget the copy."""
        self._after.close()
