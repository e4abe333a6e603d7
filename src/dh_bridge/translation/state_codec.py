"""States as bytes: how runs, and what they share, are stored in a ledger or a stream's folder and sent between workers.

The bytes are the codec's version, then MessagePack. Kinds of facts stand in them as numbers (``state_kinds.py``), objects by the
positions of their fields: no name of a module, class or function is stored, so code can be renamed. Reading runs no code
that the bytes name. Texts, versions of facts, jobs, names and schemas are stored once for each state and numbered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.msgpack import Decoder

from dh_bridge.errors import BridgeError
from dh_bridge.translation.merge import BEFORE, Digest, Stamp, restored
from dh_bridge.translation.runstate import RunState
from dh_bridge.translation.state_kinds import Fields, ObjectReader, ObjectWriter, object_fields, object_of
from dh_bridge.translation.state_layout import (
    BEFORE_EVENT,
    OBJECT_CLASSES,
    OBJECT_TYPES,
    READING,
    SLOTS,
    TAGS,
    WRITING,
    AnyObject,
    RunDocument,
    SlotsDocument,
    Stored,
    StoredObject,
    Tables,
)
from dh_bridge.translation.state_values import encode, from_ext

if TYPE_CHECKING:
    from dh_bridge.translation.fold import Cells, Slots
    from dh_bridge.translation.identity import Job

VERSION = 1
"""Version of the codec: the first byte. Raise it, and ``catalog.schema.VERSION``, when stored bytes change their form."""
_PICKLE = 0x80
"""First byte of a pickle: what earlier versions of dh-bridge stored."""


class StateVersionError(BridgeError):
    """A state that another version of dh-bridge stored; ``found`` names its format, ``where`` the file or folder."""

    def __init__(self, found: str, *, where: str = "the state") -> None:
        self.found = found
        super().__init__(
            f"was stored by another version of dh-bridge ({found}; this version reads format {VERSION})",
            where=where,
            now="start a new checkpoint and send the events again",
        )


_slots_decoder = Decoder(SlotsDocument, ext_hook=from_ext)
_run_decoder = Decoder(RunDocument, ext_hook=from_ext)
_object_decoder = Decoder(AnyObject, ext_hook=from_ext)


class _Writer:
    """Numbers what a state names; ``number``: numbers objects elsewhere, None: in the state itself."""

    def __init__(self, number: ObjectWriter | None) -> None:
        self._texts: dict[str, int] = {}
        self._events: list[Fields] = []
        self._event_numbers: dict[int, int] = {}
        self._versions: list[tuple[int, int]] = []
        self._version_numbers: dict[int, int] = {}
        self._objects: list[StoredObject] = []
        self._object_numbers: dict[int, int] = {}
        self._number = number or self._object

    def tables(self) -> Tables:
        """Return what was numbered."""
        return Tables(list(self._texts), self._events, self._versions, self._objects)

    def text(self, text: str) -> int:
        """Return the number of a text."""
        return self._texts.setdefault(text, len(self._texts))

    def version(self, stamp: Stamp) -> int:
        """Return the number of the version of a fact; the stamp lives as long as the state."""
        number = self._version_numbers.get(id(stamp))
        if number is None:
            number = self._version_numbers[id(stamp)] = len(self._versions)
            if stamp == BEFORE:
                self._versions.append((BEFORE_EVENT, 0))
            else:
                time, rank, digest, position = stamp
                self._versions.append((self._event(time, rank, digest), position))
        return number

    def _event(self, time: int, rank: int, digest: Digest) -> int:
        number = self._event_numbers.get(id(digest))
        event = None if number is None else self._events[number]
        if number is None or event is None or event[0] != time or event[1] != rank:
            number = self._event_numbers[id(digest)] = len(self._events)
            self._events.append((time, rank, digest.value))
        return number

    def _object(self, value: Any) -> int:
        number = self._object_numbers.get(id(value))
        if number is None:
            number = self._object_numbers[id(value)] = len(self._objects)
            self._objects.append(OBJECT_TYPES[type(value)](object_fields(value)))
        return number

    def job(self, job: Job) -> int:
        """Return the number of a job."""
        return self._number(job)

    def slots(self, slots: Slots) -> list[Stored]:
        """Return the stored form of what is known of one entity."""
        texts, versions, number_object, writing = self._texts, self._version_numbers, self._number, WRITING
        found = []
        for slot, elements in slots.items():
            stored, text_key, write = writing[slot]
            rows: dict[Any, tuple[int, Any]] = {}
            for key, (stamp, value) in elements.items():
                number = versions.get(id(stamp))
                if number is None:
                    number = self.version(stamp)
                if write is not None:
                    value = write(value, number_object)  # noqa: PLW2901 - its stored form
                if text_key:
                    rows[texts.setdefault(key, len(texts))] = (number, value)
                else:
                    rows[key] = (number, value)
            found.append(stored(rows))
        return found

    def cells(self, cells: Cells) -> dict[int, list[Stored]]:
        """Return the stored form of what is known of several entities."""
        texts = self._texts
        return {texts.setdefault(urn, len(texts)): self.slots(slots) for urn, slots in cells.items()}

    def contribution(self, cells: Cells, own: Cells) -> dict[int, list[int | Stored]]:
        """Return the stored form of a contribution: most of it is what the run states itself, ``own``, and is stored once."""
        texts = self._texts
        found: dict[int, list[int | Stored]] = {}
        for urn, slots in cells.items():
            rows: list[int | Stored] = []
            held = own.get(urn, _NOTHING)
            for slot, elements in slots.items():
                same = held.get(slot)
                if same is not None and same == elements:
                    rows.append(TAGS[slot])
                else:
                    rows += self.slots({slot: elements})
            found[texts.setdefault(urn, len(texts))] = rows
        return found


class _Reader:
    """Finds what a state names by numbers; ``find``: finds objects elsewhere, None: in the state itself."""

    def __init__(self, tables: Tables, find: ObjectReader | None) -> None:
        self.texts = tables.texts
        events = [(time, rank, restored(digest)) for time, rank, digest in tables.events]
        self.versions: list[Stamp] = [
            (*events[event], position) if event != BEFORE_EVENT else BEFORE for event, position in tables.versions
        ]
        if find is None:
            objects = [object_of(OBJECT_CLASSES[type(row)], row.fields) for row in tables.objects]
            self.find: ObjectReader = objects.__getitem__
        else:
            self.find = find

    def slots(self, rows: list[Stored]) -> Slots:
        """Return what is known of one entity."""
        texts, versions, find = self.texts, self.versions, self.find
        found: Slots = {}
        for row in rows:
            slot, text_key, read, read_key = READING[type(row)]
            elements: dict[Any, Any] = {}
            for key, (number, value) in row.elements.items():
                if read is not None:
                    value = read(value, find)  # noqa: PLW2901 - its form in memory
                if text_key:
                    elements[texts[key]] = (versions[number], value)
                else:
                    elements[key if read_key is None else read_key(key)] = (versions[number], value)
            found[slot] = elements
        return found

    def cells(self, cells: dict[int, list[Stored]]) -> Cells:
        """Return what is known of several entities."""
        return {self.texts[urn]: self.slots(rows) for urn, rows in cells.items()}

    def contribution(self, cells: dict[int, list[int | Stored]], own: Cells) -> Cells:
        """Return what a run contributes, of which ``own`` holds what the run states itself."""
        found: Cells = {}
        for number, rows in cells.items():
            urn = self.texts[number]
            slots = found[urn] = {}
            for row in rows:
                if type(row) is int:
                    slots[SLOTS[row]] = own[urn][SLOTS[row]].copy()
                else:
                    slots.update(self.slots([row]))  # type: ignore[list-item]
        return found

    def stamped(self, value: tuple[int, str] | None) -> tuple[Stamp, str] | None:
        """Return a text with its version."""
        return None if value is None else (self.versions[value[0]], value[1])


# -- what others call ---------------------------------------------------------------------------------------------------
_HEAD = bytes([VERSION])


def encode_slots(slots: Slots) -> bytes:
    """Return the bytes of what is known of one entity."""
    writer = _Writer(None)
    rows = writer.slots(slots)
    return _HEAD + encode(SlotsDocument(writer.tables(), rows))


def decode_slots(data: bytes) -> Slots:
    """Return what :func:`encode_slots` was given.

    Raises:
        StateVersionError: Another version of dh-bridge stored the bytes.
        BridgeError: The bytes are damaged, or no state.
    """
    try:
        document = _slots_decoder.decode(_body(data))
        return _Reader(document.tables, None).slots(document.slots)
    except _DAMAGE as error:
        raise _unreadable(error) from error


def encode_run(state: RunState, contribution: Cells | None = None, *, number: ObjectWriter | None = None) -> bytes:
    """Return the bytes of a run.

    Args:
        state: The run.
        contribution: What the run contributes to what runs share.
        number: Stores a job, a name or a schema elsewhere, and returns its number there. Default: they are stored within.
    """
    writer = _Writer(number)
    text, version = writer.text, writer.version
    document = RunDocument(
        _NO_TABLES, state.urn, state.run_id, state.kind, state.key,
        writer.cells(state.cells),
        [(version(stamp), word) for stamp, word in state.events],
        [(text(urn), writer.job(job), terminal, version(stamp)) for urn, (job, (terminal, stamp)) in state.jobs.items()],
        state.failed, state.single, state.whole,
        None if state.producer is None else (version(state.producer[0]), state.producer[1]),
        None if state.schema_url is None else (version(state.schema_url[0]), state.schema_url[1]),
        list(map(text, state.listed)), list(map(text, state.through)), list(map(text, state.unlinked)),
        dict(state.queries), writer.contribution(contribution or {}, state.cells),
    )  # fmt: skip
    document.tables = writer.tables()
    return _HEAD + encode(document)


def decode_run(data: bytes, *, find: ObjectReader | None = None) -> tuple[RunState, Cells]:
    """Return the run and the contribution that :func:`encode_run` was given; ``find`` finds what ``number`` stored.

    Raises:
        StateVersionError: Another version of dh-bridge stored the bytes.
        BridgeError: The bytes are damaged, or no state.
    """
    try:
        document = _run_decoder.decode(_body(data))
        reader = _Reader(document.tables, find)
        texts, versions = reader.texts, reader.versions
        state = RunState(document.urn, document.run_id, document.kind, document.key)
        state.cells = reader.cells(document.cells)
        state.events = [(versions[number], word) for number, word in document.events]
        state.jobs = {
            texts[urn]: (reader.find(job), (terminal, versions[number])) for urn, job, terminal, number in document.jobs
        }
        state.failed, state.single, state.whole = document.failed, document.single, document.whole
        state.producer, state.schema_url = reader.stamped(document.producer), reader.stamped(document.schema_url)
        for name in ("listed", "through", "unlinked"):
            if numbers := getattr(document, name):
                setattr(state, name, frozenset([texts[number] for number in numbers]))
        if document.queries:
            state.queries = document.queries
        return state, reader.contribution(document.contribution, state.cells)
    except _DAMAGE as error:
        raise _unreadable(error) from error


def encode_object(value: Any) -> bytes:
    """Return the bytes of a job, a name or a schema; the same bytes for equal objects, in every process."""
    return _HEAD + encode(OBJECT_TYPES[type(value)](object_fields(value)))


def decode_object(data: bytes) -> Any:
    """Return what :func:`encode_object` was given; it raises what :func:`decode_slots` raises."""
    try:
        row = _object_decoder.decode(_body(data))
        return object_of(OBJECT_CLASSES[type(row)], row.fields)
    except _DAMAGE as error:
        raise _unreadable(error) from error


_NOTHING: Slots = {}
_NO_TABLES = Tables([], [], [], [])
_DAMAGE = (msgspec.DecodeError, ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def _body(data: bytes) -> memoryview:
    if not data:
        raise ValueError("there are no bytes")
    if data[0] != VERSION:
        raise StateVersionError("a pickle" if data[0] == _PICKLE else f"format {data[0]}")
    return memoryview(data)[1:]


def _unreadable(error: Exception) -> BridgeError:
    return BridgeError(
        f"cannot be read: {error}", where="the state", now="start a new checkpoint and send the events again"
    )
