"""Nodes of dbt: named by their unique ids (``dbt.node_identity``), or joined to DataHub's dbt source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.urns import assertion_urn, datahub_guid, dataset_urn, run_urn
from dh_bridge.model.job import DBT

if TYPE_CHECKING:
    from dh_bridge.identity.hints import DbtNode, Hints, RunReference
    from dh_bridge.identity.overlay import DefaultNames
    from dh_bridge.model.job import Job

PLATFORM = "dbt"
_DATASET_KINDS = frozenset({"model", "seed", "snapshot"})
_TESTED_KINDS = frozenset({"model", "source", "seed", "snapshot"})


class UniqueIds:
    """A node's job is named by the facet's unique id: run, build, test and structured logs meet."""

    def replace_job(self, job: Job, hints: Hints, names: DefaultNames) -> Job:
        """Return the event's own job under the node's unique id; the test of a node gets a job beside it."""
        node = hints.node
        if node is None or job.platform != PLATFORM or job.name != hints.name:
            return job
        name = node_job_name(node.unique_id, hints.job_type)
        if name == hints.name:
            return job
        node_job = names.job(hints.namespace, name, hints.producer)
        return msgspec.structs.replace(node_job, name=job.name, rules=(*node_job.rules, "name: dbt_node.unique_id"))

    def run_urn(self, reference: RunReference, event_job: Job, hints: Hints) -> str | None:  # noqa: ARG002 - the modes' signature
        """Leave runs as they are."""
        return None


class DbtSource:
    """The ids of DataHub's dbt source for runs of models, seeds and snapshots: the node is a dataset there, no job."""

    def __init__(self, env: str, *, lowercase: bool) -> None:
        self._env = env
        self._lowercase = lowercase

    def replace_job(self, job: Job, hints: Hints, names: DefaultNames) -> Job:  # noqa: ARG002 - the modes' signature
        """Return a job that is not written, its template the node's dataset."""
        node = self._joined_node(job, hints)
        if node is None or job.name != hints.name:
            return job
        return msgspec.structs.replace(
            job,
            skip=True,
            template=self.dataset_urn(node, job.instance),
            rules=("mode: datahub-dbt-source",),
            foreign_owner=DBT,
        )

    def run_urn(self, reference: RunReference, event_job: Job, hints: Hints) -> str | None:
        """Return the source's id of a node's run, from dbt's invocation id and the node's dataset."""
        node = hints.node
        if reference[2] != hints.run_id or event_job.foreign_owner != DBT or node is None:
            return None
        dataset = self.dataset_urn(node, event_job.instance)
        return run_urn(datahub_guid({"orchestrator": PLATFORM, "id": f"{hints.invocation}_{dataset}"}))

    def check_urn(self, event_job: Job, hints: Hints) -> str | None:
        """Return the assertion that the source writes for the test of one table.

        For a test of several tables the source writes one assertion for each, which the event does not name: ``relationships`` has two.
        """
        node = hints.node
        project, _, name = node.unique_id.removeprefix("test.").partition(".") if node is not None else ("", "", "")
        if node is None or kind_of(node.unique_id) != "test" or not project or name.startswith("relationships_"):
            return None
        key = {"platform": PLATFORM, "name": node.unique_id, "instance": event_job.instance}
        return assertion_urn(datahub_guid(key))

    def dataset_urn(self, node: DbtNode, instance: str | None) -> str:
        """Return the dataset that the source writes for a node: database, schema and alias, without quotes."""
        parts = (node.database, node.schema, node.alias)
        name = ".".join(part for part in parts if part).replace('"', "")
        return dataset_urn(PLATFORM, name.lower() if self._lowercase else name, self._env, instance)

    def _joined_node(self, job: Job, hints: Hints) -> DbtNode | None:
        """Return the node when the source writes runs of it; tests are assertions there."""
        node = hints.node
        if job.platform != PLATFORM or job.skip or node is None or hints.invocation is None or node.alias is None:
            return None
        is_test = (hints.job_type or "").upper() == "TEST"
        return node if kind_of(node.unique_id) in _DATASET_KINDS and not is_test else None


def node_job_name(unique_id: str, job_type: str | None) -> str:
    """Return the name of a node's job; tests of a model or a source have a job of their own."""
    is_test = (job_type or "").upper() == "TEST" and kind_of(unique_id) in _TESTED_KINDS
    return f"{unique_id}.test" if is_test else unique_id


def kind_of(unique_id: str) -> str:
    """Return the kind of node that a unique id begins with: ``model``, ``test``."""
    return unique_id.partition(".")[0]
