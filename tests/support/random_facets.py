"""Facets drawn at random: as openlineage-python's classes have them, and as the specification's JSON schemas allow them."""

from __future__ import annotations

import enum
import importlib
import json
import pkgutil
import types
import typing
from functools import cache

import attr
from hypothesis import strategies as st
from openlineage.client import generated
from openlineage.client.serde import Serde

from support.public_data import SPEC

WORDS = ["id", "amount", "shop.public.orders", "postgres://db:5432", "a.b", "STRING", "user:ann", "x > 1", "90", "é ~/"]
TIMES, LINKS = ["2026-11-20T01:00:00Z", "2026-11-20T02:00:00.5+01:00"], ["https://example.com/a", "postgres://ann@db/x"]
IDS = ["018cc251-f400-734d-88b3-1e3d63fe6210", "018cc251-f400-734d-88b3-1e3d63fe6299"]
#: Schemas that do not say the key of their facets.
UNKEYED = {"LineageFacet": "lineage", "BaseSubsetDatasetFacet": "subset"}
#: Objects in objects are followed so far.
DEEPEST = 2
#: base class of the client -> (attach point, bag)
BAGS = {
    "InputDatasetFacet": ("inputs", "inputFacets"), "OutputDatasetFacet": ("outputs", "outputFacets"),
    "DatasetFacet": ("outputs", "facets"), "RunFacet": ("run", "facets"), "JobFacet": ("job", "facets"),
}  # fmt: skip
#: What the key of a facet is not made of its class's name.
KEYS = {
    "SQLJobFacet": "sql", "DatasetVersionDatasetFacet": "version", "DatasourceDatasetFacet": "dataSource",
    "InputSubsetInputDatasetFacet": "subset", "OutputSubsetOutputDatasetFacet": "subset",
    "ProcessingEngineRunFacet": "processing_engine",
}  # fmt: skip


def classes():
    """Return (name, key, base) -> class of every facet of openlineage-python."""
    found = {}
    for module in pkgutil.iter_modules(generated.__path__):
        members = vars(importlib.import_module(f"{generated.__name__}.{module.name}"))
        for name, one in members.items():
            if module.name == "base" or not (
                isinstance(one, type) and attr.has(one) and one.__module__ == members["__name__"]
            ):
                continue
            base = next((above.__name__ for above in one.__mro__ if above.__name__ in BAGS), None)
            if base is not None:
                short = name.removesuffix(base).removesuffix("DatasetFacet")
                found[name, KEYS.get(name, short[:1].lower() + short[1:]), base] = one
    return found


def of_class(one):
    """Return a strategy of a facet's JSON, made by its class."""
    return _built(one, 0).map(Serde.to_dict)


@cache
def _built(one, depth):
    attr.resolve_types(one)
    given = {
        field.alias: _typed(field.type, field.name, depth)
        for field in attr.fields(one)
        if field.init and not field.name.startswith("_") and field.name not in ("producer", "additionalProperties")
    }
    return st.fixed_dictionaries(given).map(lambda stated: _made(one, stated)).filter(lambda made: made is not None)


def _made(one, stated):
    """Return an object of a class, None where the class refuses what was drawn."""
    try:
        return one(**stated)
    except ValueError:
        return None


def _typed(kind, name, depth):
    inner = typing.get_args(kind)
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        flat = [one for one in inner if one is not type(None) and not (depth > DEEPEST and _nests(one))]
        chosen = [_typed(one, name, depth) for one in flat]
        return st.one_of(*chosen, *([st.none()] if type(None) in inner or not chosen else []))
    if typing.get_origin(kind) is list:
        return st.lists(_typed(inner[0], name, depth + 1), max_size=0 if depth > 3 else 2)
    if typing.get_origin(kind) is dict:
        return st.dictionaries(
            st.sampled_from(WORDS), _typed(inner[1], name, depth + 1), max_size=0 if depth > 3 else 2
        )
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return st.sampled_from(list(kind))
    if isinstance(kind, type) and attr.has(kind):
        return _built(kind, depth + 1)
    return _scalar(kind, name)


def _nests(kind):
    """Whether a type holds objects of classes that may hold others."""
    inner = typing.get_args(kind)
    if inner:
        return any(_nests(one) for one in inner)
    return (
        isinstance(kind, type)
        and attr.has(kind)
        and any(
            "Condition" in str(f.type) or "Expression" in str(f.type) or "Fields" in str(f.type)
            for f in attr.fields(kind)
        )
    )


def _scalar(kind, name):
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.integers(0, 10**6)
    if kind is float:
        return st.floats(0, 1e6, allow_nan=False).map(lambda number: round(number, 2))
    if kind is str:
        return text(name)
    return st.one_of(text(name), st.integers(0, 99), st.booleans())


def text(name):
    """Return a strategy of texts that a leaf of this name may have."""
    lower = name.lower()
    if "time" in lower or lower in ("lastupdated", "date-time"):
        return st.sampled_from(TIMES)
    if lower in ("url", "uri", "metadatauri", "warehouseuri", "repourl"):
        return st.sampled_from(LINKS)
    return st.sampled_from(IDS) if lower in ("runid", "uuid") else st.sampled_from(WORDS)


# -- from the JSON schemas -----------------------------------------------------------------------------------------------


def schemas():
    """Return (file, definition, key) -> base of every facet that the specification and its registry have."""
    found = {}
    for path in sorted([*SPEC.glob("facets/*.json"), *SPEC.glob("registry/**/facets/*.json")]):
        document = json.loads(path.read_text(encoding="utf-8"))
        for key, node in document.get("properties", {}).items():
            for name in [one["$ref"].rpartition("/")[2] for one in node.get("oneOf", [node]) if "$ref" in one]:
                base = _base(document["$defs"].get(name, {}))
                if base is not None:
                    found[path.relative_to(SPEC).as_posix(), name, key] = base
        for name, node in document["$defs"].items() if path.stem in UNKEYED else ():
            base = _base(node)
            if base is not None:
                found[path.relative_to(SPEC).as_posix(), name, UNKEYED[path.stem]] = base
    return found


def _base(node):
    references = [one["$ref"].rpartition("/")[2] for one in node.get("allOf", ()) if "$ref" in one]
    return next((name for name in references if name in BAGS), None)


def of_schema(file, definition):
    """Return a strategy of what a definition of a schema allows."""
    document = json.loads((SPEC / file).read_text(encoding="utf-8"))
    return _allowed({"$ref": f"#/$defs/{definition}"}, document["$defs"], definition, 0)


def _allowed(node, named, name, depth):  # noqa: PLR0911 - a row for each kind of schema
    if "$ref" in node:
        target = node["$ref"].rpartition("/")[2]
        if not node["$ref"].startswith("#/"):
            return st.just({"_producer": "https://example.com", "_schemaURL": f"https://openlineage.io/{name}"})
        return st.deferred(lambda: _allowed(named[target], named, name, depth + 1))
    if "allOf" in node:
        parts = [_allowed(one, named, name, depth) for one in node["allOf"]]
        return st.tuples(*parts).map(lambda drawn: {key: value for one in drawn for key, value in one.items()})
    if "oneOf" in node or "anyOf" in node:
        return st.one_of(*[_allowed(one, named, name, depth) for one in node.get("oneOf") or node["anyOf"]])
    if "enum" in node or "const" in node:
        return st.sampled_from(node.get("enum") or [node["const"]])
    kind = node.get("type")
    if isinstance(kind, list):
        return st.one_of(*[_allowed({**node, "type": one}, named, name, depth) for one in kind])
    if kind == "array":
        return st.lists(_allowed(node.get("items", {}), named, name, depth + 1), max_size=0 if depth > 8 else 2)
    if kind == "object" or "properties" in node:
        return _object(node, named, depth)
    simple = {
        "boolean": st.booleans(),
        "integer": st.integers(0, 10**6),
        "null": st.none(),
        "number": st.integers(0, 999),
    }
    if kind in simple:
        return simple[kind]
    return text("time" if node.get("format") == "date-time" else name)


def _object(node, named, depth):
    members = {key: _allowed(one, named, key, depth + 1) for key, one in node.get("properties", {}).items()}
    required = {key: members.pop(key) for key in node.get("required", ()) if key in members}
    known = st.fixed_dictionaries(required, optional={} if depth > 12 else members)
    others = node.get("additionalProperties")
    if others in (None, False) or depth > 12 or required or members:
        return known
    inner = _allowed(others if isinstance(others, dict) else {}, named, "", depth + 1)
    return st.dictionaries(st.sampled_from(WORDS), inner, max_size=2)
