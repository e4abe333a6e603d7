"""The table of stored facts: for each kind of fact its tag in stored bytes, and how its keys and values are encoded.

Stored bytes name a kind of fact by its tag alone, so modules, classes and constants can be renamed. Rules for this table:

- A tag is never changed and never used again. A new kind of fact takes the next free number.
- If a key, a value or a member of an object changes its form, raise ``state_codec.VERSION`` and ``catalog.schema.VERSION``.

``tests/translation/test_state_codec.py`` compares what is stored with ``state_codec.golden.json``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from dh_bridge.translation import facts
from dh_bridge.translation.assertions.check import Check
from dh_bridge.translation.columns import SchemaFields
from dh_bridge.translation.context import Part
from dh_bridge.translation.facts import Slot  # noqa: TC001 - a NamedTuple's
from dh_bridge.translation.identity import Job
from dh_bridge.translation.naming import Name
from dh_bridge.translation.naming.normalize import NeedsQuotes
from dh_bridge.translation.reading.checks import Stated
from dh_bridge.translation.reading.hierarchies import Container

Fields = tuple[Any, ...]

#: Objects that many facts refer to, and the tags of their kinds.
OBJECT_TAGS: dict[type, int] = {Job: 1, Name: 2, SchemaFields: 3}


ObjectWriter = Callable[[Any], int]
"""Returns the number of a job, a name or a schema; one number for one object."""
ObjectReader = Callable[[int], Any]
"""Returns the object of a number."""
ValueWriter = Callable[[Any, ObjectWriter], Any]
ValueReader = Callable[[Any, ObjectReader], Any]
KeyReader = Callable[[Any], Any]


class Kind(NamedTuple):
    """How the facts of one kind are stored.

    ``text_key``: keys are texts; they are numbered, as most of them are URNs that a state names several times. Other keys
    are stored as they are. ``value``: the type that msgspec reads a value as.
    """

    tag: int
    slot: Slot
    text_key: bool
    value: Any
    write: ValueWriter | None = None
    read: ValueReader | None = None
    read_key: KeyReader | None = None


def _struct_fields(kind: type[msgspec.Struct]) -> Any:
    """Return the type of the fields of a Struct, by their positions."""
    return tuple[tuple(field.type for field in msgspec.structs.fields(kind))]  # type: ignore[misc]


def _write_reference(value: Any, number: ObjectWriter) -> int:
    return number(value)


def _read_reference(value: int, find: ObjectReader) -> Any:
    return find(value)


def _write_first(value: Fields, number: ObjectWriter) -> Fields:
    return (number(value[0]), *value[1:])


def _read_first(value: Fields, find: ObjectReader) -> Fields:
    return (find(value[0]), *value[1:])


def _write_struct(value: Any, _: ObjectWriter) -> Fields:
    return msgspec.structs.astuple(value)


def _write_stated(value: Stated, number: ObjectWriter) -> Fields:
    name = None if value.name is None else number(value.name)
    return msgspec.structs.astuple(value.check), value.dataset, value.platform, value.label, name


def _read_stated(value: Fields, find: ObjectReader) -> Stated:
    check, dataset, platform, label, name = value
    return Stated(Check(*check), dataset, platform, label, None if name is None else find(name))


def _read_fields_key(key: Fields) -> Fields:
    facet, pairs, *query = key
    return facet, frozenset(pairs), *query


_STATED: Any = tuple[_struct_fields(Check), str, str, str, int | None]  # type: ignore[misc]
_TEXTS = tuple[str, ...]
_EDGE = tuple[tuple[int, str], tuple[int, str], dict[str, str]]
_QUERY = tuple[tuple[int, str], tuple[int, str], tuple[str, str | None]]
_SQL = tuple[tuple[Fields, str], ...]
_PAIRS = frozenset[tuple[str | None, str, str]]


def _plain(tag: int, slot: Slot, value: Any = Any) -> Kind:
    return Kind(tag, slot, text_key=True, value=value)


def _keyed(tag: int, slot: Slot, value: Any = Any) -> Kind:
    return Kind(tag, slot, text_key=False, value=value)


def _referring(tag: int, slot: Slot) -> Kind:
    return Kind(tag, slot, text_key=True, value=int, write=_write_reference, read=_read_reference)


def _checked(tag: int, slot: Slot) -> Kind:
    return Kind(tag, slot, text_key=True, value=_STATED, write=_write_stated, read=_read_stated)


def _holding(tag: int, slot: Slot, kind: type[msgspec.Struct], *, text_key: bool) -> Kind:
    return Kind(tag, slot, text_key, _struct_fields(kind), _write_struct, lambda value, _: kind(*value))


KINDS: tuple[Kind, ...] = (
    # of one run
    _plain(1, facts.RUN_PROPERTIES),
    _plain(2, facts.RUN_COUNT),
    _keyed(3, facts.RUN_BY_DATASET),
    _keyed(4, facts.RUN_NAME),
    _plain(5, facts.RUN_TYPE),
    _keyed(6, facts.RUN_URL),
    _keyed(7, facts.RUN_USER),
    _plain(8, facts.PARENT, _TEXTS),
    _plain(9, facts.JOINED_CHECK),
    _plain(10, facts.FOLDED),
    _plain(11, facts.RUN_ALIAS),
    _plain(12, facts.UPSTREAM_RUN),
    _keyed(13, facts.ATTEMPT),
    _plain(14, facts.DURATION),
    _plain(15, facts.BATCH),
    _plain(16, facts.QUIET_TASK),
    Kind(17, facts.TASK_STATE, text_key=False, value=tuple[int, str, bool], write=_write_first, read=_read_first),
    _plain(18, facts.OUTCOME),
    _plain(19, facts.TRIES_LEFT),
    _plain(20, facts.CONTENT_MODE),
    # of a job within a run
    _plain(21, facts.INPUT),
    _plain(22, facts.OUTPUT),
    _keyed(23, facts.STATISTIC),
    _keyed(24, facts.EDGE_PROPERTIES),
    _plain(25, facts.NAMED_INPUT),
    _plain(26, facts.SQL, _SQL),
    # of a dataset within a run
    _plain(27, facts.TEMPORARY),
    _plain(28, facts.EXPLICIT),
    _keyed(29, facts.OPERATION),
    _plain(30, facts.OPERATION_PROPERTIES),
    _plain(31, facts.AFFECTED_ROWS),
    _keyed(32, facts.METRIC),
    _checked(33, facts.CHECKS),
    _holding(34, facts.RESULTS, Check, text_key=False),
    _holding(35, facts.PARTITION, Part, text_key=False),
    # of jobs and flows
    _referring(36, facts.JOB),
    _referring(37, facts.OWN_JOB),
    _plain(38, facts.JOB_PROPERTIES),
    _keyed(39, facts.JOB_FIELD),
    _plain(40, facts.JOB_EDGE),
    _plain(41, facts.LINEAGE_JOB),
    _plain(42, facts.INPUT_FIELD),
    _keyed(43, facts.FINE_LINEAGE, _PAIRS),
    _plain(44, facts.SUBTYPES, str | _TEXTS),
    _plain(45, facts.LIFECYCLE),
    _plain(46, facts.STATUS),
    # of assertions
    _checked(47, facts.ASSERTION),
    _plain(48, facts.ASSERTION_URL),
    _plain(49, facts.ASSERTION_PROPERTIES),
    # of runs that only other runs name
    _keyed(50, facts.STUB_RUN),
    _referring(51, facts.STUB_JOB),
    Kind(52, facts.SILENT_RUN, text_key=False, value=tuple[int, str, str, str], write=_write_first, read=_read_first),
    # of anything that can be owned and tagged
    _plain(53, facts.TAG),
    _keyed(54, facts.OWNER),
    # of datasets
    _plain(55, facts.WRITTEN),
    _referring(56, facts.DATASET),
    _plain(57, facts.DATASET_PROPERTIES),
    _keyed(58, facts.DATASET_FIELD),
    _holding(59, facts.CONTAINER, Container, text_key=True),
    _plain(60, facts.INSIDE, _TEXTS),
    _plain(61, facts.SIBLING),
    _plain(62, facts.LAST_MODIFIED),
    _referring(63, facts.SCHEMA),
    _plain(64, facts.PARTITIONED_BY, _TEXTS),
    _keyed(65, facts.COLUMN_TAG),
    # of queries and lineage
    _plain(66, facts.SQL_TEXT),
    _plain(67, facts.QUERY, _QUERY),
    _plain(68, facts.QUERY_SUBJECT),
    _plain(69, facts.INPUT_EDGE, _EDGE),
    _plain(70, facts.OUTPUT_EDGE, _EDGE),
    _keyed(71, facts.SEEN),
    _plain(72, facts.CHECK),
    _plain(73, facts.CHECKED),
    _plain(74, facts.CHECKED_BY),
    _plain(75, facts.REPLACES),
    _plain(76, facts.ENDED, tuple[tuple[Any, Any], ...]),
    _plain(77, facts.NEWEST),
    _keyed(78, facts.UPSTREAM),
    _keyed(79, facts.UPSTREAM_MARK),
    Kind(80, facts.UPSTREAM_FIELD, text_key=False, value=Any, read_key=_read_fields_key),
    _plain(81, facts.UPSTREAM_GONE),
)


# -- objects that many facts refer to -----------------------------------------------------------------------------------
_JOB_FIELDS, _SCHEMA_FIELDS = _struct_fields(Job), _struct_fields(SchemaFields)
_CASE = Name.__struct_fields__.index("column_case")
_NAME_TYPES = [
    tuple[str, _TEXTS] | None if field.name == "column_case" else field.type for field in msgspec.structs.fields(Name)
]
_NAME_FIELDS: Any = tuple[tuple(_NAME_TYPES)]  # type: ignore[misc]
#: class -> the type of its fields as they are stored
OBJECT_FIELDS: dict[type, Any] = {Job: _JOB_FIELDS, Name: _NAME_FIELDS, SchemaFields: _SCHEMA_FIELDS}


def object_fields(value: Any) -> Fields:
    """Return the fields of a job, a name or a schema as they are stored; equal objects have equal bytes in every process."""
    fields = msgspec.structs.astuple(value)
    if type(value) is Name and (case := value.column_case) is not None:
        return *fields[:_CASE], (case.first, tuple(sorted(case.words))), *fields[_CASE + 1 :]
    return fields


def object_of(kind: type, fields: Fields) -> Any:
    """Return the job, name or schema of stored fields."""
    if kind is Name and fields[_CASE] is not None:
        fields = (*fields[:_CASE], _needs_quotes(*fields[_CASE]), *fields[_CASE + 1 :])
    return kind(*fields)


@lru_cache(maxsize=64)
def _needs_quotes(first: str, words: tuple[str, ...]) -> NeedsQuotes:
    return NeedsQuotes(first, frozenset(words))
