"""Which runs are one only together, and that folding them so gives what one call gives."""

from __future__ import annotations

import pytest
from support.generated_runs import group
from support.partitions import SEED, bridge, dumped, in_parts
from support.public_data import needs_corpus
from support.sample_events import AIRFLOW, corpus, dataset, event, examples
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings
from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.partitioned.families import RunLinks, group_runs, grouping_setting, reject_grouping
from dh_bridge.partitioned.records import EventRecord, to_record
from dh_bridge.partitioned.runs import PartitionTranslator

TASK, APPLICATION = {"granularity": "task"}, {"granularity": "application"}
JOIN = {"mode": ["datahub-airflow-plugin", "datahub-dbt-source"]}
ABOVE = "018cc251-f400-734d-88b3-1e3d63fe6299"
MODES = {
    "operations fold into tasks": TASK,
    "and into applications": APPLICATION,
    "and their runs are kept": {**APPLICATION, "fold_runs": "keep"},
    "ids of the endpoint": {"mode": "datahub-openlineage"},
    "ids of the plugin": JOIN,
    "runs of the plugin": {**JOIN, "airflow_plugin": {"runs": "plugin", "lineage": "patch"}},
    "a rule folds": {"rules": [{"namespace": ".*", "granularity": "application"}]},
}


def differs(raws, settings):
    """Return whether parts of families come to something else than one call."""
    one = Bridge(settings).translate(raws)
    found, _ = in_parts(raws, settings, family=True)
    return dumped(found) != dumped(one.proposals)


@pytest.mark.parametrize("mode", MODES)
def test_producer_examples_end_the_same_by_related_runs(mode):
    assert not differs([one.raw for one in examples()], Settings(datahub_version="1.7", identity=MODES[mode]))


@needs_corpus
@pytest.mark.parametrize("mode", ["and into applications", "ids of the plugin", "ids of the endpoint"])
def test_corpus_ends_the_same_in_families(mode):
    assert not differs([one.raw for one in corpus()], Settings(datahub_version="1.7", identity=MODES[mode]))


@pytest.mark.parametrize("mode", MODES)
def test_generated_runs_end_the_same_in_families(mode):
    settings = Settings(datahub_version="1.7", identity=MODES[mode])
    assert [i for i in range(12) if differs(sent(group(SEED, i)), settings)] == []


def test_linked_runs_form_one_group_in_any_order():
    links = [("c", "d"), ("a", "b"), ("e", "e"), ("d", "b")]
    expected = {"a": "a", "b": "a", "c": "a", "d": "a", "e": "e"}
    assert group_runs(links) == group_runs(reversed(links)) == expected


def test_run_links_only_to_a_parent_it_may_merge_into():
    parent = {"run": {"runId": ABOVE}, "job": {"namespace": "ns", "name": "etl.load"}}
    facets = {"parent": parent}
    for name, linked in (("etl.load.query.1", 1), ("unknown", 1), ("etl.other", 0)):
        raw = sent([event(job=name, producer=AIRFLOW, run_facets=facets)])[0]
        made = bridge(Settings(identity=TASK))
        found = list(RunLinks(made.options, made.zone).linked_urns(to_record(parse_event(raw), made.options)))
        assert [urn.endswith("6299") for urn in found] == [True] * linked
    assert list(RunLinks(made.options, made.zone).linked_urns(EventRecord("k", 0, "p", b"{"))) == []


def test_operation_with_a_late_parent_joins_its_related_runs():
    above = {"parent": {"run": {"runId": ABOVE}, "job": {"namespace": "ns", "name": "etl.load"}}}
    history = [
        event("RUNNING", "2026-11-20T10:00:05Z", job="unknown", producer=AIRFLOW, run_facets=above),
        event("COMPLETE", "2026-11-20T10:00:07Z", job="etl.load.query.1", producer=AIRFLOW, outputs=[dataset("d.s.t")]),
        event("COMPLETE", "2026-11-20T10:00:09Z", run=ABOVE, job="etl.load", producer=AIRFLOW),
    ]
    assert not differs(sent(history), Settings(datahub_version="1.7", identity=TASK))


@pytest.mark.parametrize(
    ("identity", "where"),
    [(TASK, "identity.granularity"), (JOIN, "identity.mode"), (MODES["a rule folds"], "identity.rules")],
)
def test_stream_refuses_settings_that_make_families(identity, where):
    settings = Settings(identity=identity)
    assert grouping_setting(settings).startswith(where)
    with pytest.raises(SettingsError, match=rf"^{where}: .* is not supported in a stream"):
        reject_grouping(settings)
    reject_grouping(Settings())


def test_refused_event_is_counted_only_as_a_dead_letter():
    settings = Settings(naming={"unknown": "fail"})
    made = Bridge(settings)
    (raw,) = sent([event("START", outputs=[dataset("t", "nowhere://x")])])
    counts = made.translate(raw).counts
    assert (counts.events, counts.dead) == (0, 1)
    runs = PartitionTranslator(made.options, made.zone)
    found = list(runs.translate([to_record(parse_event(raw, "a"), made.options)]))
    assert [letter.location for letter in found] == ["a"]
    assert (runs.counts.events, runs.counts.dead) == (0, 1)
