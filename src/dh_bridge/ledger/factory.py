"""Which ledger belongs to a destination: a catalogue's own, or the file that was named; and a copy to try things on."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.datahub.generic_aspect import PatchForms
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.ledger.ledger import Ledger
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.sinks.abilities import Around, holds_ledger, learns_patch_forms
from dh_bridge.sinks.base import Closing, Delivery, SinkKind, address, find_kind, kind_of
from dh_bridge.storage.connection import copy
from dh_bridge.storage.database import Database
from dh_bridge.translation.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.ledger.ledger import Gate
    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Sink

_VERSION, _TARGET, _PATCH_FORMS = "version", "target", "patch_forms"


class Noted(NamedTuple):
    """What a ledger knows before it is opened; None and False where nobody knows.

    ``version`` is the one that its server had the last time, ``target`` where something last arrived (without secrets),
    ``catalogue`` whether the file holds a catalogue, ``waits`` whether something is in its outbox, which no catalogue has.
    ``patch_forms`` is what the answers of the server showed about the form of its patches.
    """

    version: str | None = None
    target: str | None = None
    catalogue: bool = False
    waits: bool = False
    patch_forms: PatchForms | None = None

    def elsewhere(self, place: str) -> str | None:
        """Return what to say when it delivered to another place than ``place``, which has what this one will not get."""
        if self.target in {None, place}:
            return None
        return (
            f"this ledger was delivered to {self.target}; what it sent there is not sent again"
            " (use one ledger for each destination)"
        )


def _noted(place: Path | None) -> Noted:
    if place is None or not place.is_file():
        return Noted()
    try:
        with Database(place, readonly=True) as file:
            outbox = Outbox(file.connection)
            holds = "SELECT EXISTS (SELECT 1 FROM aspect), EXISTS (SELECT 1 FROM outbox)"
            aspects, waiting = file.connection.execute(holds).fetchone()
            forms = outbox.note(_PATCH_FORMS)
            return Noted(
                outbox.note(_VERSION),
                outbox.note(_TARGET),
                bool(aspects),
                bool(waiting),
                None if forms is None else msgspec.json.decode(forms, type=PatchForms),
            )
    except SinkError:  # of an older release, or left empty by a full disk: opening it for writing mends it or says so
        return Noted()


def noted(place: Path | None, target: str) -> Noted:
    """Return what the ledger ``place`` knows of where it delivered to, before anything is opened.

    A SettingsError when it cannot stand beside ``target``: a catalogue and its ledger are one file, and what that says was
    sent is in it, and nowhere else.
    """
    kind = find_kind(target)
    if kind is not None and kind.own_ledger:
        refuse_beside_catalogue(place)
        there = _noted(Path(address(target)))
        if there.target is not None or there.waits:  # of a place that took nothing so far nobody noted where it is
            raise SettingsError(
                f"is the ledger of {there.target or 'another target'}, not a catalogue",
                where=f"--to {target}",
                now="name a file of its own",
            )
        return Noted()
    known = _noted(place)
    if known.catalogue:
        raise SettingsError(
            "is a catalogue, and the ledger of itself alone", where=f"--ledger {place}", now="name a file of its own"
        )
    return known


def refuse_beside_catalogue(place: Path | None) -> None:
    """Raise a SettingsError when a ledger is named beside a catalogue."""
    if place is not None:
        raise SettingsError("a catalogue is its own ledger", where="--ledger", now="leave it out")


class _Noting(Around):
    """A sink that notes in the ledger's ``file`` where it leads, as soon as something has arrived there.

    It also notes the form of patches that the server takes, where its answers showed another form than its version does.
    """

    def __init__(self, sink: Sink, file: Database, target: str) -> None:
        super().__init__(sink)
        self._file = file
        self._target: str | None = target
        self._forms: bytes | None = None

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Deliver a batch."""
        delivery = self._sink.emit(proposals)
        if self._target is not None and delivery.delivered:
            with self._file.transaction():
                Outbox(self._file.connection).write_note(_TARGET, self._target)
            self._target = None
        forms = self._sink.patch_forms if learns_patch_forms(self._sink) else None
        if forms is not None and forms.learned and (note := msgspec.json.encode(forms)) != self._forms:
            with self._file.transaction():
                Outbox(self._file.connection).write_note(_PATCH_FORMS, note.decode())
            self._forms = note
        return delivery


class Nowhere(Closing):
    """A sink for trials: takes everything and keeps nothing."""

    name = "nowhere"
    kind = SinkKind(scheme=name, persistent=False)

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Take a batch."""
        return Delivery(len(proposals), [])

    def close(self) -> None:
        """Nothing is open."""


@contextmanager
def trial(place: Path | None) -> Iterator[Path | None]:
    """Yield a copy of the ledger ``place`` to try things on, which goes afterwards; nobody has to wait for it.

    A ledger that is not there yet is tried as an empty one; None stays None.
    """
    if place is None:
        yield None
        return
    with TemporaryDirectory(prefix="dh_bridge_trial_") as folder:
        into = Path(folder) / "ledger.db"
        if place.is_file():
            copy(place, into)
        try:
            yield into
        except SinkError as error:
            if error.where == str(into):
                error.where = str(place)
            raise


@contextmanager
def opened(  # noqa: PLR0913 - what a door may choose
    place: Path | None,
    sink: Sink,
    settings: Settings,
    *,
    version: str | None = None,
    full: bool = False,
    report: bool = False,
    gate: Gate | None = None,
    delivery: str | None = None,
    target: str | None = None,
) -> Iterator[Ledger | None]:
    """Yield the ledger for ``sink``: in its own file if it is a catalogue, else in the file ``place``; None without one.

    ``version`` of the server is noted, for a day on which it does not answer, and so is ``target``, where the sink leads:
    :func:`noted` has both.
    """
    if holds_ledger(sink):
        refuse_beside_catalogue(place)
        options = Options(settings, stateful=True)
        yield Ledger(sink.catalog, options, sink, full=full, report=report, gate=gate, delivery=delivery)
    elif place is None:
        if full:
            raise SettingsError(
                "there is no ledger to override", where="--full", now="leave it out, or name a --ledger"
            )
        yield None
    else:
        if kind_of(sink).atomic_on_close:
            raise SettingsError(
                "a JSON array is there only when it is whole, and takes the place of an older one",
                where="--ledger",
                now="write a .ndjson file beside a ledger",
            )
        with Database(place) as file:
            if version is not None:
                with file.transaction():
                    Outbox(file.connection).write_note(_VERSION, version)
            if target is not None:
                sink = _Noting(sink, file, target)
            yield Ledger(
                file, Options(settings, stateful=True), sink, full=full, report=report, gate=gate, delivery=delivery
            )
