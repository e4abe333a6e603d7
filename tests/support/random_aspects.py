"""Random aspects made from a schema, and ways to spoil them: the food of the oracle tests."""

from __future__ import annotations

import copy
import math
from random import Random
from typing import Any, NamedTuple

from dh_bridge.datahub import schemas
from support.oracles import URNS

WORDS = ("", "a", "Größe", "日本", "x" * 40, 'quo"te', "line\nbreak", "urn:li:tag:x", "NONE", "\U0001f600")
BOUNDS = {"int": 2**31, "long": 2**63}
OTHERS = {
    "corpGroup": "urn:li:corpGroup:team",
    "domain": "urn:li:domain:sales",
    "glossaryTerm": "urn:li:glossaryTerm:pii",
    "ownershipType": "urn:li:ownershipType:__system__technical_owner",
}


class Site(NamedTuple):
    """A place in an aspect: the container and key that hold it, its Avro type, and what its field says."""

    parent: Any
    key: Any
    type: Any
    field: bool
    optional: bool
    urns: tuple[str, ...] | None


def dice(seed):
    """Return a source of chance that gives the same each time."""
    return Random(seed)  # noqa: S311 - tests want the same chance each time, not secrets


class Maker:
    """Makes values of the types of one schema."""

    def __init__(self, schema, random, *, full=False):
        self._schema = schema
        self._types = schemas.named_types(schema)
        self._random = random
        self._full = full

    def aspect(self):
        return self.value(self._schema, None)

    def value(self, avro_type, urns):
        definition = self.definition(avro_type)
        if isinstance(definition, list):
            # The SDK rewrites an enum's tag to "string"; that one is a case of its own.
            kinds = [kind for kind in definition if self._kind(kind) != "enum"]
            branch = self._random.choice(kinds)
            return {schemas.wire_name(branch): self.value(branch, None)}
        kind = self._kind(definition)
        if kind == "record":
            return self._record(definition)
        if kind == "array":
            return [self.value(definition["items"], urns) for _ in range(self._count())]
        if kind == "map":
            return {f"k{at}": self.value(definition["values"], urns) for at in range(self._count())}
        return self._random.choice(definition["symbols"]) if kind == "enum" else self._scalar(kind, urns)

    def definition(self, avro_type):
        branches = schemas.branches(avro_type)
        if len(branches) > 1:
            return branches
        return self._types.get(branches[0], branches[0]) if isinstance(branches[0], str) else branches[0]

    def sites(self, value):
        """Return every place inside an aspect, the aspect itself left out."""
        found = []
        self._walk(self._schema, value, None, found)
        return found

    def _walk(self, avro_type, value, urns, found):
        definition = self.definition(avro_type)
        if isinstance(definition, list):
            ((tag, inner),) = value.items()
            branch = next(kind for kind in definition if schemas.wire_name(kind) == tag)
            children = [(tag, branch, False, False, None, inner)]
        elif self._kind(definition) == "record":
            fields = {field["name"]: field for field in definition["fields"]}
            children = [
                (name, fields[name]["type"], True, "default" in fields[name], _urns(fields[name]), child)
                for name, child in value.items()
            ]
        elif self._kind(definition) == "array":
            children = [(at, definition["items"], False, False, urns, child) for at, child in enumerate(value)]
        elif self._kind(definition) == "map":
            children = [(key, definition["values"], False, False, urns, child) for key, child in value.items()]
        else:
            children = []
        for key, kind, field, optional, allowed, child in children:
            found.append(Site(value, key, kind, field, optional, allowed))
            self._walk(kind, child, allowed, found)

    def _record(self, definition):
        wanted = [
            field
            for field in definition["fields"]
            if "default" not in field or self._full or self._random.random() < 0.5
        ]
        return {field["name"]: self.value(field["type"], _urns(field)) for field in wanted}

    def _scalar(self, kind, urns):
        if kind == "string":
            return self._random.choice(WORDS) if urns is None else (URNS | OTHERS)[self._random.choice(urns)]
        if kind == "boolean":
            return self._random.random() < 0.5
        if kind in BOUNDS:
            return self._random.choice(
                (0, 1, -1, BOUNDS[kind] - 1, -BOUNDS[kind], self._random.randrange(BOUNDS[kind]))
            )
        return self._random.choice((0.0, 1, -2.5, 1e30, self._random.random()))

    def _count(self):
        return self._random.choice((0, 1, 1, 2))

    @staticmethod
    def _kind(definition):
        return definition["type"] if isinstance(definition, dict) else definition


def _urns(field):
    if "Urn" not in field:
        return None
    typed = field["Urn"].removesuffix("Urn")
    allowed = [typed[:1].lower() + typed[1:]] if typed else field.get("UrnValidation", field).get("entityTypes", ())
    return tuple(kind for kind in allowed if kind in URNS | OTHERS) or tuple(URNS)


def spoilt(maker, value, case, random):
    """Return a copy of ``value`` spoilt as ``case`` says, None when the aspect has no place for it."""
    value = copy.deepcopy(value)
    applies, change = CASES[case]
    places = [site for site in maker.sites(value) if applies(maker, site)]
    if not places:
        return None
    site = random.choice(places)
    changed = change(maker, site)
    if changed is ABSENT:
        del site.parent[site.key]
    else:
        site.parent[site.key] = changed
    return value


ABSENT = object()


def _is(*kinds, urn=False):
    def applies(maker, site):
        definition = maker.definition(site.type)
        kind = "union" if isinstance(definition, list) else maker._kind(definition)
        return kind in kinds and (kind != "string" or (site.urns is not None) == urn)

    return applies


def _to(new):
    return lambda _maker, _site: new


def _nullable(site):
    return isinstance(site.type, list) and "null" in site.type


def _required(_maker, site):
    return site.field and not site.optional


CASES = {
    "unknown field": (_is("record"), lambda _maker, site: site.parent[site.key] | {"noSuchField": 1}),
    "required left out": (_required, _to(ABSENT)),
    "null for required": (_required, _to(None)),
    "wrong symbol": (_is("enum"), _to("NO_SUCH_SYMBOL")),
    "int too large": (_is("int"), _to(2**31)),
    "long too small": (_is("long"), _to(-(2**63) - 1)),
    "text for a number": (_is("int", "long"), _to("1")),
    "fraction for an int": (_is("int", "long"), _to(1.5)),
    "number for text": (_is("string"), _to(7)),
    "number for a URN": (_is("string", urn=True), _to(7)),
    "text for a boolean": (_is("boolean"), _to("true")),
    "number too large for a float": (_is("float", "double"), _to(10**400)),
    "too large for 32 bits": (_is("float"), _to(3.5e38)),
    "word for a float": (_is("float", "double"), _to("much")),
    "list for a record": (_is("record"), _to([])),
    "record for a list": (_is("array"), _to({"a": 1})),
    "list for a map": (_is("map"), _to([1])),
    "no tag": (_is("union"), _to({})),
    "two tags": (
        _is("union"),
        lambda maker, site: (
            site.parent[site.key] | {schemas.wire_name(kind): {} for kind in maker.definition(site.type)}
        ),
    ),
    "unknown tag": (_is("union"), lambda _maker, site: {"com.linkedin.NoSuchType": dict(site.parent[site.key])}),
    "tag of the Avro namespace": (
        _is("union"),
        lambda _maker, site: {
            f"com.linkedin.pegasus2avro.{tag}": inner for tag, inner in site.parent[site.key].items()
        },
    ),
    "null for a default": (lambda _maker, site: site.optional and not _nullable(site), _to(None)),
    "null for optional": (lambda _maker, site: site.optional and _nullable(site), _to(None)),
    "malformed URN": (_is("string", urn=True), _to("urn:li:dataset:(a,b")),
    "URN of another type": (
        lambda maker, site: _is("string", urn=True)(maker, site) and len(site.urns) < 3,
        _to("urn:li:mlModel:(urn:li:dataPlatform:x,m,PROD)"),
    ),
    "NaN": (_is("float", "double"), _to(math.nan)),
    "infinity": (_is("float", "double"), _to(-math.inf)),
    "lone surrogate": (_is("string"), _to("a\ud800")),
    "boolean for an int": (_is("int", "long"), _to(new=True)),
    "boolean for a float": (_is("float", "double"), _to(new=True)),
    "number as text for a float": (_is("float", "double"), _to("1.5")),
}
