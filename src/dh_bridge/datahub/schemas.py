"""The bundled Avro schemas of DataHub's aspects, by profile; each is read at the first use.

``avro_schemas/<profile>/index.json`` names the file of each aspect; see ``avro_schemas/SOURCE.md``.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.bundled import profile_names, schema_bytes
from dh_bridge.msgspec_threads import prepare_type

if TYPE_CHECKING:
    from collections.abc import Iterator

Schema = dict[str, Any]


@prepare_type
class SchemaIndex(msgspec.Struct, frozen=True):
    """The index of a profile: the wheel, and the files of the envelope and of each aspect."""

    wheel: str
    envelope: str
    aspects: dict[str, str]


def version_numbers(version: str) -> tuple[int, ...]:
    """Return a dotted version as numbers: ``"1.3"`` -> ``(1, 3)``."""
    return tuple(int(part) for part in version.split("."))


@lru_cache(maxsize=1)
def profile_versions() -> tuple[str, ...]:
    """Return the names of the bundled profiles, oldest first."""
    return tuple(sorted(profile_names(), key=version_numbers))


@lru_cache
def load_index(version: str) -> SchemaIndex:
    """Return the index of a bundled profile."""
    return msgspec.json.decode(schema_bytes(f"{version}/index.json"), type=SchemaIndex)


@cache
def load_schema(file: str) -> Schema:
    """Return the schema of a file that an index names, for example ``0.15.0/Status.avsc``."""
    schema: Schema = msgspec.json.decode(schema_bytes(file))
    return schema


def aspect_schema(version: str, aspect_name: str) -> Schema | None:
    """Return the schema of an aspect in a profile, None when the profile has none."""
    file = load_index(version).aspects.get(aspect_name)
    return None if file is None else load_schema(file)


def is_timeseries(schema: Schema) -> bool:
    """Return whether an aspect's schema is that of a timeseries."""
    return bool(schema["Aspect"].get("type") == "timeseries")


def named_types(schema: Schema) -> dict[str, Schema]:
    """Return full name -> definition of every record, enum and fixed inside ``schema``, itself included."""
    types: dict[str, Schema] = {}

    def collect(node: Any) -> None:
        if isinstance(node, list):
            for branch in node:
                collect(branch)
        elif isinstance(node, dict):
            if "name" in node:
                types[f"{node['namespace']}.{node['name']}"] = node
            for field in node.get("fields", ()):
                collect(field["type"])
            collect(node.get("items", node.get("values")))

    collect(schema)
    return types


def branches(node: Any) -> list[Any]:
    """Return the branches of an Avro type that are not null; the type itself if it is not a union."""
    return [branch for branch in node if branch != "null"] if isinstance(node, list) else [node]


def wire_name(node: Any) -> str:
    """Return the tag that a union's branch has on the wire: ``com.linkedin.schema.StringType``, ``string``."""
    if isinstance(node, dict):
        node = f"{node['namespace']}.{node['name']}" if "name" in node else node["type"]
    return str(node).replace("com.linkedin.pegasus2avro.", "com.linkedin.", 1)


def descend(schema: Schema, path: str) -> Any:
    """Return the Avro type at a dotted ``path`` below a record, through arrays and maps; None if it does not exist."""
    types = named_types(schema)
    nodes: Iterator[Any] | list[Any] = [schema]
    for step in path.split("."):
        nodes = [field["type"] for node in nodes for field in _fields(node, types) if field["name"] == step]
    return next(iter(nodes), None)


def _fields(node: Any, types: dict[str, Schema]) -> Iterator[Schema]:
    """Yield the record fields that lie directly below a type, through unions, arrays and maps."""
    for branch in branches(node):
        inner = types.get(branch) if isinstance(branch, str) else branch
        if inner is None or inner["type"] in ("enum", "fixed"):
            continue
        if inner["type"] == "record":
            yield from inner["fields"]
        else:
            yield from _fields(inner.get("items", inner.get("values")), types)
