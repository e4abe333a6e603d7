"""The report: every field of an event's JSON, once, with its outcome.

It is made on request, from the work of the translation. A trace of the event (`model/trace.py`) has the facts that each facet
stated, and why fields were dropped. The table of the renderers (`render/targets.py`) lists where such facts are written, and a
target counts only if the proposals have it (`Written.near`).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.search_texts import is_too_long
from dh_bridge.facet_support.context import DATASET_NOTE
from dh_bridge.facet_support.envelope import ENVELOPE_PROPERTIES, ENVELOPE_TARGETS, NAME_TARGETS
from dh_bridge.facet_support.facet_spec import PROPERTY_KINDS, FacetSpec, FieldOutcome
from dh_bridge.facets import find_misplaced_facet, registry
from dh_bridge.model.facts import EDGE_PROPERTIES, RUN_BY_DATASET
from dh_bridge.redaction import REDACTED, is_redacted, nested_names
from dh_bridge.render.targets import AspectPath, is_property
from dh_bridge.report.fields import iter_fields, parse_document
from dh_bridge.report.reasons import is_loss
from dh_bridge.report.resolve import paths_of, possible_paths
from dh_bridge.report.written import CUT_REASON, MOVED_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.facet_support.context import AttachPoint
    from dh_bridge.model.trace import FieldNote, FieldTarget, Trace, TracedFact
    from dh_bridge.openlineage.events import Event
    from dh_bridge.report.fields import EventField, FieldSteps
    from dh_bridge.report.written import AspectReasons, WrittenAspects

_POSITION = re.compile(r"\[\d+\]")
#: The reason of a field of a run that has not ended: the aspect that it goes into is not written yet.
_PENDING_REASON = "pending-terminal"
#: The reason of a property that its facet stated and a later event of the call replaced.
_REPLACED_REASON = "replaced"
_PROVENANCE = ("_producer", "_schemaURL")

ReportLine = dict[str, Any]
_Outcome = tuple[str, "str | None", "str | None"]
"""``mapped`` or ``property`` and the target, or ``dropped`` and the reason."""


class Report:
    """The lines of a call's events, and their counts by outcome.

    Args:
        prefix: the prefix of custom properties, with the dot (`properties.prefix`).
    """

    def __init__(self, prefix: str = "openlineage.") -> None:
        self._prefix = prefix
        self._lines: list[ReportLine] = []
        self.counts: Counter[str] = Counter()
        self._lost_count = 0

    @property
    def mapped(self) -> int:
        """The number of fields that reached a field of DataHub."""
        return self.counts["mapped"]

    @property
    def properties(self) -> int:
        """The number of fields that became custom properties."""
        return self.counts["property"]

    @property
    def dropped(self) -> int:
        """The number of fields that were not stored."""
        return self.counts["dropped"]

    @property
    def lost(self) -> int:
        """The number of dropped fields that are a loss (`report/reasons.py`)."""
        return self._lost_count

    def lines(self) -> Iterator[ReportLine]:
        """Yield ``{"event", "path", "outcome", "target", "reason"}`` of each field, each field once."""
        return iter(self._lines)

    def add(self, event: Event, trace: Trace, written_aspects: WrittenAspects | None) -> None:
        """Add the lines of one event.

        Args:
            event: the event.
            trace: the record of its translation.
            written_aspects: what its run wrote; None if a filter left the event out.
        """
        datasets_by_path, notes_by_path = _split_notes(trace.notes)
        finder = _OutcomeFinder(event, trace.facts, self._prefix)
        for field in iter_fields(parse_document(event.raw), notes_by_path, datasets_by_path):
            aspects = written_aspects.aspects_of(field.datasets) if written_aspects is not None else {}
            outcome, target, reason = finder.find(field, aspects)
            self.counts[outcome] += 1
            self._lost_count += outcome == "dropped" and is_loss(reason)
            self._lines.append(
                {
                    "event": event.location,
                    "path": field.display_path,
                    "outcome": outcome,
                    "target": target,
                    "reason": reason,
                }
            )


def _split_notes(notes: list[tuple[str, FieldNote]]) -> tuple[dict[str, str], dict[str, FieldNote]]:
    """Return, by path, the datasets that are named there, and what became of fields; the first note of a path counts."""
    datasets_by_path: dict[str, str] = {}
    notes_by_path: dict[str, FieldNote] = {}
    for path, note in reversed(notes):
        if isinstance(note, str) and note.startswith(DATASET_NOTE):
            datasets_by_path[path] = note.removeprefix(DATASET_NOTE)
        else:
            notes_by_path[path] = note
    return datasets_by_path, notes_by_path


class _OutcomeFinder:
    """Finds the outcome of each field of one event."""

    def __init__(self, event: Event, facts: dict[str, list[TracedFact]], prefix: str) -> None:
        self._event = event
        self._facts = facts
        self._prefix = prefix
        #: the facet that is looked at: its path, its names, its facts
        self._facet_steps: FieldSteps = ()
        self._keys: tuple[str, ...] = ()
        self._stated_facts: list[TracedFact] = []

    def find(self, field: EventField, aspects: AspectReasons) -> _Outcome:
        """Return the outcome of a field; ``aspects`` are its possible aspects."""
        outcome = self._field_outcome(field, aspects)
        if outcome[2] == CUT_REASON and not is_too_long(field.value):  # another text of the same path was cut
            outcome = (*outcome[:2], None)
        return self._drop_if_secret(outcome, (), field.value, is_hidden=True) if field.is_hidden else outcome

    def _field_outcome(self, field: EventField, aspects: AspectReasons) -> _Outcome:
        note, value = field.note, field.value
        if isinstance(note, str):
            return "dropped", None, note
        if note is not None:
            return self._drop_if_secret(self._fact_outcome(field, note.targets, aspects), field.steps, value)
        if value is None:
            return "dropped", None, "empty:null"
        facet_position = _facet_position(field.steps)
        return (
            self._envelope_outcome(field, aspects)
            if facet_position is None
            else self._facet_outcome(field, *facet_position, aspects)
        )

    # -- the envelope ------------------------------------------------------------------------------------------------

    def _envelope_outcome(self, field: EventField, aspects: AspectReasons) -> _Outcome:
        steps, value, event = field.steps, field.value, self._event
        if value in ({}, []) or (value == "" and steps[-1] not in ("namespace", "name")):
            return "dropped", None, "empty"
        if steps in ENVELOPE_PROPERTIES:
            kind = PROPERTY_KINDS["run" if event.kind == "run" else "job" if event.kind == "job" else "dataset"]
            outcome = self._first_written(paths_of([kind[ENVELOPE_PROPERTIES[steps]]], (), (), ()), aspects, "property")
            if outcome[0] == "dropped" and steps == ("producer",):  # it determines the platform all the same
                end_paths = ["dataProcessInstanceRunEvent.result.nativeResultType"] if event.is_terminal else []
                target_paths = ["dataJobInfo.type", "dataFlowInfo.urn", "assertionInfo.urn", *end_paths]
                return self._first_written(map(AspectPath, target_paths), aspects, "mapped")
            return outcome
        targets = ENVELOPE_TARGETS.get((event.kind, _POSITION.sub("[]", field.display_path)))
        if targets is None:
            return "dropped", None, "no-field:not part of OpenLineage's envelope"
        # they are what DataHub's entities are known by, wherever they can be read
        return self._first_written(paths_of([*targets, *NAME_TARGETS.get(steps[0], ())], (), (), ()), aspects, "mapped")

    # -- facets ------------------------------------------------------------------------------------------------------

    def _facet_outcome(self, field: EventField, attach: AttachPoint, depth: int, aspects: AspectReasons) -> _Outcome:
        steps, value = field.steps, field.value
        key, field_steps = str(steps[depth]), steps[depth + 1 :]
        is_empty = value in ({}, [])
        if not field_steps or isinstance(steps[depth], int):  # a list has no facets by name
            return "dropped", None, "empty" if is_empty else "malformed"
        if field_steps[0] in _PROVENANCE:
            return "dropped", None, "envelope"
        if field_steps == ("_deleted",):
            return "mapped", "retraction of the bridge's own contribution", None
        spec = _spec_of(attach, key, self._event)
        if spec is not None:
            return self._known_facet_outcome(field, spec, field_steps, aspects)
        if is_empty:
            return "dropped", None, "empty"
        kinds: tuple[FieldTarget, ...] = (PROPERTY_KINDS[attach],)
        if steps[0] in ("inputs", "outputs") and steps[2] != "facets":
            kinds = (EDGE_PROPERTIES, RUN_BY_DATASET)
        return self._drop_if_secret(self._fact_outcome(field, kinds, aspects), steps[depth:], value)

    def _known_facet_outcome(
        self, field: EventField, spec: FacetSpec, field_steps: FieldSteps, aspects: AspectReasons
    ) -> _Outcome:
        value = field.value
        declared = declared_outcome(spec, field_steps)
        if declared is not None and declared.reason:
            return "dropped", None, declared.reason
        if value in ({}, []) and (declared is None or not declared.allows_empty):
            return "dropped", None, "empty"
        # a field that the facet's Struct does not have is a property
        targets = declared.targets if declared is not None and declared.targets else (PROPERTY_KINDS[spec.attach],)
        if value == "":
            # no field of DataHub holds an empty text; the properties of a facet that is read as plain JSON do
            if spec.struct is not None and declared is not None and not declared.allows_empty:
                return "dropped", None, "empty"
            property_paths = [
                path
                for path in self._target_paths(field, (*targets, PROPERTY_KINDS[spec.attach]))
                if is_property(path.path)
            ]
            return self._first_written(property_paths, aspects)
        outcome = self._fact_outcome(field, targets, aspects)
        named_by_path = outcome[1] is not None and f"[{self._prefix}{spec.keys[0]}." in outcome[1]
        return self._drop_if_secret(outcome, (spec.keys[0], *field_steps) if named_by_path else field_steps, value)

    def _target_paths(self, field: EventField, targets: tuple[FieldTarget, ...]) -> Iterator[AspectPath]:
        """Yield where a field of a facet may have gone."""
        facet_position = _facet_position(field.steps)
        if facet_position is None:
            return paths_of(targets, (), (), ())
        depth = facet_position[1] + 1
        facet = field.steps[:depth]
        if facet != self._facet_steps:  # the fields of a facet follow each other
            key = str(facet[-1])
            spec = _spec_of(facet_position[0], key, self._event)
            self._facet_steps = facet
            self._keys = (key,) if spec is None else tuple(dict.fromkeys((*spec.keys, key)))
            self._stated_facts = self._facts.get(_facet_path(facet), [])
        names = [step for step in field.steps[depth:] if not isinstance(step, int)]
        return paths_of(targets, self._stated_facts, self._keys, names)

    def _drop_if_secret(self, outcome: _Outcome, steps: FieldSteps, value: Any, *, is_hidden: bool = False) -> _Outcome:
        """Return ``outcome``; dropped if redaction has put something else into the property.

        ``steps`` lead to the value; they begin with the facet's key if the property's name does. ``is_hidden``: a name beside
        the value hides it.
        """
        target = outcome[1]
        if target is None or not (_is_redacted_target(target) or value == REDACTED):
            return outcome
        keys = nested_names([str(step) for step in steps if not isinstance(step, int)])
        return ("dropped", None, "secret") if is_redacted(value, *keys, is_hidden=is_hidden) else outcome

    def _fact_outcome(self, field: EventField, targets: tuple[FieldTarget, ...], aspects: AspectReasons) -> _Outcome:
        """Return the outcome of a field of a facet that goes into facts of these kinds."""
        outcome = self._first_written(self._target_paths(field, targets), aspects)
        if outcome == ("dropped", None, _PENDING_REASON):
            reasons = (_reason_of(path, aspects) for path in possible_paths(targets))
            return "dropped", None, next((reason for reason in reasons if reason), _PENDING_REASON)
        return outcome

    def _first_written(self, paths: Iterable[AspectPath], aspects: AspectReasons, outcome: str = "") -> _Outcome:
        """Return the first path that was written; dropped, with the reason of the first, if none was.

        ``outcome``: what to call it, if that does not follow from the path.
        """
        reason: str | None = None
        for path in paths:
            problem = _missing_reason(path, aspects, self._prefix)
            if problem is not None and problem.startswith(MOVED_PREFIX):
                moved_path = path._replace(path=problem.removeprefix(MOVED_PREFIX))
                moved_outcome = self._first_written([moved_path], aspects, outcome)
                if moved_outcome[0] != "dropped":
                    return moved_outcome
                problem = moved_outcome[2]
            if problem is None or problem == CUT_REASON:
                kind = outcome or ("property" if is_property(path.path) else "mapped")
                return kind, path.to_text(self._prefix), problem
            reason = reason or problem
        return "dropped", None, reason or _PENDING_REASON


def _reason_of(path: str, aspects: AspectReasons) -> str:
    """Return why there is nothing at a path; "" if there is something, or if the reason is unknown."""
    reason = aspects.get(path, aspects.get(_aspect_of(path))) or ""
    return "" if reason.startswith(MOVED_PREFIX) or reason == CUT_REASON else reason


def _missing_reason(path: AspectPath, aspects: AspectReasons, prefix: str) -> str | None:
    """Return None if a path was written, else the reason why it was not."""
    own_reason = aspects.get(path.path, "")
    if own_reason and not own_reason.startswith(MOVED_PREFIX):
        return own_reason
    if path.name is not None and (key := path.to_key(prefix)) in aspects:
        return aspects[key]
    aspect = _aspect_of(path.path)
    aspect_reason = own_reason if path.path in aspects else aspects.get(aspect, _PENDING_REASON)
    if aspect_reason is not None or (path.name is None and _field_of(path.path) in aspects):
        return aspect_reason
    return _REPLACED_REASON if path.is_stated else _PENDING_REASON


def _facet_position(steps: FieldSteps) -> tuple[AttachPoint, int] | None:
    """Return (attach point, depth of the facet's key) if the path leads into a group of facets."""
    if len(steps) >= 3 and steps[0] in ("run", "job", "dataset") and steps[1] == "facets":
        return steps[0], 2
    if len(steps) >= 3 and steps[0] == "dataset" and steps[1] in ("inputFacets", "outputFacets"):
        return "dataset", 2
    if len(steps) >= 4 and steps[0] in ("inputs", "outputs") and steps[2] in ("facets", "inputFacets", "outputFacets"):
        return "dataset", 3
    return None


def _facet_path(steps: FieldSteps) -> str:
    """Return the path of a facet as the trace has it: no key is quoted."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _spec_of(attach: AttachPoint, key: str, event: Event) -> FacetSpec | None:
    spec = registry()[attach].get(key)
    return find_misplaced_facet(attach, key, event) if spec is None and attach != "dataset" else spec


def declared_outcome(spec: FacetSpec, field_steps: FieldSteps) -> FieldOutcome | None:
    """Return the row of the facet's table that a field's path matches: the exact one, else the first pattern."""
    field_path = ".".join(_join_positions(field_steps))
    exact = spec.outcomes.get(field_path)
    return exact if exact is not None else _pattern_outcome(spec, field_path)


def _join_positions(field_steps: FieldSteps) -> Iterator[str]:
    name = ""
    for step in field_steps:
        if isinstance(step, int):
            name += "[]"
        else:
            if name:
                yield name
            name = step
    yield name


@lru_cache(maxsize=20_000)
def _pattern_outcome(spec: FacetSpec, field_path: str) -> FieldOutcome | None:
    for pattern, outcome in spec.outcomes.items():
        if "*" in pattern:
            regex = re.escape(pattern).replace(r"\*\*", ".+").replace(r"\*", r".+?")
            if re.fullmatch(regex, field_path, re.DOTALL):
                return outcome
    return None


@lru_cache(maxsize=20_000)
def _is_redacted_target(target: str) -> bool:
    """Return whether the values of a target went through redaction."""
    return is_property(target.partition("[")[0]) or any(
        part in target for part in (".customProperties", ".properties", ".runtimeContext", ".partitionSpec")
    )


@lru_cache(maxsize=20_000)
def _aspect_of(target: str) -> str:
    return re.split(r"[.\[]", target, maxsplit=1)[0]


@lru_cache(maxsize=20_000)
def _field_of(target: str) -> str:
    """Return the first two parts of a path: the aspect and its field."""
    return ".".join(re.split(r"[.\[]", target, maxsplit=2)[:2])
