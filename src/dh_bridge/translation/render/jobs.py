"""dataFlow and dataJob: info, inputs and outputs, SQL, subtypes, owners, tags."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.datahub import fine_grained
from dh_bridge.datahub.proposal import Proposal, patch, upsert
from dh_bridge.translation.facts import (
    FINE_LINEAGE,
    GONE,
    INPUT_EDGE,
    INPUT_FIELD,
    JOB,
    JOB_EDGE,
    JOB_FIELD,
    JOB_PROPERTIES,
    LINEAGE_JOB,
    OUTPUT_EDGE,
    OWN_JOB,
    SQL_TEXT,
    STUB_JOB,
    SUBTYPES,
)
from dh_bridge.translation.fold import Slots, value
from dh_bridge.translation.properties import capped
from dh_bridge.translation.render.precedence import combined, fields
from dh_bridge.translation.render.runs import platform_instance
from dh_bridge.translation.render.shared import domain, edge, people_and_tags
from dh_bridge.translation.render.stamps import add, escaped, remove
from dh_bridge.translation.runs.queries import sql_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.identity import Job
    from dh_bridge.translation.merge import Cell
    from dh_bridge.translation.options import Options

SQL_CAP = 100_000
_DISPLAY_CAP = 120
_DATASET_EDGES = ((INPUT_EDGE, "/inputDatasetEdges/"), (OUTPUT_EDGE, "/outputDatasetEdges/"))


#: What a job reads and writes, whose times are those of its runs (`io_proposal`).
IO = frozenset({INPUT_EDGE, OUTPUT_EDGE, INPUT_FIELD, FINE_LINEAGE, JOB_EDGE, LINEAGE_JOB})


class Flow(NamedTuple):
    """What a flow has from any of its jobs."""

    name: str
    namespace: str
    env: str | None
    platform: str
    instance: str | None


def job_of(slots: Slots) -> Job | None:
    """Return the job of a flow or dataJob: its own words, else what another run's parent facet says of it."""
    job: Job | None = value(slots, JOB) or value(slots, STUB_JOB)
    return job


def flow_of(job: Job) -> Flow:
    """Return the flow of a job."""
    return Flow(job.flow_name, job.namespace, job.env, job.platform, job.instance)


def flow_proposals(urn: str, slots: Slots, options: Options, flow: Flow) -> Iterator[Proposal]:
    """Yield the aspects of a dataFlow."""
    operations = [add("/name", flow.name), add("/project", flow.namespace)]
    if flow.env in options.profile.environments:
        operations.append(add("/env", flow.env))
    own = combined(slots, JOB_PROPERTIES, options.prefix)
    if OWN_JOB in slots:
        own.update(_raw_names(value(slots, OWN_JOB), options))
        own.update(_sql_properties(slots, options))
    yield patch("dataFlow", urn, "dataFlowInfo", _info(operations, slots, own))
    yield from _companions("dataFlow", urn, slots, flow)
    yield from domain("dataFlow", urn, options.settings.domains.jobs, flow.namespace, flow.name)


def job_proposals(urn: str, slots: Slots, options: Options, job: Job) -> Iterator[Proposal]:
    """Yield the aspects of a dataJob, but for its inputs and outputs; its info is the first.

    Of a flow-level job's twin, ``slots`` hold the flow's subtypes: its facets belong to the flow.
    """
    twin = job.level == "flow"
    name = job.flow_name if twin else _display(job.job_name)
    operations = [
        add("/name", name),
        # Always the platform, so that no event can flap it; always string-tagged.
        add("/type", _type_of(job.platform)),
        add("/flowUrn", job.flow_urn),
    ]
    if job.env in options.profile.environments:
        operations.append(add("/env", job.env))
    own = combined(slots, JOB_PROPERTIES, options.prefix)
    own.update(_raw_names(job, options))
    logic = options.profile.has("dataJob", "dataTransformLogic")
    if not logic:
        own.update(_sql_properties(slots, options))
    yield patch("dataJob", urn, "dataJobInfo", _info(operations, slots, own))
    sql = value(slots, SQL_TEXT)
    if sql and logic:
        statement = {"value": capped(sql, SQL_CAP), "language": "SQL"}
        yield upsert("dataJob", urn, "dataTransformLogic", {"transforms": [{"queryStatement": statement}]})
    yield from _companions("dataJob", urn, slots, job, tags=not twin)
    yield from domain("dataJob", urn, options.settings.domains.jobs, job.namespace, job.name)


@lru_cache(maxsize=64)
def _type_of(platform: str) -> dict[str, str]:
    """Return the type of a job; one object for all of a platform, which a check knows again: do not change it."""
    return {"string": platform}


def io_proposal(urn: str, slots: Slots, options: Options, job: Job | None) -> Proposal | None:
    """Return the inputs and outputs of a dataJob, whether its own events told of them or another job's lineage."""
    io = _io(slots, options.prefix) if job is None or not job.shared else None
    return patch("dataJob", urn, "dataJobInputOutput", io) if io else None


def _info(operations: list[dict[str, Any]], slots: Slots, properties: dict[str, str]) -> list[dict[str, Any]]:
    """Return the operations of an info aspect: a fact that a facet states replaces the default of its field."""
    found = operations
    if JOB_FIELD in slots:
        stated = {f"/{field}": text for field, text in fields(slots, JOB_FIELD)}
        found = [
            add(operation["path"], stated.pop(operation["path"]))
            if stated.get(operation["path"], GONE) is not GONE
            else operation
            for operation in operations
        ]
        found += [remove(path) if text is GONE else add(path, text) for path, text in sorted(stated.items())]
    found += [add("/customProperties/" + escaped(key), properties[key]) for key in sorted(properties)]
    return found


def _raw_names(job: Job, options: Options) -> dict[str, str]:
    found = {options.prefix + "job.namespace": capped(job.namespace)}
    if not job.shared:  # each of many queries has another one, which is kept on its runs
        found[options.prefix + "job.name"] = capped(job.name)
    return found


def _sql_properties(slots: Slots, options: Options) -> dict[str, str]:
    sql = value(slots, SQL_TEXT)
    if not sql:
        return {}
    return {options.prefix + key: said for key, said in sql_properties(sql).items()}


def _display(name: str) -> str:
    """Return a name for people: one line of at most 120 characters (SQL text serves as a name now and then)."""
    line = " ".join(name.split())
    return line if len(line) <= _DISPLAY_CAP else line[:_DISPLAY_CAP] + "…"


def _companions(entity: str, urn: str, slots: Slots, job: Job | Flow, *, tags: bool = True) -> Iterator[Proposal]:
    subtype = value(slots, SUBTYPES)
    if subtype:
        operator = value(slots, SUBTYPES, "operator")
        yield upsert(entity, urn, "subTypes", {"typeNames": [subtype, operator] if operator else [subtype]})
    yield upsert(entity, urn, "dataPlatformInstance", platform_instance(job.platform, job.instance))
    if tags:
        yield from people_and_tags(entity, urn, slots)


# -- inputs and outputs ---------------------------------------------------------------------------------------------


def _io(slots: Slots, prefix: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for slot, path in _DATASET_EDGES:
        if slot in slots:
            for dataset, (_, (created, modified, properties)) in sorted(slots[slot].items()):
                found.append(add(path + escaped(dataset), edge(dataset, created, modified, properties, prefix)))
    if JOB_EDGE in slots or LINEAGE_JOB in slots:
        found += _job_edges(slots, prefix)
    if INPUT_FIELD in slots:
        found += [add("/inputDatasetFields/" + escaped(field), field) for field in sorted(slots[INPUT_FIELD])]
    fine = slots.get(FINE_LINEAGE)
    return fine_grained.behind(found, fine_operations(fine)) if fine else found


def _job_edges(slots: Slots, prefix: str) -> Iterator[dict[str, Any]]:
    """Yield the edges to other jobs."""
    jobs = {job: properties for job, (_, properties) in slots.get(JOB_EDGE, {}).items()}
    for job in sorted({*jobs, *slots.get(LINEAGE_JOB, ())}):
        properties = jobs.get(job)
        found: dict[str, Any] = {"destinationUrn": job}
        if properties:
            found["properties"] = {prefix + key: properties[key] for key in sorted(properties)}
        yield add("/inputDatajobEdges/" + escaped(job), found)


def fine_operations(cells: dict[Any, Cell]) -> fine_grained.Built:
    """Return one operation for each (operation, downstream, query, upstream): one downstream each."""
    if any([type(key) is tuple for key in cells]):  # noqa: C419 - a list is faster
        return fine_grained.by_query([(key[1] if type(key) is tuple else "", cells[key][1]) for key in cells])
    return fine_grained.fine_operations(fine_grained.together([pairs for _, pairs in cells.values()]))
