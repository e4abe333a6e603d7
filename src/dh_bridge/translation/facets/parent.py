"""parent (run): the run that started this one. https://openlineage.io/docs/spec/facets/run-facets/parent_run"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement, withheld
from dh_bridge.translation.facts import (
    JOB_EDGE,
    JOB_PROPERTIES,
    PARENT,
    RUN_PROPERTIES,
    RUN_TYPE,
    STUB_JOB,
    STUB_RUN,
    Statements,
)
from dh_bridge.translation.identity.runs import bare
from dh_bridge.translation.lineage.triggers import own_task, parent_job, started_by
from dh_bridge.translation.precedence import TYPE_INHERITED
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.properties import worded
from dh_bridge.translation.reading.airflow import part

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class Run(Facet):
    """A run reference, with the facets that were forwarded."""

    runId: str = ""
    facets: dict[str, Any] | None = None


class Job(Facet):
    """A job reference, with the facets that were forwarded."""

    namespace: str = ""
    name: str = ""
    facets: dict[str, Any] | None = None


class Root(Facet):
    """The outermost run."""

    run: Run | None = None
    job: Job | None = None


class Parent(Facet):
    """The parent's run and job, and the root's."""

    run: Run | None = None
    job: Job | None = None
    root: Root | None = None


_ROOT_JOB = kept(JOB_PROPERTIES, RUN_PROPERTIES)


@facet(
    "parent",
    "parentRun",
    at="run",
    reads=Parent,
    leaves={
        "run.runId": mapped(PARENT),
        "job.namespace": mapped(JOB_PROPERTIES, PARENT),
        "job.name": mapped(JOB_PROPERTIES, PARENT),
        "root.run.runId": kept(RUN_PROPERTIES["root.runId"]),
        "root.job.namespace": _ROOT_JOB,
        "root.job.name": _ROOT_JOB,
        "run.facets": withheld("envelope"),
        "job.facets": withheld("envelope"),
        "root.run.facets": withheld("envelope"),
        "root.job.facets": withheld("envelope"),
        "run.facets.**": kept(),
        "job.facets.**": kept(),
        "root.run.facets.**": kept(),
        "root.job.facets.**": kept(),
    },
)
def parent(facet: Parent, at: Place) -> Statements:
    """The parent run as parentInstance (never a dataset or job upstream), root and forwarded facets as properties."""
    run, job = facet.run or Run(), facet.job or Job()
    if run.runId:
        urn = at.identity.run_urn(job.namespace, job.name, run.runId)
        if urn == at.run:
            # A run is not its own parent.
            at.withheld("run", "duplicate-of:run.runId")
            at.withheld("job", "duplicate-of:job.name")
            run, job = Run(), Job()
        else:
            yield at.run, PARENT, "", (urn, job.namespace, job.name)
            if at.notes is not None and urn == at.identity.run_urn("", "", run.runId):
                for leaf in ("job.namespace", "job.name"):  # the run's id alone says which run it is
                    at.reached(leaf, JOB_PROPERTIES)
            if at.options.stubs:
                yield from _stubs(urn, run, job, at)
    properties = _root(facet.root, at) if facet.root is not None else {}
    _forwarded("parent.run.facets", run.facets, properties)
    _forwarded("parent.job.facets", job.facets, properties)
    if properties:
        yield property_statement(at, properties)
    above = {"parent.job": _job_text("parent.job", job)} if job.name else {}
    if "root.job" in properties:
        above["root.job"] = properties["root.job"]
    if at.owner and above:
        yield at.owner, JOB_PROPERTIES, "parent", above
    yield from _started(at)
    word = part(job.facets or {}, "jobType").get("processingType")
    if isinstance(word, str) and word and at.run:
        yield at.run, RUN_TYPE, TYPE_INHERITED, word


def _root(root: Root, at: Place) -> dict[str, str]:
    """Return the properties that tell of the outermost run."""
    properties: dict[str, str] = {}
    run, job = root.run or Run(), root.job or Job()
    if run.runId:
        properties["root.runId"] = worded("root.runId", run.runId)
        properties["root.dpi"] = at.identity.run_urn(job.namespace, job.name, run.runId)
    if job.name or job.namespace:
        properties["root.job"] = _job_text("root.job", job)
    _forwarded("root.run.facets", run.facets, properties)
    _forwarded("root.job.facets", job.facets, properties)
    return properties


def _started(at: Place) -> Statements:
    """The edge from the parent's job, where it is asked for."""
    upstream = started_by(at)
    if upstream is not None and at.owner:
        yield own_task(at), JOB_EDGE, upstream, {}


def _stubs(urn: str, run: Run, job: Job, at: Place) -> Statements:
    """The parent's run, job and flow, as far as its child can tell: weak, for its own events say more."""
    found = parent_job(job.namespace, job.name, run.facets or {}, job.facets or {}, at)
    # a run of a task that DataHub's plugin writes has the plugin's id: under this one it is no run of that task
    if found is not None and at.options.identity.joins_runs(found):
        found = None
    template = at.identity.template(found, has_io=False) if found is not None else None
    yield urn, STUB_RUN, (bare(run.runId), template or ""), at.event.time
    if found is not None and template:
        yield found.flow_urn, STUB_JOB, "", found
        if found.level == "job":
            yield found.job_urn, STUB_JOB, "", found


def _job_text(key: str, job: Job) -> str:
    return worded(key, f"{job.namespace}/{job.name}")


def _forwarded(key: str, facets: dict[str, Any] | None, into: dict[str, str]) -> None:
    written = kept_text(key, facets) if facets else None
    if written is not None:
        into[key] = written
