"""Facets of Google Cloud's services, and those that Airflow's Google provider writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, OpenFacet, as_property, dropped, facet, mapped, property_fact
from dh_bridge.facet_support.generic import drop_large_value, property_facet
from dh_bridge.facet_support.named_parameters import configuration
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import JOB_FIELD, RUN_NAME, RUN_PROPERTIES, RUN_URL, SUBTYPES, Facts
from dh_bridge.model.precedence import FIELD_STATED, NAME_APPLICATION, NAME_COMPOSER, URL_DATAPROC
from dh_bridge.model.properties import flatten, present_property_text, property_text, truncate
from dh_bridge.settings.links import fill_link

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- bigQueryJob (run): statistics of a BigQuery query (Airflow's Google provider; older releases wrote ``bigQuery_job``).


@facet(
    "bigQueryJob",
    "bigQuery_job",
    attach="run",
    outcomes={"properties": dropped("too-large"), "properties**": dropped("too-large"), "**": as_property()},
    producer="Airflow",
)
def big_query_job(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Whether the result was cached, and the cost, as properties of the run. The job resource is dropped, because it repeats the SQL."""
    content, properties = drop_large_value("bigQueryJob", facet.content, "properties", "too-large", ctx)
    flatten("bigQueryJob", content, properties)
    if properties:
        yield property_fact(ctx, properties)


# -- bigQuery_error (run): errors of a request to BigQuery about a query (Airflow's Google provider).

big_query_error = property_facet(
    "bigQuery_error", attach="run", doc="Errors of the client and of the SQL parser.", producer="Airflow"
)


# -- dataFusion (run): the run of a Cloud Data Fusion pipeline (Airflow's Google provider writes ``dataFusionRun``).


@facet(
    "dataFusion",
    "dataFusionRun",
    attach="run",
    outcomes={"**": as_property()},
    producer="Airflow",
)
def data_fusion(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run: the run id, and the runtime arguments as one redacted JSON."""
    content = dict(facet.content)
    arguments = content.pop("runtimeArgs", None)
    properties = flatten("dataFusion", content)
    if isinstance(arguments, dict):
        arguments = configuration(arguments, "runtimeArgs", ctx)
    value_text = property_text("dataFusion.runtimeArgs", arguments) if arguments else None
    if value_text:
        properties["dataFusion.runtimeArgs"] = value_text
    if properties:
        yield property_fact(ctx, properties)


# -- gcp_composer_job (job): environment, DAG and task. https://openlineage.io/spec/registry/gcp/composer

_MAX_SUBTYPE_CHARS = 100
_FIELD_NAMES = ("environmentName", "dagId", "operator", "taskId", "airflowVersion", "composerVersion")


class GcpComposerJob(Facet):
    """The Composer environment and its versions, and which task of which DAG it is."""

    environmentName: str | None = None
    dagId: str | None = None
    operator: str | None = None
    taskId: str | None = None
    airflowVersion: str | None = None
    composerVersion: str | None = None


@facet(
    "gcp_composer_job",
    attach="job",
    struct=GcpComposerJob,
    outcomes=dict.fromkeys(_FIELD_NAMES, as_property()),
    producer="Google Cloud",
)
def gcp_composer_job(facet: GcpComposerJob, ctx: FacetContext) -> Facts:
    """Properties of the job or flow. The operator is the second subtype, after that of jobType."""
    properties = {
        f"gcp_composer_job.{field_name}": value_text
        for field_name in _FIELD_NAMES
        if (value := getattr(facet, field_name))
        and (value_text := property_text(f"gcp_composer_job.{field_name}", value)) is not None
    }
    if properties:
        yield property_fact(ctx, properties)
    if facet.operator:
        yield ctx.owner_urn, SUBTYPES, "operator", facet.operator[:_MAX_SUBTYPE_CHARS]


# -- gcp_composer_run (run): the DAG run. https://openlineage.io/spec/registry/gcp/composer


class GcpComposerRun(Facet):
    """Airflow's id of the DAG run."""

    dagRunId: str | None = None


@facet(
    "gcp_composer_run",
    attach="run",
    struct=GcpComposerRun,
    outcomes={"dagRunId": mapped(RUN_NAME, RUN_PROPERTIES)},
    producer="Google Cloud",
)
def gcp_composer_run(facet: GcpComposerRun, ctx: FacetContext) -> Facts:
    """Name of the run, if Airflow's facets have none. The field is also a property."""
    if not facet.dagRunId:
        return
    yield ctx.run_urn, RUN_NAME, NAME_COMPOSER, facet.dagRunId
    yield property_fact(
        ctx, {"gcp_composer_run.dagRunId": present_property_text("gcp_composer_run.dagRunId", facet.dagRunId)}
    )


# -- gcp_dataproc (run): the Dataproc job or batch. https://openlineage.io/spec/registry/gcp/dataproc


@facet(
    "gcp_dataproc",
    "gcp_dataproc_spark",
    attach="run",
    outcomes={
        "appId": mapped(RUN_NAME, RUN_PROPERTIES),
        "**": as_property(),
    },
    producer="Google Cloud",
)
def gcp_dataproc(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run. The application id is the name of the run of an application. Both keys have the same fields."""
    properties = flatten("gcp_dataproc", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    yield from _page_facts(facet.content, ctx)
    application = text_of(facet.content.get("appId"))
    if application:
        yield ctx.run_urn, RUN_NAME, NAME_APPLICATION, application


#: Field that names the kind of workload -> its section in the console.
_CONSOLE_SECTIONS = {"batchId": "batches", "jobId": "jobs", "sessionId": "interactive"}


def _page_facts(content: dict[str, Any], ctx: FacetContext) -> Facts:
    """Yield the page of the batch, job or session in Google's console, for which the event lacks the region."""
    project = text_of(content.get("projectId"))
    for field_name, section in _CONSOLE_SECTIONS.items():
        name = text_of(content.get(field_name))
        if name and project:
            url = fill_link(ctx.options.settings.links, "dataproc", section=section, id=name, project=project)
            if url is not None:
                yield ctx.run_urn, RUN_URL, URL_DATAPROC, url
            return


# -- gcp_lineage (job): display name and origin. https://openlineage.io/spec/registry/gcp/lineage


@facet(
    "gcp_lineage",
    attach="job",
    outcomes={"displayName": mapped(JOB_FIELD["name"]), "**": as_property()},
    producer="Google Cloud",
)
def gcp_lineage(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Display name of the job or flow. Its origin is written as properties."""
    content = dict(facet.content)
    name = text_of(content.get("displayName"))
    if name:
        del content["displayName"]
        yield ctx.owner_urn, JOB_FIELD, ("name", FIELD_STATED), truncate(name)
    properties = flatten("gcp_lineage", content)
    if properties:
        yield property_fact(ctx, properties)
