"""``mode: datahub-openlineage``: the ids that DataHub's own OpenLineage endpoint gives.

The mode has the limits of the endpoint: no escaping, no truncation, no parents, and an orchestrator that a facet can change
between two events of one run. It follows io.datahubproject.openlineage.converter and is checked against its 12 golden files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.urns import escape_controls, run_urn
from dh_bridge.identity.warnings import COMPAT_REFUSED
from dh_bridge.model.job import ENDPOINT
from dh_bridge.settings.naming import FABRIC_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.identity.hints import Hints, RunReference
    from dh_bridge.identity.overlay import DefaultNames
    from dh_bridge.model.job import Job
    from dh_bridge.settings.identity import EndpointKey

NO_ORCHESTRATOR = "Unable to determine orchestrator, HTTP 500"
ONLY_DOTS = "name has only dots: ArrayIndexOutOfBounds, HTTP 500"
NO_UUID = "runId is not a UUID"
NO_RUN = "no run (JobEvent): NullPointerException, HTTP 500"

_INTEGRATION = re.compile(r"https://github\.com/OpenLineage/OpenLineage/.*/(.*)").fullmatch
_PRODUCER_URLS = (("https://github.com/apache/airflow/", "airflow"), ("https://github.com/trinodb/trino/", "trino"))
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch


class CompatMode:
    """The endpoint's ids; jobs that the endpoint rejects have the default ids. ``endpoint`` is the endpoint's configuration."""

    def __init__(self, endpoint: Mapping[EndpointKey, str]) -> None:
        self._endpoint = endpoint

    def replace_job(self, job: Job, hints: Hints, names: DefaultNames) -> Job:  # noqa: ARG002 - the modes' signature
        """Return flow and task; a DAG or an application is a task of its own flow here."""
        refusal = self.refusal_reason(hints)
        if refusal is not None:
            return msgspec.structs.replace(job, lints=(*job.lints, f"{COMPAT_REFUSED}: {refusal}"))
        endpoint, platform = self._endpoint, self.orchestrator(hints) or ""
        namespace, name = (hints.namespace, hints.name) if job.name == hints.name else (job.namespace, job.name)
        flow = endpoint.get("pipeline-name") or flow_of(name) or ""
        cluster = endpoint.get("platform-instance") or endpoint.get("env", "").lower() or namespace
        flow_urn = escape_controls(f"urn:li:dataFlow:({platform},{flow},{cluster})", keep_space=True)
        fabric = cluster.upper()
        return msgspec.structs.replace(
            job,
            platform=platform,
            level="job",
            flow_urn=flow_urn,
            job_urn=escape_controls(f"urn:li:dataJob:({flow_urn},{name})", keep_space=True),
            flow_name=flow,
            job_name=name.partition(".")[2] or name,
            flow_id=flow,
            job_id=name,
            cluster=cluster,
            instance=None,
            env=fabric if fabric in FABRIC_TYPES else None,
            placeholder=False,
            shared=False,
            rules=("mode: datahub-openlineage",),
            lints=(),
            foreign_owner=ENDPOINT,
            granularity="operation",
        )

    def run_urn(self, reference: RunReference, event_job: Job, hints: Hints) -> str | None:  # noqa: ARG002 - the modes' signature
        """Return the run by its id alone."""
        run_id = reference[2].lower()
        return run_urn(run_id) if self.refusal_reason(hints) is None and _UUID(run_id) else None

    def refusal_reason(self, hints: Hints) -> str | None:
        """Return why the endpoint would refuse the event."""
        if hints.run_id is None:
            return NO_RUN
        if not _UUID(hints.run_id.lower()):
            return NO_UUID
        if self.orchestrator(hints) is None:
            return NO_ORCHESTRATOR
        return ONLY_DOTS if "pipeline-name" not in self._endpoint and flow_of(hints.name) is None else None

    def orchestrator(self, hints: Hints) -> str | None:
        """Return the orchestrator, None if the endpoint does not find one."""
        producer = hints.producer or ""
        if "orchestrator" in self._endpoint:
            return self._endpoint["orchestrator"]
        if hints.engine:
            return hints.engine.lower()
        if (match := _INTEGRATION(producer)) is not None:
            return match[1]
        return next((platform for url, platform in _PRODUCER_URLS if producer.startswith(url)), None)


def flow_of(name: str) -> str | None:
    """Return the text before the first dot, as Java's ``split`` does: None if the name has only dots."""
    return name.partition(".")[0] if not name or name.strip(".") else None
