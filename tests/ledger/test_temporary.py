"""Temporary datasets, where runs are ingested one by one (setting ``temporary``)."""

from __future__ import annotations

import itertools

import pytest
from support.ledger_batches import LedgerCase, catalogue, settings
from support.sample_events import dataset, event, job_event

from dh_bridge import Settings
from dh_bridge.settings.temporary import TemporarySettings

STATED = {"datasetType": {"datasetType": "TABLE", "subType": "TEMPORARY"}}
FLOW = "urn:li:dataFlow:(spark,etl,ns)"


def run(number, *, reads=(), writes=(), job=None, kind="COMPLETE", stated=()):
    def datasets(names):
        return [dataset(f"d.s.{name}", facets=STATED if name in stated else {}) for name in names]

    key = f"018cc251-f400-734d-88b3-{number:012}"
    time = f"2026-10-{number:02}T10:00:00Z"
    return event(kind, time, run=key, job=job or f"etl.j{number}", inputs=datasets(reads), outputs=datasets(writes))


def edges(ledger_case):
    """Return (job, inputs, outputs) of each job, a letter for each dataset."""
    found = {}
    for job in ledger_case.catalog.entities("dataJob"):
        io = ledger_case.catalog.aspect(job, "dataJobInputOutput") or {}
        sides = (io.get(f"{side}DatasetEdges") or () for side in ("input", "output"))
        found[job[-3:-1]] = tuple(
            "".join(sorted(e["destinationUrn"].split(".")[-1][0] for e in side)) for side in sides
        )
    return found


HISTORY = [
    run(1, reads="ab", writes="x", stated="x"),
    run(2, reads="x", writes="y"),
    run(3, reads="cy", writes="d"),
    run(4, reads="yq", writes="e", stated="y"),
    run(5, reads="d", writes="f"),
]
COLLAPSED = {"j1": ("ab", ""), "j2": ("ab", ""), "j3": ("abc", "d"), "j4": ("abq", "e"), "j5": ("d", "f")}
DROPPED = {"j1": ("ab", ""), "j2": ("", ""), "j3": ("c", "d"), "j4": ("q", "e"), "j5": ("d", "f")}


@pytest.mark.parametrize(("mode", "expected"), [("collapse", COLLAPSED), ("drop_edges", DROPPED)])
def test_temporary_mark_of_one_run_applies_to_all_runs(mode, expected):
    dumps = set()
    for order in itertools.islice(itertools.permutations(HISTORY), 0, None, 17):
        ledger_case = LedgerCase(settings(temporary=TemporarySettings(dataset_type=mode)), forgetful=True)
        ledger_case.process(*([one] for one in order))
        assert edges(ledger_case) == expected
        dumps.add(tuple(ledger_case.dump()))
    assert len(dumps) == 1


def test_runs_sharing_only_permanent_datasets_are_unrelated():
    ledger_case = LedgerCase(settings(temporary=TemporarySettings(dataset_type="collapse")))
    ledger_case.process(*([run(number, reads="a", writes="b")] for number in range(1, 6)))
    sent = ledger_case.process([run(6, reads="a", writes="b")])
    assert {p.entity_urn for p in sent if p.entity_type == "dataProcessInstance"} == {
        "urn:li:dataProcessInstance:018cc251-f400-734d-88b3-000000000006"
    }


@pytest.mark.parametrize("turned", [False, True])
def test_job_event_hears_of_temporary_datasets_too(turned):
    designed = job_event(job="etl.j9", inputs=[dataset("d.s.x")], outputs=[dataset("d.s.z")])
    history = [[HISTORY[0]], [designed]]
    ledger_case = LedgerCase(settings(temporary=TemporarySettings(dataset_type="collapse")), forgetful=True)
    ledger_case.process(*(reversed(history) if turned else history))
    assert edges(ledger_case) == {"j1": ("ab", ""), "j9": ("ab", "z")}


def test_flow_has_no_time_of_creation():
    ledger_case = LedgerCase()
    ledger_case.process([run(1)])
    assert "created" not in ledger_case.catalog.aspect(FLOW, "dataFlowInfo")


@pytest.mark.parametrize("job", ["etl.load", "app"])
def test_snapshot_of_only_collapsed_datasets_clears_outputs(job):
    """A job that is a flow has had some, so it has its twin."""
    chosen = settings(temporary=TemporarySettings(datasets=("*.tmp_*",)))
    pattern = {"eventTrigger": "EVENT", "eventContentMode": "COMPLETE_SNAPSHOT"}
    stated = {"jobType": {"processingType": "STREAMING", "integration": "X", "emissionPattern": pattern}}
    first, second = (
        event("RUNNING", f"2026-10-01T10:00:0{number}Z", job=job, job_facets=stated, outputs=[dataset(f"d.s.{name}")])
        for number, name in enumerate(("lasting", "tmp_x"))
    )
    whole = catalogue([first, second], chosen=chosen)
    assert any(b'"dataJobInfo"' in line for line in whole)
    for order in ([[first], [second]], [[second], [first]], [[first], [second], [first]]):
        assert catalogue(*order, chosen=chosen, forgetful=True) == whole


def test_application_output_overrides_a_temporary_mark():
    chosen = Settings(
        temporary={"dataset_type": "collapse"}, identity={"granularity": "application", "fold_runs": "keep"}
    )
    key = "018cc251-f400-734d-88b3-000000000001"
    above = {"parent": {"run": {"runId": key}, "job": {"namespace": "ns", "name": "etl"}}}
    application = event("COMPLETE", "2026-10-01T10:00:00Z", run=key, job="etl", outputs=[dataset("d.s.x")])
    operation = run(2, writes="xy", stated="x", job="etl.j2")
    operation["run"]["facets"] = above
    whole = catalogue([application, operation], chosen=chosen)
    assert sum(b'"operation"' in line and b"d.s.x," in line for line in whole) == 1
    for order in ([[application], [operation]], [[operation], [application]]):
        assert catalogue(*order, chosen=chosen, forgetful=True) == whole


def test_known_names_are_skipped_however_the_runs_are_divided_into_calls():
    chosen = Settings()
    runs = [
        run(1, reads="a", writes=["b__dbt_tmp"]),
        run(2, reads=["b__dbt_tmp"], writes="b"),
        run(3, reads="b", writes=["c__dbt_tmp103049309293"]),
    ]
    whole = catalogue(runs, chosen=chosen)
    assert not any(b"dbt_tmp" in line for line in whole)
    for order in itertools.permutations(runs):
        assert catalogue(*([one] for one in order), chosen=chosen) == whole
    ledger_case = LedgerCase(chosen)
    ledger_case.process(runs[:1])
    ledger_case.process(runs[1:])
    assert edges(ledger_case) == {"j1": ("a", ""), "j2": ("a", "b"), "j3": ("b", "")}


def test_parts_of_a_dataset_are_the_same_however_the_events_are_divided_into_calls():
    def part(kind, second, day):
        paths = [{"namespace": "s3://lake", "name": f"orders/dt={day}", "facets": {}}]
        return event(kind, f"2026-10-01T10:00:{second:02}Z", job="etl.parts", outputs=paths)

    events = [part("START", 1, 1), part("RUNNING", 2, 2), part("COMPLETE", 3, 2)]
    whole = catalogue(events, chosen=Settings())
    assert any(b"outputs.partitions" in line for line in whole)
    for order in itertools.permutations(events):
        assert catalogue(*([one] for one in order), chosen=Settings()) == whole
