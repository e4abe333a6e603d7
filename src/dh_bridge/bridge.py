"""The bridge: events in, proposals out, by one configuration; what the doors and the Python SDK use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import timezone, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from dh_bridge.datahub.proposal import Proposal
from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.read import events_of
from dh_bridge.settings import Settings
from dh_bridge.translation.identity.event import EventFacts, event_identity
from dh_bridge.translation.options import Options
from dh_bridge.translation.report import Report
from dh_bridge.translation.translate import Fold, Rejected
from dh_bridge.translation.written import written_aspects
from dh_bridge.window import Window

if TYPE_CHECKING:
    from dh_bridge.translation.runstate import RunState

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_KINDS = {"run": "RunEvent", "job": "JobEvent", "dataset": "DatasetEvent"}


class Counts(msgspec.Struct):
    """How much went in and came out; ``mapped``, ``kept`` and ``withheld`` are None without a report."""

    events: int = 0
    runs: int = 0
    jobs: int = 0
    datasets: int = 0
    proposals: int = 0
    dead: int = 0
    rejected: int = 0
    filtered: Counter[str] = msgspec.field(default_factory=Counter)
    notes: Counter[str] = msgspec.field(default_factory=Counter)
    mapped: int | None = None
    kept: int | None = None
    withheld: int | None = None

    def add(self, other: Counts) -> None:
        """Add the counts of another translation; entities of several windows are counted in each."""
        for name in ("events", "runs", "jobs", "datasets", "proposals", "dead", "rejected"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.filtered.update(other.filtered)
        self.notes.update(other.notes)
        for name in ("mapped", "kept", "withheld"):
            count = getattr(other, name)
            if count is not None:
                setattr(self, name, (getattr(self, name) or 0) + count)


class Translation(msgspec.Struct):
    """What a call makes of its events: proposals, unusable events, proposals that we refused ourselves, counts."""

    proposals: list[Proposal]
    dead: list[DeadLetter]
    rejected: list[Rejected]
    counts: Counts
    report: Report | None = None


class Bridge:
    """Translates OpenLineage events by one configuration; holds no state between calls (state mode *none*, ruling 1)."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.options = Options(self.settings)
        self.zone = _zone(self.settings.event_time.default_zone)

    def translate(self, events: Any, *, report: bool = False) -> Translation:
        """Translate one event or many, folded per run.

        ``events`` may be an Event, a JSON text or bytes (object or array), a dict, an event object of openlineage-python,
        or an iterable of those. Unusable events are in ``dead``; they never stop the others.
        """
        parts = list(self.stream(self._events(events), report=report, window=None))
        return parts[0] if parts else Translation([], [], [], Counts(), Report() if report else None)

    def stream(
        self, items: Iterable[Event | DeadLetter], *, report: bool = False, window: int | None = -1
    ) -> Iterator[Translation]:
        """Yield a translation each time that runs close: their terminal event lies a window behind, or the input ends.

        ``window`` counts events (default: the setting, None: no bound); a window closes early when its events exceed
        64 MiB. Memory stays constant however long the input is.
        """
        size = self.settings.window if window == -1 else window
        call = _Call(self.options, report=report)
        pending = Window(size)
        for item in items:
            if isinstance(item, DeadLetter):
                call.dead.append(item)
                continue
            key = call.add(item)
            if key is not None and (due := pending.saw(key, item.terminal or item.kind != "run", len(item.raw))):
                yield call.close(due)
        if call.waiting:
            yield call.close(None)

    def identity(self, event: Event) -> dict[str, Any]:
        """Return the row of ``dh-bridge identity`` for one event."""
        job_type = _facet(event.job_facets, "jobType").get("jobType")
        parent = _facet(event.run_facets, "parent") or _facet(event.run_facets, "parentRun")
        reference = _run_reference(parent)
        upstream = _facet(event.run_facets, "jobDependencies").get("upstream")
        facts = EventFacts(
            kind=_KINDS[event.kind],
            place=event.place,
            namespace=event.namespace,
            name=event.name,
            producer=event.producer,
            event_type=event.type,
            run_id=event.run_id if event.kind == "run" else None,
            has_io=bool(event.inputs or event.outputs),
            job_type=job_type if isinstance(job_type, str) else None,
            parent=reference,
            upstream=[
                found
                for one in (upstream if isinstance(upstream, list) else ())
                if isinstance(one, dict) and (found := _run_reference(one)) is not None
            ],
        )
        return event_identity(self.options.identity, facts)

    def _events(self, events: Any) -> Iterator[Event | DeadLetter]:
        if isinstance(events, (Event, DeadLetter)):
            yield events
        elif isinstance(events, str):
            yield from events_of(events.strip().encode("utf-8", "surrogatepass"), "event", self.zone)
        elif isinstance(events, (bytes, bytearray)):
            yield from events_of(bytes(events).strip(), "event", self.zone)
        elif isinstance(events, Mapping):
            yield from events_of(_encode(events), "event", self.zone)
        elif hasattr(events, "eventTime"):
            yield from events_of(_serialized(events), "event", self.zone)
        else:
            for position, event in enumerate(events):
                for found in self._events(event):
                    if found.place == "event":
                        yield msgspec.structs.replace(found, place=f"event[{position}]")
                    else:
                        yield found


class _Call:
    """The open runs of one call, and what the report needs of their events."""

    def __init__(self, options: Options, *, report: bool) -> None:
        self._options = options
        self._fold = Fold(options)
        self._report = report
        self._seen: dict[str, list[tuple[Event, list[tuple[str, str]]]]] = {}
        self._loose: list[tuple[Event, list[tuple[str, str]]]] = []
        self._events = 0
        self._notes: Counter[str] = Counter()
        self.dead: list[DeadLetter] = []

    @property
    def waiting(self) -> bool:
        """Whether anything is left to tell: after an input that ends with a window, runs are open all the same."""
        return bool(self._events or self._fold.runs or self.dead)

    def add(self, event: Event) -> str | None:
        """Fold an event; return the key of its run, None when it was filtered out."""
        self._events += 1
        self._notes.update(event.notes)
        notes: list[tuple[str, str]] | None = [] if self._report else None
        state = self._fold.add(event, notes)
        if state is None:
            if notes is not None:
                self._loose.append((event, notes))
            return None
        if notes is not None:
            self._seen.setdefault(state.key, []).append((event, notes))
        return state.key

    def close(self, keys: list[str] | None) -> Translation:
        """Return the translation of the runs ``keys``, or of all that are open."""
        fold = self._fold
        chosen = [key for key in (fold.runs if keys is None else keys) if key in fold.runs]
        states: dict[str, RunState] = {key: fold.runs[key] for key in chosen}
        proposals = fold.close(chosen)
        report = self._reported(states, proposals) if self._report else None
        counts = _counted(states, proposals)
        counts.events, self._events = self._events, 0
        counts.dead, counts.rejected = len(self.dead), len(fold.rejected)
        counts.filtered, fold.walk.filters.dropped = fold.walk.filters.dropped, Counter()
        counts.notes, self._notes = self._notes, Counter()
        if report is not None:
            counts.mapped, counts.kept, counts.withheld = report.mapped, report.kept, report.withheld
        found = Translation(proposals, self.dead, fold.rejected, counts, report)
        self.dead, fold.rejected = [], []
        return found

    def _reported(self, states: dict[str, RunState], proposals: list[Proposal]) -> Report:
        report = Report()
        for event, notes in self._loose:
            report.add(event, notes, {})
        self._loose = []
        by_urn: dict[str, set[str]] = {}
        for proposal in proposals:
            by_urn.setdefault(proposal.entity_urn, set()).add(proposal.aspect_name)
        for key, state in states.items():
            written = written_aspects(state, by_urn, self._options)
            for event, notes in self._seen.pop(key, ()):
                report.add(event, notes, written)
        return report


def _counted(states: dict[str, RunState], proposals: list[Proposal]) -> Counts:
    entities = {proposal.entity_urn: proposal.entity_type for proposal in proposals}
    kinds = Counter(entities.values())
    return Counts(
        runs=sum(1 for state in states.values() if state.urn),
        jobs=kinds["dataJob"],
        datasets=kinds["dataset"],
        proposals=len(proposals),
    )


def _facet(facets: Mapping[str, msgspec.Raw], key: str) -> dict[str, Any]:
    raw = facets.get(key)
    found = _decode(raw) if raw is not None else None
    return found if isinstance(found, dict) else {}


def _run_reference(part: dict[str, Any]) -> tuple[str, str, str] | None:
    run, job = part.get("run"), part.get("job")
    if not isinstance(run, dict) or not isinstance(run.get("runId"), str) or not run["runId"]:
        return None
    named = job if isinstance(job, dict) else {}
    return str(named.get("namespace") or ""), str(named.get("name") or ""), run["runId"]


def _serialized(event: Any) -> bytes:
    from openlineage.client.serde import Serde  # noqa: PLC0415 - only those who hold such objects have the package

    return Serde.to_json(event).encode()


def _zone(name: str) -> tzinfo:
    if name.upper() == "UTC":
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise SettingsError(
            f"no time zone {name!r}", where="event_time.default_zone", now="e.g. Europe/Berlin"
        ) from error
