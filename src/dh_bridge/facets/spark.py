"""Facets of Spark's listener (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.facet_support.engine import drop_repeated_fields
from dh_bridge.facet_support.facet_spec import Facet, OpenFacet, as_property, dropped, facet, mapped, property_fact
from dh_bridge.facet_support.generic import BulkFacet, bulk_facet, map_facet
from dh_bridge.facet_support.named_parameters import configuration
from dh_bridge.facet_support.repair import text_of
from dh_bridge.facet_support.sibling_facets import sibling_facet
from dh_bridge.facets.errors import error_properties
from dh_bridge.model.facts import JOB_FIELD, RUN_NAME, RUN_PROPERTIES, RUN_URL, RUN_USER, Facts
from dh_bridge.model.precedence import (
    FIELD_WEAK,
    NAME_APPLICATION,
    NAME_DATABRICKS,
    URL_DATABRICKS,
    URL_SPARK_HISTORY,
    URL_SPARK_PROXY,
    URL_SPARK_UI,
    USER_DATABRICKS,
    USER_SPARK,
    web_page_url,
)
from dh_bridge.model.properties import flatten, present_property_text
from dh_bridge.settings.links import fill_link

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- spark_applicationDetails (run): the application (OpenLineage integration/spark).

_URL_PRECEDENCES = {"historyUrl": URL_SPARK_HISTORY, "proxyUrl": URL_SPARK_PROXY, "uiWebUrl": URL_SPARK_UI}


@facet(
    "spark_applicationDetails",
    attach="run",
    outcomes={
        "applicationId": mapped(RUN_NAME, RUN_PROPERTIES),
        "userName": mapped(RUN_USER, RUN_PROPERTIES),
        **dict.fromkeys(_URL_PRECEDENCES, mapped(RUN_URL, RUN_PROPERTIES)),
        "**": as_property(),
    },
    producer="Spark",
)
def spark_application_details(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Application id (the name of the application's run), user and links of the run. All fields are also properties."""
    content = facet.content
    properties = flatten("spark_applicationDetails", content)
    if properties:
        yield property_fact(ctx, properties)
    if application := text_of(content.get("applicationId")):
        yield ctx.run_urn, RUN_NAME, NAME_APPLICATION, application
    if user := text_of(content.get("userName")):
        yield ctx.run_urn, RUN_USER, USER_SPARK, user
    for field_name, precedence in _URL_PRECEDENCES.items():
        url = web_page_url(str(content.get(field_name) or "").split(",", 1)[0])
        if url is not None:
            yield ctx.run_urn, RUN_URL, precedence, url


# -- spark_jobDetails (run): job id, description, group and call site (OpenLineage integration/spark).


@facet(
    "spark_jobDetails",
    attach="run",
    outcomes={"jobDescription": mapped(JOB_FIELD["description"], RUN_PROPERTIES), "**": as_property()},
    producer="Spark",
)
def spark_job_details(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run. The description is that of the job, if it has no other; it is never that of the application."""
    properties = flatten("spark_jobDetails", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    text = text_of(facet.content.get("jobDescription"))
    if text.strip() and ctx.job is not None and ctx.job.level == "job":
        yield ctx.owner_urn, JOB_FIELD, ("description", FIELD_WEAK), text


# -- spark_properties (run): chosen Spark settings (OpenLineage integration/spark).

spark_properties = map_facet(
    "spark_properties",
    separate_names=("spark.master",),
    flow_name="trident.artifact.name",
    doc="All properties as one redacted JSON property; spark.master is also a separate property. `trident.artifact.name`, the"
    " notebook of Microsoft Fabric, is the name of the flow.",
    producer="Spark",
)


# -- spark_version (run): versions of Spark and of its listener (old releases of OpenLineage's integration/spark).

_ENGINE_FIELDS = {"spark-version": "version", "openlineage-spark-version": "adapter"}


@facet("spark_version", attach="run", outcomes={"**": as_property()}, producer="Spark")
def spark_version(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run, unless processing_engine has the same values."""
    properties = flatten("spark_version", drop_repeated_fields(ctx, facet.content, _ENGINE_FIELDS))
    if properties:
        yield property_fact(ctx, properties)


# -- spark.exception (run): why a Spark action failed (OpenLineage integration/spark).


class SparkException(Facet):
    """Message and stack trace of a failed Spark action."""

    message: str | None = None
    stackTrace: str | None = None


@facet(
    "spark.exception",
    attach="run",
    struct=SparkException,
    outcomes=dict.fromkeys(("message", "stackTrace"), as_property()),
    producer="Spark",
)
def spark_exception(facet: SparkException, ctx: FacetContext) -> Facts:
    """Properties as of errorMessage, which is used if an event has both facets. Only FAIL events have this facet."""
    error_message = sibling_facet(ctx, "errorMessage")
    if "message" in error_message or "stackTrace" in error_message:
        for field_name in ("message", "stackTrace"):
            ctx.note_dropped(field_name, "duplicate-of:errorMessage")
        return
    properties = error_properties(facet.message, facet.stackTrace)
    if properties:
        yield property_fact(ctx, properties)


# -- spark.logicalPlan (run): the plan as Spark prints it (OpenLineage integration/spark).

spark_logical_plan = bulk_facet(
    "spark.logicalPlan",
    attach="run",
    reason="plan",
    doc="Dropped, because it is large and has no use in a catalogue. Hash and size are stored.",
    producer="Spark",
)


# -- spark_unknown (run): plan nodes that the listener did not understand (OpenLineage integration/spark).


class SparkPlanNodes(BulkFacet, forbid_unknown_fields=False):
    """The nodes, unread: one that writes, and those that read."""

    output: msgspec.Raw = msgspec.Raw()
    inputs: list[msgspec.Raw] | None = None


def _count_nodes(nodes: BulkFacet) -> int:
    plan_nodes = nodes if isinstance(nodes, SparkPlanNodes) else SparkPlanNodes()
    return len(plan_nodes.inputs or ()) + (bytes(plan_nodes.output) not in (b"", b"null"))


spark_unknown = bulk_facet(
    "spark_unknown",
    attach="run",
    reason="plan",
    doc="Dropped. Number of nodes, hash and size are stored.",
    producer="Spark",
    struct=SparkPlanNodes,
    count=_count_nodes,
)


# -- environment-properties (run): the Databricks environment (OpenLineage integration/spark).

_KEY = "environment-properties"


@facet(
    "environment-properties",
    attach="run",
    outcomes={
        "environment-properties.mountPoints[].**": dropped("too-large"),
        "environment-properties.user": mapped(RUN_USER, RUN_PROPERTIES),
        "**": as_property(),
    },
    producer="Spark",
)
def environment_properties(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Redacted properties of the run. Of the mount table, only the size is written. The user is the user of the run."""
    nested_properties = facet.content.get(_KEY)
    is_nested = isinstance(nested_properties, dict)
    outer_properties = {name: value for name, value in facet.content.items() if name != _KEY} if is_nested else {}
    content = dict(nested_properties) if isinstance(nested_properties, dict) else dict(facet.content)
    mounts, user = content.pop("mountPoints", None), content.pop("user", None)
    for name in outer_properties.keys() & content.keys():
        ctx.note_dropped(name, f"duplicate-of:{_KEY}.{name}")
    content = configuration(content, _KEY if is_nested else "", ctx)
    properties = flatten(_KEY, {**outer_properties, **({"user": user} if user is not None else {}), **content})
    if mounts is not None and not isinstance(mounts, list):
        properties[f"{_KEY}.mountPoints"] = present_property_text(f"{_KEY}.mountPoints", mounts)
    elif mounts is not None:
        properties[f"{_KEY}.mountPoints.count"] = str(len(mounts))
    if name := text_of(user):
        yield ctx.run_urn, RUN_USER, USER_DATABRICKS, name
    yield from _job_run_facts(nested_properties if isinstance(nested_properties, dict) else facet.content, ctx)
    if properties:
        yield property_fact(ctx, properties)


def _job_run_facts(content: dict[str, Any], ctx: FacetContext) -> Facts:
    """Yield the name of the run of a Databricks job, by ``spark.run_name``, and its page, by ``links``."""
    job, run = (_scalar_text(content.get(f"spark.databricks.job.{field_name}")) for field_name in ("id", "runId"))
    if run and ctx.options.settings.spark.run_name == "databricks":
        yield ctx.run_urn, RUN_NAME, NAME_DATABRICKS, run
    url = fill_link(ctx.options.settings.links, "databricks", job=job, run=run) if job and run else None
    if url is not None:
        yield ctx.run_urn, RUN_URL, URL_DATABRICKS, url


def _scalar_text(value: Any) -> str:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


# -- debug (run): a dump of settings and packages (Spark listener, Airflow provider).

debug = bulk_facet(
    "debug", attach="run", reason="bulk", doc="Dropped. Hash and size are stored.", producer="Spark, Airflow"
)
