"""environment-properties (run): the Databricks environment (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, dropped, facet, mapped, property_fact
from dh_bridge.facet_support.named_parameters import configuration
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import RUN_NAME, RUN_PROPERTIES, RUN_URL, RUN_USER, Facts
from dh_bridge.model.precedence import NAME_DATABRICKS, URL_DATABRICKS, USER_DATABRICKS
from dh_bridge.model.properties import flatten, present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

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
    """Properties of the run, redacted; of the mount table only its size; the user is the run's user."""
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
    """Yield what the run of a Databricks job is called, by ``spark.run_name``, and its page, by ``links.databricks``."""
    job, run = (_scalar_text(content.get(f"spark.databricks.job.{field_name}")) for field_name in ("id", "runId"))
    if run and ctx.options.settings.spark.run_name == "databricks":
        yield ctx.run_urn, RUN_NAME, NAME_DATABRICKS, run
    workspace = ctx.options.settings.links.databricks
    if workspace is not None and job and run:
        url = f"{workspace.rstrip('/')}/jobs/{quote(job, safe='')}/runs/{quote(run, safe='')}"
        yield ctx.run_urn, RUN_URL, URL_DATABRICKS, url


def _scalar_text(value: Any) -> str:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
