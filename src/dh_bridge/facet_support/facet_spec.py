"""The parts of a facet module: a Struct to read into, a function that states facts, and a row for each field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from dh_bridge.cache import GenerationalCache
from dh_bridge.facet_support.context import AttachPoint, FacetContext
from dh_bridge.facet_support.repair import UNUSABLE, Repairs, repair
from dh_bridge.model.facts import (
    ATTEMPT,
    DATASET_PROPERTIES,
    JOB_PROPERTIES,
    RUN_PROPERTIES,
    TOMBSTONE,
    Fact,
    FactKind,
    FactPart,
)
from dh_bridge.model.properties import masked_property_text
from dh_bridge.model.trace import FieldTarget
from dh_bridge.redaction import current_mode

_decode_any = msgspec.json.Decoder().decode
_POSITION = re.compile(r"\[\d+\]")

#: Keys of properties that are separate facts: those of unknown fields, and those of a facet without a mapping here.
EXTRA_FIELDS, WHOLE_FACET = "+", " as a whole"
#: The kind of fact that holds the properties of an attach point.
PROPERTY_KINDS: dict[AttachPoint, FactKind] = {
    "run": RUN_PROPERTIES,
    "job": JOB_PROPERTIES,
    "dataset": DATASET_PROPERTIES,
}


class Facet(msgspec.Struct, gc=False, forbid_unknown_fields=True, kw_only=True):
    """The fields that every facet has. The lenient reading finds unknown fields; they become properties."""

    producer_: Any = msgspec.field(default=None, name="_producer")
    schema_url_: Any = msgspec.field(default=None, name="_schemaURL")
    deleted_: bool = msgspec.field(default=False, name="_deleted")


class OpenFacet(msgspec.Struct):
    """A facet that is read as plain JSON: ``content`` without ``_producer``, ``_schemaURL`` and ``_deleted``.

    ``properties``: a cache of all content as properties, set by the first function that needs it.
    """

    content: dict[str, Any]
    properties: dict[str, str] | None = None
    deleted_: bool = False


class FieldOutcome(msgspec.Struct, frozen=True):
    """The outcome of the fields that match a row of a facet's table.

    ``targets`` are the kinds of facts that such a field goes into; the first one that is stated and written counts. Without
    targets the field is a property of the entity that the facet is attached to. ``reason`` is why the field is dropped.
    ``allows_empty``: an empty text, object or array has a meaning here.
    """

    targets: tuple[FieldTarget, ...] = ()
    reason: str = ""
    allows_empty: bool = False


def mapped(*targets: FieldTarget, allows_empty: bool = False) -> FieldOutcome:
    """Return the row of a field that goes into facts of these kinds, the most specific first."""
    return FieldOutcome(targets, allows_empty=allows_empty)


def as_property(*targets: FieldTarget, allows_empty: bool = False) -> FieldOutcome:
    """Return the row of a field that becomes a property: of the entity that the facet is attached to, or in facts of these kinds."""
    return FieldOutcome(targets, allows_empty=allows_empty)


def dropped(reason: str) -> FieldOutcome:
    """Return the row of a field that is dropped, with the reason."""
    return FieldOutcome((), reason)


FactFunction = Callable[[Any, FacetContext], Iterator[Fact]]


class FacetSpec:
    """A facet in the registry: keys, attach point, decoder, the function that states its facts, and the outcomes of its fields."""

    def __init__(  # noqa: PLR0913 - one argument for each column of the facets table
        self,
        extractor: FactFunction,
        *,
        keys: tuple[str, ...],
        attach: AttachPoint,
        struct: type[Facet] | None,
        outcomes: Mapping[str, FieldOutcome],
        retract: FactFunction | None,
        since: str,
        producer: str,
        is_cached: bool,
    ) -> None:
        self.extractor = extractor
        self.keys = keys
        self.attach: AttachPoint = attach
        self.struct = struct
        self.outcomes = dict(outcomes)
        self.retract = retract
        self.since = since
        self.producer = producer
        self.doc = (extractor.__doc__ or "").strip()
        #: whether some fields are properties, which a tombstone withdraws if state is stored
        self.has_properties = attach != "run" and any(_is_property(outcome, attach) for outcome in outcomes.values())
        self._decode: Callable[[Any], Any] = msgspec.json.Decoder(struct).decode if struct is not None else _open_facet
        self._is_cached = is_cached
        if is_cached:
            self._decode = _CachedDecoder(self._decode)

    def extract_facts(self, raw: msgspec.Raw, ctx: FacetContext) -> Iterator[Fact]:
        """Return the facts of the facet in ``raw``; none if it cannot be used, which is noted in ``ctx``."""
        # bytes store their hash, so the extractor does not hash again
        text: Any = bytes(raw) if self._is_cached else raw
        try:
            facet = self._decode(text)
        except (msgspec.MsgspecError, RecursionError):
            return self._extract_leniently(raw, ctx)
        if facet.deleted_:
            return self._extract_leniently(raw, ctx)
        ctx.raw = text  # a Raw is bytes-like: modules hash or remember it
        return self.extractor(facet, ctx)

    def _extract_leniently(self, raw: msgspec.Raw, ctx: FacetContext) -> Iterator[Fact]:
        document = read_object(raw, ctx)
        if document is None:
            return
        if document.get("_deleted") is True:
            yield from retract_properties(
                document, ctx, is_known=self.retract is not None or (self.has_properties and ctx.options.is_stateful)
            )
            if self.retract is not None:
                yield from self.retract(document, ctx)
            return
        ctx.raw = raw
        assert self.struct is not None  # noqa: S101 - an open facet that is an object was read already
        repairs = Repairs(records_paths=ctx.notes is not None)
        facet = repair(document, self.struct, repairs)
        for field_path in repairs.malformed:
            ctx.note_dropped(field_path, "malformed")
        if facet is not UNUSABLE:
            note_count = len(ctx.notes or ())
            yield from self.extractor(facet, ctx)
            if ctx.notes is not None and repairs.original_positions:
                prefix = f"{ctx.path}."
                ctx.notes[note_count:] = [
                    (
                        prefix + repairs.original_path(path.removeprefix(prefix)) if path.startswith(prefix) else path,
                        reason,
                    )
                    for path, reason in ctx.notes[note_count:]
                ]
        yield from extra_facts(repairs.extra, ctx)


def _open_facet(raw: msgspec.Raw) -> OpenFacet:
    """Return an open facet; raise a ValidationError if it is not an object."""
    document = _decode_any(raw)
    if not isinstance(document, dict):
        raise msgspec.ValidationError("not an object")
    return OpenFacet(content_of(document), deleted_=document.get("_deleted") is True)


class _CachedDecoder:
    """Decodes a facet. Bytes that are repeated, as those of a table in each event, are decoded once."""

    _MAX_BYTES = 256 * 1024
    _SIZE_FACTOR = 6  # a decoded facet takes about six times the bytes of its JSON

    def __init__(self, decode: Callable[[Any], Any]) -> None:
        self._decode = decode
        #: by mode of redaction: the decoded facets hold properties that are redacted
        self._caches: dict[str, GenerationalCache[Any]] = {}

    def __call__(self, raw: bytes) -> Any:
        mode = current_mode()
        cache = self._caches.get(mode)
        if cache is None:
            cache = self._caches.setdefault(mode, GenerationalCache())
        facet = cache.get(raw)
        if facet is None:
            facet = self._decode(raw)
            if len(raw) <= self._MAX_BYTES and cache.is_repeated(raw):
                cache.store(raw, facet, self._SIZE_FACTOR * len(raw))
        return facet


def read_object(raw: msgspec.Raw, ctx: FacetContext) -> dict[str, Any] | None:
    """Return the JSON object of the facet; None, with a note, if it is something else."""
    try:
        document = _decode_any(raw)
    except (msgspec.DecodeError, RecursionError):
        ctx.note_dropped("", "malformed")
        return None
    if isinstance(document, dict):
        return document
    is_serialized = isinstance(document, str) and document.startswith("<<non-serializable")
    reason = "empty:null" if document is None else "non-serializable" if is_serialized else "malformed"
    ctx.note_dropped("", reason)
    return None


def content_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a facet without ``_producer``, ``_schemaURL`` and ``_deleted``."""
    return {key: value for key, value in document.items() if key not in ("_producer", "_schemaURL", "_deleted")}


def retract_properties(document: dict[str, Any], ctx: FacetContext, *, is_known: bool = True) -> Iterator[Fact]:
    """Yield tombstones of the properties of a deleted facet of a job or dataset.

    ``is_known``: the earlier properties of the facet can be known. Fields beside ``_deleted`` are dropped in both cases.
    """
    if not is_known:
        ctx.note_dropped("", "policy:state=none")
    elif ctx.notes is not None:
        for name in content_of(document):
            ctx.note_dropped(name, "no-field:the facet is deleted")
    if ctx.attach != "run":  # the specification has no tombstones of runs
        for suffix in ("", EXTRA_FIELDS, WHOLE_FACET):
            yield entity_urn(ctx), PROPERTY_KINDS[ctx.attach], ctx.key + suffix, TOMBSTONE


def _is_property(outcome: FieldOutcome, attach: AttachPoint) -> bool:
    """Return whether a field is a property of the entity that the facet is attached to."""
    aspect_paths = PROPERTY_KINDS[attach]
    kinds = [target.kind if isinstance(target, FactPart) else target for target in outcome.targets]
    return not outcome.reason and (not kinds or aspect_paths in kinds)


def extra_facts(extra: list[tuple[str, Any]], ctx: FacetContext) -> Iterator[Fact]:
    """Yield the unknown fields of a known facet as properties; paths have no positions."""
    values_by_path: dict[str, list[Any]] = {}
    for path, value in extra:
        if value is not None and path not in ("_producer", "_schemaURL", "_deleted"):
            values_by_path.setdefault(_POSITION.sub("", path), []).append(value)
    if not values_by_path:
        return
    for path, value in extra if ctx.notes is not None else ():
        if value is not None:
            ctx.note_outcome(path, PROPERTY_KINDS[ctx.attach])
    properties = {}
    for path, values in values_by_path.items():
        # masked here, too: in facets of columns the masking of events hides no value by its name, which may be a column
        text = masked_property_text(f"{ctx.key}.{path}", values[0] if len(values) == 1 else values)
        if text is not None:
            properties[f"{ctx.key}.{path}"] = text
    yield property_fact(ctx, properties, suffix=EXTRA_FIELDS)


def property_fact(ctx: FacetContext, properties: dict[str, str], *, suffix: str = "") -> Fact:
    """Return the fact that stores ``properties`` of the entity that the facet is attached to, under the key of the facet."""
    return entity_urn(ctx), PROPERTY_KINDS[ctx.attach], ctx.key + suffix, properties


def attempt_fact(ctx: FacetContext, precedence: int, number: int) -> Fact:
    """Return the fact that the event belongs to the attempt ``number`` of its run."""
    time, rank, *_ = ctx.version
    return ctx.run_urn, ATTEMPT, (precedence, time, rank), number


def whole_facet_fact(ctx: FacetContext) -> Fact:
    """Return the fact that stores the complete facet as one property, with a note: no part of it could be mapped."""
    if ctx.notes is not None:  # fields that could not be read are part of this property
        ctx.notes[:] = [note for note in ctx.notes if not note[0].startswith(f"{ctx.path}.")]
    for field_name in ("_producer", "_schemaURL"):
        ctx.note_dropped(field_name, "envelope")
    ctx.note_outcome("", PROPERTY_KINDS[ctx.attach][ctx.key])
    content = content_of(_decode_any(ctx.raw))
    return property_fact(ctx, {ctx.key: masked_property_text(ctx.key, content) or ""}, suffix=WHOLE_FACET)


def entity_urn(ctx: FacetContext) -> str:
    """Return the URN of the entity that the facet is attached to."""
    return ctx.run_urn if ctx.attach == "run" else ctx.owner_urn if ctx.attach == "job" else ctx.dataset_urn


def facet(  # noqa: PLR0913 - one argument for each column of the facets table
    *keys: str,
    attach: AttachPoint,
    outcomes: Mapping[str, FieldOutcome],
    struct: type[Facet] | None = None,
    retract: FactFunction | None = None,
    since: str = "0.15.0",
    producer: str = "",
    is_cached: bool = False,
) -> Callable[[FactFunction], FacetSpec]:
    """Declare a facet: its keys (that of the specification first), attach point, Struct, and a row for each field.

    ``outcomes`` maps paths (``fields[].name``, ``properties.*``, ``**`` for all fields below) to outcomes.
    ``is_cached``: the facet is large, and equal in all events of a table. The decorated function yields the facts of the facet.
    """

    def declare(extractor: FactFunction) -> FacetSpec:
        return FacetSpec(
            extractor, keys=keys, attach=attach, struct=struct, outcomes=outcomes, retract=retract, since=since, producer=producer,
            is_cached=is_cached,
        )  # fmt: skip

    return declare
