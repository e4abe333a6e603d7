"""States as bytes: how runs, and shared facts, are stored in a ledger or a stream's folder and sent between workers.

The bytes are the codec's version, then MessagePack. Kinds of facts are numbers (``kinds.py``), objects are lists of
their fields: no name of a module, class or function is stored, so code can be renamed. Reading never runs code
that the bytes name. Texts, versions of facts, jobs, names and schemas are stored once for each state and numbered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.msgpack import Decoder

from dh_bridge.errors import BridgeError
from dh_bridge.model.merge import MIN_VERSION, Digest, Version, restore_digest
from dh_bridge.model.run_state import RunState
from dh_bridge.state_codec.kinds import FieldValues, ObjectReader, ObjectWriter, object_fields, restore_object
from dh_bridge.state_codec.layout import (
    KINDS_BY_TAG,
    MIN_VERSION_EVENT,
    OBJECT_CLASSES,
    OBJECT_TYPES,
    READERS_BY_TYPE,
    TAGS_BY_KIND,
    WRITERS_BY_KIND,
    AnyObject,
    ReferenceTables,
    RegistersDocument,
    RunDocument,
    StoredElements,
    StoredObject,
)
from dh_bridge.state_codec.values import encode, from_ext

if TYPE_CHECKING:
    from dh_bridge.identity import Job
    from dh_bridge.model.fold import FactsByEntity, Registers

VERSION = 1
"""Version of the codec: the first byte. Raise it, and ``catalog.schema.VERSION``, when stored bytes change their form."""
_PICKLE_BYTE = 0x80
"""First byte of a pickle: what earlier versions of dh-bridge stored."""


class StateVersionError(BridgeError):
    """A state that another version of dh-bridge stored; ``format_name`` names its format, ``location`` the file or folder."""

    def __init__(self, format_name: str, *, location: str = "the state") -> None:
        self.format_name = format_name
        super().__init__(
            f"written by another version of dh-bridge ({format_name}; this version reads format {VERSION})",
            location=location,
            remedy="start a new checkpoint and send the events again",
        )


_registers_decoder = Decoder(RegistersDocument, ext_hook=from_ext)
_run_decoder = Decoder(RunDocument, ext_hook=from_ext)
_object_decoder = Decoder(AnyObject, ext_hook=from_ext)


class _StateWriter:
    """Numbers the texts, versions and objects of a state; ``store_object`` numbers objects elsewhere, None: in the state itself."""

    def __init__(self, store_object: ObjectWriter | None) -> None:
        self._texts: dict[str, int] = {}
        self._events: list[FieldValues] = []
        self._event_numbers: dict[int, int] = {}
        self._versions: list[tuple[int, int]] = []
        self._version_numbers: dict[int, int] = {}
        self._objects: list[StoredObject] = []
        self._object_numbers: dict[int, int] = {}
        self._store_object = store_object or self._object_number

    def tables(self) -> ReferenceTables:
        """Return the numbered values."""
        return ReferenceTables(list(self._texts), self._events, self._versions, self._objects)

    def text_number(self, text: str) -> int:
        """Return the number of a text."""
        return self._texts.setdefault(text, len(self._texts))

    def version_number(self, version: Version) -> int:
        """Return the number of the version of a fact; the version lives as long as the state."""
        number = self._version_numbers.get(id(version))
        if number is None:
            number = self._version_numbers[id(version)] = len(self._versions)
            if version == MIN_VERSION:
                self._versions.append((MIN_VERSION_EVENT, 0))
            else:
                time, rank, digest, position = version
                self._versions.append((self._event_number(time, rank, digest), position))
        return number

    def _event_number(self, time: int, rank: int, digest: Digest) -> int:
        number = self._event_numbers.get(id(digest))
        event = None if number is None else self._events[number]
        if number is None or event is None or event[0] != time or event[1] != rank:
            number = self._event_numbers[id(digest)] = len(self._events)
            self._events.append((time, rank, digest.value))
        return number

    def _object_number(self, value: Any) -> int:
        number = self._object_numbers.get(id(value))
        if number is None:
            number = self._object_numbers[id(value)] = len(self._objects)
            self._objects.append(OBJECT_TYPES[type(value)](object_fields(value)))
        return number

    def job_number(self, job: Job) -> int:
        """Return the number of a job."""
        return self._store_object(job)

    def encode_registers(self, registers: Registers) -> list[StoredElements]:
        """Return the stored form of the facts of one entity."""
        texts, versions, number_object, writing = (
            self._texts,
            self._version_numbers,
            self._store_object,
            WRITERS_BY_KIND,
        )
        stored_registers = []
        for fact_kind, elements in registers.items():
            stored, text_key, write = writing[fact_kind]
            rows: dict[Any, tuple[int, Any]] = {}
            for key, (version, value) in elements.items():
                number = versions.get(id(version))
                if number is None:
                    number = self.version_number(version)
                if write is not None:
                    value = write(value, number_object)  # noqa: PLW2901 - its stored form
                if text_key:
                    rows[texts.setdefault(key, len(texts))] = (number, value)
                else:
                    rows[key] = (number, value)
            stored_registers.append(stored(rows))
        return stored_registers

    def encode_facts(self, facts: FactsByEntity) -> dict[int, list[StoredElements]]:
        """Return the stored form of the facts of several entities."""
        texts = self._texts
        return {texts.setdefault(urn, len(texts)): self.encode_registers(registers) for urn, registers in facts.items()}

    def encode_contribution(
        self, facts: FactsByEntity, own_facts: FactsByEntity
    ) -> dict[int, list[int | StoredElements]]:
        """Return the stored form of a contribution: most of it are the run's ``own_facts``, which are stored once."""
        texts = self._texts
        rows_by_urn: dict[int, list[int | StoredElements]] = {}
        for urn, registers in facts.items():
            rows: list[int | StoredElements] = []
            own_registers = own_facts.get(urn, _NO_REGISTERS)
            for fact_kind, elements in registers.items():
                own_elements = own_registers.get(fact_kind)
                if own_elements is not None and own_elements == elements:
                    rows.append(TAGS_BY_KIND[fact_kind])
                else:
                    rows += self.encode_registers({fact_kind: elements})
            rows_by_urn[texts.setdefault(urn, len(texts))] = rows
        return rows_by_urn


class _StateReader:
    """Finds numbered values of a state; ``find_object`` finds objects elsewhere, None: in the state itself."""

    def __init__(self, tables: ReferenceTables, find_object: ObjectReader | None) -> None:
        self.texts = tables.texts
        events = [(time, rank, restore_digest(digest)) for time, rank, digest in tables.events]
        self.versions: list[Version] = [
            (*events[event], position) if event != MIN_VERSION_EVENT else MIN_VERSION
            for event, position in tables.versions
        ]
        if find_object is None:
            objects = [restore_object(OBJECT_CLASSES[type(row)], row.fields) for row in tables.objects]
            self.find_object: ObjectReader = objects.__getitem__
        else:
            self.find_object = find_object

    def decode_registers(self, rows: list[StoredElements]) -> Registers:
        """Return the facts of one entity."""
        texts, versions, find = self.texts, self.versions, self.find_object
        registers: Registers = {}
        for row in rows:
            fact_kind, text_key, read, read_key = READERS_BY_TYPE[type(row)]
            elements: dict[Any, Any] = {}
            for key, (number, value) in row.elements.items():
                if read is not None:
                    value = read(value, find)  # noqa: PLW2901 - its form in memory
                if text_key:
                    elements[texts[key]] = (versions[number], value)
                else:
                    elements[key if read_key is None else read_key(key)] = (versions[number], value)
            registers[fact_kind] = elements
        return registers

    def decode_facts(self, stored_facts: dict[int, list[StoredElements]]) -> FactsByEntity:
        """Return the facts of several entities."""
        return {self.texts[urn]: self.decode_registers(rows) for urn, rows in stored_facts.items()}

    def decode_contribution(
        self, stored_facts: dict[int, list[int | StoredElements]], own_facts: FactsByEntity
    ) -> FactsByEntity:
        """Return the contribution of a run, which refers to the run's ``own_facts``."""
        facts: FactsByEntity = {}
        for number, rows in stored_facts.items():
            urn = self.texts[number]
            registers = facts[urn] = {}
            for row in rows:
                if type(row) is int:
                    registers[KINDS_BY_TAG[row]] = own_facts[urn][KINDS_BY_TAG[row]].copy()
                else:
                    registers.update(self.decode_registers([row]))  # type: ignore[list-item]
        return facts

    def decode_versioned_text(self, value: tuple[int, str] | None) -> tuple[Version, str] | None:
        """Return a text with its version."""
        return None if value is None else (self.versions[value[0]], value[1])


# -- what others call ---------------------------------------------------------------------------------------------------
_VERSION_BYTE = bytes([VERSION])


def encode_registers(registers: Registers) -> bytes:
    """Return the bytes of the facts of one entity."""
    writer = _StateWriter(None)
    rows = writer.encode_registers(registers)
    return _VERSION_BYTE + encode(RegistersDocument(writer.tables(), rows))


def decode_registers(data: bytes) -> Registers:
    """Return what :func:`encode_registers` was given.

    Raises:
        StateVersionError: Another version of dh-bridge stored the bytes.
        BridgeError: The bytes are damaged, or no state.
    """
    try:
        document = _registers_decoder.decode(_content(data))
        return _StateReader(document.tables, None).decode_registers(document.registers)
    except _DECODING_ERRORS as error:
        raise _unreadable_error(error) from error


def encode_run(
    state: RunState, contribution: FactsByEntity | None = None, *, store_object: ObjectWriter | None = None
) -> bytes:
    """Return the bytes of a run.

    Args:
        state: The run.
        contribution: The run's contribution to shared entities.
        store_object: Stores a job, a name or a schema elsewhere, and returns its number there. Default: they are stored within.
    """
    writer = _StateWriter(store_object)
    text_number, version_number = writer.text_number, writer.version_number
    document = RunDocument(
        _NO_TABLES, state.urn, state.run_id, state.kind, state.key,
        writer.encode_facts(state.facts),
        [(version_number(fact_version), event_type) for fact_version, event_type in state.events],
        [(text_number(urn), writer.job_number(job), is_terminal, version_number(fact_version)) for urn, (job, (is_terminal, fact_version)) in state.jobs.items()],
        state.has_failed_operation, state.is_single_event, state.is_complete,
        None if state.producer is None else (version_number(state.producer[0]), state.producer[1]),
        None if state.schema_url is None else (version_number(state.schema_url[0]), state.schema_url[1]),
        list(map(text_number, state.snapshot_outputs)), list(map(text_number, state.collapsed_urns)), list(map(text_number, state.unlinked_urns)),
        dict(state.queries), writer.encode_contribution(contribution or {}, state.facts),
    )  # fmt: skip
    document.tables = writer.tables()
    return _VERSION_BYTE + encode(document)


def decode_run(data: bytes, *, find_object: ObjectReader | None = None) -> tuple[RunState, FactsByEntity]:
    """Return the run and the contribution that :func:`encode_run` was given; ``find_object`` finds what ``number`` stored.

    Raises:
        StateVersionError: Another version of dh-bridge stored the bytes.
        BridgeError: The bytes are damaged, or no state.
    """
    try:
        document = _run_decoder.decode(_content(data))
        reader = _StateReader(document.tables, find_object)
        texts, versions = reader.texts, reader.versions
        state = RunState(document.urn, document.run_id, document.kind, document.key)
        state.facts = reader.decode_facts(document.facts)
        state.events = [(versions[number], event_type) for number, event_type in document.events]
        state.jobs = {
            texts[urn]: (reader.find_object(job), (is_terminal, versions[number]))
            for urn, job, is_terminal, number in document.jobs
        }
        state.has_failed_operation, state.is_single_event, state.is_complete = (
            document.has_failed_operation,
            document.is_single_event,
            document.is_complete,
        )
        state.producer, state.schema_url = (
            reader.decode_versioned_text(document.producer),
            reader.decode_versioned_text(document.schema_url),
        )
        for name in ("snapshot_outputs", "collapsed_urns", "unlinked_urns"):
            if numbers := getattr(document, name):
                setattr(state, name, frozenset([texts[number] for number in numbers]))
        if document.queries:
            state.queries = document.queries
        return state, reader.decode_contribution(document.contribution, state.facts)
    except _DECODING_ERRORS as error:
        raise _unreadable_error(error) from error


def encode_object(value: Any) -> bytes:
    """Return the bytes of a job, a name or a schema; the same bytes for equal objects, in every process."""
    return _VERSION_BYTE + encode(OBJECT_TYPES[type(value)](object_fields(value)))


def decode_object(data: bytes) -> Any:
    """Return what :func:`encode_object` was given; it raises what :func:`decode_registers` raises."""
    try:
        row = _object_decoder.decode(_content(data))
        return restore_object(OBJECT_CLASSES[type(row)], row.fields)
    except _DECODING_ERRORS as error:
        raise _unreadable_error(error) from error


_NO_REGISTERS: Registers = {}
_NO_TABLES = ReferenceTables([], [], [], [])
_DECODING_ERRORS = (
    msgspec.DecodeError,
    ArithmeticError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


def _content(data: bytes) -> memoryview:
    if not data:
        raise ValueError("it is empty")
    if data[0] != VERSION:
        raise StateVersionError("a pickle" if data[0] == _PICKLE_BYTE else f"format {data[0]}")
    return memoryview(data)[1:]


def _unreadable_error(error: Exception) -> BridgeError:
    return BridgeError(
        f"cannot be read: {error}", location="the state", remedy="start a new checkpoint and send the events again"
    )
