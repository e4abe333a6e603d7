from __future__ import annotations

import pytest

from dh_bridge.identity import _MAX_CACHED_LENGTH, _MAX_CACHED_NAMES, Identity
from dh_bridge.identity.event import IdentityInput, event_identity
from dh_bridge.settings.identity import IdentitySettings

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
OLD_AIRFLOW = "https://github.com/OpenLineage/OpenLineage/tree/1.41.0/integration/airflow"
PYTHON = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/client/python"


def test_versions_of_a_producer_give_equal_jobs():
    identity = Identity()
    assert identity.job("default", "a.b", AIRFLOW) == identity.job("default", "a.b", OLD_AIRFLOW)
    assert identity.job("default", "a.b", AIRFLOW) == identity.job("default", "a.b", f"{AIRFLOW}9")


def test_job_is_built_once():
    identity = Identity()
    assert identity.job("default", "a.b", AIRFLOW) is identity.job("default", "a.b", AIRFLOW)


def test_memory_of_jobs_and_producers_is_bounded():
    identity = Identity()
    for number in range(_MAX_CACHED_NAMES + 5):
        identity.job("default", f"job_{number}", f"p{number}")
    long = "x" * _MAX_CACHED_LENGTH
    assert identity.job("ns", "a", long).platform == "openlineage"
    assert identity.job(long, long, long) == identity.job(long, long, long)
    assert identity.reference(long, long, referrer=identity.job(long, "a", None)) is not None
    memories = (identity._jobs, identity._producers, identity._matches_by_uri, identity._references)
    assert all(len(memory) <= _MAX_CACHED_NAMES for memory in memories)
    assert not any(long in str(key) for memory in memories for key in memory)
    assert len(identity._matches_by_key) == 1


def test_scheme_of_a_namespace_outweighs_the_producer():
    job = Identity().job("TRINO://host:8080", "bi.report", AIRFLOW)
    assert (job.platform, job.cluster) == ("trino", "TRINO://host:8080")


@pytest.mark.parametrize("namespace", ["http://airflow:8080", "https://x", "local://x", "airflow", "unknown://y"])
def test_unknown_namespace_has_the_default_platform(namespace):
    assert Identity().job(namespace, "a", None).platform == "openlineage"


def test_flow_level_job_has_a_data_job_only_with_lineage():
    identity = Identity()
    dag = identity.job("default", "orders_etl", AIRFLOW)
    assert not identity.has_job(dag, has_io=False)
    assert identity.template(dag, has_io=False) == dag.flow_urn
    assert identity.has_job(dag, has_io=True)
    assert identity.template(dag, has_io=True) == dag.job_urn
    assert dag.job_urn == "urn:li:dataJob:(urn:li:dataFlow:(airflow,orders_etl,default),orders_etl)"


def test_task_always_has_a_job():
    identity = Identity()
    task = identity.job("default", "orders_etl.load", AIRFLOW)
    assert identity.has_job(task, has_io=False)
    assert identity.template(task, has_io=False) == task.job_urn


def test_flow_and_task_setting_always_writes_the_data_job():
    identity = Identity(IdentitySettings(flow_level_jobs="flow+task"))
    dag = identity.job("default", "orders_etl", AIRFLOW)
    assert identity.template(dag, has_io=False) == dag.job_urn


def test_placeholder_is_no_entity():
    identity = Identity()
    for name in ("unknown", " unknown\n", ""):
        job = identity.job("default", name, AIRFLOW)
        assert job.placeholder
        assert not identity.has_job(job, has_io=True)
        assert identity.template(job, has_io=True) is None
    assert not identity.job("default", "unknown.x", AIRFLOW).placeholder


def test_job_keeps_its_raw_name_and_its_canonical_namespace():
    job = Identity().job(" ns\n", " a\tb ", None)
    assert (job.namespace, job.name, job.flow_name) == ("ns", " a\tb ", "a b")


def test_trino_query_id_makes_a_shared_job():
    assert Identity().job("trino://h", "20240131_101112_00042_abcde", None).shared


class TestReference:
    def test_neighbour_is_named_as_if_the_same_producer_had_sent_it(self):
        identity = Identity()
        task = identity.job("default", "orders_etl.load", AIRFLOW)
        assert identity.reference("default", "orders_etl", referrer=task) == identity.job(
            "default", "orders_etl", AIRFLOW
        )

    def test_neighbour_falls_under_the_rules_of_its_producer(self):
        rules = [{"producer": "apache/airflow", "cluster": "prod"}]
        identity = Identity(IdentitySettings(rules=rules))
        task = identity.job("default", "a.b", AIRFLOW)
        assert identity.reference("default", "c.d", referrer=task) == identity.job("default", "c.d", AIRFLOW)

    def test_reference_platform_comes_from_the_namespace_scheme(self):
        identity = Identity()
        task = identity.job("default", "a.b", AIRFLOW)
        job = identity.reference("spark://x", "app", referrer=task)
        assert job is not None
        assert (job.platform, job.level) == ("spark", "flow")

    def test_reference_platform_comes_from_a_rule(self):
        identity = Identity(IdentitySettings(rules=[{"namespace": "spark-ns", "platform": "spark"}]))
        job = identity.reference("spark-ns", "app", referrer=None)
        assert job is not None
        assert job.platform == "spark"

    def test_producer_rule_does_not_match_a_job_without_a_producer(self):
        identity = Identity(IdentitySettings(rules=[{"producer": "", "platform": "spark"}]))
        assert identity.reference("other", "app", referrer=None) is None

    def test_another_namespace_is_unresolved(self):
        identity = Identity()
        task = identity.job("default", "a.b", AIRFLOW)
        assert identity.reference("other", "a", referrer=task) is None
        assert identity.reference("default", "a", referrer=None) is None
        assert identity.reference("other", "a", referrer=task) is None

    def test_placeholder_refers_to_nothing(self):
        identity = Identity()
        assert identity.reference("default", "unknown", referrer=identity.job("default", "a", AIRFLOW)) is None

    def test_reference_does_not_depend_on_cached_jobs(self):
        task = Identity().job("default", "a.b", AIRFLOW)
        assert Identity().reference("default", "a", referrer=task) == Identity().job("default", "a", AIRFLOW)

    def test_references_can_be_chained(self):
        identity = Identity()
        first = identity.reference("trino://h", "bi.report", referrer=None)
        assert first is not None
        second = identity.reference("trino://h", "bi", referrer=first)
        assert second is not None
        assert second.platform == "trino"

    def test_neighbour_of_a_reference_has_its_platform(self):
        identity = Identity(IdentitySettings(rules=[{"name": "app", "platform": "spark"}]))
        app = identity.reference("ns", "app", referrer=None)
        assert app is not None
        other = identity.reference("ns", "other.x", referrer=app)
        assert other is not None
        assert (other.platform, other.rules[0]) == ("spark", "platform: neighbour")


def facts(**stated):
    return IdentityInput(
        **{"kind": "RunEvent", "location": "$", "namespace": "ns", "name": "a.b", "producer": PYTHON, **stated}
    )


class TestEvent:
    UUID = "0192f000-0000-7000-8000-000000000701"

    def test_upstream_runs_are_named_once_and_never_the_run_itself(self):
        other = ("ns", "x", "0192f000-0000-7000-8000-000000000702")
        hashed = ("ns", "x", "build-42")
        row = event_identity(
            Identity(), facts(run_id=self.UUID, upstream=[other, hashed, other, ("q", "r", self.UUID)])
        )
        identity = Identity()
        assert row["upstreamInstances"] == [identity.run_urn(*other), identity.run_urn(*hashed)]

    def test_run_is_not_its_own_parent(self):
        row = event_identity(Identity(), facts(run_id=self.UUID, parent=("x", "y", self.UUID.upper())))
        assert row["parentInstance"] is None
        assert row["lints"] == ["run-self-parent"]

    def test_flow_with_a_dot_is_noticed(self):
        row = event_identity(Identity(), facts(name="fin.daily", producer=AIRFLOW, job_type="DAG", run_id=self.UUID))
        assert row["lints"] == ["flow-dot"]

    def test_job_event_can_have_lints_too(self):
        row = event_identity(Identity(), facts(kind="JobEvent", name="fin.daily", producer=AIRFLOW, job_type="DAG"))
        assert row["lints"] == ["flow-dot"]
        assert row["dpi"] is None

    def test_identity_row_names_the_rules_that_apply(self):
        row = event_identity(Identity(), facts(run_id=self.UUID))
        assert row["rules"][0] == "platform: default"
        assert row["event"] == "$"


SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
GX = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/common/src/openlineage/common/provider/great_expectations"


class TestParent:
    """Who a job's parent is of: nobody says so in the event, but producers have their habits."""

    @pytest.mark.parametrize(
        ("producer", "job", "parent", "platform"),
        [
            (AIRFLOW, "daily.load", "daily", "airflow"),
            (AIRFLOW, "triggered", "daily.trigger", "airflow"),
            (SPARK, "app.sql", "app", "spark"),
            (SPARK, "app", "daily.load", None),
            (DBT, "model.shop.orders", "dbt-run-shop", "dbt"),
            (DBT, "dbt-run-shop", "daily.load", None),
            (GX, "suite.batch", "daily.check", None),
            (PYTHON, "app", "other.load", "openlineage"),
        ],
    )
    def test_producer_starts_its_own_jobs_or_does_not(self, producer, job, parent, platform):
        identity = Identity()
        found = identity.parent("default", parent, referrer=identity.job("default", job, producer))
        assert (found and found.platform) == platform

    def test_producer_with_its_own_parents_starts_in_any_namespace(self):
        """Under a parent, dbt's invocation moves into the parent's namespace."""
        identity = Identity()
        node = identity.job("dbt", "model.shop.orders", DBT)
        assert identity.parent("airflow-prod", "dbt-run-shop", referrer=node) == identity.job(
            "airflow-prod", "dbt-run-shop", DBT
        )

    def test_parent_platform_comes_from_scheme_or_rule(self):
        identity = Identity(IdentitySettings(rules=[{"name": "daily.*", "platform": "airflow"}]))
        app = identity.job("default", "app", SPARK)
        assert identity.parent("default", "daily.load", referrer=app).platform == "airflow"
        assert identity.parent("dagster://x", "nightly", referrer=app).platform == "dagster"

    @pytest.mark.parametrize("word", ["AIRFLOW", "Airflow", " airflow "])
    def test_forwarded_integration_wins_for_the_parent_platform(self, word):
        identity = Identity()
        app = identity.job("default", "app", SPARK)
        task = identity.job("default", "daily.load", AIRFLOW)
        assert identity.parent("default", "daily.load", referrer=app, integration=word) == task
        assert identity.parent("default", "unknown", referrer=app, integration=word) is None
        assert identity.parent("default", "daily.load", referrer=app, integration="NOBODY") is None
        assert identity.parent("default", "daily.load", referrer=None) is None
