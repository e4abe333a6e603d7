"""Opens the ledger of a target: a catalogue's own file, or the file of ``--ledger``; and copies of a ledger for dry runs."""

from __future__ import annotations

import logging
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.datahub.generic_aspect import PatchForms
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.ledger.ledger import Ledger
from dh_bridge.ledger.ledger_log import open_event_log
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.ledger.upgrade_check import upgrade_warning
from dh_bridge.options import Options
from dh_bridge.sinks.abilities import SinkWrapper, holds_ledger, learns_patch_forms
from dh_bridge.sinks.base import Closable, Delivery, SinkKind, address_of, find_kind, kind_of
from dh_bridge.storage.connection import copy
from dh_bridge.storage.database import Database
from dh_bridge.storage.network_mounts import network_warning
from dh_bridge.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.event_log import EventLog
    from dh_bridge.ledger.ledger import BatchApproval
    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Sink

log = logging.getLogger("dh_bridge.ledger")

_VERSION_NOTE, _TARGET_NOTE, _PATCH_FORMS_NOTE = "version", "target", "patch_forms"


class LedgerNotes(NamedTuple):
    """Notes of a ledger that can be read before it is opened; None and False if they are unknown.

    ``version``: the server's version at the last delivery. ``target``: the target of the last delivery, without secrets.
    ``has_catalogue``: whether the file has a catalogue. ``has_queued``: whether the outbox has proposals; a catalogue has none.
    ``patch_forms``: the form of patches that the server's answers showed.
    """

    version: str | None = None
    target: str | None = None
    has_catalogue: bool = False
    has_queued: bool = False
    patch_forms: PatchForms | None = None

    def target_warning(self, target: str) -> str | None:
        """Return a warning if the ledger last delivered to another target than ``target``, which lacks what was sent there."""
        if self.target in {None, target}:
            return None
        return (
            f"this ledger belongs to the target {self.target}: proposals that were sent there are not sent again"
            " (use one ledger for each target)"
        )


def notes_of(ledger_path: Path | None) -> LedgerNotes:
    """Return the notes of a ledger, whatever its target is; empty ones if it does not exist."""
    if ledger_path is None or not ledger_path.is_file():
        return LedgerNotes()
    try:
        with Database(ledger_path, readonly=True) as file:
            outbox = Outbox(file.connection)
            query = "SELECT EXISTS (SELECT 1 FROM aspect), EXISTS (SELECT 1 FROM outbox)"
            has_aspects, has_queued = file.connection.execute(query).fetchone()
            forms_json = outbox.read_note(_PATCH_FORMS_NOTE)
            return LedgerNotes(
                outbox.read_note(_VERSION_NOTE),
                outbox.read_note(_TARGET_NOTE),
                bool(has_aspects),
                bool(has_queued),
                None if forms_json is None else msgspec.json.decode(forms_json, type=PatchForms),
            )
    except (
        SinkError
    ):  # a file of an older release, or an empty one after a full disk: opening it for writing repairs or reports it
        return LedgerNotes()


def read_notes(ledger_path: Path | None, target: str) -> LedgerNotes:
    """Return the notes of the ledger ``ledger_path`` before anything is opened.

    Raises:
        SettingsError: The file cannot be the ledger of ``target``: a catalogue and its ledger are one file, and what that
            ledger has sent is in that catalogue only.
    """
    sink_kind = find_kind(target)
    if sink_kind is not None and sink_kind.has_own_ledger:
        reject_second_ledger(ledger_path)
        target_notes = notes_of(Path(address_of(target)))
        if (
            target_notes.target is not None or target_notes.has_queued
        ):  # before the first delivery, the ledger has no note of its target
            raise SettingsError(
                f"this file is the ledger of {target_notes.target or 'another target'}, not a catalogue",
                location=f"--to {target}",
                remedy="use another file",
            )
        return LedgerNotes()
    notes = notes_of(ledger_path)
    if notes.has_catalogue:
        raise SettingsError(
            "this file is a catalogue, and can be the ledger of itself only",
            location=f"--ledger {ledger_path}",
            remedy="use another file",
        )
    return notes


def reject_second_ledger(ledger_path: Path | None) -> None:
    """Raise a SettingsError if a ledger is passed for a catalogue."""
    if ledger_path is not None:
        raise SettingsError("a catalogue is its own ledger", location="--ledger", remedy="remove this option")


class _TargetRecordingSink(SinkWrapper):
    """A sink that stores its target in the ledger's ``file`` after the first successful delivery.

    It also stores the form of patches that the server accepts, if its answers showed another form than its version has.
    """

    def __init__(self, sink: Sink, file: Database, target: str) -> None:
        super().__init__(sink)
        self._file = file
        self._target: str | None = target
        self._forms_json: bytes | None = None

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Deliver a batch."""
        delivery = self._sink.emit(proposals)
        if self._target is not None and delivery.delivered_count:
            with self._file.transaction():
                Outbox(self._file.connection).write_note(_TARGET_NOTE, self._target)
            self._target = None
        forms = self._sink.patch_forms if learns_patch_forms(self._sink) else None
        if forms is not None and forms.learned and (forms_json := msgspec.json.encode(forms)) != self._forms_json:
            with self._file.transaction():
                Outbox(self._file.connection).write_note(_PATCH_FORMS_NOTE, forms_json.decode())
            self._forms_json = forms_json
        return delivery


class NullSink(Closable):
    """A sink for dry runs: it accepts everything and stores nothing."""

    name = "nowhere"
    kind = SinkKind(scheme=name, is_persistent=False)

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Take a batch."""
        return Delivery(len(proposals), [])

    def close(self) -> None:
        """Do nothing: there is no connection."""


@contextmanager
def trial_copy(ledger_path: Path | None) -> Iterator[Path | None]:
    """Yield a temporary copy of the ledger ``ledger_path`` for a dry run; other processes do not wait for it.

    If the ledger does not exist, the copy is empty. None stays None.
    """
    if ledger_path is None:
        yield None
        return
    with scratch_folder("trial") as folder:
        copy_path = folder / "ledger.db"
        if ledger_path.is_file():
            copy(ledger_path, copy_path)
        try:
            yield copy_path
        except SinkError as error:
            if error.location == str(copy_path):
                error.location = str(ledger_path)
            raise


@contextmanager
def open_ledger(  # noqa: PLR0913 - the options of an entry point
    ledger_path: Path | None,
    sink: Sink,
    settings: Settings,
    *,
    version: str | None = None,
    full: bool = False,
    report: bool = False,
    approve_batch: BatchApproval | None = None,
    delivery_id: str | None = None,
    target: str | None = None,
) -> Iterator[Ledger | None]:
    """Yield the ledger of ``sink``: in its own file if it is a catalogue, else in ``ledger_path``; None without a ledger.

    ``version`` of the server is stored for times when the server does not answer, and ``target`` for the warning about another
    target. :func:`read_notes` returns both.
    """
    if holds_ledger(sink):
        reject_second_ledger(ledger_path)
        options = Options(settings, is_stateful=True)
        _warn_about_network(sink.catalog.path)
        with _open_log(sink.catalog.path, settings) as event_log:
            _warn_about_upgrade(sink.catalog, event_log, options)
            yield Ledger(
                sink.catalog, options, sink, full=full, report=report, approve_batch=approve_batch,
                delivery_id=delivery_id, event_log=event_log,
            )  # fmt: skip
    elif ledger_path is None:
        if full:
            raise SettingsError(
                "requires a ledger", location="--full", remedy="remove this option, or pass --ledger FILE"
            )
        yield None
    else:
        if kind_of(sink).atomic_on_close:
            raise SettingsError(
                "not supported with a .json file, as each call replaces the whole file",
                location="--ledger",
                remedy="write a .ndjson file",
            )
        has_log = not isinstance(sink, NullSink)
        _warn_about_network(ledger_path)
        with Database(ledger_path) as file, _open_log(ledger_path if has_log else None, settings) as event_log:
            if version is not None:
                with file.transaction():
                    Outbox(file.connection).write_note(_VERSION_NOTE, version)
            if target is not None:
                sink = _TargetRecordingSink(sink, file, target)
            options = Options(settings, is_stateful=True)
            _warn_about_upgrade(file, event_log, options)
            yield Ledger(
                file,
                options,
                sink,
                full=full,
                report=report,
                approve_batch=approve_batch,
                delivery_id=delivery_id,
                event_log=event_log,
            )


def _warn_about_network(path: str | Path) -> None:
    if warning := network_warning(path):
        log.warning("%s", warning)


def _warn_about_upgrade(file: Database, event_log: EventLog | None, options: Options) -> None:
    if event_log is not None and (warning := upgrade_warning(file, event_log, options, NullSink())):
        log.warning("%s", warning)


@contextmanager
def _open_log(ledger_path: str | Path | None, settings: Settings) -> Iterator[EventLog | None]:
    """Yield the event log of a ledger; None if it has none, as the copy of a ledger for a dry run (None)."""
    event_log = None if ledger_path is None else open_event_log(ledger_path, settings)
    with nullcontext() if event_log is None else event_log:
        yield event_log
