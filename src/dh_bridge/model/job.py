"""The identity of a job in DataHub: a flow, a job in a flow, or both (a flow-level job and its flow job)."""

from __future__ import annotations

import msgspec

DEFAULT_PLATFORM = "openlineage"
"""Platform of jobs whose producer and namespace do not name another."""
ENDPOINT, AIRFLOW, DBT = "endpoint", "airflow", "dbt"
"""Tools of DataHub whose ids a job can have (``Job.foreign_owner``)."""


class Job(msgspec.Struct, frozen=True, gc=False):
    """The identity of a job. It is equal for all events of the job, whatever facets they have.

    ``level`` is ``flow`` if the job is its flow (an Airflow DAG, a Spark application), and ``job`` otherwise.
    ``job_urn`` of a flow-level job is the URN of its flow job: a dataJob that exists only if it has inputs or outputs.
    ``flow_id`` (with the instance), ``job_id`` and ``cluster`` are the parts of the URNs before escaping, cut to DataHub's
    limits. ``flow_name`` and ``job_name`` are not cut; they are display names. ``namespace`` is canonical, ``name`` as sent.
    ``env`` is a FabricType. ``placeholder``: the name has no meaning, and no entity is written for it. ``skip``: a rule
    excludes the job. ``shared``: unrelated runs share the job, so it gets no lineage. ``rules`` names the rule of each part.
    ``producer_key`` identifies the producer, for all its versions (None: a reference without a producer).
    ``foreign_owner`` names the tool of DataHub whose ids these are; ``template`` is the dataset that the tool writes for a dbt job.
    ``granularity`` states which operations are merged into one job (``granularity.py``).
    """

    platform: str
    level: str
    flow_urn: str
    job_urn: str
    flow_name: str
    job_name: str
    flow_id: str
    job_id: str
    cluster: str
    instance: str | None
    env: str | None
    namespace: str
    name: str
    placeholder: bool
    skip: bool
    rules: tuple[str, ...]
    lints: tuple[str, ...]
    shared: bool = False
    producer_key: str | None = None
    foreign_owner: str | None = None
    template: str | None = None
    granularity: str = "operation"

    @property
    def owner_urn(self) -> str:
        """The URN of the entity that facets of the job are about: the flow of a flow-level job, else the dataJob."""
        return self.flow_urn if self.level == "flow" else self.job_urn
