"""dataset: properties, schema, tags, owners, lineage of dataset events, status."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dh_bridge.columns import SchemaFields, schema_metadata
from dh_bridge.datahub import fine_grained
from dh_bridge.datahub.proposal import Proposal, patch, upsert
from dh_bridge.datahub.urns import DATAHUB_ACTOR, platform_instance_urn, platform_urn, tag_urn
from dh_bridge.model.facts import (
    COLUMN_TAG,
    CONTAINER_PATH,
    DATASET,
    DATASET_FIELD,
    DATASET_PROPERTIES,
    LAST_MODIFIED,
    PARTITIONED_BY,
    SCHEMA,
    SIBLING,
    STATUS,
    SUBTYPES,
    TOMBSTONE,
    TOMBSTONE_KEY,
    UNTYPED_KEY,
    UPSTREAM,
    UPSTREAM_FIELD,
    UPSTREAM_PROPERTY,
    UPSTREAM_TOMBSTONE,
)
from dh_bridge.model.fold import Registers, active_elements, value
from dh_bridge.model.properties import truncate
from dh_bridge.render.containers import placement_proposals
from dh_bridge.render.fragments import add_operation, audit_stamp, escape_segment, remove_operation
from dh_bridge.render.precedence import combine_properties, winning_fields
from dh_bridge.render.shared import domain_proposals, owner_and_tag_proposals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.model.merge import Version, Versioned
    from dh_bridge.naming import Name
    from dh_bridge.options import Options

ENTITY = "dataset"
LINEAGE_KINDS = frozenset({UPSTREAM, UPSTREAM_FIELD})
#: ALTER, RENAME and TRUNCATE neither make nor remove one.
_EXISTENCE_CHANGES = ("CREATE", "DROP", "OVERWRITE")
#: The prefix of a top-level column in a v2 path; other levels are followed by a name.
_TYPE_TOKENS = re.compile(r"\[version=2\.0\]\.(?:\[[^\]]*\]\.)*")


def dataset_proposals(urn: str, registers: Registers, options: Options, *, is_written: bool) -> Iterator[Proposal]:
    """Yield the aspects of a dataset that an event names; ``is_written``: a job's output, or a dataset event's own."""
    name: Name | None = value(registers, DATASET)
    if name is None:
        return
    if options.settings.materialize != "none" and (is_written or options.settings.materialize == "all"):
        yield patch(ENTITY, urn, "datasetProperties", _property_operations(registers, name, options))
        if name.instance:
            yield upsert(ENTITY, urn, "dataPlatformInstance", _platform_instance(name))
        yield from domain_proposals(
            ENTITY, urn, options.settings.domains.of_dataset(name.namespace, name.name), registers
        )
    schema = value(registers, SCHEMA) or value(registers, SCHEMA, UNTYPED_KEY)
    write = options.settings.schema_.write
    if schema is not None and (write in ("all", "if_absent") or (write == "outputs" and is_written)):
        yield _schema_proposal(urn, name, schema, value(registers, PARTITIONED_BY) or ())
    column_tags = _column_tag_operations(registers) if COLUMN_TAG in registers else []
    if column_tags:
        yield patch(ENTITY, urn, "editableSchemaMetadata", column_tags)
    lineage = _upstream_operations(registers, options)
    if lineage:
        yield patch(ENTITY, urn, "upstreamLineage", lineage)
    if CONTAINER_PATH in registers:
        yield from placement_proposals(ENTITY, urn, value(registers, CONTAINER_PATH))
    if SIBLING in registers:
        yield patch(ENTITY, urn, "siblings", _siblings(registers[SIBLING]))
    subtypes = _subtypes(registers)
    if subtypes:
        yield upsert(ENTITY, urn, "subTypes", {"typeNames": subtypes})
    yield from owner_and_tag_proposals(ENTITY, urn, registers)
    if STATUS in registers and _is_dropped(registers) and "drop" in options.settings.lifecycle.soft_delete:
        yield upsert(ENTITY, urn, "status", {"removed": True})


def _subtypes(registers: Registers) -> list[str]:
    subtype = value(registers, SUBTYPES)
    return [subtype] if subtype else list(value(registers, SUBTYPES, "datasetType") or ())


def _siblings(siblings: dict[Any, Versioned]) -> list[dict[str, Any]]:
    """Return the other sides of the dataset: table and files; the table is the primary one."""
    has_table = any(primary for _, primary in siblings.values())
    return [
        *(add_operation(f"/siblings/{escape_segment(urn)}", urn) for urn in sorted(siblings)),
        add_operation("/primary", has_table),
    ]


def _is_dropped(registers: Registers) -> bool:
    """Whether a DROP is the newest of the words that make or remove a dataset."""
    changes = [
        (versioned[0], change) for change, versioned in registers[STATUS].items() if change in _EXISTENCE_CHANGES
    ]
    return bool(changes) and max(changes)[1] == "DROP"


def _schema_proposal(urn: str, name: Name, schema: SchemaFields, keys: tuple[str, ...]) -> Proposal:
    full_name = f"{name.instance}.{name.dataset_name}" if name.instance else name.dataset_name
    keys = tuple(key for key in keys if key in schema.columns.values())
    fields = _mark_partition_keys(schema.fields, keys) if keys else schema.fields
    return upsert(ENTITY, urn, "schemaMetadata", schema_metadata(full_name, name.platform, fields))


def _mark_partition_keys(fields: list[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the fields, with the partition columns of the top level marked, for v1 and v2 paths."""
    return [
        {**field, "isPartitioningKey": True} if _TYPE_TOKENS.sub("", field["fieldPath"], count=1) in keys else field
        for field in fields
    ]


def _property_operations(registers: Registers, name: Name, options: Options) -> list[dict[str, Any]]:
    operations: list[dict[str, Any]] = []
    for field, text in winning_fields(registers, DATASET_FIELD):
        operations.append(remove_operation(f"/{field}") if text is TOMBSTONE else add_operation(f"/{field}", text))
    modified = value(registers, LAST_MODIFIED)
    if modified is not None:
        operations.append(add_operation("/lastModified", audit_stamp(modified, DATAHUB_ACTOR)))
    properties = combine_properties(registers, DATASET_PROPERTIES, options.prefix)
    # The raw pair makes the URN reversible; credentials are never part of it.
    properties[options.prefix + "namespace"] = truncate(name.safe_namespace)
    properties[options.prefix + "name"] = truncate(name.name)
    schema: SchemaFields | None = value(registers, SCHEMA)
    if schema is not None and schema.total:  # more than a schema can have
        properties[options.prefix + "schema.fields"] = str(schema.total)
    if name.fqn and "dataplex_fqn" in options.settings.optional_metadata:
        properties[options.prefix + "dataplex.fqn"] = name.fqn  # `qualifiedName` belongs to the connectors
    operations += [
        add_operation("/customProperties/" + escape_segment(key), properties[key]) for key in sorted(properties)
    ]
    return operations


def _platform_instance(name: Name) -> dict[str, Any]:
    return {
        "platform": platform_urn(name.platform),
        "instance": platform_instance_urn(name.platform, name.instance or ""),
    }


def _column_tag_operations(registers: Registers) -> list[dict[str, Any]]:
    operations = []
    active_tags = active_elements(registers, COLUMN_TAG, TOMBSTONE_KEY)
    for (column, name), (_, context) in sorted(registers[COLUMN_TAG].items(), key=lambda entry: entry[0]):
        if (column, name) == TOMBSTONE_KEY:
            continue
        urn = tag_urn(name)
        tag = {"tag": urn} if context is None else {"tag": urn, "context": context}
        field = f"/editableSchemaFieldInfo/{escape_segment(column)}"
        # The server needs the key of a field that has no tags yet (datahub-project/datahub#18138).
        operations.append(add_operation(f"{field}/fieldPath", column))
        if (column, name) in active_tags:
            operations.append(add_operation(f"{field}/globalTags/tags/{escape_segment(urn)}", tag))
    return operations


def _upstream_operations(registers: Registers, options: Options) -> list[dict[str, Any]]:
    """Return the upstreams and pairs of columns that no later facet withdrew."""
    if UPSTREAM not in registers and UPSTREAM_FIELD not in registers:
        return []
    tombstones = registers.get(UPSTREAM_TOMBSTONE, {})

    def is_active(facet: str, versioned: Versioned) -> bool:
        return all(versioned[0] >= tombstones[key][0] for key in {facet, ""} & tombstones.keys())

    latest: dict[str, Versioned] = {}
    for (facet, upstream), versioned in registers.get(UPSTREAM, {}).items():
        if is_active(facet, versioned):
            previous = latest.get(upstream)
            latest[upstream] = versioned if previous is None else max(previous, versioned, key=_version_and_query)
    properties_by_upstream: dict[str, dict[str, list[str]]] = {}
    property_keys = sorted(
        key for key, versioned in registers.get(UPSTREAM_PROPERTY, {}).items() if is_active("", versioned)
    )
    for upstream, name, text in property_keys:
        properties_by_upstream.setdefault(upstream, {}).setdefault(options.prefix + name, []).append(text)
    kind = "VIEW" if any("VIEW" in name.upper() for name in _subtypes(registers)) else "TRANSFORMED"
    operations = []
    for upstream in sorted(latest):
        version, query = latest[upstream]
        edge = {"auditStamp": audit_stamp(version[0], DATAHUB_ACTOR), "dataset": upstream, "type": kind}
        if upstream in properties_by_upstream:
            edge["properties"] = {
                name: truncate(",".join(texts)) for name, texts in properties_by_upstream[upstream].items()
            }
        if query is not None:
            edge["query"] = query
        operations.append(add_operation("/upstreams/" + escape_segment(upstream), edge))
    pairs = [
        ("".join(key[2:]), key[1])
        for key, versioned in registers.get(UPSTREAM_FIELD, {}).items()
        if is_active(key[0], versioned)
    ]
    return fine_grained.append_lineage(operations, fine_grained.operations_by_query(pairs)) if pairs else operations


def _version_and_query(versioned: Versioned) -> tuple[Version, str]:
    return versioned[0], versioned[1] or ""
