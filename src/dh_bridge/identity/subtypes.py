"""Subtypes: the chip that DataHub shows on flows, jobs and runs."""

from __future__ import annotations

import re
from functools import lru_cache

from dh_bridge.identity.normalize import clean

_ACRONYMS = frozenset({"DAG", "SQL", "RDD", "ETL", "ELT", "ML", "API", "CDC"})
_PART = re.compile(r"[^\s_-]+")


_MAX_LENGTH = 200  # characters; longer texts are not shown as a subtype


def job_subtype(job_type: str | None) -> str | None:
    """Return ``jobType.jobType`` as people write it: ``SQL Job``, ``DAG``, ``Source Connector``; None when empty."""
    return _format_job_type(job_type[:_MAX_LENGTH]) if job_type else None


@lru_cache(maxsize=512)
def _format_job_type(job_type: str) -> str | None:
    parts = _PART.findall(clean(job_type, ""))
    return " ".join(part.upper() if part.upper() in _ACRONYMS else part.capitalize() for part in parts) or None


def run_subtype(job_type: str | None) -> str | None:
    """Return the subtype of a run of such a job: ``SQL Job Run``; None when the job has none."""
    subtype = job_subtype(job_type)
    return None if subtype is None else f"{subtype} Run"
