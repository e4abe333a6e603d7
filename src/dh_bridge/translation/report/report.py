"""The leaf report: every JSON leaf of an event, once, with what became of it.

It is made on request, from what the translation really did: the rows of the facet modules say where a leaf goes, the
notes of the walk say where one ended and which dataset it is about, and a target counts only if its aspect is among the
proposals of what the leaf is about (`Written.near`).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.search_texts import too_long
from dh_bridge.redaction import REDACTED, names_of, replaced
from dh_bridge.translation.context import ABOUT
from dh_bridge.translation.envelope import EDGES, ENVELOPE, ENVELOPE_KEPT, NAMES
from dh_bridge.translation.facet import PROPERTY_ASPECTS, FacetSpec, Leaf
from dh_bridge.translation.facets import misplaced, registry
from dh_bridge.translation.report.leaves import document, noted_leaves
from dh_bridge.translation.report.written import CUT, MOVED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.context import Attach
    from dh_bridge.translation.report.leaves import Found, Path
    from dh_bridge.translation.report.written import Aspects, Written

_POSITION = re.compile(r"\[\d+\]")
_BAG = re.compile(r"\$(?:\.(run|job|dataset)|\.(inputs|outputs)\[\d+\])\.(facets|inputFacets|outputFacets)\Z")
_REACHED = ("mapped", "kept")
#: Targets whose values went through redaction.
_PROPERTIES = ("customProperties", ".properties", ".runtimeContext", ".partitionSpec")
_PROVENANCE = ("_producer", "_schemaURL")

Line = dict[str, Any]


class Report:
    """The lines of a call's events, and their counts by verdict."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self.counts: Counter[str] = Counter()

    @property
    def mapped(self) -> int:
        """Leaves that reached typed fields."""
        return self.counts["mapped"]

    @property
    def kept(self) -> int:
        """Leaves that became properties."""
        return self.counts["kept"]

    @property
    def withheld(self) -> int:
        """Leaves that were not stored."""
        return self.counts["withheld"]

    def lines(self) -> Iterator[Line]:
        """Yield ``{"event", "path", "verdict", "target", "reason"}``, one a leaf, each leaf once."""
        return iter(self._lines)

    def add(self, event: Event, notes: list[tuple[str, str]], written: Written | None) -> None:
        """Add the lines of one event; ``written`` knows what its run wrote, None where a filter left the event out."""
        about, noted = _sorted(notes)
        for leaf in noted_leaves(document(event.raw), noted, about):
            _, shown, _, datasets, _, _ = leaf
            near = written.near(datasets) if written is not None else {}
            verdict, target, reason = _verdict(leaf, event, near)
            self.counts[verdict] += 1
            self._lines.append(
                {"event": event.place, "path": shown, "verdict": verdict, "target": target, "reason": reason}
            )


_Verdict = tuple[str, "str | None", "str | None"]


def _sorted(notes: list[tuple[str, str]]) -> tuple[dict[str, str], dict[str, str]]:
    """Return, by place, the datasets that are named there, and where leaves ended; the first of a place counts."""
    about = {place: note.removeprefix(ABOUT) for place, note in reversed(notes) if note.startswith(ABOUT)}
    return about, {place: note for place, note in reversed(notes) if not note.startswith(ABOUT)}


def _verdict(leaf: Found, event: Event, written: Aspects) -> _Verdict:
    *_, value, hidden = leaf
    found = _found(leaf, event, written)
    if found[2] == CUT and not too_long(value):  # another text of the field
        found = (*found[:2], None)
    return _unless_secret(found, "", (), value, hidden=True) if hidden else found


def _found(leaf: Found, event: Event, written: Aspects) -> _Verdict:
    path, shown, note, _, value, _ = leaf
    if note is not None:
        return _unless_secret(_noted(note, written), "", path, value)
    if value is None:
        return "withheld", None, "no-home:null says nothing"
    found = _facet_leaf(path, value, event, written)
    return found if found is not None else _envelope_leaf(path, shown, value, event, written)


def _noted(reason: str, written: Aspects) -> _Verdict:
    """Return the verdict of a note: why a leaf ended, or where it went instead of where its row says."""
    verdict, _, targets = reason.partition(":")
    return _reached(verdict, targets.split("|"), written) if verdict in _REACHED else ("withheld", None, reason)


# -- the envelope ----------------------------------------------------------------------------------------------------


def _envelope_leaf(path: Path, shown: str, value: Any, event: Event, written: Aspects) -> _Verdict:
    if value in ({}, []) or (value == "" and path[-1] not in ("namespace", "name")):
        return "withheld", None, "no-home:empty"
    owner = {"run": ("dataProcessInstanceProperties",), "job": ("dataJobInfo", "dataFlowInfo")}.get(
        event.kind, ("datasetProperties",)
    )
    if path in ENVELOPE_KEPT:
        said = _reached("kept", [f"{aspect}.customProperties[openlineage.{path[0]}]" for aspect in owner], written)
        if said[0] == "withheld" and path == ("producer",):  # it tells the platform all the same
            ended = ["dataProcessInstanceRunEvent.result.nativeResultType"] if event.terminal else []
            return _reached("mapped", ["dataJobInfo.type", "dataFlowInfo.urn", "assertionInfo.urn", *ended], written)
        return said
    row = ENVELOPE.get((event.kind, _POSITION.sub("[]", shown)))
    if row is None:
        return "withheld", None, "no-home:not part of OpenLineage's envelope"
    return _reached("mapped", [*row, *NAMES.get(path[0], ())], written)


# -- facets ----------------------------------------------------------------------------------------------------------


def _facet_leaf(path: Path, value: Any, event: Event, written: Aspects) -> _Verdict | None:
    place = _bag_of(path)
    if place is None:
        return None
    attach, depth = place
    key, rest = str(path[depth]), path[depth + 1 :]
    empty = value in ({}, [])
    if not rest or isinstance(path[depth], int):  # a list is no bag of facets
        return "withheld", None, "no-home:empty" if empty else "malformed"
    if rest[0] in _PROVENANCE:
        return "withheld", None, "envelope"
    if rest == ("_deleted",):
        return "mapped", "retraction of the bridge's own contribution", None
    spec = _spec(attach, key, event)
    if spec is None:
        return ("withheld", None, "no-home:empty") if empty else _unknown(attach, path, value, written)
    return _known(spec, key, rest, value, written)


def _known(spec: FacetSpec, key: str, rest: Path, value: Any, written: Aspects) -> _Verdict:
    empty = value in ({}, [])
    leaf = row_of(spec, rest)
    if leaf is not None and leaf.verdict == "withheld":
        return "withheld", None, leaf.reason
    if empty and (leaf is None or not leaf.empty):
        return "withheld", None, "no-home:empty"
    if leaf is None:
        # one that the facet's Struct does not know: what is in it is JSON
        return _unless_secret(_reached("kept", _property_targets(spec.at, key, rest), written), "", rest, value)
    targets = _targets(leaf, rest) if leaf.targets else _property_targets(spec.at, spec.keys[0], rest)
    if value == "":
        return _blank(spec, leaf, rest, targets, written)
    found = _reached(leaf.verdict, targets, written)
    whole = not leaf.targets or "{path}" in leaf.targets[0]
    return _unless_secret(found, spec.keys[0] if whole else "", rest, value)


def _blank(spec: FacetSpec, leaf: Leaf, rest: Path, targets: Sequence[str], written: Aspects) -> _Verdict:
    """Return the verdict of an empty text: no typed field holds one, the properties of a facet that is read as plain JSON do."""
    if spec.reads is not None and not leaf.empty:
        return "withheld", None, "no-home:empty"
    properties = [target for target in targets if _holds_properties(target)]
    return _reached("kept", properties or _property_targets(spec.at, spec.keys[0], rest), written)


def _targets(leaf: Leaf, rest: Path) -> Sequence[str]:
    """Return the targets of a row; ``{path}`` and ``{name}`` in them are the leaf's path and its last step."""
    if "{" not in "".join(leaf.targets):
        return leaf.targets
    names = ".".join(str(step) for step in rest if not isinstance(step, int))
    return [target.replace("{path}", names).replace("{name}", names.rpartition(".")[2]) for target in leaf.targets]


def _unless_secret(found: _Verdict, key: str, rest: Path, value: Any, *, hidden: bool = False) -> _Verdict:
    """Return ``found``; withheld where redaction has put something else into the property.

    ``key``: the facet's, where it is the first part of the property's name. ``hidden``: a name beside it hides it.
    """
    target = found[1]
    if target is None or not (_holds_properties(target) or value == REDACTED):
        return found
    names = [str(step) for step in rest if not isinstance(step, int)]
    keys = names_of([key, *names] if key else names)
    return ("withheld", None, "secret") if replaced(value, *keys, hidden=hidden) else found


def _bag_of(path: Path) -> tuple[Attach, int] | None:
    """Return (attach point, depth of the facet's key) when the path leads into a facet bag."""
    if len(path) >= 3 and path[0] in ("run", "job", "dataset") and path[1] == "facets":
        return path[0], 2
    if len(path) >= 3 and path[0] == "dataset" and path[1] in ("inputFacets", "outputFacets"):
        return "dataset", 2
    if len(path) >= 4 and path[0] in ("inputs", "outputs") and path[2] in ("facets", "inputFacets", "outputFacets"):
        return "dataset", 3
    return None


def _spec(attach: Attach, key: str, event: Event) -> FacetSpec | None:
    found = registry()[attach].get(key)
    return misplaced(attach, key, event) if found is None and attach != "dataset" else found


def _unknown(attach: Attach, path: Path, value: Any, written: Aspects) -> _Verdict:
    depth = 3 if path[0] in ("inputs", "outputs") else 2
    key = str(path[depth])
    targets = [f"{aspect}.customProperties[openlineage.facet.{key}]" for aspect in PROPERTY_ASPECTS[attach]]
    if path[0] in ("inputs", "outputs") and path[2] != "facets":
        run = f"dataProcessInstanceProperties.customProperties[openlineage.{path[0]}.facet.{key}]"
        targets = [f"{EDGES[path[0]]}[].properties[openlineage.facet.{key}]", run]
    return _unless_secret(_reached("kept", targets, written), "", path[depth:], value)


def _property_targets(attach: Attach, key: str, rest: Path) -> list[str]:
    name = ".".join(str(step) for step in rest if not isinstance(step, int))
    return [f"{aspect}.customProperties[openlineage.{key}.{name}]" for aspect in PROPERTY_ASPECTS[attach]]


def row_of(spec: FacetSpec, rest: Path) -> Leaf | None:
    """Return the row of the facet's table that a leaf's path matches: the exact one, else the first pattern."""
    plain = ".".join(_joined(rest))
    exact = spec.leaves.get(plain)
    return exact if exact is not None else _pattern(spec, plain)


def _joined(rest: Path) -> Iterator[str]:
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
def _pattern(spec: FacetSpec, plain: str) -> Leaf | None:
    for pattern, leaf in spec.leaves.items():
        if "*" in pattern:
            regex = re.escape(pattern).replace(r"\*\*", ".+").replace(r"\*", r".+?")
            if re.fullmatch(regex, plain, re.DOTALL):
                return leaf
    return None


@lru_cache(maxsize=20_000)
def _holds_properties(target: str) -> bool:
    return any(part in target for part in _PROPERTIES)


@lru_cache(maxsize=20_000)
def _aspect_of(target: str) -> str:
    return re.split(r"[.\[]", target, maxsplit=1)[0]


def _reached(verdict: str, targets: Sequence[str], written: Aspects) -> _Verdict:
    """Return the first target whose aspect was written; withheld, with the reason of the first, when none was."""
    reason: str | None = None
    for target in targets:
        part = target if target in written else target.partition("[openlineage")[0]
        aspect = part if part in written else _aspect_of(target)
        if aspect not in written:
            continue
        found: _Verdict = (verdict, target, None)
        said = written[aspect]
        if said is not None and said.startswith(MOVED):
            found = _reached(verdict, [said.removeprefix(MOVED) + target.removeprefix(aspect)], written)
        elif said == CUT:
            found = (verdict, target, CUT)
        elif said is not None:
            found = ("withheld", None, said)
        if found[0] != "withheld":
            return found
        reason = reason or found[2]
    return "withheld", None, reason or "pending-terminal"
