"""The places that a PATCH may name: path shapes of the servers' templates, compiled for a schema.

A shape names a field of the aspect and what its elements are keyed by: ``{name}`` is the element's field of that name,
``{}`` the element itself, ``{*}`` the key of a map. The values of one shape are checked by one conversion. The shapes are those
of DataHub's patch builders; aspects without a template that servers since 0.15 have are not here.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from dh_bridge.datahub import pointers
from dh_bridge.datahub.avro_types import Compiler, Marker, conform, urn_of, urn_type
from dh_bridge.datahub.search_texts import SAFE_LENGTH, is_text
from dh_bridge.msgspec_threads import prepared

if TYPE_CHECKING:
    from dh_bridge.datahub import schemas

_EDGES = (
    "inputDatasetEdges/{destinationUrn}",
    "outputDatasetEdges/{destinationUrn}",
    "inputDatajobEdges/{destinationUrn}",
)
_FINE = "fineGrainedLineages/{transformOperation}/{downstream}/{query}/{upstream}"
_STAMPS = ("created", "lastModified")

TEMPLATES: dict[str, tuple[str, ...]] = {
    "dataFlowInfo": ("name", "description", "project", "externalUrl", "env", *_STAMPS, "customProperties/{*}"),
    "dataJobInfo": ("name", "type", "flowUrn", "description", "externalUrl", "env", *_STAMPS, "customProperties/{*}"),
    "dataJobInputOutput": (*_EDGES, "inputDatasetFields/{}", "outputDatasetFields/{}", _FINE),
    "datasetProperties": ("name", "qualifiedName", "description", "externalUrl", *_STAMPS, "customProperties/{*}"),
    "domains": ("domains/{}",),
    "editableSchemaMetadata": (
        "editableSchemaFieldInfo/{fieldPath}/fieldPath",
        "editableSchemaFieldInfo/{fieldPath}/globalTags/tags/{tag}",
        "editableSchemaFieldInfo/{fieldPath}/glossaryTerms/terms/{urn}",
    ),
    "globalTags": ("tags/{tag}",),
    "glossaryTerms": ("terms/{urn}",),
    "ownership": ("owners/{owner}/{type}",),
    "siblings": ("siblings/{}", "primary"),
    "structuredProperties": ("properties/{propertyUrn}",),
    "upstreamLineage": ("upstreams/{dataset}", _FINE),
}

_REMEMBERED = 16_384
_bad_escape = re.compile(r"~(?![01])").search


class Slot:
    """A path shape, compiled for one schema."""

    def __init__(
        self, template: str, checks: dict[int, Any], keys: dict[int, str], kind: Any, *, search_text: bool = False
    ) -> None:
        steps = template.split("/")
        self.length = len(steps)
        self.first = steps[0]
        self._words = [(at, step) for at, step in enumerate(steps) if at and not step.startswith("{")]
        marked = {at: kind for at, kind in checks.items() if isinstance(kind, type) and issubclass(kind, Marker)}
        self._seen = [(at, kind.seen) for at, kind in marked.items()]
        self._kinds = [(at, kind) for at, kind in checks.items() if at not in marked and kind is not str]
        self._keys = keys
        self.plain = kind is str
        #: how many characters a text may have without a look at it; none of a value that is no plain text
        self.longest = -1 if kind is not str else SAFE_LENGTH if search_text else sys.maxsize
        # A URN or a union is looked up at once; the others wait, to be converted together.
        self.seen = kind.seen if isinstance(kind, type) and issubclass(kind, Marker) else None
        self.batch = _batch(kind)

    def takes(self, steps: list[str]) -> bool:
        """Say whether a path of as many steps has this shape."""
        return all(steps[at] == word for at, word in self._words)

    def keys(self, steps: list[str]) -> tuple[tuple[str, str], ...]:
        """Check the variable steps of a path; return (field of the value, what it must equal), ``""`` = the value itself."""
        for at, seen in self._seen:
            seen[steps[at]]
        for at, kind in self._kinds:
            conform(steps[at], kind)
        return tuple((name, steps[at]) for at, name in self._keys.items()) if self._keys else ()


@cache
def _batch(kind: Any) -> type[Struct]:
    """Return the type of several values of one type: slots that share it are checked in one conversion."""
    return prepared(msgspec.defstruct("Values", [("items", list[kind])], gc=False, eq=False))


class Places(dict[str, tuple[Slot, tuple[tuple[str, str], ...]]]):
    """Path -> its slot and the keys that the value repeats; starts anew when it is full."""

    def __init__(self, slots: list[Slot]) -> None:
        self._slots: dict[tuple[str, int], list[Slot]] = {}
        for slot in slots:
            self._slots.setdefault((slot.first, slot.length), []).append(slot)

    def __missing__(self, path: str) -> tuple[Slot, tuple[tuple[str, str], ...]]:
        if path[:1] != "/":
            raise ValueError("not a JSON pointer")
        if "~" in path and _bad_escape(path):
            raise ValueError("not a JSON pointer")
        parts = pointers.steps(path)
        for slot in self._slots.get((parts[0], len(parts)), ()):
            if slot.takes(parts) and "" not in parts:
                break
        else:
            raise ValueError("the server's template of this aspect does not know this path")
        place = (slot, slot.keys(parts))
        self._remember(path, place)
        return place

    def _remember(self, path: str, place: tuple[Slot, tuple[tuple[str, str], ...]]) -> None:
        if len(self) >= _REMEMBERED:
            self.clear()
        self[path] = place


def places_of(aspect_name: str, schema: schemas.Schema) -> Places:
    """Return the places of an aspect: of the shapes of its template whose fields the schema has."""
    compiler = Compiler(schema)
    found = [_slot(compiler, schema, template) for template in TEMPLATES[aspect_name]]
    return Places([slot for slot in found if slot is not None])


def _slot(compiler: Compiler, schema: schemas.Schema, template: str) -> Slot | None:
    """Return a shape compiled for a schema, None when the schema has no such field."""
    if template == _FINE:
        return _fine_slot(compiler, schema)
    node, urn, search_text = schema, None, False
    checks: dict[int, Any] = {}
    keys: dict[int, str] = {}
    for at, step in enumerate(template.split("/")):
        node = compiler.definition(node)
        name = step.strip("{}")
        if name == "*":
            checks[at], node = str, node["values"]
        elif not step.startswith("{"):
            field = _field(node, name)
            if field is None:
                return None
            # A key that the value itself repeats (…/{fieldPath}/fieldPath) must equal it; keys of an outer element must not.
            keys = {before: "" for before, known in keys.items() if known == name}
            node, urn, search_text = field["type"], urn_of(field), is_text(field)
        else:
            node = node["items"] if node["type"] == "array" else node
            key = _field(compiler.definition(node), name) if name else None
            checks[at] = compiler.type_of(node, urn) if key is None else compiler.field(key)
            keys[at] = name
    return Slot(template, checks, keys, compiler.type_of(node, urn), search_text=search_text)


def _fine_slot(compiler: Compiler, schema: schemas.Schema) -> Slot | None:
    """Return the shape of a column lineage: the path holds the ends, the value only how sure it is and the kinds of the ends."""
    field = _field(schema, "fineGrainedLineages")
    if field is None:
        return None
    record = compiler.definition(compiler.definition(field["type"])["items"])
    value = compiler.record(record, frozenset(("confidenceScore", "upstreamType", "downstreamType")))
    ends = {2: urn_type(frozenset(["schemaField"])), 4: urn_type(frozenset(["dataset", "schemaField"]))}
    return Slot(_FINE, {1: str, 3: _Query, **ends}, {}, value)


class _Query(Marker):
    """The query of a column lineage: its URN, or ``NONE``."""

    class _Seen:
        def __getitem__(self, text: str) -> None:
            if text != "NONE":
                urn_type(frozenset(["query"])).seen[text]

    seen = _Seen()


def _field(node: schemas.Schema, name: str) -> schemas.Schema | None:
    """Return the field of a record by its name."""
    return next((field for field in node["fields"] if field["name"] == name), None)
