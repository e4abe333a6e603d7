"""Proposals applied in memory: what is read once, what fails alone."""

from __future__ import annotations

import json

from dh_bridge.catalog.applier import ProposalApplier
from dh_bridge.datahub.proposal import create, patch, upsert

FLOW = "urn:li:dataFlow:(spark,app,ns)"
ADDED = {"op": "add", "path": "/customProperties/team", "value": "core"}


def applied(*proposals, stored=None):
    applier = ProposalApplier(*([] if stored is None else [lambda urn, aspect: stored.get((urn, aspect))]))
    for proposal in proposals:
        applier.apply(proposal)
    for pending in applier.aspects.values():
        pending.render_draft()
    values = {name: pending.encoded_bytes for (_, name), pending in applier.aspects.items()}
    return {name: value and json.loads(value) for name, value in values.items()}, [
        one.reason for one in applier.failures
    ]


def test_patch_changes_the_stored_aspect():
    stored = {(FLOW, "dataFlowInfo"): b'{"name": "app", "customProperties": {}}'}
    values, failures = applied(patch("dataFlow", FLOW, "dataFlowInfo", [ADDED]), stored=stored)
    assert values == {"dataFlowInfo": {"name": "app", "customProperties": {"team": "core"}}}
    assert failures == []


def test_rejected_proposal_changes_nothing_and_others_are_applied():
    bad = [{"op": "add", "path": "customProperties", "value": "x"}]
    values, failures = applied(
        upsert("dataFlow", FLOW, "dataFlowInfo", {"name": "app", "customProperties": {}}),
        patch("dataFlow", FLOW, "dataFlowInfo", bad),
        patch("dataFlow", FLOW, "dataFlowInfo", [ADDED]),
        create("dataFlow", FLOW, "dataFlowInfo", {"name": "later", "customProperties": {}}),
        upsert("dataset", FLOW, "status", {"removed": True}),
    )
    assert values == {"dataFlowInfo": {"name": "app", "customProperties": {"team": "core"}}}
    assert failures == [
        f"{FLOW} dataFlowInfo: path 'customProperties' does not start with a slash",
        f"{FLOW} status: the URN is not a URN of dataset",
    ]


def test_point_with_the_same_document_replaces_the_earlier_one():
    run = "urn:li:dataProcessInstance:a"
    applier = ProposalApplier()
    for status in ("STARTED", "COMPLETE"):
        applier.apply(
            upsert("dataProcessInstance", run, "dataProcessInstanceRunEvent", {"timestampMillis": 5, "status": status})
        )
    ((time, value),) = applier.points.values()
    assert (time, json.loads(value)["status"]) == (5, "COMPLETE")
