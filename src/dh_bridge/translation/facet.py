"""What a facet module is made of: a Struct to read into, a function that states facts, and a row for each leaf."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from dh_bridge.cache import Memory
from dh_bridge.redaction import DEFAULT, mode
from dh_bridge.translation.context import Attach, Place
from dh_bridge.translation.facts import (
    DATASET_PROPERTIES,
    GONE,
    JOB_PROPERTIES,
    RUN_PROPERTIES,
    Part,
    Slot,
    Statement,
)
from dh_bridge.translation.properties import kept_unmasked
from dh_bridge.translation.repair import UNUSABLE, Mending, mended
from dh_bridge.translation.trace import Destination

_decode_any = msgspec.json.Decoder().decode
_POSITION = re.compile(r"\[\d+\]")

#: Parts of a facet's properties that are stated apart: the leaves that nobody knows, and a facet that says nothing here.
EXTRA, WHOLE = "+", " as a whole"
#: The kind of fact that holds the properties of an attach point.
PROPERTY_KINDS: dict[Attach, Slot] = {"run": RUN_PROPERTIES, "job": JOB_PROPERTIES, "dataset": DATASET_PROPERTIES}


class Facet(msgspec.Struct, gc=False, forbid_unknown_fields=True, kw_only=True):
    """The parts that every facet has; unknown leaves are found out and kept by the lenient reading."""

    producer_: Any = msgspec.field(default=None, name="_producer")
    schema_url_: Any = msgspec.field(default=None, name="_schemaURL")
    deleted_: bool = msgspec.field(default=False, name="_deleted")


class Open(msgspec.Struct):
    """A facet that is read as plain JSON: ``body`` without ``_producer``, ``_schemaURL`` and ``_deleted``.

    ``properties``: what all of it is as properties, once somebody has worked that out.
    """

    body: dict[str, Any]
    properties: dict[str, str] | None = None
    deleted_: bool = False


class Row(msgspec.Struct, frozen=True):
    """What becomes of the fields that match a row of a facet's table.

    ``targets`` are the kinds of facts that such a field goes into; the first that is stated and written counts. Without any it
    is a property of what the facet is attached to. ``reason`` tells why it is dropped. ``empty``: an empty text, object or
    array says something here.
    """

    targets: tuple[Destination, ...] = ()
    reason: str = ""
    empty: bool = False


def mapped(*targets: Destination, empty: bool = False) -> Row:
    """Return the row of a field that goes into facts of these kinds, the most telling first."""
    return Row(targets, empty=empty)


def kept(*targets: Destination, empty: bool = False) -> Row:
    """Return the row of a field that becomes a property: of what the facet is attached to, or by facts of these kinds."""
    return Row(targets, empty=empty)


def withheld(reason: str) -> Row:
    """Return the row of a field that is dropped, and why."""
    return Row((), reason)


State = Callable[[Any, Place], Iterator[Statement]]


class FacetSpec:
    """A facet as the registry knows it: keys, attach point, how to read it, what it states, what becomes of its leaves."""

    def __init__(  # noqa: PLR0913 - one argument for each column of the facets table
        self,
        state: State,
        *,
        keys: tuple[str, ...],
        at: Attach,
        reads: type[Facet] | None,
        leaves: Mapping[str, Row],
        retracts: State | None,
        since: str,
        producer: str,
        remember: bool,
    ) -> None:
        self.state = state
        self.keys = keys
        self.at: Attach = at
        self.reads = reads
        self.leaves = dict(leaves)
        self.retracts = retracts
        self.since = since
        self.producer = producer
        self.doc = (state.__doc__ or "").strip()
        #: whether some of it are properties, which a tombstone withdraws where state is kept
        self.keeps = at != "run" and any(_is_property(row, at) for row in leaves.values())
        self._decode: Callable[[Any], Any] = msgspec.json.Decoder(reads).decode if reads is not None else _opened
        self._remembers = remember
        if remember:
            self._decode = _Remembered(self._decode)

    def statements(self, raw: msgspec.Raw, at: Place) -> Iterator[Statement]:
        """Return what the facet in ``raw`` states; nothing when it cannot be used (noted at ``at``)."""
        text: Any = bytes(raw) if self._remembers else raw  # what is hashed once is not hashed by the module again
        try:
            facet = self._decode(text)
        except (msgspec.MsgspecError, RecursionError):
            return self._leniently(raw, at)
        if facet.deleted_:
            return self._leniently(raw, at)
        at.raw = text  # a Raw is bytes-like: modules hash or remember it
        return self.state(facet, at)

    def _leniently(self, raw: msgspec.Raw, at: Place) -> Iterator[Statement]:
        document = readable(raw, at)
        if document is None:
            return
        if document.get("_deleted") is True:
            yield from withdrawn(document, at, known=self.retracts is not None or (self.keeps and at.options.stateful))
            if self.retracts is not None:
                yield from self.retracts(document, at)
            return
        at.raw = raw
        assert self.reads is not None  # noqa: S101 - an open facet that is an object was read already
        mending = Mending(noted=at.notes is not None)
        facet = mended(document, self.reads, mending)
        for leaf in mending.malformed:
            at.withheld(leaf, "malformed")
        if facet is not UNUSABLE:
            noted = len(at.notes or ())
            yield from self.state(facet, at)
            if at.notes is not None and mending.stayed:
                start = f"{at.where}."
                at.notes[noted:] = [
                    (start + mending.before(path.removeprefix(start)) if path.startswith(start) else path, reason)
                    for path, reason in at.notes[noted:]
                ]
        yield from extra_statements(mending.extra, at)


def _opened(raw: msgspec.Raw) -> Open:
    """Return an open facet; a ValidationError when it is no object."""
    document = _decode_any(raw)
    if not isinstance(document, dict):
        raise msgspec.ValidationError("not an object")
    return Open(body_of(document), deleted_=document.get("_deleted") is True)


class _Remembered:
    """Decodes a facet; the same bytes, which tables send hour after hour, are decoded once."""

    _LONGEST = 256 * 1024
    _OBJECTS = 6  # what is decoded takes about six times its JSON

    def __init__(self, decode: Callable[[Any], Any]) -> None:
        self._decode = decode
        self._memory: Memory[Any] = Memory()

    def __call__(self, key: bytes) -> Any:
        if mode() != DEFAULT:
            return self._decode(key)  # what is remembered holds properties that are redacted by default
        found = self._memory.get(key)
        if found is None:
            found = self._decode(key)
            if len(key) <= self._LONGEST and self._memory.again(key):
                self._memory.keep(key, found, self._OBJECTS * len(key))
        return found


def readable(raw: msgspec.Raw, at: Place) -> dict[str, Any] | None:
    """Return the facet's JSON object; None, noted, when it is something else."""
    try:
        document = _decode_any(raw)
    except (msgspec.DecodeError, RecursionError):
        at.withheld("", "malformed")
        return None
    if isinstance(document, dict):
        return document
    serialized = isinstance(document, str) and document.startswith("<<non-serializable")
    reason = "no-home:null says nothing" if document is None else "non-serializable" if serialized else "malformed"
    at.withheld("", reason)
    return None


def body_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return a facet's JSON without its provenance."""
    return {key: value for key, value in document.items() if key not in ("_producer", "_schemaURL", "_deleted")}


def withdrawn(document: dict[str, Any], at: Place, *, known: bool = True) -> Iterator[Statement]:
    """Yield that the properties of a facet of a job or dataset that is deleted are gone.

    ``known``: what it said before can be known; what stands beside ``_deleted`` says nothing in either case.
    """
    if not known:
        at.withheld("", "policy:state=none")
    elif at.notes is not None:
        for name in body_of(document):
            at.withheld(name, "no-home:the facet is deleted")
    if at.attach != "run":  # the specification has no tombstones of runs
        for part in ("", EXTRA, WHOLE):
            yield entity(at), PROPERTY_KINDS[at.attach], at.key + part, GONE


def _is_property(row: Row, at: Attach) -> bool:
    """Return whether a field is a property of what the facet is attached to."""
    own = PROPERTY_KINDS[at]
    kinds = [target.kind if isinstance(target, Part) else target for target in row.targets]
    return not row.reason and (not kinds or own in kinds)


def extra_statements(extra: list[tuple[str, Any]], at: Place) -> Iterator[Statement]:
    """Yield the unknown leaves of a known facet as kept properties, positions left out."""
    found: dict[str, list[Any]] = {}
    for path, value in extra:
        if value is not None and path not in ("_producer", "_schemaURL", "_deleted"):
            found.setdefault(_POSITION.sub("", path), []).append(value)
    if not found:
        return
    for path, value in extra if at.notes is not None else ():
        if value is not None:
            at.reached(path, PROPERTY_KINDS[at.attach])
    properties = {}
    for path, values in found.items():
        # masked here, too: in facets of columns the masking of events hides no value by its name, which may be a column
        written = kept_unmasked(f"{at.key}.{path}", values[0] if len(values) == 1 else values)
        if written is not None:
            properties[f"{at.key}.{path}"] = written
    yield property_statement(at, properties, part=EXTRA)


def property_statement(at: Place, properties: dict[str, str], *, part: str = "") -> Statement:
    """Return the statement that keeps ``properties`` where the facet is attached, under the facet's key."""
    return entity(at), PROPERTY_KINDS[at.attach], at.key + part, properties


def whole_statement(at: Place) -> Statement:
    """Return the statement that keeps all of the facet under its key, noted: it says nothing that could be mapped here."""
    if at.notes is not None:  # what could not be read of it is kept as it is
        at.notes[:] = [note for note in at.notes if not note[0].startswith(f"{at.where}.")]
    for leaf in ("_producer", "_schemaURL"):
        at.withheld(leaf, "envelope")
    at.reached("", PROPERTY_KINDS[at.attach][at.key])
    body = body_of(_decode_any(at.raw))
    return property_statement(at, {at.key: kept_unmasked(at.key, body) or ""}, part=WHOLE)


def entity(at: Place) -> str:
    """Return the URN of what the facet is attached to."""
    return at.run if at.attach == "run" else at.owner if at.attach == "job" else at.dataset


def facet(  # noqa: PLR0913 - one argument for each column of the facets table
    *keys: str,
    at: Attach,
    leaves: Mapping[str, Row],
    reads: type[Facet] | None = None,
    retracts: State | None = None,
    since: str = "0.15.0",
    producer: str = "",
    remember: bool = False,
) -> Callable[[State], FacetSpec]:
    """Declare a facet: its keys (the spec's first), attach point, Struct, and a row for each leaf.

    ``leaves`` maps paths (``fields[].name``, ``properties.*``, ``**`` for everything below) to what becomes of them.
    ``remember``: large, and the same for a table in every event. The decorated function yields the facet's statements.
    """

    def declared(state: State) -> FacetSpec:
        return FacetSpec(
            state, keys=keys, at=at, reads=reads, leaves=leaves, retracts=retracts, since=since, producer=producer,
            remember=remember,
        )  # fmt: skip

    return declared
