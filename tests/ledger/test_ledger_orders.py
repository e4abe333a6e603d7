"""Order, doubles and batches change nothing: the catalogue is a function of the set of events."""

from __future__ import annotations

import itertools
import os
import random
from collections import defaultdict

import pytest
from support import generated_lineage
from support.generated_runs import group, group_of_tries
from support.ledger_batches import Told, catalogue, read, settings
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
    """Return the ways of telling ``events`` that end in another catalogue than all of them in one batch."""
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
    "said",
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
def test_generated_runs_give_one_catalogue_under_any_settings(said):
    chosen = Settings(datahub_version="1.7", **said)
    assert [i for i in range(GROUPS // 2) if strays(group(SEED + 1, i), seed=i, chosen=chosen)] == []


def test_generated_tries_end_in_the_same_catalogue():
    groups = [group_of_tries(SEED, i) for i in range(GROUPS)]
    assert [i for i, events in enumerate(groups) if strays(events, seed=i)] == []
    results = {
        point["result"]["type"]
        for events in groups
        for told in [Told(settings(datahub_version="1.7"))]
        if told.tell(events) is not None
        for urn in told.catalog.entities("dataProcessInstance")
        for point in told.catalog.timeseries(urn, "dataProcessInstanceRunEvent")
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


@pytest.mark.parametrize("said", NAMED)
def test_generated_lineage_and_names_give_one_catalogue(said):
    chosen = Settings(datahub_version="1.7", **NAMED[said])
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
    told = Told(settings(datahub_version="1.7"), forgetful=True)
    assert len(told.tell(events)) > 50
    assert told.tell(events, events[::-1], *([one] for one in events[:20])) == []


# -- what only state can know ------------------------------------------------------------------------------------------

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
RUN, PARENT = "018cc251-f400-734d-88b3-1e3d63fe6210", "018cc251-f400-734d-88b3-000000000001"


def at(kind, second, **parts):
    return event(kind, f"2026-11-20T10:00:{second:02}Z", **parts)


def aspect(told, run, name):
    return told.catalog.aspect(f"urn:li:dataProcessInstance:{run}", name)


def child(second, kind="START"):
    parent = {"run": {"runId": PARENT}, "job": {"namespace": "ns", "name": "app.parent"}}
    return at(kind, second, run=RUN, job="app.child", run_facets={"parent": parent})


def test_implied_parent_is_completed_by_its_own_events():
    told = Told()
    told.tell([child(5)])
    stub = aspect(told, PARENT, "dataProcessInstanceProperties")
    assert (stub["name"], stub["created"]["time"]) == (PARENT, 1_795_168_805_000)
    assert aspect(told, PARENT, "dataProcessInstanceRelationships")["parentTemplate"].endswith(",app.parent)")
    told.tell([at("START", 1, run=PARENT, job="app.parent")])
    own = aspect(told, PARENT, "dataProcessInstanceProperties")
    assert own["customProperties"]["openlineage.eventType"] == "START"
    assert told.tell([child(7, "COMPLETE")]) != []
    assert aspect(told, PARENT, "dataProcessInstanceProperties") == own


def test_no_stub_where_the_settings_want_none():
    told = Told(settings(ledger=settings().ledger.model_copy(update={"implied_parents": False})))
    told.tell([child(5)])
    assert aspect(told, PARENT, "dataProcessInstanceProperties") is None


def test_patch_sends_changed_operations_and_removes_old_ones():
    told = Told()
    kind = {"processingType": "BATCH", "jobType": "JOB"}
    told.tell(
        [at("START", 1, run=RUN, job_facets={"jobType": {**kind, "integration": "SPARK"}}, inputs=[dataset("d.s.a")])]
    )
    sent = told.tell([at("RUNNING", 2, run=RUN, job_facets={"jobType": kind})])
    (info,) = [one.value for one in sent if one.aspect_name == "dataJobInfo"]
    assert [one["path"] for one in info if one["op"] == "remove"] == [
        "/customProperties/openlineage.jobType.integration"
    ]
    assert len(info) < 4
    assert [one for one in sent if one.aspect_name in {"dataFlowInfo", "datasetProperties"}] == []


def test_dropped_dataset_is_removed_and_restored_by_later_event():
    told = Told()
    urn = "urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.t,PROD)"

    def word(second, said, run):
        facets = {"lifecycleStateChange": {"lifecycleStateChange": said}}
        return at("COMPLETE", second, run=run, outputs=[dataset("d.s.t", facets=facets)])

    told.tell([word(5, "DROP", RUN)])
    assert told.catalog.aspect(urn, "status") == {"removed": True}
    told.tell([word(3, "CREATE", PARENT)])
    assert told.catalog.aspect(urn, "status") == {"removed": True}
    told.tell([word(9, "CREATE", PARENT)])
    assert told.catalog.aspect(urn, "status") == {"removed": False}


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
    said = {"jobType": {"processingType": "STREAMING", "integration": "X", "emissionPattern": pattern}}
    schema = {"schema": {"fields": [{"name": "c", "type": "int"}]}}
    first, second = (
        at("RUNNING", second, run=RUN, job_facets=said, outputs=[dataset(f"d.s.{name}", facets=schema)])
        for second, name in enumerate(("left", "kept"))
    )
    whole = catalogue([first, second], chosen=chosen)
    assert {line.split(b"d.s.")[1][:4] for line in whole if b'"schemaMetadata"' in line} == {b"left", b"kept"}
    for order in ([[first], [second]], [[second], [first]]):
        assert catalogue(*order, chosen=chosen, forgetful=True) == whole


def test_application_snapshot_keeps_the_outputs_of_operations():
    chosen = Settings(datahub_version="1.7", identity={"granularity": "application", "fold_runs": "keep"})
    pattern = {"eventTrigger": "EVENT", "eventContentMode": "COMPLETE_SNAPSHOT"}
    said = {"jobType": {"processingType": "BATCH", "integration": "SPARK", "emissionPattern": pattern}}
    above = {"parent": {"run": {"runId": PARENT}, "job": {"namespace": "ns", "name": "app"}}}
    story = [
        at("START", 1, run=RUN, job="app.one", run_facets=above, outputs=[dataset("d.s.a")]),
        at("COMPLETE", 9, run=PARENT, job="app", inputs=[dataset("d.s.a")]),
        at("START", 2, run=PARENT, job="app", job_facets=said, outputs=[dataset("d.s.b")]),
    ]
    whole = catalogue(story, chosen=chosen)
    assert sum(b'"operation"' in line for line in whole) == 2
    for order in itertools.permutations(story):
        assert catalogue(*([one] for one in order), chosen=chosen, forgetful=True) == whole


def test_runs_of_two_jobs_with_one_id_have_a_point_each():
    check = {"dataQualityAssertions": {"assertions": [{"assertion": "not_null", "success": True, "column": "c"}]}}
    written = [dataset("d.s.t", outputFacets={**check, "dataQualityMetrics": {"rowCount": 3}})]
    story = [at("COMPLETE", 9, run="2026-11-20", job=f"app.{name}", outputs=written) for name in "ab"]
    whole = catalogue(story)
    for aspect_name in ("operation", "datasetProfile", "assertionRunEvent"):
        assert sum(f'"{aspect_name}"'.encode() in line for line in whole) == 2
    assert catalogue([story[1]], [story[0]], forgetful=True) == whole


def test_aliased_dataset_events_share_one_profile_per_time():
    link = {"identifiers": [{"namespace": "hive://h:9083", "name": "db.t", "type": "TABLE"}]}
    story = [
        dataset_event(
            dataset("/wh/t", place, facets={"symlinks": link, "dataQualityMetrics": {"rowCount": rows}}),
            f"2026-11-20T10:00:00.0000{rows}Z",
        )
        for rows, place in enumerate(("hdfs://nn", "s3://lake"), 1)
    ]
    whole = catalogue(story)
    assert [b'"rowCount":2' in line for line in whole if b"datasetProfile" in line] == [True]
    assert catalogue([story[1]], [story[0]], forgetful=True) == whole


@pytest.mark.parametrize("runs", ["links", "plugin"])
def test_next_airflow_try_repeats_no_operation_of_the_last(runs):
    chosen = Settings(
        datahub_version="1.7",
        identity={"mode": "datahub-airflow-plugin", "airflow_plugin": {"runs": runs, "lineage": "patch"}},
    )
    said = {"dag": {"dag_id": "d"}, "task": {"task_id": "t"}, "dagRun": {"run_id": "manual__1"}}
    written = [dataset("d.s.t", outputFacets={"outputStatistics": {"rowCount": 3}})]
    story = [
        {**at(kind, second, run=run, job="d.t", run_facets={"airflow": said}, outputs=written), "producer": AIRFLOW}
        for second, (kind, run) in enumerate([("START", RUN), ("FAIL", RUN), ("START", PARENT), ("COMPLETE", PARENT)])
    ]
    whole = catalogue(story, chosen=chosen)
    assert sum(b'"operation"' in line for line in whole) == 2
    assert catalogue(*([one] for one in story), chosen=chosen, forgetful=True) == whole


ABOVE = {"parent": {"run": {"runId": PARENT}, "job": {"namespace": "ns", "name": "app"}}}


@pytest.mark.parametrize(
    "story",
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
def test_late_operation_facets_give_one_catalogue_in_any_order(story):
    chosen = Settings(datahub_version="1.7", identity={"granularity": "application", "fold_runs": "keep"})
    whole = catalogue(story, chosen=chosen)
    for order in itertools.permutations(story):
        assert catalogue(*([one] for one in order), chosen=chosen, forgetful=True) == whole


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_result_partition_comes_from_its_own_event(side):
    check = {"dataQualityAssertions": {"assertions": [{"assertion": "unique", "success": False, "column": "c"}]}}
    partition = {"outputCondition": {"type": "partition", "partitions": [{"identifier": "p2"}]}}
    checked, written = {"inputFacets": check}, {"outputFacets": {"subset": partition}}
    story = [
        at("FAIL", 5, run=RUN, inputs=[dataset("d.s.t", **checked)], outputs=[dataset("d.s.t", **written)]),
        at(
            "START",
            9,
            run=RUN,
            **{side: [dataset("d.s.t", **({"outputFacets": check} if side == "outputs" else checked))]},
        ),
    ]
    whole = catalogue(story)
    (point,) = [line for line in whole if b'"assertionRunEvent"' in line]
    assert b"FULL_TABLE" in point
    for order in itertools.permutations(story):
        assert catalogue(*([one] for one in order), forgetful=True) == whole


@pytest.mark.parametrize("last", [3, 9], ids=["first", "last"])
@pytest.mark.parametrize("alone", [True, False], ids=["of the job alone", "of a run that is no UUID"])
def test_endpoint_job_type_survives_flow_level_events(last, alone):
    chosen = Settings(datahub_version="1.7", identity={"mode": "datahub-openlineage"})
    said = {"jobType": {"processingType": "BATCH", "integration": "SPARK", "jobType": "SQL_JOB"}}
    written = {"outputs": [dataset("d.s.t")]}
    other = job_event(f"2026-11-20T10:00:0{last}Z", job="app", **written)
    story = [
        at("START", 4, run=RUN, job="app", job_facets=said if alone else {}),
        other if alone else at("START", last, run="today", job="app", job_facets=said, **written),
    ]
    whole = catalogue(story, chosen=chosen)
    assert sum(b'"subTypes"' in line and b",app)" in line for line in whole) == 1
    for order in itertools.permutations(story):
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
    told = Told(settings(datahub_version="1.7"))
    told.tell(*batches)
    assert told.refused == []
    return {
        urn: {
            "description": (told.catalog.aspect(urn, info) or {}).get("description"),
            "owners": [one["owner"] for one in (told.catalog.aspect(urn, "ownership") or {}).get("owners", [])],
            "tags": [one["tag"] for one in (told.catalog.aspect(urn, "globalTags") or {}).get("tags", [])],
            "language": told.catalog.aspect(urn, info)["customProperties"].get("openlineage.sourceCode.language"),
        }
        for urn, info in ((FLOW, "dataFlowInfo"), (f"urn:li:dataJob:({FLOW},nightly)", "dataJobInfo"))
    }


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_facets_of_a_flow_level_job_and_their_removal_are_on_both_entities_in_any_order(order):
    events = [*FLOW_EVENTS, FLOW_REMOVAL]
    told = stated_aspects([events[i]] for i in order)
    expected = {"description": None, "owners": [], "tags": [], "language": "bash"}
    assert list(told.values()) == [expected, expected]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_facets_of_a_flow_level_job_are_on_both_entities_in_any_order(order):
    told = stated_aspects([FLOW_EVENTS[i]] for i in order)
    expected = {
        "description": "Night", "owners": ["urn:li:corpuser:ann"], "tags": ["urn:li:tag:gold"], "language": "bash",
    }  # fmt: skip
    assert list(told.values()) == [expected, expected]
