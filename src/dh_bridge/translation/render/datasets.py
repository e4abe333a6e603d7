"""dataset: properties, schema, tags, owners, lineage of dataset events, status."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import fine_grained
from dh_bridge.datahub.proposal import Proposal, patch, upsert
from dh_bridge.datahub.urns import platform_instance_urn, platform_urn, tag_urn
from dh_bridge.translation.columns import SchemaFields, schema_metadata
from dh_bridge.translation.facts import (
    ALL,
    COLUMN_TAG,
    DATASET,
    DATASET_FIELD,
    DATASET_PROPERTIES,
    GONE,
    INSIDE,
    LAST_MODIFIED,
    PARTITIONED_BY,
    SCHEMA,
    SIBLING,
    STATUS,
    SUBTYPES,
    UPSTREAM,
    UPSTREAM_FIELD,
    UPSTREAM_GONE,
    UPSTREAM_MARK,
)
from dh_bridge.translation.fold import Slots, standing, value
from dh_bridge.translation.properties import capped
from dh_bridge.translation.render.containers import placed
from dh_bridge.translation.render.precedence import combined, fields
from dh_bridge.translation.render.shared import domain, people_and_tags
from dh_bridge.translation.render.stamps import add, audit_stamp, escaped, remove

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.merge import Cell, Stamp
    from dh_bridge.translation.naming import Name
    from dh_bridge.translation.options import Options

ENTITY = "dataset"
LINEAGE = frozenset({UPSTREAM, UPSTREAM_FIELD})
#: ALTER, RENAME and TRUNCATE neither make nor remove one.
_EXISTENCE = ("CREATE", "DROP", "OVERWRITE")
#: What stands before a column of the top level in a v2 path; before others a name follows.
_TYPES = re.compile(r"\[version=2\.0\]\.(?:\[[^\]]*\]\.)*")


def dataset_proposals(urn: str, slots: Slots, options: Options, *, written: bool) -> Iterator[Proposal]:
    """Yield the aspects of a dataset that an event names; ``written``: a job's output, or a dataset event's own."""
    name: Name | None = value(slots, DATASET)
    if name is None:
        return
    if options.settings.materialize != "none" and (written or options.settings.materialize == "all"):
        yield patch(ENTITY, urn, "datasetProperties", _properties(slots, name, options))
        if name.instance:
            yield upsert(ENTITY, urn, "dataPlatformInstance", _instance(name))
        yield from domain(ENTITY, urn, options.settings.domains.datasets, name.namespace, name.name)
    schema = value(slots, SCHEMA)
    write = options.settings.schema_.write
    if schema is not None and (write in ("all", "if_absent") or (write == "outputs" and written)):
        yield _schema(urn, name, schema, value(slots, PARTITIONED_BY) or ())
    column_tags = _column_tags(slots) if COLUMN_TAG in slots else []
    if column_tags:
        yield patch(ENTITY, urn, "editableSchemaMetadata", column_tags)
    lineage = _upstream(slots, options)
    if lineage:
        yield patch(ENTITY, urn, "upstreamLineage", lineage)
    if INSIDE in slots:
        yield from placed(ENTITY, urn, value(slots, INSIDE))
    if SIBLING in slots:
        yield patch(ENTITY, urn, "siblings", _siblings(slots[SIBLING]))
    names = _subtypes(slots)
    if names:
        yield upsert(ENTITY, urn, "subTypes", {"typeNames": names})
    yield from people_and_tags(ENTITY, urn, slots)
    if STATUS in slots and _dropped(slots) and options.settings.lifecycle.drop_removes == "outputs":
        yield upsert(ENTITY, urn, "status", {"removed": True})


def _subtypes(slots: Slots) -> list[str]:
    subtype = value(slots, SUBTYPES)
    return [subtype] if subtype else list(value(slots, SUBTYPES, "datasetType") or ())


def _siblings(cells: dict[Any, Cell]) -> list[dict[str, Any]]:
    """Return the other sides of the dataset: table and files; the table is the primary one."""
    table = any(primary for _, primary in cells.values())
    return [*(add(f"/siblings/{escaped(urn)}", urn) for urn in sorted(cells)), add("/primary", table)]


def _dropped(slots: Slots) -> bool:
    """Whether a DROP is the newest of the words that make or remove a dataset."""
    said = [(cell[0], word) for word, cell in slots[STATUS].items() if word in _EXISTENCE]
    return bool(said) and max(said)[1] == "DROP"


def _schema(urn: str, name: Name, schema: SchemaFields, keys: tuple[str, ...]) -> Proposal:
    full = f"{name.instance}.{name.dataset_name}" if name.instance else name.dataset_name
    keys = tuple(key for key in keys if key in schema.columns.values())
    fields = _partitioned(schema.fields, keys) if keys else schema.fields
    return upsert(ENTITY, urn, "schemaMetadata", schema_metadata(full, name.platform, fields))


def _partitioned(fields: list[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the fields with those of the top level that the table is partitioned by marked, v1 and v2 paths alike."""
    return [
        {**field, "isPartitioningKey": True} if _TYPES.sub("", field["fieldPath"], count=1) in keys else field
        for field in fields
    ]


def _properties(slots: Slots, name: Name, options: Options) -> list[dict[str, Any]]:
    operations: list[dict[str, Any]] = []
    for field, text in fields(slots, DATASET_FIELD):
        operations.append(remove(f"/{field}") if text is GONE else add(f"/{field}", text))
    modified = value(slots, LAST_MODIFIED)
    if modified is not None:
        operations.append(add("/lastModified", audit_stamp(modified, options.actor)))
    properties = combined(slots, DATASET_PROPERTIES, options.prefix)
    # The raw pair makes the URN reversible; credentials are never part of it.
    properties[options.prefix + "namespace"] = capped(name.safe_namespace)
    properties[options.prefix + "name"] = capped(name.name)
    schema: SchemaFields | None = value(slots, SCHEMA)
    if schema is not None and schema.total:  # more than a schema can have
        properties[options.prefix + "schema.fields"] = str(schema.total)
    if name.fqn and options.settings.dataplex_fqn == "property":
        properties[options.prefix + "dataplex.fqn"] = name.fqn  # `qualifiedName` belongs to the connectors
    operations += [add("/customProperties/" + escaped(key), properties[key]) for key in sorted(properties)]
    return operations


def _instance(name: Name) -> dict[str, Any]:
    return {
        "platform": platform_urn(name.platform),
        "instance": platform_instance_urn(name.platform, name.instance or ""),
    }


def _column_tags(slots: Slots) -> list[dict[str, Any]]:
    operations = []
    standing_ones = standing(slots, COLUMN_TAG, ALL)
    for (column, name), (_, context) in sorted(slots[COLUMN_TAG].items(), key=lambda entry: entry[0]):
        if (column, name) == ALL:
            continue
        urn = tag_urn(name)
        found = {"tag": urn} if context is None else {"tag": urn, "context": context}
        field = f"/editableSchemaFieldInfo/{escaped(column)}"
        # The server needs the key of a field that has no tags yet (datahub-project/datahub#18138).
        operations.append(add(f"{field}/fieldPath", column))
        if (column, name) in standing_ones:
            operations.append(add(f"{field}/globalTags/tags/{escaped(urn)}", found))
    return operations


def _upstream(slots: Slots, options: Options) -> list[dict[str, Any]]:
    """Return the upstreams and pairs of columns that no later facet withdrew."""
    if UPSTREAM not in slots and UPSTREAM_FIELD not in slots:
        return []
    gone = slots.get(UPSTREAM_GONE, {})

    def stands(facet: str, cell: Cell) -> bool:
        return all(cell[0] >= gone[key][0] for key in {facet, ""} & gone.keys())

    newest: dict[str, Cell] = {}
    for (facet, upstream), cell in slots.get(UPSTREAM, {}).items():
        if stands(facet, cell):
            known = newest.get(upstream)
            newest[upstream] = cell if known is None else max(known, cell, key=_by_stamp)
    marks: dict[str, dict[str, list[str]]] = {}
    said = sorted(key for key, cell in slots.get(UPSTREAM_MARK, {}).items() if stands("", cell))
    for upstream, name, mark in said:
        marks.setdefault(upstream, {}).setdefault(options.prefix + name, []).append(mark)
    kind = "VIEW" if any("VIEW" in name.upper() for name in _subtypes(slots)) else "TRANSFORMED"
    operations = []
    for upstream in sorted(newest):
        stamp, query = newest[upstream]
        edge = {"auditStamp": audit_stamp(stamp[0], options.actor), "dataset": upstream, "type": kind}
        if upstream in marks:
            edge["properties"] = {name: capped(",".join(found)) for name, found in marks[upstream].items()}
        if query is not None:
            edge["query"] = query
        operations.append(add("/upstreams/" + escaped(upstream), edge))
    pairs = [("".join(key[2:]), key[1]) for key, cell in slots.get(UPSTREAM_FIELD, {}).items() if stands(key[0], cell)]
    return fine_grained.behind(operations, fine_grained.by_query(pairs)) if pairs else operations


def _by_stamp(cell: Cell) -> tuple[Stamp, str]:
    return cell[0], cell[1] or ""
