"""Parses bytes to an Event: strictly typed first, then leniently if an event deviates from the specification."""

from __future__ import annotations

from datetime import timezone, tzinfo
from typing import Any

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.openlineage.events import Dataset, Event, Facets, Kind
from dh_bridge.openlineage.repair import repair_json
from dh_bridge.openlineage.times import parse_time


class _Run(msgspec.Struct):
    runId: str = ""
    facets: Facets = {}


class _Job(msgspec.Struct):
    namespace: str = ""
    name: str = ""
    facets: Facets = {}


class _Envelope(msgspec.Struct):
    """The strict parser; events that it rejects, for example a null instead of a text, are parsed leniently below."""

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
_TYPE_NAMES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
#: What ``translate`` writes and DataHub takes has it, an event has not.
_PROPOSAL = b'"aspectName"'
#: notes about the time of an event
ZONELESS, TWO_ZONES = "zone-less", "two-zones"
_KINDS: dict[str, Kind] = {"RunEvent": "run", "JobEvent": "job", "DatasetEvent": "dataset"}


def parse_event(raw: bytes, location: str = "", zone: tzinfo = timezone.utc) -> Event:
    """Return the event in ``raw`` (one JSON object); EventError with ``location`` when it cannot be used."""
    try:
        if not raw.isascii():
            raw.decode()  # facets stay raw: invalid UTF-8 must be rejected here, not when a facet is read
        envelope, notes = _decode_envelope(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if (repaired := repair_json(raw)) is not None:
            return parse_event(repaired, location, zone)
        raise EventError(f"not JSON: {error}", location=location, remedy="send one JSON object") from error
    if envelope is None:
        raise EventError(f"{notes[0]}, not an object", location=location, remedy="send one JSON object")
    return _build_event(envelope, raw, location, zone, notes)


def _decode_envelope(raw: bytes) -> tuple[_Envelope | None, tuple[str, ...]]:
    """Return the envelope and the repairs; if the JSON is not an object, no envelope and the type of the JSON."""
    try:
        return _decode(raw), ()
    except msgspec.ValidationError:
        document = _decode_any(raw)
    if not isinstance(document, dict):
        return None, (_TYPE_NAMES[type(document)],)
    return _repair_envelope(document)


def _build_event(envelope: _Envelope, raw: bytes, location: str, zone: tzinfo, notes: tuple[str, ...]) -> Event:
    kind = _event_kind(envelope)
    if kind is None and _PROPOSAL in raw:
        raise EventError(
            "a DataHub MCP, not an OpenLineage event",
            location=location,
            remedy="load it with `datahub ingest` (source type `file`); `dh-bridge check` validates it",
        )
    if kind is None:
        raise EventError(
            "not an OpenLineage event: run, job and dataset are missing",
            location=location,
            remedy="send a RunEvent, JobEvent or DatasetEvent",
        )
    if not envelope.eventTime:
        raise EventError("eventTime is missing", location=f"{location} $.eventTime", remedy="every event requires one")
    try:
        time = parse_time(envelope.eventTime, zone)
    except (ValueError, OverflowError) as error:
        raise EventError(
            str(error), location=f"{location} $.eventTime", remedy="use ISO 8601 with an offset"
        ) from error
    event_type = envelope.eventType
    event = Event(
        kind,
        time.micros,
        location,
        raw,
        event_type.strip().upper() if event_type else None,
        envelope.producer,
        envelope.schemaURL,
    )
    event.offset_minutes = time.offset_minutes
    if time.offset_minutes is None:
        notes = (*notes, ZONELESS)
    elif time.has_two_zones:
        notes = (*notes, TWO_ZONES)
    event.notes = notes
    if kind == "dataset":
        event.dataset = envelope.dataset or Dataset()
        return event
    if kind == "run":
        run = envelope.run or _Run()
        if not run.runId.strip():
            raise EventError(
                "the run id is missing", location=f"{location} $.run.runId", remedy="a RunEvent requires one"
            )
        event.run_id = run.runId
        event.run_facets = run.facets
    job = envelope.job or _Job()
    event.namespace, event.name, event.job_facets = job.namespace, job.name, job.facets
    event.inputs, event.outputs = envelope.inputs or [], envelope.outputs or []
    return event


def _event_kind(envelope: _Envelope) -> Kind | None:
    """Return the kind that schemaURL names if the shape can be it, else the one of the shape."""
    shapes: list[Kind] = []
    if envelope.run is not None:
        shapes.append("run")
    if envelope.job is not None:
        shapes.append("job")
    if envelope.dataset is not None:
        shapes.append("dataset")
    schema_kind = _KINDS.get((envelope.schemaURL or "").rpartition("/")[2])
    if schema_kind in shapes:
        return schema_kind
    return shapes[0] if shapes else None


# The lenient path: the same envelope, built part by part from plain JSON, with a note for each repair.


def _repair_envelope(document: dict[str, Any]) -> tuple[_Envelope, tuple[str, ...]]:
    notes: list[str] = []
    envelope = _Envelope(
        _read_text(document, "eventTime", notes),
        _read_text(document, "eventType", notes),
        _read_text(document, "producer", notes),
        _read_text(document, "schemaURL", notes),
    )
    run = _read_object(document, "run", "$", notes)
    if run is not None:
        envelope.run = _Run(_read_text(run, "runId", notes, "$.run") or "", _read_facets(run, "facets", "$.run", notes))
    job = _read_object(document, "job", "$", notes)
    if job is not None:
        envelope.job = _Job(
            _read_text(job, "namespace", notes, "$.job") or "",
            _read_text(job, "name", notes, "$.job") or "",
            _read_facets(job, "facets", "$.job", notes),
        )
    envelope.inputs = _read_datasets(document, "inputs", notes)
    envelope.outputs = _read_datasets(document, "outputs", notes)
    dataset = _read_object(document, "dataset", "$", notes)
    if dataset is not None:
        envelope.dataset = _repair_dataset(dataset, "$.dataset", notes)
    return envelope, tuple(notes)


def _read_text(part: dict[str, Any], key: str, notes: list[str], path: str = "$") -> str | None:
    value = part.get(key)
    if value is None or isinstance(value, str):
        return value
    notes.append(f"malformed:{path}.{key}")
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _read_object(part: dict[str, Any], key: str, path: str, notes: list[str]) -> dict[str, Any] | None:
    value = part.get(key)
    if value is None or isinstance(value, dict):
        return value
    notes.append(f"malformed:{path}.{key}")
    return None


def _read_facets(part: dict[str, Any], key: str, path: str, notes: list[str]) -> Facets:
    facets = _read_object(part, key, path, notes) or {}
    return {name: msgspec.Raw(_encode(facet)) for name, facet in facets.items()}


def _read_datasets(document: dict[str, Any], key: str, notes: list[str]) -> list[Dataset] | None:
    value = document.get(key)
    if value is None:
        return None
    if not isinstance(value, list):
        notes.append(f"malformed:$.{key}")
        return None
    datasets = []
    for position, part in enumerate(value):
        path = f"$.{key}[{position}]"
        if isinstance(part, dict):
            datasets.append(_repair_dataset(part, path, notes))
        else:
            notes.append(f"malformed:{path}")
            datasets.append(Dataset())
    return datasets


def _repair_dataset(part: dict[str, Any], path: str, notes: list[str]) -> Dataset:
    return Dataset(
        _read_text(part, "namespace", notes, path) or "",
        _read_text(part, "name", notes, path) or "",
        _read_facets(part, "facets", path, notes),
        _read_facets(part, "inputFacets", path, notes),
        _read_facets(part, "outputFacets", path, notes),
    )
