"""dataFlow and dataJob: info, inputs and outputs, SQL, subtypes, owners, tags."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.aggregate.queries import sql_properties
from dh_bridge.datahub import fine_grained
from dh_bridge.datahub.proposal import Proposal, patch, upsert
from dh_bridge.model.facts import (
    FINE_LINEAGE,
    FLOW_JOB,
    IMPLIED_PARENT_JOB,
    INPUT_EDGE,
    INPUT_FIELD,
    JOB,
    JOB_EDGE,
    JOB_FIELD,
    JOB_PROPERTIES,
    LINEAGE_JOB,
    OUTPUT_EDGE,
    SQL_TEXT,
    SUBTYPES,
    TOMBSTONE,
    VERSION_INFO,
)
from dh_bridge.model.fold import Registers, value
from dh_bridge.model.properties import truncate
from dh_bridge.render.fragments import add_operation, escape_segment, remove_operation
from dh_bridge.render.precedence import combine_properties, winning_fields
from dh_bridge.render.runs import platform_instance
from dh_bridge.render.shared import dataset_edge, domain_proposals, owner_and_tag_proposals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.identity import Job
    from dh_bridge.model.merge import Versioned
    from dh_bridge.options import Options

MAX_SQL_CHARS = 100_000
_MAX_DISPLAY_CHARS = 120
_DATASET_EDGES = ((INPUT_EDGE, "/inputDatasetEdges/"), (OUTPUT_EDGE, "/outputDatasetEdges/"))


#: Inputs and outputs of a job, whose times are those of its runs (`io_proposal`).
IO_KINDS = frozenset({INPUT_EDGE, OUTPUT_EDGE, INPUT_FIELD, FINE_LINEAGE, JOB_EDGE, LINEAGE_JOB})


class Flow(NamedTuple):
    """The attributes of a flow that come from any of its jobs."""

    name: str
    namespace: str
    env: str | None
    platform: str
    instance: str | None


def job_of(registers: Registers) -> Job | None:
    """Return the job of a flow or dataJob: from its own events, else from the parent facet of another run."""
    job: Job | None = value(registers, JOB) or value(registers, IMPLIED_PARENT_JOB)
    return job


def flow_of(job: Job) -> Flow:
    """Return the flow of a job."""
    return Flow(job.flow_name, job.namespace, job.env, job.platform, job.instance)


def flow_proposals(urn: str, registers: Registers, options: Options, flow: Flow) -> Iterator[Proposal]:
    """Yield the aspects of a dataFlow."""
    operations = [add_operation("/name", flow.name), add_operation("/project", flow.namespace)]
    if flow.env in options.profile.environments:
        operations.append(add_operation("/env", flow.env))
    properties = combine_properties(registers, JOB_PROPERTIES, options.prefix)
    if FLOW_JOB in registers:
        properties.update(_name_properties(value(registers, FLOW_JOB), options))
        properties.update(_sql_properties(registers, options))
    yield patch("dataFlow", urn, "dataFlowInfo", _info_operations(operations, registers, properties))
    yield from _companion_proposals("dataFlow", urn, registers, flow)
    yield from _version_proposals("dataFlow", urn, registers, options)
    yield from domain_proposals("dataFlow", urn, options.settings.domains.of_job(flow.namespace, flow.name), registers)


def job_proposals(urn: str, registers: Registers, options: Options, job: Job) -> Iterator[Proposal]:
    """Yield the aspects of a dataJob without its inputs and outputs; its info is the first.

    Of a flow job, ``registers`` also hold the facts of the flow.
    """
    name = job.flow_name if job.level == "flow" else _display_name(job.job_name)
    operations = [
        add_operation("/name", name),
        # Always the platform, so that no event can flap it; always string-tagged.
        add_operation("/type", _job_type(job.platform)),
        add_operation("/flowUrn", job.flow_urn),
    ]
    if job.env in options.profile.environments:
        operations.append(add_operation("/env", job.env))
    properties = combine_properties(registers, JOB_PROPERTIES, options.prefix)
    properties.update(_name_properties(job, options))
    has_transform_logic = options.profile.has_aspect("dataJob", "dataTransformLogic")
    if not has_transform_logic:
        properties.update(_sql_properties(registers, options))
    yield patch("dataJob", urn, "dataJobInfo", _info_operations(operations, registers, properties))
    sql = value(registers, SQL_TEXT)
    if sql and has_transform_logic:
        query_statement = {"value": truncate(sql, MAX_SQL_CHARS), "language": "SQL"}
        yield upsert("dataJob", urn, "dataTransformLogic", {"transforms": [{"queryStatement": query_statement}]})
    yield from _companion_proposals("dataJob", urn, registers, job)
    yield from _version_proposals("dataJob", urn, registers, options)
    yield from domain_proposals("dataJob", urn, options.settings.domains.of_job(job.namespace, job.name), registers)


@lru_cache(maxsize=64)
def _job_type(platform: str) -> dict[str, str]:
    """Return the type of a job: one object for each platform, which checks recognise. Do not change it."""
    return {"string": platform}


def io_proposal(urn: str, registers: Registers, options: Options, job: Job | None) -> Proposal | None:
    """Return the inputs and outputs of a dataJob, from its own events or another job's lineage."""
    io = _io_operations(registers, options.prefix) if job is None or not job.shared else None
    return patch("dataJob", urn, "dataJobInputOutput", io) if io else None


def _info_operations(
    operations: list[dict[str, Any]], registers: Registers, properties: dict[str, str]
) -> list[dict[str, Any]]:
    """Return the operations of an info aspect: a fact that a facet states replaces the default of its field."""
    info_operations = operations
    if JOB_FIELD in registers:
        stated_fields = {f"/{field}": text for field, text in winning_fields(registers, JOB_FIELD)}
        info_operations = [
            add_operation(operation["path"], stated_fields.pop(operation["path"]))
            if stated_fields.get(operation["path"], TOMBSTONE) is not TOMBSTONE
            else operation
            for operation in operations
        ]
        info_operations += [
            remove_operation(path) if text is TOMBSTONE else add_operation(path, text)
            for path, text in sorted(stated_fields.items())
        ]
    info_operations += [
        add_operation("/customProperties/" + escape_segment(key), properties[key]) for key in sorted(properties)
    ]
    return info_operations


def _name_properties(job: Job, options: Options) -> dict[str, str]:
    properties = {options.prefix + "job.namespace": truncate(job.namespace)}
    if not job.shared:  # each of many queries has its own, which is stored on its run
        properties[options.prefix + "job.name"] = truncate(job.name)
    return properties


def _sql_properties(registers: Registers, options: Options) -> dict[str, str]:
    sql = value(registers, SQL_TEXT)
    if not sql:
        return {}
    return {options.prefix + key: text for key, text in sql_properties(sql).items()}


def _display_name(name: str) -> str:
    """Return a name for people: one line of at most 120 characters (SQL text serves as a name now and then)."""
    line = " ".join(name.split())
    return line if len(line) <= _MAX_DISPLAY_CHARS else line[:_MAX_DISPLAY_CHARS] + "…"


def _companion_proposals(entity: str, urn: str, registers: Registers, job: Job | Flow) -> Iterator[Proposal]:
    subtype = value(registers, SUBTYPES)
    if subtype:
        operator = value(registers, SUBTYPES, "operator")
        yield upsert(entity, urn, "subTypes", {"typeNames": [subtype, operator] if operator else [subtype]})
    yield upsert(entity, urn, "dataPlatformInstance", platform_instance(job.platform, job.instance))
    yield from owner_and_tag_proposals(entity, urn, registers)


def _version_proposals(entity: str, urn: str, registers: Registers, options: Options) -> Iterator[Proposal]:
    """Yield the version of the code of a job, where the profile has the aspect."""
    version_info = value(registers, VERSION_INFO)
    if version_info is not None and options.profile.has_aspect(entity, "versionInfo"):
        version, version_type, url = version_info
        aspect = {"version": version, "versionType": version_type, "customProperties": {}}
        yield upsert(entity, urn, "versionInfo", aspect if url is None else {**aspect, "externalUrl": url})


# -- inputs and outputs ---------------------------------------------------------------------------------------------


def _io_operations(registers: Registers, prefix: str) -> list[dict[str, Any]]:
    io_operations: list[dict[str, Any]] = []
    for fact_kind, path in _DATASET_EDGES:
        if fact_kind in registers:
            for dataset, (_, (created, modified, properties)) in sorted(registers[fact_kind].items()):
                io_operations.append(
                    add_operation(
                        path + escape_segment(dataset), dataset_edge(dataset, created, modified, properties, prefix)
                    )
                )
    if JOB_EDGE in registers or LINEAGE_JOB in registers:
        io_operations += _job_edges(registers, prefix)
    if INPUT_FIELD in registers:
        io_operations += [
            add_operation("/inputDatasetFields/" + escape_segment(field), field)
            for field in sorted(registers[INPUT_FIELD])
        ]
    fine_lineage = registers.get(FINE_LINEAGE)
    return fine_grained.append_lineage(io_operations, fine_operations(fine_lineage)) if fine_lineage else io_operations


def _job_edges(registers: Registers, prefix: str) -> Iterator[dict[str, Any]]:
    """Yield the edges to other jobs."""
    jobs = {job: properties for job, (_, properties) in registers.get(JOB_EDGE, {}).items()}
    for job in sorted({*jobs, *registers.get(LINEAGE_JOB, ())}):
        properties = jobs.get(job)
        job_edge: dict[str, Any] = {"destinationUrn": job}
        if properties:
            job_edge["properties"] = {prefix + key: properties[key] for key in sorted(properties)}
        yield add_operation("/inputDatajobEdges/" + escape_segment(job), job_edge)


def fine_operations(elements: dict[Any, Versioned]) -> fine_grained.PatchOperations:
    """Return one operation for each (operation, downstream, query, upstream): one downstream each."""
    if any([type(key) is tuple for key in elements]):  # noqa: C419 - a list is faster
        return fine_grained.operations_by_query(
            [(key[1] if type(key) is tuple else "", elements[key][1]) for key in elements]
        )
    return fine_grained.fine_operations(fine_grained.merge_pairs([pairs for _, pairs in elements.values()]))
