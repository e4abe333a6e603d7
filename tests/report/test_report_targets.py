"""Targets of the report are derived: each one is in the proposals, whatever the settings, and each row names facts that are stated."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest
from support.report_truth import at_target, call, golden, reported
from support.sample_events import event, examples, packed

from dh_bridge import Bridge, Settings
from dh_bridge.extract import FactExtractor
from dh_bridge.facets import find_misplaced_facet, registry, specs
from dh_bridge.model.facts import FactPart
from dh_bridge.model.trace import Trace
from dh_bridge.openlineage.read import events_of
from dh_bridge.render.targets import EVENT_KINDS, FIELD_PATHS, PROPERTY_PATHS

SETTINGS = {
    "oldest version": {"datahub_version": "0.15.0"},
    "newest version": {"datahub_version": "1.7"},
    "another prefix": {"datahub_version": "1.7", "properties": {"prefix": "ol"}},
    "identity compat": {
        "datahub_version": "1.7",
        "identity": {"mode": "datahub-openlineage"},
        "properties": {"prefix": "a.b"},
    },
    "identity join": {"datahub_version": "1.7", "identity": {"mode": ["datahub-airflow-plugin", "datahub-dbt-source"]}},
    "applications": {
        "datahub_version": "1.4",
        "identity": {"granularity": "application"},
        "properties": {"prefix": "ol"},
    },
    "lineage on datasets": {
        "datahub_version": "1.7",
        "column_lineage": {"target": "dataset"},
        "optional_metadata": ["queries"],
    },
    "no datasets": {"datahub_version": "1.7", "materialize": "none", "schema": {"write": "never"}},
}
RETRACTION = "retraction of the bridge's own contribution"


def missing(documents, using):
    """Return (place, path, target) of each line that names a target which no proposal of its call has."""
    found, named = [], 0
    for place, document in documents:
        translation = using.translate(packed(call(document, whole=True)), report=True)
        known: dict[str, bool] = {}
        for line in translation.report.lines():
            target = line["target"]
            if target in (None, RETRACTION):
                continue
            named += 1
            if target not in known:
                known[target] = bool(at_target(translation.proposals, target))
            if not known[target]:
                found.append((place, line["path"], target))
    assert named > 1_000
    return found


#: The others are in `make slow`.
FAST = ("oldest version", "another prefix")
GOLDEN = [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in SETTINGS]


@pytest.mark.parametrize("settings", GOLDEN)
def test_each_target_of_a_golden_event_is_in_the_proposals(settings):
    assert missing(golden(), Bridge(Settings(**SETTINGS[settings]))) == []


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS)
def test_each_target_of_an_example_is_in_the_proposals(settings):
    documents = [(one.location, json.loads(one.raw)) for one in examples()]
    assert missing(documents, Bridge(Settings(**SETTINGS[settings]))) == []


def test_target_has_the_prefix_of_the_settings():
    stated_parts = event(
        "START", job_facets={"sql": {"query": "select 1", "dialect": "ansi"}}, run_facets={"own": {"x": 1}}
    )
    lines = reported([stated_parts], Bridge(Settings(datahub_version="0.15.0", properties={"prefix": "ol"})))
    assert {path: lines[path]["target"] for path in (
        "$.job.facets.sql.query", "$.job.facets.sql.dialect", "$.run.facets.own.x", "$.job.name", "$.producer",
    )} == {
        "$.job.facets.sql.query": "dataJobInfo.customProperties[ol.sql.query]",
        "$.job.facets.sql.dialect": "dataJobInfo.customProperties[ol.sql.dialect]",
        "$.run.facets.own.x": "dataProcessInstanceProperties.customProperties[ol.facet.own]",
        "$.job.name": "dataJobInfo.customProperties[ol.job.name]",
        "$.producer": "dataProcessInstanceProperties.customProperties[ol.producer]",
    }  # fmt: skip


def test_property_that_a_later_event_replaced_is_dropped():
    first = event("START", run_facets={"processing_engine": {"name": "n", "openlineageAdapterVersion": "1"}})
    last = event("COMPLETE", "2026-11-20T10:01:00Z", run_facets={"processing_engine": {"name": "n", "version": "2"}})
    translation = Bridge(Settings(datahub_version="1.7")).translate(packed([first, last]), report=True)
    lines = {(line["event"], line["path"]): line for line in translation.report.lines()}
    line = lines["event[0]", "$.run.facets.processing_engine.openlineageAdapterVersion"]
    assert (line["outcome"], line["target"], line["reason"]) == ("dropped", None, "replaced")
    assert lines["event[0]", "$.run.facets.processing_engine.name"]["outcome"] == "property"


# -- rows and facts --------------------------------------------------------------------------------------------------------

#: Kinds of facts that the rows of each facet name.
KINDS = {
    (spec.attach, spec.keys[0]): {target.kind if isinstance(target, FactPart) else target for row in spec.outcomes.values() for target in row.targets}
    - {target for row in spec.outcomes.values() for target in row.targets if isinstance(target, str)}
    for spec in specs()
}  # fmt: skip


def stated():
    """Return the kinds of facts that each facet states in the golden events."""
    found = defaultdict(set)
    for settings in ("newest version", "lineage on datasets"):
        using = Bridge(Settings(**SETTINGS[settings]))
        for _, document in golden():
            for one in events_of(*packed([document]), "here"):
                trace = Trace()
                FactExtractor(using.options).extract(one, {}, trace)
                for path, facts in trace.facts.items():
                    bag, key = path.split("acets.", 1)[0], path.split("acets.", 1)[1]
                    attach = "run" if bag.startswith("$.run") else "job" if bag.startswith("$.job") else "dataset"
                    spec = registry()[attach].get(key) or (
                        find_misplaced_facet(attach, key, one) if attach != "dataset" else None
                    )
                    if spec is not None:
                        found[spec.attach, spec.keys[0]] |= {fact.kind for fact in facts}
    return found


def test_every_kind_of_a_row_has_a_target():
    assert {kind.name for kinds in KINDS.values() for kind in kinds if kind not in PROPERTY_PATHS | FIELD_PATHS} == {
        "JOB_FIELD", "DATASET_FIELD", "STATISTIC",  # by their field
    }  # fmt: skip


#: Kinds that a facet states for other values, or by other settings, than those of its golden events.
NOT_IN_GOLDEN = {
    ("dataset", "confluent"): {"EDGE_PROPERTIES", "RUN_BY_DATASET"},
    ("dataset", "dbt_model"): {"SUBTYPES"},
    ("dataset", "kafkaThroughput"): {"EDGE_PROPERTIES", "RUN_BY_DATASET"},
    ("dataset", "kafkaTopic"): {"EDGE_PROPERTIES", "RUN_BY_DATASET"},
    ("dataset", "lineage"): {"INPUT_FIELD", "UPSTREAM_RUN"},
    ("job", "airflow"): {"JOB_EDGE"},
    ("job", "dbt_node"): {"ASSERTION_PROPERTIES"},
    ("job", "lineage"): {"INPUT_FIELD", "UPSTREAM_RUN"},
    ("job", "sourceCode"): {"SQL"},
    ("run", "airflow"): {"DURATION"},
    ("run", "checkpoints"): {"RUN_PROPERTIES"},
    ("run", "externalQuery"): {"OPERATION_PROPERTIES"},
    ("run", "flink_job"): {"RUN_URL"},
    ("run", "spark_properties"): {"JOB_FIELD"},
}


def test_every_kind_of_a_row_is_stated_by_the_facet():
    facts = stated()
    stale = {where: {kind.name for kind in kinds - facts[where] - EVENT_KINDS} for where, kinds in KINDS.items()}
    assert {where: kinds for where, kinds in stale.items() if kinds} == NOT_IN_GOLDEN
