"""The table of stored facts: for each kind of fact its tag in stored bytes, and how its keys and values are encoded.

Stored bytes name a kind of fact by its tag alone, so modules, classes and constants can be renamed. Rules for this table:

- A tag is never changed and never used again. A new kind of fact takes the next free number.
- If a key, a value or a member of an object changes its form, raise ``state_codec.VERSION`` and ``catalog.schema.VERSION``.

``tests/state_codec/test_state_codec.py`` compares what is stored with ``state_codec.golden.json``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from dh_bridge.assertions.check import Check
from dh_bridge.columns import SchemaFields
from dh_bridge.facet_support.checks import StatedCheck
from dh_bridge.facet_support.context import PartitionSpec
from dh_bridge.facet_support.hierarchies import Container
from dh_bridge.identity import Job
from dh_bridge.model import facts
from dh_bridge.model.facts import FactKind  # noqa: TC001 - a NamedTuple's
from dh_bridge.naming import Name
from dh_bridge.naming.normalize import NeedsQuotes

FieldValues = tuple[Any, ...]

#: Objects that many facts refer to, and the tags of their kinds.
OBJECT_TAGS: dict[type, int] = {Job: 1, Name: 2, SchemaFields: 3}


ObjectWriter = Callable[[Any], int]
"""Returns the number of a job, a name or a schema; one number for one object."""
ObjectReader = Callable[[int], Any]
"""Returns the object of a number."""
ValueWriter = Callable[[Any, ObjectWriter], Any]
ValueReader = Callable[[Any, ObjectReader], Any]
KeyReader = Callable[[Any], Any]


class StoredKind(NamedTuple):
    """How the facts of one kind are stored.

    ``text_key``: keys are texts; they are numbered, as most of them are URNs that a state names several times. Other keys
    are stored as they are. ``value``: the type that msgspec reads a value as.
    """

    tag: int
    fact_kind: FactKind
    text_key: bool
    value: Any
    write: ValueWriter | None = None
    read: ValueReader | None = None
    read_key: KeyReader | None = None


def _struct_fields(struct_type: type[msgspec.Struct]) -> Any:
    """Return the type of the fields of a Struct, by their positions."""
    return tuple[tuple(field.type for field in msgspec.structs.fields(struct_type))]  # type: ignore[misc]


def _write_reference(value: Any, store_object: ObjectWriter) -> int:
    return store_object(value)


def _read_reference(value: int, find_object: ObjectReader) -> Any:
    return find_object(value)


def _write_first(value: FieldValues, store_object: ObjectWriter) -> FieldValues:
    return (store_object(value[0]), *value[1:])


def _read_first(value: FieldValues, find_object: ObjectReader) -> FieldValues:
    return (find_object(value[0]), *value[1:])


def _write_struct(value: Any, _: ObjectWriter) -> FieldValues:
    return msgspec.structs.astuple(value)


def _write_stated(value: StatedCheck, store_object: ObjectWriter) -> FieldValues:
    name = None if value.name is None else store_object(value.name)
    return msgspec.structs.astuple(value.check), value.dataset, value.platform, value.label, name


def _read_stated(value: FieldValues, find_object: ObjectReader) -> StatedCheck:
    check, dataset, platform, label, name = value
    return StatedCheck(Check(*check), dataset, platform, label, None if name is None else find_object(name))


def _read_fields_key(key: FieldValues) -> FieldValues:
    facet, pairs, *query = key
    return facet, frozenset(pairs), *query


def _read_attempt_key(key: Any) -> tuple[int, int, int]:
    """Return a key of ATTEMPT; an older version stored the precedence alone, which names no event."""
    return (key, 0, 0) if isinstance(key, int) else key


_STATED: Any = tuple[_struct_fields(Check), str, str, str, int | None]  # type: ignore[misc]
_TEXTS = tuple[str, ...]
_EDGE = tuple[tuple[int, str], tuple[int, str], dict[str, str]]
_QUERY = tuple[tuple[int, str], tuple[int, str], tuple[str, str | None]]
_SQL = tuple[tuple[FieldValues, str], ...]
_PAIRS = frozenset[tuple[str | None, str, str]]


def _text_keyed(tag: int, fact_kind: FactKind, value: Any = Any) -> StoredKind:
    return StoredKind(tag, fact_kind, text_key=True, value=value)


def _value_keyed(tag: int, fact_kind: FactKind, value: Any = Any) -> StoredKind:
    return StoredKind(tag, fact_kind, text_key=False, value=value)


def _object_valued(tag: int, fact_kind: FactKind) -> StoredKind:
    return StoredKind(tag, fact_kind, text_key=True, value=int, write=_write_reference, read=_read_reference)


def _check_valued(tag: int, fact_kind: FactKind) -> StoredKind:
    return StoredKind(tag, fact_kind, text_key=True, value=_STATED, write=_write_stated, read=_read_stated)


def _struct_valued(tag: int, fact_kind: FactKind, struct_type: type[msgspec.Struct], *, text_key: bool) -> StoredKind:
    return StoredKind(
        tag, fact_kind, text_key, _struct_fields(struct_type), _write_struct, lambda value, _: struct_type(*value)
    )


STORED_KINDS: tuple[StoredKind, ...] = (
    # of one run
    _text_keyed(1, facts.RUN_PROPERTIES),
    _text_keyed(2, facts.RUN_COUNT),
    _value_keyed(3, facts.RUN_BY_DATASET),
    _value_keyed(4, facts.RUN_NAME),
    _text_keyed(5, facts.RUN_TYPE),
    _value_keyed(6, facts.RUN_URL),
    _value_keyed(7, facts.RUN_USER),
    _text_keyed(8, facts.PARENT, _TEXTS),
    _text_keyed(9, facts.FOREIGN_CHECK),
    _text_keyed(10, facts.MERGED_OPERATION),
    _text_keyed(11, facts.RUN_ALIAS),
    _text_keyed(12, facts.UPSTREAM_RUN),
    StoredKind(13, facts.ATTEMPT, text_key=False, value=Any, read_key=_read_attempt_key),
    _text_keyed(14, facts.DURATION),
    _text_keyed(15, facts.BATCH),
    _text_keyed(16, facts.EVENTLESS_TASK),
    StoredKind(17, facts.TASK_STATE, text_key=False, value=tuple[int, str, bool], write=_write_first, read=_read_first),
    _text_keyed(18, facts.OUTCOME),
    _text_keyed(19, facts.CAN_RETRY),
    _text_keyed(20, facts.CONTENT_MODE),
    _text_keyed(82, facts.FINAL_FAILURE),
    _text_keyed(86, facts.ZONELESS_EVENT),
    _text_keyed(87, facts.EVENT_OFFSET),
    # of a job within a run
    _text_keyed(21, facts.INPUT),
    _text_keyed(22, facts.OUTPUT),
    _value_keyed(23, facts.STATISTIC),
    _value_keyed(24, facts.EDGE_PROPERTIES),
    _text_keyed(25, facts.IMPLIED_INPUT),
    _text_keyed(26, facts.SQL, _SQL),
    _text_keyed(83, facts.OPERATION_INPUT),
    _text_keyed(84, facts.OPERATION_OUTPUT),
    _value_keyed(85, facts.OPERATION_STATISTIC),
    # of a dataset within a run
    _text_keyed(27, facts.TEMPORARY),
    _text_keyed(28, facts.EXPLICIT_LINEAGE),
    _value_keyed(29, facts.OPERATION),
    _text_keyed(30, facts.OPERATION_PROPERTIES),
    _text_keyed(31, facts.AFFECTED_ROWS),
    _value_keyed(32, facts.METRIC),
    _check_valued(33, facts.CHECKS),
    _struct_valued(34, facts.RESULTS, Check, text_key=False),
    _struct_valued(35, facts.PARTITION, PartitionSpec, text_key=False),
    _text_keyed(92, facts.CAPTURE_TIME),
    # of jobs and flows
    _text_keyed(93, facts.VERSION_INFO, tuple[str, str, str | None]),
    _object_valued(36, facts.JOB),
    _object_valued(37, facts.FLOW_JOB),
    _text_keyed(38, facts.JOB_PROPERTIES),
    _value_keyed(39, facts.JOB_FIELD),
    _text_keyed(40, facts.JOB_EDGE),
    _text_keyed(41, facts.LINEAGE_JOB),
    _text_keyed(42, facts.INPUT_FIELD),
    _value_keyed(43, facts.FINE_LINEAGE, _PAIRS),
    _text_keyed(44, facts.SUBTYPES, str | _TEXTS),
    _text_keyed(45, facts.LIFECYCLE),
    _text_keyed(46, facts.STATUS),
    # of assertions
    _check_valued(47, facts.ASSERTION),
    _text_keyed(48, facts.ASSERTION_URL),
    _text_keyed(49, facts.ASSERTION_PROPERTIES),
    # of runs that only other runs name
    _value_keyed(50, facts.IMPLIED_PARENT_RUN),
    _object_valued(51, facts.IMPLIED_PARENT_JOB),
    _text_keyed(89, facts.IMPLIED_PARENT_NAME),
    _text_keyed(90, facts.PARENT_CANDIDATE),
    _text_keyed(91, facts.CANDIDATE_RUN),
    StoredKind(
        52, facts.EVENTLESS_RUN, text_key=False, value=tuple[int, str, str, str], write=_write_first, read=_read_first
    ),
    # of anything that can be owned and tagged
    _text_keyed(53, facts.TAG),
    _text_keyed(88, facts.DOMAIN),
    _value_keyed(54, facts.OWNER),
    # of datasets
    _text_keyed(55, facts.IS_WRITTEN),
    _object_valued(56, facts.DATASET),
    _text_keyed(57, facts.DATASET_PROPERTIES),
    _value_keyed(58, facts.DATASET_FIELD),
    _struct_valued(59, facts.CONTAINER, Container, text_key=True),
    _text_keyed(60, facts.CONTAINER_PATH, _TEXTS),
    _text_keyed(61, facts.SIBLING),
    _text_keyed(62, facts.LAST_MODIFIED),
    _object_valued(63, facts.SCHEMA),
    _text_keyed(64, facts.PARTITIONED_BY, _TEXTS),
    _value_keyed(65, facts.COLUMN_TAG),
    # of queries and lineage
    _text_keyed(66, facts.SQL_TEXT),
    _text_keyed(67, facts.QUERY, _QUERY),
    _text_keyed(68, facts.QUERY_SUBJECT),
    _text_keyed(69, facts.INPUT_EDGE, _EDGE),
    _text_keyed(70, facts.OUTPUT_EDGE, _EDGE),
    _value_keyed(71, facts.EDGE_LAST_USED),
    _text_keyed(72, facts.CHECK),
    _text_keyed(73, facts.JOB_CHECK),
    _text_keyed(74, facts.CHECK_JOB),
    _text_keyed(75, facts.REPLACED_CHECK),
    _text_keyed(76, facts.LAST_RUN_ENDS, tuple[tuple[Any, Any], ...]),
    _text_keyed(77, facts.LAST_COMPLETE_RUN),
    _value_keyed(78, facts.UPSTREAM),
    _value_keyed(79, facts.UPSTREAM_PROPERTY),
    StoredKind(80, facts.UPSTREAM_FIELD, text_key=False, value=Any, read_key=_read_fields_key),
    _text_keyed(81, facts.UPSTREAM_TOMBSTONE),
)


# -- objects that many facts refer to -----------------------------------------------------------------------------------
_JOB_FIELDS, _SCHEMA_FIELDS = _struct_fields(Job), _struct_fields(SchemaFields)
_COLUMN_CASE_INDEX = Name.__struct_fields__.index("column_case")
_NAME_TYPES = [
    tuple[str, _TEXTS] | None if field.name == "column_case" else field.type for field in msgspec.structs.fields(Name)
]
_NAME_FIELDS: Any = tuple[tuple(_NAME_TYPES)]  # type: ignore[misc]
#: class -> the type of its fields as they are stored
OBJECT_FIELDS: dict[type, Any] = {Job: _JOB_FIELDS, Name: _NAME_FIELDS, SchemaFields: _SCHEMA_FIELDS}


def object_fields(value: Any) -> FieldValues:
    """Return the fields of a job, a name or a schema as they are stored; equal objects have equal bytes in every process."""
    fields = msgspec.structs.astuple(value)
    if type(value) is Name and (case := value.column_case) is not None:
        return *fields[:_COLUMN_CASE_INDEX], (case.first, tuple(sorted(case.words))), *fields[_COLUMN_CASE_INDEX + 1 :]
    return fields


def restore_object(object_type: type, fields: FieldValues) -> Any:
    """Return the job, name or schema of stored fields."""
    if object_type is Name and fields[_COLUMN_CASE_INDEX] is not None:
        fields = (
            *fields[:_COLUMN_CASE_INDEX],
            _restore_needs_quotes(*fields[_COLUMN_CASE_INDEX]),
            *fields[_COLUMN_CASE_INDEX + 1 :],
        )
    return object_type(*fields)


@lru_cache(maxsize=64)
def _restore_needs_quotes(first: str, words: tuple[str, ...]) -> NeedsQuotes:
    return NeedsQuotes(first, frozenset(words))
