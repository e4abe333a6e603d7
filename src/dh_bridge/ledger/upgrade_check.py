"""Finds at the first start of a new version, or with other settings, what would change of what was sent.

The latest events of the log are merged into the states of the ledger once more, in a transaction that is rolled back. Under the same version
and settings, that changes nothing.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.urns import entity_type
from dh_bridge.errors import SinkError
from dh_bridge.ledger.ledger import Ledger
from dh_bridge.ledger.ledger_log import LedgerLog
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.ledger.withheld import WithheldWrites
from dh_bridge.openlineage.events import Event

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.event_log import EventLog
    from dh_bridge.openlineage.events import DeadLetter
    from dh_bridge.options import Options
    from dh_bridge.session import Translation
    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Sink
    from dh_bridge.storage.database import Database

log = logging.getLogger("dh_bridge.ledger")

SAMPLE_EVENTS, SAMPLE_BYTES = 200, 2 * 1024 * 1024
"""The latest events that are compared, at most: about a second."""
_NOTE = "translated by"
_EXAMPLE_TYPES = ("dataset", "dataJob", "dataFlow")
"""Types of the entities that a warning names first."""
_MICROS = 1_000_000
_OTHER_SETTINGS = frozenset(
    [
        *("datahub_version", "mappings", "window", "ledger", "log", "rest", "kafka", "receiver", "airflow", "writes"),
        *("max_new_entities_per_hour", "pipeline_name", "state"),
    ]
)
"""Settings that do not change the translation of an event; the files of ``mappings`` are compared by themselves."""


class _SampleChanges(Exception):  # noqa: N818 - it ends a transaction, and reports no error
    """What the events of the sample change."""

    def __init__(self, proposals: list[Proposal], new_urns: Collection[str]) -> None:
        super().__init__()
        self.proposals = proposals
        self.new_urns = new_urns


class _RollBack:
    """Rejects a batch with what it changes."""

    is_asking = True

    def __call__(self, translation: Translation, new_urns: Collection[str], /) -> None:
        raise _SampleChanges(translation.proposals, list(new_urns))


class _SampledEvents(NamedTuple):
    """The events of a transaction that is rolled back. Entities that were sent long ago are not sent again."""

    items: Sequence[Event | DeadLetter]
    is_rerender: bool = True

    def take(self) -> Sequence[Event | DeadLetter]:
        """Return the events."""
        return self.items

    def record(self, translation: Translation, now: int) -> None:
        """Store nothing."""


def upgrade_warning(file: Database, event_log: EventLog, options: Options, sink: Sink) -> str | None:
    """Return a warning if this version, or the settings, would change what the latest events of a ledger sent.

    The ledger stores its version and settings, so that the next start with the same ones compares nothing.

    Args:
        file: the ledger.
        event_log: its log.
        options: the settings of this start.
        sink: a sink that stores nothing.

    Returns:
        The number of entities and aspects that would change, with examples; None if nothing would.

    Raises:
        SinkError: The ledger cannot be read or written.
    """
    outbox = Outbox(file.connection)
    earlier, current = outbox.read_note(_NOTE), f"{product_version()} {settings_fingerprint(options.settings)}"
    if earlier == current or WithheldWrites(file.connection, options.settings.writes).has_pending:
        return None
    try:
        changes = None if earlier is None else _sample_changes(file, event_log, options, sink)
    except SinkError as error:  # for example a full outbox: the next start compares
        log.warning("%s: the latest events are not compared with what was sent: %s", file.path, error)
        return None
    with file.transaction():
        outbox.write_note(_NOTE, current)
    if earlier is None or changes is None:
        return None
    return _warning_text(file.path, earlier.split(" ")[0], changes)


def product_version() -> str:
    """Return the version of dh-bridge; "unknown" if it is not installed as a package."""
    try:
        return version("dh-bridge")
    except PackageNotFoundError:
        return "unknown"


def settings_fingerprint(settings: Settings) -> str:
    """Return a hash of the settings and mapping files that the translation of an event depends on."""
    digest = hashlib.sha256(settings.model_dump_json(by_alias=True, exclude=set(_OTHER_SETTINGS)).encode())
    if settings.mappings is not None:
        for path in sorted(settings.mappings.rglob("*.yaml")):
            digest.update(path.relative_to(settings.mappings).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _sample_changes(file: Database, event_log: EventLog, options: Options, sink: Sink) -> _SampleChanges | None:
    """Merge the latest processed events once more, and return what that changes."""
    ledger_log = LedgerLog(event_log, file.connection, options, lambda: 0.0)
    cursor = ledger_log.cursor()
    dead = {failure.position for failure in ledger_log.failures.iter_failures(is_dead=True)}
    batch = event_log.read_after(max(cursor - SAMPLE_EVENTS, 0), max_events=SAMPLE_EVENTS, max_bytes=SAMPLE_BYTES)
    logged = [event for position, event in batch.events if position <= cursor and position not in dead]
    items = [item for item in map(ledger_log.parse, logged) if isinstance(item, Event)]
    if not items:
        return None

    received = max(event.received for event in logged) / _MICROS
    ledger = Ledger(file, options, sink, clock=lambda: received, approve_batch=_RollBack())
    try:
        ledger.process_source(_SampledEvents(items))
    except _SampleChanges as changes:
        return changes
    except (SinkError, sqlite3.Error):
        raise
    except Exception:
        log.exception("%s: the latest events cannot be compared with what was sent", file.path)
    return None


def _warning_text(path: str, earlier_version: str, changes: _SampleChanges) -> str | None:
    new_urns = sorted(changes.new_urns, key=lambda urn: (entity_type(urn) not in _EXAMPLE_TYPES, urn))
    changed = sorted(
        {(item.entity_urn, item.aspect_name) for item in changes.proposals if item.entity_urn not in changes.new_urns}
    )
    if not (new_urns or changed):
        return None
    cause = (
        f"version {product_version()} after {earlier_version}"
        if earlier_version != product_version()
        else "the changed settings or mappings"
    )
    effects = []
    if new_urns:
        effects.append(f"{len(new_urns):,} entities are new, such as {new_urns[0]}")
    if changed:
        effects.append(f"{len(changed):,} aspects change, such as {changed[0][1]} of {changed[0][0]}")
    return (
        f"{path}: with {cause}, the latest events of the log give other metadata than was sent: {'; '.join(effects)}"
        f" (run `dh-bridge replay {path} --dry-run` to compare all events)"
    )
