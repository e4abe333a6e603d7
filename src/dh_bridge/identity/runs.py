"""Runs: their URNs, from run id and job alone, and their type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dh_bridge.datahub.urns import datahub_guid, run_urn, uuid_run_urn

if TYPE_CHECKING:
    from dh_bridge.identity.normalize import NameNormalizer

STREAMING = "STREAMING"
AD_HOC = "BATCH_AD_HOC"
SCHEDULED = "BATCH_SCHEDULED"

VOID_IDS = frozenset({"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"})
"""UUIDs that senders use for "none": they do not identify a run."""

_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch
_HEX = re.compile(r"[0-9a-f]{32}").fullmatch

_ON_DEMAND_TYPES = frozenset({"manual", "operator_triggered", "asset_materialization"})
_QUERY_ENGINES = frozenset({"TRINO", "HIVE", "PRESTO"})
_TYPES_BY_REASON = {"AUTOMATIC": SCHEDULED, "MANUAL": AD_HOC}


def normalize_run_id(run_id: str) -> str:
    """Return a UUID in DataHub's spelling (lower case, dashes); any other id only without outer blanks."""
    if _CANONICAL(run_id):
        return run_id
    text = run_id.strip()
    uuid_text = text.lower().removeprefix("urn:uuid:")
    if uuid_text.startswith("{") and uuid_text.endswith("}"):
        uuid_text = uuid_text[1:-1]
    if _CANONICAL(uuid_text):
        return uuid_text
    if _HEX(uuid_text):
        return f"{uuid_text[:8]}-{uuid_text[8:12]}-{uuid_text[12:16]}-{uuid_text[16:20]}-{uuid_text[20:]}"
    return text


class RunUrns:
    """URNs of runs.

    A run is named by its UUID, so that a child finds its parent's run from the parent facet alone. Other ids need the
    job beside them. ``salted`` puts the job namespace into every URN.
    """

    def __init__(self, normalizer: NameNormalizer, *, salted: bool) -> None:
        self._normalizer = normalizer
        self._salted = salted

    def urn(self, namespace: str, name: str, run_id: str) -> str:
        """Return the dataProcessInstance URN of a run."""
        if not self._salted and _CANONICAL(run_id) and run_id not in VOID_IDS:
            return uuid_run_urn(run_id)
        bare_id = normalize_run_id(run_id)
        is_uuid = _CANONICAL(bare_id) is not None and bare_id not in VOID_IDS
        if is_uuid and not self._salted:
            return run_urn(bare_id)
        key = {"namespace": self._normalizer.namespace(namespace), "runId": bare_id}
        if not is_uuid:
            key["name"] = self._normalizer.name(name)
        return run_urn(datahub_guid(key))


def run_type(  # noqa: PLR0913 - each hint is from another facet
    *,
    processing_type: str | None = None,
    start_reason: str | None = None,
    airflow_run_type: str | None = None,
    has_nominal_time: bool = False,
    external_trigger: bool | None = None,
    job_type: str | None = None,
    integration: str | None = None,
    parent: str | None = None,
) -> str | None:
    """Return the ``type`` of dataProcessInstanceProperties, None if it is unknown.

    processing_type: ``jobType.processingType``; start_reason: ``dataRentgen_run.start_reason``; airflow_run_type and
    external_trigger: of ``airflow.dagRun``; has_nominal_time: a ``nominalTime`` facet is there; parent: the parent run's type.
    """
    if processing_type and processing_type.upper() in ("STREAMING", "SERVICE"):
        return STREAMING
    if reason := _TYPES_BY_REASON.get((start_reason or "").upper()):
        return reason
    if airflow_run_type:
        return AD_HOC if airflow_run_type.lower() in _ON_DEMAND_TYPES else SCHEDULED
    if has_nominal_time:
        return SCHEDULED
    is_query = (job_type or "").upper() == "QUERY" and (integration or "").upper() in _QUERY_ENGINES
    return AD_HOC if external_trigger or is_query else parent
