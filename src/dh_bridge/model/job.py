"""What a job is in DataHub: a flow, a job in a flow, or both (a flow-level job and its twin)."""

from __future__ import annotations

import msgspec

DEFAULT_PLATFORM = "openlineage"
"""Platform of jobs whose producer and namespace do not name another."""
ENDPOINT, AIRFLOW, DBT = "endpoint", "airflow", "dbt"
"""Tools of DataHub whose ids a job can have (``Job.joined``)."""


class Job(msgspec.Struct, frozen=True, gc=False):
    """The identity of a job; equal for every event of the job, whatever facets it carries.

    ``level`` is ``flow`` when the job is its flow (an Airflow DAG, a Spark application) and ``job`` otherwise.
    ``job_urn`` of a flow-level job is its twin's: a dataJob that exists only when it has inputs or outputs.
    ``flow_id`` (with the instance), ``job_id`` and ``cluster`` are the URNs' parts before escaping, cut to DataHub's
    limits; ``flow_name`` and ``job_name`` are whole, for people. ``namespace`` is canonical, ``name`` as it was sent.
    ``env`` is a FabricType. ``placeholder``: the name says nothing, no entity is written for it. ``skip``: a rule says
    so. ``shared``: unrelated runs share the job, so it gets no lineage of its own. ``rules`` says what made each part.
    ``producer_key`` says which kind of producer sent it, the same for all its versions (None: a reference without one).
    ``foreign_owner`` names the tool of DataHub whose ids these are, ``template`` is the dataset that a job of dbt's is there.
    ``granularity`` says how much folds into one job (``granularity.py``).
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
        """The URN of what bears what facets say of the job: its flow for a flow-level job, else its dataJob."""
        return self.flow_urn if self.level == "flow" else self.job_urn
