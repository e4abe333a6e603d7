"""SQL statements of dbt nodes: with `dbt.statements: fold` they belong to the job and the run of their node.

dbt-ol sends each statement of a node as a job and a run of its own: ``model.shop.orders.sql.3``, whose parent is the node's run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.facet_support.envelope import ENVELOPE_TARGETS
from dh_bridge.identity.granularity import DBT_STATEMENT, OPERATION
from dh_bridge.identity.hints import decode_facet, parse_reference
from dh_bridge.model.job import DBT
from dh_bridge.model.trace import FieldTargets

if TYPE_CHECKING:
    from dh_bridge.identity import Identity
    from dh_bridge.model.trace import Trace
    from dh_bridge.openlineage.events import Event

_FOLDED = "policy:dbt.statements"
_DROPPED_FIELDS = ("$.eventType", "$.run.runId", "$.job.namespace", "$.job.facets.jobType")
#: The parent's ids replace the statement's own.
_PARENT_IDS = (("job.namespace", "$.job.namespace"), ("run.runId", "$.run.runId"))
_MARK = ".sql."


def fold_statement(event: Event, identity: Identity, trace: Trace | None = None) -> Event:
    """Return the event of a statement as an event of its node's run, without START or end; other events are not changed.

    ``trace`` gets a note of each field that is dropped or replaces another one.
    """
    if not identity.folds_statements or event.kind != "run" or _MARK not in event.name:
        return event
    match = DBT_STATEMENT(event.name)
    if match is None:
        return event
    job = identity.job(event.namespace, event.name, event.producer)
    if job.platform != DBT or job.granularity != OPERATION:  # another granularity merges runs when they close
        return event
    facet = decode_facet(event.run_facets, "parent")
    key = "parent" if facet else "parentRun"
    parent = parse_reference(facet or decode_facet(event.run_facets, key))
    if parent is None or parent[1] != match[1]:
        return event
    if trace is not None:
        trace.notes += [(path, _FOLDED) for path in _DROPPED_FIELDS]
        for field, path in _PARENT_IDS:
            trace.notes.append((f"$.run.facets.{key}.{field}", FieldTargets(tuple(ENVELOPE_TARGETS["run", path]))))
    job_facets = {key: raw for key, raw in event.job_facets.items() if key != "jobType"}
    return msgspec.structs.replace(
        event, namespace=parent[0], name=parent[1], run_id=parent[2], type=None, job_facets=job_facets
    )
