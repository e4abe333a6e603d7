"""DataHub's garbage collector removes what has no runs for long; the next run brings it back."""

from __future__ import annotations

import pytest
from support.ledger_batches import NOW, LedgerCase, settings
from support.sample_events import dataset, event

from dh_bridge.catalog.store import delete_entities
from dh_bridge.datahub.proposal import upsert

DAY = 86_400
TYPES = ("dataFlow", "dataJob")


def run(number, day):
    """Return the events of one run of the job app.load, all alike."""
    parts = {
        "run": f"018cc251-f400-734d-88b3-{number:012}",
        "job": "app.load",
        "inputs": [dataset("d.s.a")],
        "outputs": [dataset("d.s.b")],
    }
    return [event(kind, f"2026-{day}T10:00:0{second}Z", **parts) for second, kind in enumerate(("START", "COMPLETE"))]


class Collected:
    """A ledger with one run of a job; days later its flow and job are removed as the collector does."""

    def __init__(self, **jobs):
        self.now = NOW
        chosen = settings(jobs=settings().jobs.model_copy(update=jobs))
        self.ledger_case = LedgerCase(chosen, clock=lambda: self.now)
        self.ledger_case.process(run(1, "10-01"))
        self.ours = [urn for kind in TYPES for urn in self.ledger_case.catalog.entities(kind)]
        self.before = {urn: self.ledger_case.catalog.aspects(urn) for urn in self.ours}

    def soften(self, days=31):
        """Let days pass; then remove the flow and the job softly."""
        self.now += days * DAY
        removal = {"removed": True}
        self.ledger_case.catalog.apply([upsert(urn.split(":")[2], urn, "status", removal) for urn in self.ours])

    def removed(self):
        return [urn for urn in self.ours if (self.ledger_case.catalog.aspect(urn, "status") or {}).get("removed")]


def test_run_makes_a_flow_and_a_job_visible_again():
    case = Collected()
    assert len(case.ours) == 2
    case.soften()
    assert case.removed() == case.ours
    case.ledger_case.process(run(2, "11-01"))
    assert case.removed() == []


def test_run_writes_all_again_that_was_deleted_for_good():
    case = Collected()
    case.soften()
    catalog = case.ledger_case.catalog
    runs = list(catalog.entities("dataProcessInstance"))
    assert delete_entities(catalog, [*case.ours, *runs]) == 3
    assert [urn for kind in (*TYPES, "dataProcessInstance") for urn in catalog.entities(kind)] == []
    case.ledger_case.process(run(2, "11-01"))
    for urn in case.ours:
        assert catalog.aspects(urn).keys() - {"status"} == case.before[urn].keys()
    (urn,) = [urn for urn in case.ours if ":dataJob:" in urn]
    assert catalog.aspect(urn, "dataJobInfo") == case.before[urn]["dataJobInfo"]
    edges = catalog.aspect(urn, "dataJobInputOutput")["inputDatasetEdges"]
    assert [edge["destinationUrn"] for edge in edges] == ["urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.a,PROD)"]
    assert len(list(catalog.entities("dataProcessInstance"))) == 1
    assert case.removed() == []


def test_daily_written_entity_is_not_revived():
    case = Collected()
    case.soften(days=1)
    case.ledger_case.process(run(2, "10-02"))
    assert case.removed() == case.ours


def test_user_who_removes_jobs_can_have_it_stay_so():
    case = Collected(undelete="off")
    case.soften()
    case.ledger_case.process(run(2, "11-01"))
    assert case.removed() == case.ours


@pytest.mark.parametrize("days", [31, 400])
def test_datasets_are_never_revived(days):
    case = Collected()
    case.now += days * DAY
    urn = "urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.a,PROD)"
    case.ledger_case.catalog.apply([upsert("dataset", urn, "status", {"removed": True})])
    case.ledger_case.process(run(2, "11-01"))
    assert case.ledger_case.catalog.aspect(urn, "status") == {"removed": True}


def test_catalogue_forgets_only_what_is_deleted():
    ledger_case = LedgerCase()
    ledger_case.process(run(1, "10-01"))
    before = ledger_case.dump()
    assert delete_entities(ledger_case.catalog, ["urn:li:corpuser:nobody"]) == 0
    assert ledger_case.dump() == before
