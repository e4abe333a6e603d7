"""identity_vectors.yaml: what the default mode promises, event by event."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dh_bridge.datahub.urns import is_urn
from dh_bridge.identity import Identity
from dh_bridge.identity.event import IdentityInput, event_identity
from dh_bridge.settings.identity import IdentitySettings

DOCUMENT = yaml.safe_load(Path(__file__).with_name("identity_vectors.yaml").read_text(encoding="utf-8"))
VECTORS = DOCUMENT["vectors"]
LATER_MODES = {"compat", "join"}


def settings(vector):
    config = {key: value for key, value in (vector.get("config") or {}).items() if key not in LATER_MODES}
    return IdentitySettings(**config)


def reference(stated):
    return (stated["job"]["namespace"], stated["job"]["name"], stated["run"]["runId"]) if stated else None


def facts(vector):
    stated = vector["input"]
    return IdentityInput(
        kind=stated["kind"],
        location=vector["id"],
        namespace=stated["namespace"],
        name=stated["name"],
        producer=stated["producer"],
        event_type=stated.get("eventType"),
        run_id=stated.get("runId"),
        has_io=stated["has_io"],
        job_type=(stated.get("jobType") or {}).get("jobType"),
        parent=reference(stated.get("parent")),
    )


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_default_identity_matches_the_vectors(vector):
    row = event_identity(Identity(settings(vector)), facts(vector))
    expected = {"event": vector["id"], "dataFlow_written": True, **vector["expect"]["default"]}
    for optional in ("env", "dataPlatformInstance", "subType", "runSubType"):
        expected.setdefault(optional, None)
    assert {key: row[key] for key in expected} == expected


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vector_urns_are_valid(vector):
    row = event_identity(Identity(settings(vector)), facts(vector))
    urns = [row[key] for key in ("dataFlow", "dataJob", "dpi", "parentTemplate", "parentInstance") if row[key]]
    assert urns
    assert [urn for urn in urns if not is_urn(urn)] == []


def test_events_of_one_job_have_one_identity():
    seen = {}
    for vector in VECTORS:
        row = event_identity(Identity(settings(vector)), facts(vector))
        key = (vector["input"]["namespace"], vector["input"]["name"], str(vector.get("config")))
        assert seen.setdefault(key, (row["dataFlow"], row["level"])) == (row["dataFlow"], row["level"])


def test_job_event_has_no_run():
    row = next(event_identity(Identity(), facts(vector)) for vector in VECTORS if vector["id"] == "job-event")
    assert [row[key] for key in ("dpi", "parentTemplate", "parentInstance", "runSubType")] == [None] * 4
    assert row["upstreamInstances"] == []
