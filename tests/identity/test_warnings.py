from __future__ import annotations

import pytest

from dh_bridge.identity import Identity
from dh_bridge.identity.warnings import LINTS, Sightings, is_dotted_flow, run_lints

AIRFLOW = "https://github.com/apache/airflow"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1/integration/dbt"
UUID = "urn:li:dataProcessInstance:a"


@pytest.mark.parametrize(
    ("name", "producer", "job_type", "noticed"),
    [
        ("fin.daily", AIRFLOW, "DAG", True),
        ("fin.daily", AIRFLOW, "dag", True),
        ("fin.daily", AIRFLOW, "TASK", False),
        ("fin.daily", AIRFLOW, None, False),
        ("daily", AIRFLOW, "DAG", False),
        ("etl.app", AIRFLOW, "APPLICATION", True),
        ("etl.app", DBT, "JOB", True),
        ("etl.app", AIRFLOW, "JOB", False),
    ],
)
def test_flow_with_a_dotted_name_has_a_warning(name, producer, job_type, noticed):
    assert is_dotted_flow(Identity().job("ns", name, producer), job_type) is noticed


@pytest.mark.parametrize(
    ("run_id", "run", "parent", "lints"),
    [
        ("00000000-0000-0000-0000-000000000000", UUID, None, ("run-nil",)),
        ("{FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF}", UUID, UUID, ("run-nil", "run-self-parent")),
        ("build-42", UUID, UUID, ("run-self-parent",)),
        ("build-42", UUID, f"{UUID}b", ()),
        ("build-42", UUID, None, ()),
        (None, None, None, ()),
    ],
)
def test_odd_run_ids_are_noticed(run_id, run, parent, lints):
    assert run_lints(run_id, run, parent) == lints


def test_cut_name_is_noticed():
    assert Identity().job("ns", "a." + "b" * 600, AIRFLOW).lints == ("name-cut",)
    assert Identity().job("ns", "a" * 600, AIRFLOW).lints == ("name-cut",)
    assert Identity().job("n" * 600, "a", AIRFLOW).lints == ("name-cut",)
    assert Identity().job("ns", "a.b", AIRFLOW).lints == ()


def test_job_of_two_platforms_has_a_warning():
    identity, sightings = Identity(), Sightings()
    assert sightings.see(identity.job("ns", "a", AIRFLOW)) == ()
    assert sightings.see(identity.job("ns", "a", AIRFLOW)) == ()
    assert sightings.see(identity.job("ns", "a", DBT)) == ("two-platforms",)
    assert sightings.see(identity.job("ns", "b", DBT)) == ()


def test_run_of_two_jobs_has_a_warning_except_placeholders():
    identity, sightings = Identity(), Sightings()
    assert sightings.see(identity.job("ns", "unknown", AIRFLOW), UUID) == ()
    assert sightings.see(identity.job("ns", "a", AIRFLOW), UUID) == ()
    assert sightings.see(identity.job("ns", "unknown", AIRFLOW), UUID) == ()
    assert sightings.see(identity.job("ns", "a", AIRFLOW), UUID) == ()
    assert sightings.see(identity.job("ns", "b", AIRFLOW), UUID) == ("run-two-jobs",)


def test_sightings_forget_the_oldest():
    identity, sightings = Identity(), Sightings(limit=2)
    for name in "abc":
        sightings.see(identity.job("ns", name, AIRFLOW), f"urn:{name}")
    assert sightings.see(identity.job("ns", "a", DBT), "urn:a") == ()
    assert sightings.see(identity.job("ns", "c", DBT), "urn:c") == ("two-platforms",)
    assert len(sightings._platforms) == len(sightings._jobs) == 2


def test_every_lint_has_a_meaning():
    assert set(LINTS) == {
        "name-cut",
        "flow-dot",
        "run-nil",
        "run-self-parent",
        "two-platforms",
        "run-two-jobs",
        "compat-refused",
        "join-run",
    }
    assert all(LINTS.values())
