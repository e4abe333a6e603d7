from __future__ import annotations

import hashlib
import json
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dh_bridge.datahub.urns import is_urn
from dh_bridge.identity import Identity
from dh_bridge.identity.runs import run_type
from dh_bridge.settings.identity import IdentitySettings

PREFIX = "urn:li:dataProcessInstance:"
UUID = "0192f000-0000-7000-8000-00000000abcd"
IDENTITY = Identity()


def guid(**key):
    return PREFIX + hashlib.md5(json.dumps(key, sort_keys=True, separators=(",", ":")).encode()).hexdigest()  # noqa: S324 - DataHub's guid


@pytest.mark.parametrize(
    "spelling",
    [
        UUID,
        UUID.upper(),
        f"  {UUID}\n",
        f"{{{UUID}}}",
        f"urn:uuid:{UUID}",
        f"URN:UUID:{UUID.upper()}",
        f"urn:uuid:{{{UUID}}}",
        UUID.replace("-", ""),
        UUID.replace("-", "").upper(),
    ],
)
def test_every_spelling_of_a_uuid_is_one_run_whatever_its_job(spelling):
    assert IDENTITY.run_urn("ns", "job", spelling) == PREFIX + UUID
    assert IDENTITY.run_urn("other", "name", spelling) == PREFIX + UUID


@pytest.mark.parametrize(
    "run_id", ["build-42", "", f"{UUID}0", UUID[:-1], UUID.replace("-", "", 1), f"{{{UUID}", "g" * 32, "0" * 31, "ünï"]
)
def test_other_run_ids_need_their_job(run_id):
    assert IDENTITY.run_urn("ns", "job", run_id) == guid(name="job", namespace="ns", runId=run_id)


@pytest.mark.parametrize("void", ["0" * 32, "F" * 32, str(uuid.UUID(int=0)), str(uuid.UUID(int=2**128 - 1))])
def test_nil_and_max_uuid_run_ids_are_hashed_with_their_job(void):
    urn = IDENTITY.run_urn("ns", "job", void)
    assert urn == guid(name="job", namespace="ns", runId=str(uuid.UUID(void)))
    assert urn != IDENTITY.run_urn("ns", "other", void)


def test_hashed_run_is_found_whatever_the_spelling_of_its_job():
    groups = {"prod": ["http://x"]}
    identity = Identity(IdentitySettings(namespaces=groups))
    assert identity.run_urn("http://x", " job\n", " build-42 ") == guid(name="job", namespace="prod", runId="build-42")


def test_salt_keeps_equal_run_ids_of_two_namespaces_apart():
    identity = Identity(IdentitySettings(salt="namespace"))
    assert identity.run_urn("dev", "job", UUID) == guid(namespace="dev", runId=UUID)
    assert identity.run_urn("dev", "other", UUID.upper()) == identity.run_urn("dev", "job", UUID)
    assert identity.run_urn("prod", "job", UUID) != identity.run_urn("dev", "job", UUID)
    assert identity.run_urn("dev", "job", "build-42") == guid(name="job", namespace="dev", runId="build-42")


@settings(deadline=None)
@given(st.text(), st.text(), st.text())
def test_run_urns_are_always_valid(namespace, name, run_id):
    assert is_urn(IDENTITY.run_urn(namespace, name, run_id))


@settings(deadline=None)
@given(st.uuids())
def test_child_finds_its_parent_from_the_run_id_alone(run_id):
    assert IDENTITY.run_urn("a", "b", str(run_id)) == IDENTITY.run_urn("", "", run_id.urn.upper())


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({}, None),
        ({"processing_type": "BATCH"}, None),
        ({"processing_type": "NONE"}, None),
        ({"processing_type": "STREAMING"}, "STREAMING"),
        ({"processing_type": "service", "has_nominal_time": True}, "STREAMING"),
        ({"start_reason": "AUTOMATIC"}, "BATCH_SCHEDULED"),
        ({"start_reason": "MANUAL", "airflow_run_type": "scheduled"}, "BATCH_AD_HOC"),
        ({"start_reason": "OTHER"}, None),
        ({"airflow_run_type": "manual", "has_nominal_time": True}, "BATCH_AD_HOC"),
        ({"airflow_run_type": "operator_triggered"}, "BATCH_AD_HOC"),
        ({"airflow_run_type": "scheduled"}, "BATCH_SCHEDULED"),
        ({"airflow_run_type": "backfill"}, "BATCH_SCHEDULED"),
        ({"airflow_run_type": "asset_triggered", "external_trigger": True}, "BATCH_SCHEDULED"),
        ({"has_nominal_time": True, "external_trigger": True}, "BATCH_SCHEDULED"),
        ({"external_trigger": True}, "BATCH_AD_HOC"),
        ({"external_trigger": False}, None),
        ({"job_type": "QUERY", "integration": "TRINO"}, "BATCH_AD_HOC"),
        ({"job_type": "query", "integration": "hive"}, "BATCH_AD_HOC"),
        ({"job_type": "QUERY", "integration": "AIRFLOW"}, None),
        ({"job_type": "TASK", "integration": "TRINO"}, None),
        ({"parent": "BATCH_SCHEDULED"}, "BATCH_SCHEDULED"),
        ({"parent": "BATCH_SCHEDULED", "job_type": "QUERY", "integration": "PRESTO"}, "BATCH_AD_HOC"),
    ],
)
def test_type_of_a_run(facts, kind):
    assert run_type(**facts) == kind
