"""From bytes to an Event: strictly typed first, leniently where a producer strays."""

from __future__ import annotations

from datetime import timezone, tzinfo
from typing import Any

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.openlineage.events import Dataset, Event, Facets, Kind
from dh_bridge.openlineage.repair import mended
from dh_bridge.openlineage.times import instant


class _Run(msgspec.Struct):
    runId: str = ""
    facets: Facets = {}


class _Job(msgspec.Struct):
    namespace: str = ""
    name: str = ""
    facets: Facets = {}


class _Envelope(msgspec.Struct):
    """The strict reading; what it refuses, a null where a text belongs for example, is read leniently below."""

    eventTime: str | None = None
    eventType: str | None = None
    producer: str | None = None
    schemaURL: str | None = None
    run: _Run | None = None
    job: _Job | None = None
    inputs: list[Dataset] | None = None
    outputs: list[Dataset] | None = None
    dataset: Dataset | None = None


_decode = msgspec.json.Decoder(_Envelope).decode
_decode_any = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_WORDS = {
    list: "an array",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
#: What ``translate`` writes and DataHub takes has it, an event has not.
_PROPOSAL = b'"aspectName"'
_KINDS: dict[str, Kind] = {"RunEvent": "run", "JobEvent": "job", "DatasetEvent": "dataset"}


def parse(raw: bytes, place: str = "", zone: tzinfo = timezone.utc) -> Event:
    """Return the event in ``raw`` (one JSON object); EventError with ``place`` when it cannot be used."""
    try:
        if not raw.isascii():
            raw.decode()  # facets stay raw: what is no UTF-8 is to be refused here, not where one is read
        envelope, notes = _read(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if (sound := mended(raw)) is not None:
            return parse(sound, place, zone)
        raise EventError(f"not JSON: {error}", where=place, now="send one JSON object") from error
    if envelope is None:
        raise EventError(f"{notes[0]}, not an object", where=place, now="send one JSON object")
    return _event(envelope, raw, place, zone, notes)


def _read(raw: bytes) -> tuple[_Envelope | None, tuple[str, ...]]:
    """Return the envelope and what was mended; no envelope and what it is when it is no object."""
    try:
        return _decode(raw), ()
    except msgspec.ValidationError:
        document = _decode_any(raw)
    if not isinstance(document, dict):
        return None, (_WORDS[type(document)],)
    return _repaired(document)


def _event(envelope: _Envelope, raw: bytes, place: str, zone: tzinfo, notes: tuple[str, ...]) -> Event:
    kind = _kind(envelope)
    if kind is None and _PROPOSAL in raw:
        raise EventError(
            "a proposal, not an event",
            where=place,
            now="tell the events that it was made of; proposals are for dh-bridge validate",
        )
    if kind is None:
        raise EventError("neither run, job nor dataset", where=place, now="send a RunEvent, JobEvent or DatasetEvent")
    if not envelope.eventTime:
        raise EventError("no eventTime", where=f"{place} $.eventTime", now="every event needs its time")
    try:
        time, zoned = instant(envelope.eventTime, zone)
    except (ValueError, OverflowError) as error:
        raise EventError(str(error), where=f"{place} $.eventTime", now="send ISO 8601 with an offset") from error
    event_type = envelope.eventType
    event = Event(
        kind,
        time,
        place,
        raw,
        event_type.strip().upper() if event_type else None,
        envelope.producer,
        envelope.schemaURL,
    )
    event.notes = notes if zoned else (*notes, "zone-less")
    if kind == "dataset":
        event.dataset = envelope.dataset or Dataset()
        return event
    if kind == "run":
        run = envelope.run or _Run()
        if not run.runId.strip():
            raise EventError("no run id", where=f"{place} $.run.runId", now="a RunEvent needs one")
        event.run_id = run.runId
        event.run_facets = run.facets
    job = envelope.job or _Job()
    event.namespace, event.name, event.job_facets = job.namespace, job.name, job.facets
    event.inputs, event.outputs = envelope.inputs or [], envelope.outputs or []
    return event


def _kind(envelope: _Envelope) -> Kind | None:
    """Return the kind that schemaURL names if the shape can be it, else the one of the shape."""
    shapes: list[Kind] = []
    if envelope.run is not None:
        shapes.append("run")
    if envelope.job is not None:
        shapes.append("job")
    if envelope.dataset is not None:
        shapes.append("dataset")
    named = _KINDS.get((envelope.schemaURL or "").rpartition("/")[2])
    if named in shapes:
        return named
    return shapes[0] if shapes else None


# The lenient path: the same envelope, rebuilt part by part from plain JSON, a note for each thing that was mended.


def _repaired(document: dict[str, Any]) -> tuple[_Envelope, tuple[str, ...]]:
    notes: list[str] = []
    envelope = _Envelope(
        _text(document, "eventTime", notes),
        _text(document, "eventType", notes),
        _text(document, "producer", notes),
        _text(document, "schemaURL", notes),
    )
    run = _object(document, "run", "$", notes)
    if run is not None:
        envelope.run = _Run(_text(run, "runId", notes, "$.run") or "", _bag(run, "facets", "$.run", notes))
    job = _object(document, "job", "$", notes)
    if job is not None:
        envelope.job = _Job(
            _text(job, "namespace", notes, "$.job") or "",
            _text(job, "name", notes, "$.job") or "",
            _bag(job, "facets", "$.job", notes),
        )
    envelope.inputs = _datasets(document, "inputs", notes)
    envelope.outputs = _datasets(document, "outputs", notes)
    dataset = _object(document, "dataset", "$", notes)
    if dataset is not None:
        envelope.dataset = _mended(dataset, "$.dataset", notes)
    return envelope, tuple(notes)


def _text(part: dict[str, Any], key: str, notes: list[str], where: str = "$") -> str | None:
    value = part.get(key)
    if value is None or isinstance(value, str):
        return value
    notes.append(f"malformed:{where}.{key}")
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _object(part: dict[str, Any], key: str, where: str, notes: list[str]) -> dict[str, Any] | None:
    value = part.get(key)
    if value is None or isinstance(value, dict):
        return value
    notes.append(f"malformed:{where}.{key}")
    return None


def _bag(part: dict[str, Any], key: str, where: str, notes: list[str]) -> Facets:
    bag = _object(part, key, where, notes) or {}
    return {name: msgspec.Raw(_encode(facet)) for name, facet in bag.items()}


def _datasets(document: dict[str, Any], key: str, notes: list[str]) -> list[Dataset] | None:
    value = document.get(key)
    if value is None:
        return None
    if not isinstance(value, list):
        notes.append(f"malformed:$.{key}")
        return None
    found = []
    for position, part in enumerate(value):
        where = f"$.{key}[{position}]"
        if isinstance(part, dict):
            found.append(_mended(part, where, notes))
        else:
            notes.append(f"malformed:{where}")
            found.append(Dataset())
    return found


def _mended(part: dict[str, Any], where: str, notes: list[str]) -> Dataset:
    return Dataset(
        _text(part, "namespace", notes, where) or "",
        _text(part, "name", notes, where) or "",
        _bag(part, "facets", where, notes),
        _bag(part, "inputFacets", where, notes),
        _bag(part, "outputFacets", where, notes),
    )
