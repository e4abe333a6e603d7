"""Functions that Airflow's facets share: the DAG belongs to the flow, the DAG run and the task to the run.

Source: apache-airflow-providers-openlineage.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.urns import is_urn, tag_urn
from dh_bridge.facet_support.repair import text_of
from dh_bridge.facet_support.sibling_facets import job_facet
from dh_bridge.model.facts import (
    JOB_FIELD,
    JOB_PROPERTIES,
    OWNER,
    RUN_NAME,
    RUN_TYPE,
    TAG,
    Facts,
)
from dh_bridge.model.precedence import FIELD_DAG, TYPE_AIRFLOW_RUN, TYPE_EXTERNAL_TRIGGER
from dh_bridge.model.properties import flatten, json_text, property_text
from dh_bridge.value_maps.owner_types import owner_urn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.identity import Job

#: Airflow's state at the end of a run or task -> DataHub's; states that are not listed are not ends
OUTCOMES = {
    "success": "SUCCESS", "failed": "FAILURE", "skipped": "SKIPPED", "upstream_failed": "SKIPPED", "removed": "SKIPPED",
    "up_for_retry": "UP_FOR_RETRY", "up_for_reschedule": "UP_FOR_RETRY",
}  # fmt: skip
_MAX_LIST_CHARS = 10_000


def parse_list(value: Any) -> list[Any]:
    """Return a list that Airflow writes as a list or as Python text (``"['a', 'b']"``)."""
    if isinstance(value, str):
        if len(value) > _MAX_LIST_CHARS:
            return []
        try:
            value = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return []
    return list(value) if isinstance(value, (list, tuple, set)) else []


def parse_names(value: Any) -> list[str]:
    """Return the texts of such a list, or of one that is only separated by commas."""
    if isinstance(value, str) and not value.strip().startswith(("[", "(", "{")):
        return [item.strip() for item in value.split(",") if item.strip()]
    names = (str(member).strip() for member in parse_list(value) if isinstance(member, (str, int, float)))
    return [name for name in names if name]


def dag_facts(dag: dict[str, Any], ctx: FacetContext) -> Facts:
    """Yield the facts of a DAG for its flow: description, owners (DEVELOPER, as DataHub's plugin), tags, properties."""
    if ctx.job is None or ctx.job.placeholder or ctx.job.skip:
        return  # no flow is written for them
    flow = ctx.job.flow_urn
    attributes = dict(dag)
    yield from _description_facts(attributes, ctx.job, ctx)
    yield from _owner_facts(attributes, flow, ctx)
    yield from _tag_facts(attributes, ctx.job, ctx)
    dag_id = attributes.pop("dag_id", None)
    properties = flatten("airflow.dag", attributes)
    if (value_text := property_text("airflow.dag_id", dag_id)) is not None:
        properties["airflow.dag_id"] = value_text
    if properties:
        yield flow, JOB_PROPERTIES, "airflow.dag", properties


def _description_facts(attributes: dict[str, Any], job: Job, ctx: FacetContext) -> Facts:
    """Yield the description of a DAG and remove it from ``attributes``; beside another documentation it is a property."""
    field_name = "description" if attributes.get("description") else "doc_md"
    description = text_of(attributes.get(field_name))
    if not description:
        return
    del attributes[field_name]
    yield job.flow_urn, JOB_FIELD, ("description", FIELD_DAG), description
    if job.level != "flow":
        return
    job_documentation = job_facet(ctx, "documentation").get("description")
    key, properties = f"airflow.dag.{field_name}", {}
    if job_documentation and job_documentation != description and (value_text := property_text(key, description)):
        properties[key] = value_text
        ctx.note_outcome(f"dag.{field_name}", JOB_PROPERTIES)
    yield job.flow_urn, JOB_PROPERTIES, "airflow.dag.description", properties


def _tag_facts(attributes: dict[str, Any], job: Job, ctx: FacetContext) -> Facts:
    """Yield the tags of a DAG that the tags facet does not have, and remove them from ``attributes``."""
    raw_tags = attributes.pop("tags", None) or ""
    tags = parse_names(raw_tags)
    facet_tags = _plain_tags(ctx) if job.level == "flow" else set()
    for tag in tags:
        if tag in ctx.options.settings.tags.exclude:
            ctx.note_dropped("dag.tags", "policy:tags.exclude")
        elif not is_urn(tag_urn(tag)):
            ctx.note_dropped("dag.tags", "too-large")
        elif tag not in facet_tags:
            yield job.flow_urn, TAG, tag, json_text({"source": "AIRFLOW", "value": tag})
    if tags and facet_tags.issuperset(tags):
        ctx.note_dropped("dag.tags", "duplicate-of:tags")
    if not tags and isinstance(raw_tags, str) and raw_tags.strip("[(){}] "):
        attributes["tags"] = raw_tags  # a list that cannot be read becomes a text property
    elif not tags:
        ctx.note_dropped("dag.tags", "no-field:no tags")


def _plain_tags(ctx: FacetContext) -> set[str]:
    """Return the tags without a separate value in the tags facet of the event's job."""
    tags = job_facet(ctx, "tags").get("tags")
    keys = (
        ((tag.get("key"), tag.get("value")) for tag in tags if isinstance(tag, dict)) if isinstance(tags, list) else ()
    )
    return {key for key, value in keys if isinstance(key, str) and value in (key, "", None)}


def _owner_facts(attributes: dict[str, Any], flow: str, ctx: FacetContext) -> Facts:
    """Yield the owners of a DAG and remove them from ``attributes``."""
    settings = ctx.options.settings.owners
    skip = frozenset(placeholder.lower() for placeholder in settings.skip)
    owners = parse_names(text_of(attributes.get("owner")) or attributes.get("owner"))
    if owners:
        del attributes["owner"]
    for name in owners:
        urn = owner_urn(name, skip=skip, domain=settings.email_domain)
        if urn is not None:
            yield flow, OWNER, (urn, "DEVELOPER"), None
        else:
            ctx.note_dropped("dag.owner", "no-field:placeholder owner")


def dag_run_facts(dag_run: dict[str, Any], ctx: FacetContext, *, precedence: int) -> Facts:
    """Yield the facts of a DAG run for the run: its id as the name, its type as the type."""
    run_id = text_of(dag_run.get("run_id"))
    if run_id:
        yield ctx.run_urn, RUN_NAME, precedence, run_id
    run_type = text_of(dag_run.get("run_type"))
    if run_type:
        yield ctx.run_urn, RUN_TYPE, TYPE_AIRFLOW_RUN, run_type
    if dag_run.get("external_trigger") is True:
        yield ctx.run_urn, RUN_TYPE, TYPE_EXTERNAL_TRIGGER, True


def without_keys(document: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return ``document`` without the members ``names``."""
    return {key: value for key, value in document.items() if key not in names}


def nested_object(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the member ``name`` if it is an object, else an empty object."""
    value = document.get(name)
    return value if isinstance(value, dict) else {}
