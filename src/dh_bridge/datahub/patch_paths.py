"""The paths that a PATCH may contain: path shapes of the servers' templates, compiled for a schema.

A shape names a field of the aspect and the keys of its elements: ``{name}`` is the element's field of that name,
``{}`` the element itself, ``{*}`` the key of a map. The values of one shape are checked by one conversion. The shapes are those
of DataHub's patch builders, for aspects that have a template on all servers since 0.15.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from dh_bridge.datahub import pointers
from dh_bridge.datahub.avro_types import Marker, TypeCompiler, conform, urn_field_type, urn_type
from dh_bridge.datahub.search_texts import SAFE_LENGTH, is_text
from dh_bridge.msgspec_threads import prepare_type

if TYPE_CHECKING:
    from dh_bridge.datahub import schemas

_EDGES = (
    "inputDatasetEdges/{destinationUrn}",
    "outputDatasetEdges/{destinationUrn}",
    "inputDatajobEdges/{destinationUrn}",
)
_FINE_TEMPLATE = "fineGrainedLineages/{transformOperation}/{downstream}/{query}/{upstream}"
_AUDIT_STAMPS = ("created", "lastModified")

TEMPLATES: dict[str, tuple[str, ...]] = {
    "dataFlowInfo": ("name", "description", "project", "externalUrl", "env", *_AUDIT_STAMPS, "customProperties/{*}"),
    "dataJobInfo": (
        "name",
        "type",
        "flowUrn",
        "description",
        "externalUrl",
        "env",
        *_AUDIT_STAMPS,
        "customProperties/{*}",
    ),
    "dataJobInputOutput": (*_EDGES, "inputDatasetFields/{}", "outputDatasetFields/{}", _FINE_TEMPLATE),
    "datasetProperties": (
        "name",
        "qualifiedName",
        "description",
        "externalUrl",
        *_AUDIT_STAMPS,
        "customProperties/{*}",
    ),
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
    "upstreamLineage": ("upstreams/{dataset}", _FINE_TEMPLATE),
}

_MAX_CACHED_PATHS = 16_384
_bad_escape = re.compile(r"~(?![01])").search


class PatchPathShape:
    """A path shape, compiled for one schema."""

    def __init__(
        self, template: str, checks: dict[int, Any], keys: dict[int, str], kind: Any, *, search_text: bool = False
    ) -> None:
        steps = template.split("/")
        self.length = len(steps)
        self.first = steps[0]
        self._fixed_steps = [(index, step) for index, step in enumerate(steps) if index and not step.startswith("{")]
        marker_checks = {
            index: kind for index, kind in checks.items() if isinstance(kind, type) and issubclass(kind, Marker)
        }
        self._lookups = [(index, kind.lookup) for index, kind in marker_checks.items()]
        self._kinds = [
            (index, kind) for index, kind in checks.items() if index not in marker_checks and kind is not str
        ]
        self._keys = keys
        self.is_plain = kind is str
        #: how many characters a text may have without a look at it; none of a value that is no plain text
        self.max_length = -1 if kind is not str else SAFE_LENGTH if search_text else sys.maxsize
        # A URN or a union is looked up at once; the others wait, to be converted together.
        self.lookup = kind.lookup if isinstance(kind, type) and issubclass(kind, Marker) else None
        self.batch_type = _batch_type(kind)

    def matches(self, steps: list[str]) -> bool:
        """Return whether a path with the same number of steps has this shape."""
        return all(steps[index] == step for index, step in self._fixed_steps)

    def check_keys(self, steps: list[str]) -> tuple[tuple[str, str], ...]:
        """Check the variable steps of a path; return (field of the value, what it must equal), ``""`` = the value itself."""
        for index, lookup in self._lookups:
            lookup[steps[index]]
        for index, kind in self._kinds:
            conform(steps[index], kind)
        return tuple((name, steps[index]) for index, name in self._keys.items()) if self._keys else ()


@cache
def _batch_type(kind: Any) -> type[Struct]:
    """Return the type of several values of one type: shapes with this type are checked in one conversion."""
    return prepare_type(msgspec.defstruct("Values", [("items", list[kind])], gc=False, eq=False))


class PatchPaths(dict[str, tuple[PatchPathShape, tuple[tuple[str, str], ...]]]):
    """Path -> its shape and the keys that the value repeats; cleared when it is full."""

    def __init__(self, shapes: list[PatchPathShape]) -> None:
        self._shapes: dict[tuple[str, int], list[PatchPathShape]] = {}
        for shape in shapes:
            self._shapes.setdefault((shape.first, shape.length), []).append(shape)

    def __missing__(self, path: str) -> tuple[PatchPathShape, tuple[tuple[str, str], ...]]:
        if path[:1] != "/":
            raise ValueError("not a JSON pointer")
        if "~" in path and _bad_escape(path):
            raise ValueError("not a JSON pointer")
        parts = pointers.steps(path)
        for shape in self._shapes.get((parts[0], len(parts)), ()):
            if shape.matches(parts) and "" not in parts:
                break
        else:
            raise ValueError("the server's patch template of this aspect has no such path")
        shape_and_keys = (shape, shape.check_keys(parts))
        self._store(path, shape_and_keys)
        return shape_and_keys

    def _store(self, path: str, shape_and_keys: tuple[PatchPathShape, tuple[tuple[str, str], ...]]) -> None:
        if len(self) >= _MAX_CACHED_PATHS:
            self.clear()
        self[path] = shape_and_keys


def build_patch_paths(aspect_name: str, schema: schemas.Schema) -> PatchPaths:
    """Return the paths of an aspect: the shapes of its template whose fields are in the schema."""
    compiler = TypeCompiler(schema)
    shapes = [_compile_shape(compiler, schema, template) for template in TEMPLATES[aspect_name]]
    return PatchPaths([shape for shape in shapes if shape is not None])


def _compile_shape(compiler: TypeCompiler, schema: schemas.Schema, template: str) -> PatchPathShape | None:
    """Return a shape compiled for a schema, None when the schema has no such field."""
    if template == _FINE_TEMPLATE:
        return _compile_fine_shape(compiler, schema)
    node, urn, search_text = schema, None, False
    checks: dict[int, Any] = {}
    keys: dict[int, str] = {}
    for index, step in enumerate(template.split("/")):
        node = compiler.definition(node)
        name = step.strip("{}")
        if name == "*":
            checks[index], node = str, node["values"]
        elif not step.startswith("{"):
            field = _field(node, name)
            if field is None:
                return None
            # A key that the value itself repeats (…/{fieldPath}/fieldPath) must equal it; keys of an outer element must not.
            keys = {key_index: "" for key_index, key_field in keys.items() if key_field == name}
            node, urn, search_text = field["type"], urn_field_type(field), is_text(field)
        else:
            node = node["items"] if node["type"] == "array" else node
            key = _field(compiler.definition(node), name) if name else None
            checks[index] = compiler.type_of(node, urn) if key is None else compiler.field_type(key)
            keys[index] = name
    return PatchPathShape(template, checks, keys, compiler.type_of(node, urn), search_text=search_text)


def _compile_fine_shape(compiler: TypeCompiler, schema: schemas.Schema) -> PatchPathShape | None:
    """Return the shape of a column lineage: the path holds the ends, the value only how sure it is and the kinds of the ends."""
    field = _field(schema, "fineGrainedLineages")
    if field is None:
        return None
    record = compiler.definition(compiler.definition(field["type"])["items"])
    value = compiler.record_type(record, frozenset(("confidenceScore", "upstreamType", "downstreamType")))
    ends = {2: urn_type(frozenset(["schemaField"])), 4: urn_type(frozenset(["dataset", "schemaField"]))}
    return PatchPathShape(_FINE_TEMPLATE, {1: str, 3: _Query, **ends}, {}, value)


class _Query(Marker):
    """The query of a column lineage: its URN, or ``NONE``."""

    class _Lookup:
        def __getitem__(self, text: str) -> None:
            if text != "NONE":
                urn_type(frozenset(["query"])).lookup[text]

    lookup = _Lookup()


def _field(node: schemas.Schema, name: str) -> schemas.Schema | None:
    """Return the field of a record by its name."""
    return next((field for field in node["fields"] if field["name"] == name), None)
