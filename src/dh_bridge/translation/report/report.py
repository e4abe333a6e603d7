"""The report: every field of an event's JSON, once, with its outcome.

It is made on request, from what the translation did. A trace of the event (`translation/trace.py`) holds the facts that each
facet stated, and why fields were dropped. The table of the renderers (`render/targets.py`) tells where such facts are written,
and a target counts only if the proposals have it (`Written.near`).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.search_texts import too_long
from dh_bridge.redaction import REDACTED, names_of, replaced
from dh_bridge.translation.context import ABOUT
from dh_bridge.translation.envelope import ENVELOPE, ENVELOPE_KEPT, NAMES
from dh_bridge.translation.facet import PROPERTY_KINDS, FacetSpec, Row
from dh_bridge.translation.facets import misplaced, registry
from dh_bridge.translation.facts import EDGE_PROPERTIES, RUN_BY_DATASET
from dh_bridge.translation.render.targets import Path, is_property
from dh_bridge.translation.report.fields import document, noted_fields
from dh_bridge.translation.report.resolve import paths_of, possible_paths
from dh_bridge.translation.report.written import CUT, MOVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.context import Attach
    from dh_bridge.translation.report.fields import Field, Steps
    from dh_bridge.translation.report.written import Aspects, Written
    from dh_bridge.translation.trace import Destination, Note, Trace, TracedFact

_POSITION = re.compile(r"\[\d+\]")
#: The reason of a field of a run that has not ended: the aspect that it goes into is not written yet.
_UNKNOWN = "pending-terminal"
#: The reason of a property that its facet stated and a later event of the call replaced.
_REPLACED = "replaced"
_PROVENANCE = ("_producer", "_schemaURL")

Line = dict[str, Any]
_Outcome = tuple[str, "str | None", "str | None"]
"""``mapped`` or ``property`` and the target, or ``dropped`` and the reason."""


class Report:
    """The lines of a call's events, and their counts by outcome.

    Args:
        prefix: what the names of custom properties begin with, with the dot (`properties.prefix`).
    """

    def __init__(self, prefix: str = "openlineage.") -> None:
        self._prefix = prefix
        self._lines: list[Line] = []
        self.counts: Counter[str] = Counter()

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

    def lines(self) -> Iterator[Line]:
        """Yield ``{"event", "path", "outcome", "target", "reason"}`` of each field, each field once."""
        return iter(self._lines)

    def add(self, event: Event, trace: Trace, written: Written | None) -> None:
        """Add the lines of one event.

        Args:
            event: the event.
            trace: the record of its translation.
            written: what its run wrote; None if a filter left the event out.
        """
        about, noted = _sorted(trace.notes)
        outcomes = _Outcomes(event, trace.facts, self._prefix)
        for field in noted_fields(document(event.raw), noted, about):
            near = written.near(field.datasets) if written is not None else {}
            outcome, target, reason = outcomes.of(field, near)
            self.counts[outcome] += 1
            self._lines.append(
                {"event": event.place, "path": field.shown, "outcome": outcome, "target": target, "reason": reason}
            )


def _sorted(notes: list[tuple[str, Note]]) -> tuple[dict[str, str], dict[str, Note]]:
    """Return, by path, the datasets that are named there, and what became of fields; the first note of a path counts."""
    about: dict[str, str] = {}
    noted: dict[str, Note] = {}
    for path, note in reversed(notes):
        if isinstance(note, str) and note.startswith(ABOUT):
            about[path] = note.removeprefix(ABOUT)
        else:
            noted[path] = note
    return about, noted


class _Outcomes:
    """Finds the outcome of each field of one event."""

    def __init__(self, event: Event, facts: dict[str, list[TracedFact]], prefix: str) -> None:
        self._event = event
        self._facts = facts
        self._prefix = prefix
        #: the facet that is looked at: its path, its names, its facts
        self._facet_steps: Steps = ()
        self._keys: tuple[str, ...] = ()
        self._stated: list[TracedFact] = []

    def of(self, field: Field, written: Aspects) -> _Outcome:
        """Return the outcome of a field; ``written`` is what it may have reached."""
        found = self._unless_dropped(field, written)
        if found[2] == CUT and not too_long(field.value):  # another text of the same path was cut
            found = (*found[:2], None)
        return self._unless_secret(found, (), field.value, hidden=True) if field.hidden else found

    def _unless_dropped(self, field: Field, written: Aspects) -> _Outcome:
        note, value = field.note, field.value
        if isinstance(note, str):
            return "dropped", None, note
        if note is not None:
            return self._unless_secret(self._into(field, note.targets, written), field.steps, value)
        if value is None:
            return "dropped", None, "no-home:null says nothing"
        bag = _bag_of(field.steps)
        return self._envelope(field, written) if bag is None else self._facet(field, *bag, written)

    # -- the envelope ------------------------------------------------------------------------------------------------

    def _envelope(self, field: Field, written: Aspects) -> _Outcome:
        steps, value, event = field.steps, field.value, self._event
        if value in ({}, []) or (value == "" and steps[-1] not in ("namespace", "name")):
            return "dropped", None, "no-home:empty"
        if steps in ENVELOPE_KEPT:
            kind = PROPERTY_KINDS["run" if event.kind == "run" else "job" if event.kind == "job" else "dataset"]
            found = self._reached(paths_of([kind[ENVELOPE_KEPT[steps]]], (), (), ()), written, "property")
            if found[0] == "dropped" and steps == ("producer",):  # it tells the platform all the same
                ended = ["dataProcessInstanceRunEvent.result.nativeResultType"] if event.terminal else []
                urns = ["dataJobInfo.type", "dataFlowInfo.urn", "assertionInfo.urn", *ended]
                return self._reached(map(Path, urns), written, "mapped")
            return found
        row = ENVELOPE.get((event.kind, _POSITION.sub("[]", field.shown)))
        if row is None:
            return "dropped", None, "no-home:not part of OpenLineage's envelope"
        # they are what DataHub's entities are known by, wherever they can be read
        return self._reached(paths_of([*row, *NAMES.get(steps[0], ())], (), (), ()), written, "mapped")

    # -- facets ------------------------------------------------------------------------------------------------------

    def _facet(self, field: Field, attach: Attach, depth: int, written: Aspects) -> _Outcome:
        steps, value = field.steps, field.value
        key, rest = str(steps[depth]), steps[depth + 1 :]
        empty = value in ({}, [])
        if not rest or isinstance(steps[depth], int):  # a list is no bag of facets
            return "dropped", None, "no-home:empty" if empty else "malformed"
        if rest[0] in _PROVENANCE:
            return "dropped", None, "envelope"
        if rest == ("_deleted",):
            return "mapped", "retraction of the bridge's own contribution", None
        spec = _spec(attach, key, self._event)
        if spec is not None:
            return self._known(field, spec, rest, written)
        if empty:
            return "dropped", None, "no-home:empty"
        kinds: tuple[Destination, ...] = (PROPERTY_KINDS[attach],)
        if steps[0] in ("inputs", "outputs") and steps[2] != "facets":
            kinds = (EDGE_PROPERTIES, RUN_BY_DATASET)
        return self._unless_secret(self._into(field, kinds, written), steps[depth:], value)

    def _known(self, field: Field, spec: FacetSpec, rest: Steps, written: Aspects) -> _Outcome:
        value = field.value
        row = row_of(spec, rest)
        if row is not None and row.reason:
            return "dropped", None, row.reason
        if value in ({}, []) and (row is None or not row.empty):
            return "dropped", None, "no-home:empty"
        # a field that the facet's Struct does not know is a property
        targets = row.targets if row is not None and row.targets else (PROPERTY_KINDS[spec.at],)
        if value == "":
            # no field of DataHub holds an empty text; the properties of a facet that is read as plain JSON do
            if spec.reads is not None and row is not None and not row.empty:
                return "dropped", None, "no-home:empty"
            own = [path for path in self._paths(field, (*targets, PROPERTY_KINDS[spec.at])) if is_property(path.path)]
            return self._reached(own, written)
        found = self._into(field, targets, written)
        named_by_path = found[1] is not None and f"[{self._prefix}{spec.keys[0]}." in found[1]
        return self._unless_secret(found, (spec.keys[0], *rest) if named_by_path else rest, value)

    def _paths(self, field: Field, targets: tuple[Destination, ...]) -> Iterator[Path]:
        """Yield where a field of a facet may have gone."""
        bag = _bag_of(field.steps)
        if bag is None:
            return paths_of(targets, (), (), ())
        depth = bag[1] + 1
        facet = field.steps[:depth]
        if facet != self._facet_steps:  # the fields of a facet follow each other
            key = str(facet[-1])
            spec = _spec(bag[0], key, self._event)
            self._facet_steps = facet
            self._keys = (key,) if spec is None else tuple(dict.fromkeys((*spec.keys, key)))
            self._stated = self._facts.get(_place_of(facet), [])
        words = [step for step in field.steps[depth:] if not isinstance(step, int)]
        return paths_of(targets, self._stated, self._keys, words)

    def _unless_secret(self, found: _Outcome, steps: Steps, value: Any, *, hidden: bool = False) -> _Outcome:
        """Return ``found``; dropped if redaction has put something else into the property.

        ``steps`` lead to the value; they begin with the facet's key if the property's name does. ``hidden``: a name beside
        the value hides it.
        """
        target = found[1]
        if target is None or not (_is_redacted(target) or value == REDACTED):
            return found
        keys = names_of([str(step) for step in steps if not isinstance(step, int)])
        return ("dropped", None, "secret") if replaced(value, *keys, hidden=hidden) else found

    def _into(self, field: Field, targets: tuple[Destination, ...], written: Aspects) -> _Outcome:
        """Return the outcome of a field of a facet that goes into facts of these kinds."""
        found = self._reached(self._paths(field, targets), written)
        if found == ("dropped", None, _UNKNOWN):
            reasons = (_reason_of(path, written) for path in possible_paths(targets))
            return "dropped", None, next((reason for reason in reasons if reason), _UNKNOWN)
        return found

    def _reached(self, paths: Iterable[Path], written: Aspects, outcome: str = "") -> _Outcome:
        """Return the first path that was written; dropped, with the reason of the first, if none was.

        ``outcome``: what to call it, if that does not follow from the path.
        """
        reason: str | None = None
        for path in paths:
            said = _said_of(path, written, self._prefix)
            if said is not None and said.startswith(MOVED):
                moved = path._replace(path=said.removeprefix(MOVED))
                found = self._reached([moved], written, outcome)
                if found[0] != "dropped":
                    return found
                said = found[2]
            if said is None or said == CUT:
                kind = outcome or ("property" if is_property(path.path) else "mapped")
                return kind, path.text(self._prefix), said
            reason = reason or said
        return "dropped", None, reason or _UNKNOWN


def _reason_of(path: str, written: Aspects) -> str:
    """Return why nothing is at a path; "" if something is, or if nobody knows."""
    reason = written.get(path, written.get(_aspect_of(path))) or ""
    return "" if reason.startswith(MOVED) or reason == CUT else reason


def _said_of(path: Path, written: Aspects, prefix: str) -> str | None:
    """Return None if a path was written, else the reason why it was not."""
    own = written.get(path.path, "")
    if own and not own.startswith(MOVED):
        return own
    if path.name is not None and (key := path.key(prefix)) in written:
        return written[key]
    aspect = _aspect_of(path.path)
    said = own if path.path in written else written.get(aspect, _UNKNOWN)
    if said is not None or (path.name is None and _field_of(path.path) in written):
        return said
    return _REPLACED if path.stated else _UNKNOWN


def _bag_of(steps: Steps) -> tuple[Attach, int] | None:
    """Return (attach point, depth of the facet's key) if the path leads into a facet bag."""
    if len(steps) >= 3 and steps[0] in ("run", "job", "dataset") and steps[1] == "facets":
        return steps[0], 2
    if len(steps) >= 3 and steps[0] == "dataset" and steps[1] in ("inputFacets", "outputFacets"):
        return "dataset", 2
    if len(steps) >= 4 and steps[0] in ("inputs", "outputs") and steps[2] in ("facets", "inputFacets", "outputFacets"):
        return "dataset", 3
    return None


def _place_of(steps: Steps) -> str:
    """Return the path of a facet as the trace has it: no key is quoted."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _spec(attach: Attach, key: str, event: Event) -> FacetSpec | None:
    found = registry()[attach].get(key)
    return misplaced(attach, key, event) if found is None and attach != "dataset" else found


def row_of(spec: FacetSpec, rest: Steps) -> Row | None:
    """Return the row of the facet's table that a field's path matches: the exact one, else the first pattern."""
    plain = ".".join(_joined(rest))
    exact = spec.leaves.get(plain)
    return exact if exact is not None else _pattern(spec, plain)


def _joined(rest: Steps) -> Iterator[str]:
    word = ""
    for step in rest:
        if isinstance(step, int):
            word += "[]"
        else:
            if word:
                yield word
            word = step
    yield word


@lru_cache(maxsize=20_000)
def _pattern(spec: FacetSpec, plain: str) -> Row | None:
    for pattern, row in spec.leaves.items():
        if "*" in pattern:
            regex = re.escape(pattern).replace(r"\*\*", ".+").replace(r"\*", r".+?")
            if re.fullmatch(regex, plain, re.DOTALL):
                return row
    return None


@lru_cache(maxsize=20_000)
def _is_redacted(target: str) -> bool:
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
