"""Order, doubles and batches change nothing: the catalogue is a function of the set of events."""

from __future__ import annotations

import itertools
import os
import random
from collections import defaultdict

import pytest
from support import generated_lineage
from support.generated_runs import group, group_of_tries
from support.ledger_batches import LedgerCase, catalogue, read, settings
from support.public_data import needs_corpus
from support.sample_events import corpus, dataset, dataset_event, event, examples, job_event

from dh_bridge import Settings
from dh_bridge.settings.temporary import TemporarySettings

SEED = 2026
#: Groups of runs for each block; TESTS_GROUPS=1700 makes 10,200 of them.
GROUPS = int(os.environ.get("TESTS_GROUPS", "60"))


def ways(events, chance):
    """Yield batches: one event each in any order with doubles, and all in two batches that overlap."""
    doubled = [*events, *(one for one in events if chance.random() < 0.3)]
    chance.shuffle(doubled)
    yield [[one] for one in doubled]
    cut = chance.randint(0, len(events))
    yield [doubled[:cut], events, doubled[cut:]]


def strays(events, *, seed, profile="1.7", forgetful=True, chosen=None):
    """Return the ways of splitting ``events`` into batches that end in another catalogue than one batch."""
    chance = random.Random(f"{SEED}/{seed}")  # noqa: S311 - reproducible, not secret
    events, chosen = read(events), chosen or settings(datahub_version=profile)
    leaves_default_jobs = states_integration_in_part(events)

    def compared(*batches, **options):
        """Leave out what a batch wrote before it was known which integration the run belongs to (docs/ledger.md)."""
        lines = catalogue(*batches, chosen=chosen, **options)
        default = (b"dataFlow:(openlineage,", b'"entityUrn":"urn:li:dataPlatform:openlineage"')
        return [line for line in lines if not (leaves_default_jobs and any(text in line for text in default))]

    whole = compared(events)
    return [way for way in ways(events, chance) if compared(*way, forgetful=forgetful) != whole]


def states_integration_in_part(events):
    """Return whether some events of a job state its integration, and others do not."""
    stating = defaultdict(set)
    for one in events:
        stating[one.namespace, one.name].add(b"integration" in bytes(one.job_facets.get("jobType", b"")))
    return any(len(answers) > 1 for answers in stating.values())


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
@pytest.mark.parametrize("block", range(3))
def test_generated_runs_end_in_the_same_catalogue(block, profile):
    late = [i for i in range(block * GROUPS, (block + 1) * GROUPS) if strays(group(SEED, i), seed=i, profile=profile)]
    assert late == []


@pytest.mark.parametrize(
    "stated",
    [
        {"identity": {"granularity": "application", "fold_runs": "keep"}},
        {"edges": "window", "assertions": {"expire": "runs:1", "type": "native"}, "column_lineage": {"target": "both"}},
        {
            "temporary": {"dataset_type": "collapse"},
            "optional_metadata": ["containers", "run_edges"],
            "tags": {"of_runs": "job"},
        },
    ],
    ids=["folded", "leaving", "collapsed"],
)
def test_generated_runs_give_one_catalogue_under_any_settings(stated):
    chosen = Settings(datahub_version="1.7", **stated)
    assert [i for i in range(GROUPS // 2) if strays(group(SEED + 1, i), seed=i, chosen=chosen)] == []


def test_generated_tries_end_in_the_same_catalogue():
    groups = [group_of_tries(SEED, i) for i in range(GROUPS)]
    assert [i for i, events in enumerate(groups) if strays(events, seed=i)] == []
    results = {
        point["result"]["type"]
        for events in groups
        for ledger_case in [LedgerCase(settings(datahub_version="1.7"))]
        if ledger_case.process(events) is not None
        for urn in ledger_case.catalog.entities("dataProcessInstance")
        for point in ledger_case.catalog.timeseries(urn, "dataProcessInstanceRunEvent")
        if "result" in point
    }
    assert {"UP_FOR_RETRY", "FAILURE"} <= results


NAMED = {
    "by default": {},
    "compat": {"identity": {"mode": "datahub-openlineage"}},
    "tasks": {"identity": {"granularity": "task", "fold_runs": "keep"}},
    "salted": {"identity": {"salt": "namespace", "flow_level_jobs": "flow+task"}, "column_lineage": {"target": "both"}},
    "last run": {"edges": "last_run", "optional_metadata": ["run_edges"]},
    "by rules": {
        "identity": {"rules": [{"name": r"(?P<f>app)\.a", "flow": "{f}x", "job": "{f}.z", "instance": "w"}]},
        "naming": {
            "rules": [{"namespace": "s3://lake", "name": "wh/{*p}", "rename": "w/{p}", "platform_instance": "i"}]
        },
    },
}


@pytest.mark.parametrize("stated", NAMED)
def test_generated_lineage_and_names_give_one_catalogue(stated):
    chosen = Settings(datahub_version="1.7", **NAMED[stated])
    assert [i for i in range(GROUPS // 2) if strays(generated_lineage.group(SEED, i), seed=i, chosen=chosen)] == []


@pytest.mark.parametrize("number", [27, 75, 100, 374, 1073, 3180, 20127, 21019])
def test_groups_that_differed_once_do_not_again(number):
    assert strays(group(SEED, number), seed=number) == []
    assert strays(group(SEED, number), seed=-number, profile="0.15.0", forgetful=False) == []


def test_lost_event_is_lost_and_nothing_else():
    chance = random.Random(SEED)  # noqa: S311 - reproducible, not secret
    for i in range(200, 240):
        left = [one for one in group(SEED, i) if chance.random() > 0.02 + 0.2 * (i % 2)]
        assert not left or strays(left, seed=i) == []


@needs_corpus
def test_jobs_of_the_corpus_end_in_the_same_catalogue():
    jobs = defaultdict(list)
    for one in corpus():
        jobs[one.namespace, one.name].append(one)
    assert [job for job, events in jobs.items() if len(events) > 2 and strays(events[:10], seed=job)] == []


@pytest.mark.parametrize("producer", ["client", "dbt", "great_expectations", "spark"])
def test_producer_examples_give_one_catalogue_in_any_order(producer):
    events = [one for one in examples() if f"{producer}.ndjson" in one.location][:40]
    assert events
    assert strays(events, seed=producer) == []


def test_repeated_events_send_nothing():
    events = read([one for i in range(8) for one in group(SEED, i)])
    ledger_case = LedgerCase(settings(datahub_version="1.7"), forgetful=True)
    assert len(ledger_case.process(events)) > 50
    assert ledger_case.process(events, events[::-1], *([one] for one in events[:20])) == []


# -- what only state can know ------------------------------------------------------------------------------------------

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
RUN, PARENT = "018cc251-f400-734d-88b3-1e3d63fe6210", "018cc251-f400-734d-88b3-000000000001"


def at(kind, second, **parts):
    return event(kind, f"2026-11-20T10:00:{second:02}Z", **parts)


def aspect(ledger_case, run, name):
    return ledger_case.catalog.aspect(f"urn:li:dataProcessInstance:{run}", name)


def child(second, kind="START"):
    parent = {"run": {"runId": PARENT}, "job": {"namespace": "ns", "name": "app.parent"}}
    return at(kind, second, run=RUN, job="app.child", run_facets={"parent": parent})


def test_implied_parent_is_completed_by_its_own_events():
    ledger_case = LedgerCase()
    ledger_case.process([child(5)])
    stub = aspect(ledger_case, PARENT, "dataProcessInstanceProperties")
    assert (stub["name"], stub["created"]["time"]) == (PARENT, 1_795_168_805_000)
    assert aspect(ledger_case, PARENT, "dataProcessInstanceRelationships")["parentTemplate"].endswith(",app.parent)")
    ledger_case.process([at("START", 1, run=PARENT, job="app.parent")])
    own = aspect(ledger_case, PARENT, "dataProcessInstanceProperties")
    assert own["customProperties"]["openlineage.eventType"] == "START"
    assert ledger_case.process([child(7, "COMPLETE")]) != []
    assert aspect(ledger_case, PARENT, "dataProcessInstanceProperties") == own


def test_no_stub_where_the_settings_want_none():
    ledger_case = LedgerCase(settings(ledger=settings().ledger.model_copy(update={"implied_parents": False})))
    ledger_case.process([child(5)])
    assert aspect(ledger_case, PARENT, "dataProcessInstanceProperties") is None


def test_patch_sends_changed_operations_and_removes_old_ones():
    ledger_case = LedgerCase()
    kind = {"processingType": "BATCH", "jobType": "JOB"}
    ledger_case.process(
        [at("START", 1, run=RUN, job_facets={"jobType": {**kind, "integration": "SPARK"}}, inputs=[dataset("d.s.a")])]
    )
    sent = ledger_case.process([at("RUNNING", 2, run=RUN, job_facets={"jobType": kind})])
    (info,) = [one.value for one in sent if one.aspect_name == "dataJobInfo"]
    assert [one["path"] for one in info if one["op"] == "remove"] == [
        "/customProperties/openlineage.jobType.integration"
    ]
    assert len(info) < 4
    assert [one for one in sent if one.aspect_name in {"dataFlowInfo", "datasetProperties"}] == []


def test_dropped_dataset_is_removed_and_restored_by_later_event():
    ledger_case = LedgerCase()
    urn = "urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.t,PROD)"

    def word(second, stated, run):
        facets = {"lifecycleStateChange": {"lifecycleStateChange": stated}}
        return at("COMPLETE", second, run=run, outputs=[dataset("d.s.t", facets=facets)])

    ledger_case.process([word(5, "DROP", RUN)])
    assert ledger_case.catalog.aspect(urn, "status") == {"removed": True}
    ledger_case.process([word(3, "CREATE", PARENT)])
    assert ledger_case.catalog.aspect(urn, "status") == {"removed": True}
    ledger_case.process([word(9, "CREATE", PARENT)])
    assert ledger_case.catalog.aspect(urn, "status") == {"removed": False}


def test_temporary_datasets_are_collapsed_in_any_run_order():
    chosen = settings(temporary=TemporarySettings(datasets=("*.tmp_*",)))
    writer = at("COMPLETE", 5, run=RUN, job="app.one", inputs=[dataset("d.s.a")], outputs=[dataset("d.s.tmp_x")])
    reader = at("COMPLETE", 9, run=PARENT, job="app.two", inputs=[dataset("d.s.tmp_x")], outputs=[dataset("d.s.b")])
    whole = catalogue([writer, reader], chosen=chosen)
    assert any(b"app.two" in line and b"d.s.a,PROD" in line for line in whole)
    assert not any(b"tmp_x" in line for line in whole)
    for order in ([[writer], [reader]], [[reader], [writer]]):
        assert catalogue(*order, chosen=chosen, forgetful=True) == whole


def test_outputs_left_out_of_a_snapshot_keep_their_schema():
    chosen = Settings(datahub_version="1.7", materialize="outputs", schema={"write": "outputs"})
    pattern = {"eventTrigger": "EVENT", "eventContentMode": "COMPLETE_SNAPSHOT"}
    stated = {"jobType": {"processingType": "STREAMING", "integration": "X", "emissionPattern": pattern}}
    schema = {"schema": {"fields": [{"name": "c", "type": "int"}]}}
    first, second = (
        at("RUNNING", second, run=RUN, job_facets=stated, outputs=[dataset(f"d.s.{name}", facets=schema)])
        for second, name in enumerate(("left", "kept"))
    )
    whole = catalogue([first, second], chosen=chosen)
    assert {line.split(b"d.s.")[1][:4] for line in whole if b'"schemaMetadata"' in line} == {b"left", b"kept"}
    for order in ([[first], [second]], [[second], [first]]):
        assert catalogue(*order, chosen=chosen, forgetful=True) == whole


def test_application_snapshot_keeps_the_outputs_of_operations():
    chosen = Settings(datahub_version="1.7", identity={"granularity": "application", "fold_runs": "keep"})
    pattern = {"eventTrigger": "EVENT", "eventContentMode": "COMPLETE_SNAPSHOT"}
    stated = {"jobType": {"processingType": "BATCH", "integration": "SPARK", "emissionPattern": pattern}}
    above = {"parent": {"run": {"runId": PARENT}, "job": {"namespace": "ns", "name": "app"}}}
    history = [
        at("START", 1, run=RUN, job="app.one", run_facets=above, outputs=[dataset("d.s.a")]),
        at("COMPLETE", 9, run=PARENT, job="app", inputs=[dataset("d.s.a")]),
        at("START", 2, run=PARENT, job="app", job_facets=stated, outputs=[dataset("d.s.b")]),
    ]
    whole = catalogue(history, chosen=chosen)
    assert sum(b'"operation"' in line for line in whole) == 2
    for order in itertools.permutations(history):
        assert catalogue(*([one] for one in order), chosen=chosen, forgetful=True) == whole


def test_runs_of_two_jobs_with_one_id_have_a_point_each():
    check = {"dataQualityAssertions": {"assertions": [{"assertion": "not_null", "success": True, "column": "c"}]}}
    written = [dataset("d.s.t", outputFacets={**check, "dataQualityMetrics": {"rowCount": 3}})]
    history = [at("COMPLETE", 9, run="2026-11-20", job=f"app.{name}", outputs=written) for name in "ab"]
    whole = catalogue(history)
    for aspect_name in ("operation", "datasetProfile", "assertionRunEvent"):
        assert sum(f'"{aspect_name}"'.encode() in line for line in whole) == 2
    assert catalogue([history[1]], [history[0]], forgetful=True) == whole


def test_aliased_dataset_events_share_one_profile_per_time():
    link = {"identifiers": [{"namespace": "hive://h:9083", "name": "db.t", "type": "TABLE"}]}
    history = [
        dataset_event(
            dataset("/wh/t", place, facets={"symlinks": link, "dataQualityMetrics": {"rowCount": rows}}),
            f"2026-11-20T10:00:00.0000{rows}Z",
        )
        for rows, place in enumerate(("hdfs://nn", "s3://lake"), 1)
    ]
    whole = catalogue(history)
    assert [b'"rowCount":2' in line for line in whole if b"datasetProfile" in line] == [True]
    assert catalogue([history[1]], [history[0]], forgetful=True) == whole


@pytest.mark.parametrize("runs", ["links", "plugin"])
def test_next_airflow_try_repeats_no_operation_of_the_last(runs):
    chosen = Settings(
        datahub_version="1.7",
        identity={"mode": "datahub-airflow-plugin", "airflow_plugin": {"runs": runs, "lineage": "patch"}},
    )
    stated = {"dag": {"dag_id": "d"}, "task": {"task_id": "t"}, "dagRun": {"run_id": "manual__1"}}
    written = [dataset("d.s.t", outputFacets={"outputStatistics": {"rowCount": 3}})]
    history = [
        {**at(kind, second, run=run, job="d.t", run_facets={"airflow": stated}, outputs=written), "producer": AIRFLOW}
        for second, (kind, run) in enumerate([("START", RUN), ("FAIL", RUN), ("START", PARENT), ("COMPLETE", PARENT)])
    ]
    whole = catalogue(history, chosen=chosen)
    assert sum(b'"operation"' in line for line in whole) == 2
    assert catalogue(*([one] for one in history), chosen=chosen, forgetful=True) == whole


ABOVE = {"parent": {"run": {"runId": PARENT}, "job": {"namespace": "ns", "name": "app"}}}


@pytest.mark.parametrize(
    "history",
    [
        [
            at("COMPLETE", 5, run=PARENT, job="app", outputs=[dataset("d.s.t")]),
            at("FAIL", 4, run=RUN, job="app.one", run_facets=ABOVE),
        ],
        [
            at("START", 4, run=RUN, job="app.one", inputs=[dataset("d.s.t")]),
            at("START", 4, run=RUN, job="unknown", job_facets={"jobType": {"jobType": "SQL_JOB"}}),
        ],
    ],
    ids=["that it failed", "without its name"],
)
def test_late_operation_facets_give_one_catalogue_in_any_order(history):
    chosen = Settings(datahub_version="1.7", identity={"granularity": "application", "fold_runs": "keep"})
    whole = catalogue(history, chosen=chosen)
    for order in itertools.permutations(history):
        assert catalogue(*([one] for one in order), chosen=chosen, forgetful=True) == whole


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_result_partition_comes_from_its_own_event(side):
    check = {"dataQualityAssertions": {"assertions": [{"assertion": "unique", "success": False, "column": "c"}]}}
    partition = {"outputCondition": {"type": "partition", "partitions": [{"identifier": "p2"}]}}
    checked, written = {"inputFacets": check}, {"outputFacets": {"subset": partition}}
    history = [
        at("FAIL", 5, run=RUN, inputs=[dataset("d.s.t", **checked)], outputs=[dataset("d.s.t", **written)]),
        at(
            "START",
            9,
            run=RUN,
            **{side: [dataset("d.s.t", **({"outputFacets": check} if side == "outputs" else checked))]},
        ),
    ]
    whole = catalogue(history)
    (point,) = [line for line in whole if b'"assertionRunEvent"' in line]
    assert b"FULL_TABLE" in point
    for order in itertools.permutations(history):
        assert catalogue(*([one] for one in order), forgetful=True) == whole


@pytest.mark.parametrize("last", [3, 9], ids=["first", "last"])
@pytest.mark.parametrize("alone", [True, False], ids=["of the job alone", "of a run that is no UUID"])
def test_endpoint_job_type_survives_flow_level_events(last, alone):
    chosen = Settings(datahub_version="1.7", identity={"mode": "datahub-openlineage"})
    stated = {"jobType": {"processingType": "BATCH", "integration": "SPARK", "jobType": "SQL_JOB"}}
    written = {"outputs": [dataset("d.s.t")]}
    other = job_event(f"2026-11-20T10:00:0{last}Z", job="app", **written)
    history = [
        at("START", 4, run=RUN, job="app", job_facets=stated if alone else {}),
        other if alone else at("START", last, run="today", job="app", job_facets=stated, **written),
    ]
    whole = catalogue(history, chosen=chosen)
    assert sum(b'"subTypes"' in line and b",app)" in line for line in whole) == 1
    for order in itertools.permutations(history):
        assert catalogue(*([one] for one in order), chosen=chosen, forgetful=True) == whole


# -- a flow-level job with inputs or outputs: its facets are on the flow and on its flow job -----------------------------

FLOW_FACETS = {
    "documentation": {"description": "Night"},
    "ownership": {"owners": [{"name": "ann", "type": "OWNER"}]},
    "tags": {"tags": [{"key": "gold"}]},
    "sql": {"query": "select 1"},
    "sourceCode": {"language": "bash", "sourceCode": "x"},
}
FLOW_EVENTS = [
    event("START", job="nightly", job_facets=FLOW_FACETS),
    event("COMPLETE", "2026-11-20T10:05:00Z", job="nightly", outputs=[dataset("a.b.c")]),
    event("START", "2026-11-21T10:00:00Z", job="nightly", run="018cc251-f400-734d-88b3-1e3d63fe6211"),
]
FLOW_REMOVAL = event(
    "COMPLETE",
    "2026-11-21T10:05:00Z",
    job="nightly",
    run="018cc251-f400-734d-88b3-1e3d63fe6211",
    job_facets={name: {"_deleted": True} for name in ("documentation", "ownership", "tags")},
)
FLOW = "urn:li:dataFlow:(spark,nightly,ns)"


def stated_aspects(batches):
    """Return the description, owners, tags and SQL of the flow and of its flow job in the catalogue of the batches."""
    ledger_case = LedgerCase(settings(datahub_version="1.7"))
    ledger_case.process(*batches)
    assert ledger_case.refused == []
    return {
        urn: {
            "description": (ledger_case.catalog.aspect(urn, info) or {}).get("description"),
            "owners": [one["owner"] for one in (ledger_case.catalog.aspect(urn, "ownership") or {}).get("owners", [])],
            "tags": [one["tag"] for one in (ledger_case.catalog.aspect(urn, "globalTags") or {}).get("tags", [])],
            "language": ledger_case.catalog.aspect(urn, info)["customProperties"].get(
                "openlineage.sourceCode.language"
            ),
        }
        for urn, info in ((FLOW, "dataFlowInfo"), (f"urn:li:dataJob:({FLOW},nightly)", "dataJobInfo"))
    }


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_facets_of_a_flow_level_job_and_their_removal_are_on_both_entities_in_any_order(order):
    events = [*FLOW_EVENTS, FLOW_REMOVAL]
    ledger_case = stated_aspects([events[i]] for i in order)
    expected = {"description": None, "owners": [], "tags": [], "language": "bash"}
    assert list(ledger_case.values()) == [expected, expected]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_facets_of_a_flow_level_job_are_on_both_entities_in_any_order(order):
    ledger_case = stated_aspects([FLOW_EVENTS[i]] for i in order)
    expected = {
        "description": "Night", "owners": ["urn:li:corpuser:ann"], "tags": ["urn:li:tag:gold"], "language": "bash",
    }  # fmt: skip
    assert list(ledger_case.values()) == [expected, expected]
