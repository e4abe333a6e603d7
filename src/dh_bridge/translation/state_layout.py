"""The form in which states are stored: a document for each, whose parts are known by their positions and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import msgspec

from dh_bridge.translation.state_kinds import KINDS, OBJECT_FIELDS, OBJECT_TAGS, Kind

if TYPE_CHECKING:
    from dh_bridge.translation.facts import Slot

BEFORE_EVENT = -1
"""Number of the event of ``BEFORE``, which no event has."""


class Stored(msgspec.Struct, array_like=True, gc=False):
    """The elements of one kind of fact: key -> (number of the version, value)."""

    elements: dict[Any, tuple[int, Any]]


def _stored(kind: Kind) -> type[Stored]:
    key: Any = int if kind.text_key else Any
    value: Any = kind.value
    elements: Any = dict[key, tuple[int, value]]
    found: Any = msgspec.defstruct(
        f"Stored{kind.tag}", [("elements", elements)], bases=(Stored,), tag=kind.tag, array_like=True, gc=False
    )
    return found  # type: ignore[no-any-return]


class StoredObject(msgspec.Struct, array_like=True, gc=False):
    """A job, a name or a schema: its fields by their positions."""

    fields: Any


def _stored_object(kind: type) -> type[StoredObject]:
    tag = OBJECT_TAGS[kind]
    found: Any = msgspec.defstruct(
        f"Object{tag}", [("fields", OBJECT_FIELDS[kind])], bases=(StoredObject,), tag=tag, array_like=True, gc=False
    )
    return found  # type: ignore[no-any-return]


_TYPES = [_stored(kind) for kind in KINDS]
WRITING: dict[Slot, tuple[type[Stored], bool, Any]] = {
    kind.slot: (stored, kind.text_key, kind.write) for kind, stored in zip(KINDS, _TYPES, strict=True)
}
TAGS = {kind.slot: kind.tag for kind in KINDS}
SLOTS = {kind.tag: kind.slot for kind in KINDS}
READING: dict[type, tuple[Slot, bool, Any, Any]] = {
    stored: (kind.slot, kind.text_key, kind.read, kind.read_key) for kind, stored in zip(KINDS, _TYPES, strict=True)
}
OBJECT_TYPES = {kind: _stored_object(kind) for kind in OBJECT_TAGS}
OBJECT_CLASSES = {stored: kind for kind, stored in OBJECT_TYPES.items()}

if TYPE_CHECKING:
    AnyObject = StoredObject
    StoredSlots = list[Stored]
    StoredCells = dict[int, StoredSlots]
    StoredContribution = dict[int, list[int | Stored]]
else:
    AnyObject = Union[tuple(OBJECT_TYPES.values())]  # noqa: UP007 - of a list
    _AnyStored = Union[tuple(_TYPES)]  # noqa: UP007 - of a list
    StoredSlots = list[_AnyStored]
    StoredCells = dict[int, StoredSlots]
    #: a number is the tag of a kind of fact that the run states with the same elements
    StoredContribution = dict[int, list[int | _AnyStored]]


class Tables(msgspec.Struct, array_like=True, gc=False):
    """What a state names by numbers: texts, events as (time, rank, digest), versions as (event, position), objects."""

    texts: list[str]
    events: list[tuple[int, int, bytes]]
    versions: list[tuple[int, int]]
    objects: list[AnyObject]


class SlotsDocument(msgspec.Struct, array_like=True, tag="s", gc=False):
    """What is known of one entity."""

    tables: Tables
    slots: StoredSlots


class RunDocument(msgspec.Struct, array_like=True, tag="r", gc=False):
    """A run, and what it contributes to what runs share; the fields are those of `RunState`."""

    tables: Tables
    urn: str
    run_id: str
    kind: str
    key: str
    cells: StoredCells
    events: list[tuple[int, str | None]]
    jobs: list[tuple[int, int, bool, int]]
    failed: bool
    single: bool
    whole: bool | None
    producer: tuple[int, str] | None
    schema_url: tuple[int, str] | None
    listed: list[int]
    through: list[int]
    unlinked: list[int]
    queries: dict[str, str]
    contribution: StoredContribution
