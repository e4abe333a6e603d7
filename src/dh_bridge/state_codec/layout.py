"""The form in which states are stored: a document for each, whose parts are known by their positions and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import msgspec

from dh_bridge.state_codec.kinds import OBJECT_FIELDS, OBJECT_TAGS, STORED_KINDS, StoredKind

if TYPE_CHECKING:
    from dh_bridge.model.facts import FactKind

MIN_VERSION_EVENT = -1
"""Number of the event of ``BEFORE``, which no event has."""


class StoredElements(msgspec.Struct, array_like=True, gc=False):
    """The elements of one kind of fact: key -> (number of the version, value)."""

    elements: dict[Any, tuple[int, Any]]


def _elements_type(kind: StoredKind) -> type[StoredElements]:
    key: Any = int if kind.text_key else Any
    value: Any = kind.value
    elements: Any = dict[key, tuple[int, value]]
    struct_type: Any = msgspec.defstruct(
        f"Stored{kind.tag}", [("elements", elements)], bases=(StoredElements,), tag=kind.tag, array_like=True, gc=False
    )
    return struct_type  # type: ignore[no-any-return]


class StoredObject(msgspec.Struct, array_like=True, gc=False):
    """A job, a name or a schema: its fields by their positions."""

    fields: Any


def _object_type(object_type: type) -> type[StoredObject]:
    tag = OBJECT_TAGS[object_type]
    struct_type: Any = msgspec.defstruct(
        f"Object{tag}",
        [("fields", OBJECT_FIELDS[object_type])],
        bases=(StoredObject,),
        tag=tag,
        array_like=True,
        gc=False,
    )
    return struct_type  # type: ignore[no-any-return]


_ELEMENT_TYPES = [_elements_type(kind) for kind in STORED_KINDS]
WRITERS_BY_KIND: dict[FactKind, tuple[type[StoredElements], bool, Any]] = {
    kind.fact_kind: (stored, kind.text_key, kind.write)
    for kind, stored in zip(STORED_KINDS, _ELEMENT_TYPES, strict=True)
}
TAGS_BY_KIND = {kind.fact_kind: kind.tag for kind in STORED_KINDS}
KINDS_BY_TAG = {kind.tag: kind.fact_kind for kind in STORED_KINDS}
READERS_BY_TYPE: dict[type, tuple[FactKind, bool, Any, Any]] = {
    stored: (kind.fact_kind, kind.text_key, kind.read, kind.read_key)
    for kind, stored in zip(STORED_KINDS, _ELEMENT_TYPES, strict=True)
}
OBJECT_TYPES = {kind: _object_type(kind) for kind in OBJECT_TAGS}
OBJECT_CLASSES = {stored: kind for kind, stored in OBJECT_TYPES.items()}

if TYPE_CHECKING:
    AnyObject = StoredObject
    StoredRegisters = list[StoredElements]
    StoredFacts = dict[int, StoredRegisters]
    StoredContribution = dict[int, list[int | StoredElements]]
else:
    AnyObject = Union[tuple(OBJECT_TYPES.values())]  # noqa: UP007 - of a list
    _AnyStored = Union[tuple(_ELEMENT_TYPES)]  # noqa: UP007 - of a list
    StoredRegisters = list[_AnyStored]
    StoredFacts = dict[int, StoredRegisters]
    #: a number is the tag of a kind of fact that the run states with the same elements
    StoredContribution = dict[int, list[int | _AnyStored]]


class ReferenceTables(msgspec.Struct, array_like=True, gc=False):
    """The numbered values of a state: texts, events as (time, rank, digest), versions as (event, position), objects."""

    texts: list[str]
    events: list[tuple[int, int, bytes]]
    versions: list[tuple[int, int]]
    objects: list[AnyObject]


class RegistersDocument(msgspec.Struct, array_like=True, tag="s", gc=False):
    """The facts of one entity."""

    tables: ReferenceTables
    registers: StoredRegisters


class RunDocument(msgspec.Struct, array_like=True, tag="r", gc=False):
    """A run, and its contribution to shared entities; the fields are those of `RunState`."""

    tables: ReferenceTables
    urn: str
    run_id: str
    kind: str
    key: str
    facts: StoredFacts
    events: list[tuple[int, str | None]]
    jobs: list[tuple[int, int, bool, int]]
    has_failed_operation: bool
    is_single_event: bool
    is_complete: bool | None
    producer: tuple[int, str] | None
    schema_url: tuple[int, str] | None
    snapshot_outputs: list[int]
    collapsed_urns: list[int]
    unlinked_urns: list[int]
    queries: dict[str, str]
    contribution: StoredContribution
