"""What Airflow's facets say in common: the DAG belongs to the flow, the DAG run and the task to the run.

Source: apache-airflow-providers-openlineage.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.urns import is_urn, tag_urn
from dh_bridge.translation.facts import (
    JOB_FIELD,
    JOB_PROPERTIES,
    OWNER,
    RUN_NAME,
    RUN_TYPE,
    TAG,
    Statements,
)
from dh_bridge.translation.precedence import FIELD_DAG, TYPE_AIRFLOW_RUN, TYPE_EXTERNAL_TRIGGER
from dh_bridge.translation.properties import flattened, text
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.reading.beside import of_job
from dh_bridge.translation.reading.people import owner_urn
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.translation.context import Place
    from dh_bridge.translation.identity import Job

#: a word of Airflow for how a run or task ended -> DataHub's; a word that is not here is none for an end
OUTCOMES = {
    "success": "SUCCESS", "failed": "FAILURE", "skipped": "SKIPPED", "upstream_failed": "SKIPPED", "removed": "SKIPPED",
    "up_for_retry": "UP_FOR_RETRY", "up_for_reschedule": "UP_FOR_RETRY",
}  # fmt: skip
_LIST_CAP = 10_000


def listed(value: Any) -> list[Any]:
    """Return a list that Airflow writes as a list or as Python text (``"['a', 'b']"``)."""
    if isinstance(value, str):
        if len(value) > _LIST_CAP:
            return []
        try:
            value = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return []
    return list(value) if isinstance(value, (list, tuple, set)) else []


def members(value: Any) -> list[str]:
    """Return the texts of such a list, or of one that is written with commas alone."""
    if isinstance(value, str) and not value.strip().startswith(("[", "(", "{")):
        return [part.strip() for part in value.split(",") if part.strip()]
    found = (str(member).strip() for member in listed(value) if isinstance(member, (str, int, float)))
    return [one for one in found if one]


def dag_statements(dag: dict[str, Any], at: Place) -> Statements:
    """Yield what a DAG says of its flow: description, owners (DEVELOPER, as DataHub's plugin), tags, properties."""
    if at.job is None or at.job.placeholder or at.job.skip:
        return  # no flow is written for them
    flow = at.job.flow_urn
    body = dict(dag)
    yield from _description(body, at.job, at)
    yield from _owners(body, flow, at)
    yield from _tags(body, at.job, at)
    dag_id = body.pop("dag_id", None)
    properties = flattened("airflow.dag", body)
    if (written := kept_text("airflow.dag_id", dag_id)) is not None:
        properties["airflow.dag_id"] = written
    if properties:
        yield flow, JOB_PROPERTIES, "airflow.dag", properties


def _description(body: dict[str, Any], job: Job, at: Place) -> Statements:
    """Yield the description of a DAG, and take it out of what is kept of it; beside other documentation it is a property."""
    leaf = "description" if body.get("description") else "doc_md"
    description = text_of(body.get(leaf))
    if not description:
        return
    del body[leaf]
    yield job.flow_urn, JOB_FIELD, ("description", FIELD_DAG), description
    if job.level != "flow":
        return
    documented = of_job(at, "documentation").get("description")
    key, properties = f"airflow.dag.{leaf}", {}
    if documented and documented != description and (written := kept_text(key, description)):
        properties[key] = written
        at.reached(f"dag.{leaf}", JOB_PROPERTIES)
    yield job.flow_urn, JOB_PROPERTIES, "airflow.dag.description", properties


def _tags(body: dict[str, Any], job: Job, at: Place) -> Statements:
    """Yield the tags of a DAG, as the tags facet of its own events has them, and take them out of what is kept of it."""
    said = body.pop("tags", None) or ""
    tags = members(said)
    told = _plain_tags(at) if job.level == "flow" else set()
    for tag in tags:
        if tag in at.options.settings.tags.exclude:
            at.withheld("dag.tags", "policy:tags.exclude")
        elif not is_urn(tag_urn(tag)):
            at.withheld("dag.tags", "too-large")
        elif tag not in told:
            yield job.flow_urn, TAG, tag, text({"source": "AIRFLOW", "value": tag})
    if tags and told.issuperset(tags):
        at.withheld("dag.tags", "duplicate-of:tags")
    if not tags and isinstance(said, str) and said.strip("[(){}] "):
        body["tags"] = said  # a list that cannot be read is kept as text
    elif not tags:
        at.withheld("dag.tags", "no-home:no tags")


def _plain_tags(at: Place) -> set[str]:
    """Return the tags without a value of their own in the tags facet of the event's job."""
    tags = of_job(at, "tags").get("tags")
    keys = (
        ((one.get("key"), one.get("value")) for one in tags if isinstance(one, dict)) if isinstance(tags, list) else ()
    )
    return {key for key, value in keys if isinstance(key, str) and value in (key, "", None)}


def _owners(body: dict[str, Any], flow: str, at: Place) -> Statements:
    """Yield the owners of a DAG, and take them out of what is kept of it."""
    settings = at.options.settings.owners
    skip = frozenset(word.lower() for word in settings.skip)
    owners = members(text_of(body.get("owner")) or body.get("owner"))
    if owners:
        del body["owner"]
    for name in owners:
        urn = owner_urn(name, skip=skip, domain=settings.email_domain)
        if urn is not None:
            yield flow, OWNER, (urn, "DEVELOPER"), None
        else:
            at.withheld("dag.owner", "no-home:placeholder owner")


def dag_run_statements(dag_run: dict[str, Any], at: Place, *, rung: int) -> Statements:
    """Yield what a DAG run says of the run: its id as the name, its type as the type."""
    run_id = text_of(dag_run.get("run_id"))
    if run_id:
        yield at.run, RUN_NAME, rung, run_id
    run_type = text_of(dag_run.get("run_type"))
    if run_type:
        yield at.run, RUN_TYPE, TYPE_AIRFLOW_RUN, run_type
    if dag_run.get("external_trigger") is True:
        yield at.run, RUN_TYPE, TYPE_EXTERNAL_TRIGGER, True


def without(body: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return ``body`` without the members ``names``."""
    return {key: value for key, value in body.items() if key not in names}


def part(body: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the member ``name`` when it is an object, else an empty one."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}
