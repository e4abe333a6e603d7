"""environment-properties (run): the Databricks environment (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement, withheld
from dh_bridge.translation.facts import RUN_NAME, RUN_PROPERTIES, RUN_URL, RUN_USER, Statements
from dh_bridge.translation.precedence import NAME_DATABRICKS, URL_DATABRICKS, USER_DATABRICKS
from dh_bridge.translation.properties import flattened, worded
from dh_bridge.translation.reading.given import configuration
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_KEY = "environment-properties"


@facet(
    "environment-properties",
    at="run",
    leaves={
        "environment-properties.mountPoints[].**": withheld("too-large"),
        "environment-properties.user": mapped(RUN_USER, RUN_PROPERTIES),
        "**": kept(),
    },
    producer="Spark",
)
def environment_properties(opened: Open, at: Place) -> Statements:
    """Properties of the run, redacted; of the mount table only its size; the user is the run's user."""
    inner = opened.body.get(_KEY)
    nested = isinstance(inner, dict)
    rest = {name: value for name, value in opened.body.items() if name != _KEY} if nested else {}
    body = dict(inner) if isinstance(inner, dict) else dict(opened.body)
    mounts, user = body.pop("mountPoints", None), body.pop("user", None)
    for name in rest.keys() & body.keys():
        at.withheld(name, f"duplicate-of:{_KEY}.{name}")
    body = configuration(body, _KEY if nested else "", at)
    properties = flattened(_KEY, {**rest, **({"user": user} if user is not None else {}), **body})
    if mounts is not None and not isinstance(mounts, list):
        properties[f"{_KEY}.mountPoints"] = worded(f"{_KEY}.mountPoints", mounts)
    elif mounts is not None:
        properties[f"{_KEY}.mountPoints.count"] = str(len(mounts))
    if name := text_of(user):
        yield at.run, RUN_USER, USER_DATABRICKS, name
    yield from _job_run(inner if isinstance(inner, dict) else opened.body, at)
    if properties:
        yield property_statement(at, properties)


def _job_run(body: dict[str, Any], at: Place) -> Statements:
    """Yield what the run of a Databricks job is called, by ``spark.run_name``, and its page, by ``links.databricks``."""
    job, run = (_text(body.get(f"spark.databricks.job.{leaf}")) for leaf in ("id", "runId"))
    if run and at.options.settings.spark.run_name == "databricks":
        yield at.run, RUN_NAME, NAME_DATABRICKS, run
    workspace = at.options.settings.links.databricks
    if workspace is not None and job and run:
        url = f"{workspace.rstrip('/')}/jobs/{quote(job, safe='')}/runs/{quote(run, safe='')}"
        yield at.run, RUN_URL, URL_DATABRICKS, url


def _text(value: Any) -> str:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
