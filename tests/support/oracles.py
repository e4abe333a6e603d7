"""What others say of an aspect: fastavro's writer, Apache avro, and acryl-datahub's own classes.

Each takes (entity type, aspect name, wire JSON, profile) and returns None, or what it objects to. ``disagreement`` asks all of
them about one aspect. The schemas are the bundled ones of the profile; acryl-datahub is the installed release, so its answer
is compared without what the profile does not know.
"""

from __future__ import annotations

import copy
import io
import struct
import warnings
from functools import cache

import fastavro
from fastavro.validation import ValidationError

from dh_bridge.datahub import schemas
from dh_bridge.datahub.proposal import upsert
from dh_bridge.datahub.validation import validator

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import avro.errors
    import avro.io
    import avro.schema
    from datahub.emitter.serialization_helper import post_json_transform, pre_json_transform
    from datahub.metadata.schema_classes import ASPECT_NAME_MAP

URNS = {
    "assertion": "urn:li:assertion:a1",
    "container": "urn:li:container:c1",
    "corpuser": "urn:li:corpuser:jo",
    "dataFlow": "urn:li:dataFlow:(airflow,orders,prod)",
    "dataJob": "urn:li:dataJob:(urn:li:dataFlow:(airflow,orders,prod),load)",
    "dataPlatform": "urn:li:dataPlatform:postgres",
    "dataPlatformInstance": "urn:li:dataPlatformInstance:(urn:li:dataPlatform:postgres,west)",
    "dataProcessInstance": "urn:li:dataProcessInstance:018cc251-f400-7662-b080-b72299e0a86b",
    "dataset": "urn:li:dataset:(urn:li:dataPlatform:postgres,db.public.orders,PROD)",
    "query": "urn:li:query:q1",
    "schemaField": "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:postgres,db.public.orders,PROD),id)",
    "tag": "urn:li:tag:pii",
}

# What the libraries raise for a datum that does not fit.
REFUSALS = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,
    struct.error,
    ValidationError,
    avro.errors.AvroException,
)


def our_finding(entity_type, aspect_name, value, profile):
    return judged(upsert(entity_type, URNS[entity_type], aspect_name, value), profile)


def judged(proposal, profile):
    """Return the validator's finding: alone, and the same in company."""
    check = validator(profile)
    found = check.refusal_text(proposal)
    assert check.accepts_all([proposal]) is check.accepts_all([proposal, proposal]) is (found is None)
    return found


def fastavro_finding(_entity_type, aspect_name, value, profile):
    schema, parsed = _fastavro_schema(schemas.load_index(profile.name).aspects[aspect_name])
    try:
        datum = _converted(schema, value, schemas.named_types(schema), _as_tuple)
        # Outside of unions the writer coerces (1.5 is written as the long 1), so its own validation goes first.
        fastavro.validate(datum, parsed)
        fastavro.schemaless_writer(io.BytesIO(), parsed, datum, strict_allow_default=True)
    except REFUSALS as error:
        return f"{type(error).__name__}: {error}"
    return None


def apache_finding(_entity_type, aspect_name, value, profile):
    schema, parsed, named = _apache_schema(schemas.load_index(profile.name).aspects[aspect_name])
    types = schemas.named_types(schema)

    def branch_value(union, branch, datum):
        # Apache looks at one level of a datum to choose a branch and often errs. So the branch that the tag names is asked
        # alone, and what stands in the whole is a value of the first branch.
        avro.io.DatumWriter(named[_full_name(branch)]).write(datum, avro.io.BinaryEncoder(io.BytesIO()))
        return _smallest(union[0], types)

    try:
        datum = _converted(schema, with_defaults(schema, value), types, branch_value)
        avro.io.DatumWriter(parsed).write(datum, avro.io.BinaryEncoder(io.BytesIO()))
    except REFUSALS as error:
        return f"{type(error).__name__}: {error}"
    return None


def sdk_finding(_entity_type, aspect_name, value, profile, *, exact=True):
    """Compare the aspect with what acryl-datahub's class makes of it; without ``exact`` left-out defaults are no difference."""
    kind = ASPECT_NAME_MAP[aspect_name]
    schema = schemas.aspect_schema(profile.name, aspect_name)
    returned = pre_json_transform(kind.from_obj(post_json_transform(copy.deepcopy(value))).to_obj())
    known = _known(schema, returned, schemas.named_types(schema))
    wanted = value if exact else with_defaults(schema, value)
    return None if known == wanted else f"{kind.__name__} returns {known}, not {wanted}"


def disagreement(entity_type, aspect_name, value, profile):
    """Return what anyone objects to in an aspect that should be sound, by oracle; empty when all accept it."""
    asked = {"we": our_finding, "fastavro": fastavro_finding, "Apache": apache_finding, "acryl-datahub": sdk_finding}
    answers = {name: ask(entity_type, aspect_name, value, profile) for name, ask in asked.items()}
    return {name: finding for name, finding in answers.items() if finding is not None}


def with_defaults(schema, value):
    """Return the aspect with every default that is not null written out, at every level."""
    return _filled(schema, copy.deepcopy(value), schemas.named_types(schema))


@cache
def _fastavro_schema(file):
    schema = schemas.load_schema(file)
    return schema, fastavro.parse_schema(copy.deepcopy(schema))


@cache
def _apache_schema(file):
    schema = schemas.load_schema(file)
    parsed = avro.schema.make_avsc_object(copy.deepcopy(schema))
    named = {kind: avro.schema.make_avsc_object(kind) for kind in ("string", "double")}

    def walk(node):
        if node.type in ("record", "enum"):
            if node.fullname in named:
                return
            named[node.fullname] = node
        inner = [field.type for field in getattr(node, "fields", ())]
        inner += getattr(node, "schemas", ())
        inner += [getattr(node, name) for name in ("items", "values") if hasattr(node, name)]
        for one in inner:
            walk(one)

    walk(parsed)
    return schema, parsed, named


def _definition(avro_type, types):
    branches = schemas.branches(avro_type)
    if len(branches) > 1:
        return branches
    return types.get(branches[0], branches[0]) if isinstance(branches[0], str) else branches[0]


def _map_children(avro_type, value, visit):
    """Return ``value`` with ``visit(type, child)`` in place of each child that the schema knows."""
    kind = avro_type["type"] if isinstance(avro_type, dict) else avro_type
    if kind == "record" and isinstance(value, dict):
        fields = {field["name"]: field["type"] for field in avro_type["fields"]}
        return {key: visit(fields[key], child) if key in fields else child for key, child in value.items()}
    if kind == "map" and isinstance(value, dict):
        return {key: visit(avro_type["values"], child) for key, child in value.items()}
    if kind == "array" and isinstance(value, list):
        return [visit(avro_type["items"], child) for child in value]
    return value


def _converted(avro_type, value, types, branch_value):
    """Return the datum of a wire value: the tags of unions are given to ``branch_value(union, branch, inner)``."""
    definition = _definition(avro_type, types)
    if isinstance(definition, list):
        if not isinstance(value, dict) or len(value) != 1:
            raise ValueError("a union value has one tag")
        ((tag, inner),) = value.items()
        branch = {schemas.wire_name(one): one for one in definition}[tag]
        return branch_value(definition, branch, _converted(branch, inner, types, branch_value))
    return _map_children(definition, value, lambda child, part: _converted(child, part, types, branch_value))


def _full_name(branch):
    return f"{branch['namespace']}.{branch['name']}" if isinstance(branch, dict) else branch


def _as_tuple(_union, branch, datum):
    if isinstance(branch, dict) and branch["type"] == "enum":
        # fastavro.validate takes no tuple for an enum; as a bare word it finds the branch itself.
        if datum not in branch["symbols"]:
            raise ValueError(f"{datum} is no symbol")
        return datum
    return _full_name(branch), datum


def _smallest(avro_type, types):
    """Return a small value of a union's branch: a record of strings, an enum, or a scalar."""
    definition = _definition(avro_type, types)
    if isinstance(definition, str):
        return {"string": "", "double": 0.0}[definition]
    if definition["type"] == "enum":
        return definition["symbols"][0]
    if definition["type"] == "array":
        return []
    return {field["name"]: _smallest(field["type"], types) for field in definition["fields"]}


def _filled(avro_type, value, types):
    """Return ``value`` with the defaults that are not null."""
    definition = _definition(avro_type, types)
    if isinstance(definition, list):
        return _untagged(definition, value, lambda branch, inner: _filled(branch, inner, types))
    if isinstance(definition, dict) and definition["type"] == "record" and isinstance(value, dict):
        defaults = {field["name"]: field.get("default") for field in definition["fields"]}
        value = value | {key: default for key, default in defaults.items() if key not in value and default is not None}
        value = {key: _without_nulls(child) if child is defaults.get(key) else child for key, child in value.items()}
    return _map_children(definition, value, lambda child, part: _filled(child, part, types))


def _known(avro_type, value, types):
    """Return ``value`` without the record fields that the schema does not have."""
    definition = _definition(avro_type, types)
    if isinstance(definition, list):
        return _untagged(definition, value, lambda branch, inner: _known(branch, inner, types))
    if isinstance(definition, dict) and definition["type"] == "record":
        names = {field["name"] for field in definition["fields"]}
        value = {key: child for key, child in value.items() if key in names}
    return _map_children(definition, value, lambda child, part: _known(child, part, types))


def _untagged(branches, value, change):
    """Return a tagged union value whose inner value is changed; what is no such value is returned as it is."""
    named = {schemas.wire_name(branch): branch for branch in branches}
    if not isinstance(value, dict):
        return value
    return {tag: change(named[tag], inner) if tag in named else inner for tag, inner in value.items()}


def _without_nulls(value):
    return {key: child for key, child in value.items() if child is not None} if isinstance(value, dict) else value
