"""The leaf report tells every leaf once, and tells the truth (facets.md 0.8, rulings 28 and 29)."""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from functools import cache

import pytest
from samples import AIRFLOW, SPARK, corpus, dataset, dataset_event, event, examples, job_event, packed

from dh_bridge import Bridge, Settings
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.translation.report import Report

VERDICTS = {"mapped", "kept", "withheld"}
REASONS = {
    "plan", "secret", "too-large", "envelope", "malformed", "pending-terminal", "profile", "phantom", "ephemeral", "bulk",
    "non-serializable", "no-such-column", "filtered", "schema-owned", "no-dataset",
}  # fmt: skip
OPEN = re.compile(r"(duplicate-of|no-home|policy|filtered):.+")


@cache
def bridge(profile="0.15.0"):
    return Bridge(Settings(profile=profile))


def reported(events, using=None):
    """Return the lines of the last event by path."""
    translation = (using or bridge()).translate(packed(events), report=True)
    lines = [line for line in translation.report.lines() if line["event"] == f"event[{len(events) - 1}]"]
    return {line["path"]: line for line in lines}


# -- each leaf once ----------------------------------------------------------------------------------------------------


def walked(value):
    """Count the leaves of a JSON value, by another walk than the report's."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(walked, members)) if members else 1


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_every_leaf_of_every_real_event_has_one_line_with_a_known_verdict_and_reason(profile):
    events = (*examples(), *corpus())
    translation = bridge(profile).translate(list(events), report=True)
    lines = list(translation.report.lines())
    places = Counter((line["event"], line["path"]) for line in lines)
    assert [place for place, count in places.items() if count > 1] == []
    expected = Counter()
    for one in events:
        expected[one.place] += walked(json.loads(one.raw))
    assert Counter(line["event"] for line in lines) == expected
    assert {line["verdict"] for line in lines} == VERDICTS
    reasons = {line["reason"] for line in lines if line["verdict"] == "withheld"}
    assert {reason for reason in reasons if reason not in REASONS and not OPEN.fullmatch(reason)} == set()
    assert all(line["target"] and line["reason"] is None for line in lines if line["verdict"] != "withheld")
    assert all(line["reason"] and line["target"] is None for line in lines if line["verdict"] == "withheld")


def test_the_counts_are_those_of_the_lines():
    translation = bridge().translate(list(examples()), report=True)
    counts = Counter(line["verdict"] for line in translation.report.lines())
    told, report = translation.counts, translation.report
    assert (told.mapped, told.kept, told.withheld) == (counts["mapped"], counts["kept"], counts["withheld"])
    assert (report.mapped, report.kept, report.withheld) == (told.mapped, told.kept, told.withheld)
    assert list(Report().lines()) == []


ODD_LEAVES = {"a.b": 1, "c[0]": {"x": []}, 'd"': None, "": {}, "e f": [[], [[]], {"": "g"}]}


def test_leaves_with_odd_names_and_empty_values_have_their_lines_too():
    facets = {"odd": ODD_LEAVES, "empty": {}, "text": "t", "null": None}
    said = event(run_facets=facets, extra={"x": 1}, inputs=[], outputs=None)
    lines = reported([said])
    assert len(lines) == walked(said)
    assert '$.run.facets.odd["a.b"]' in lines
    assert {path: lines[path]["reason"] for path in ("$.inputs", "$.outputs", "$.extra.x", "$.run.facets.text")} == {
        "$.inputs": "no-home:empty",
        "$.outputs": "no-home:null says nothing",
        "$.extra.x": "no-home:not part of OpenLineage's envelope",
        "$.run.facets.text": "malformed",
    }


# -- what the table says -------------------------------------------------------------------------------------------------

COMPLETE = event("COMPLETE", "2026-11-20T10:01:00Z")
NOMINAL = {"nominalTime": {"nominalStartTime": "2026-11-20T00:00:00Z", "nominalEndTime": "2026-11-20T00:00:00Z"}}
FIELDS = {"schema": {"fields": [{"name": "id", "type": "int"}, {"name": "x", "type": "int"}]}}
COUNTED = dataset("d.s.t", outputFacets={"outputStatistics": {"fileCount": 4}})
FILES = "$.outputs[0].outputFacets.outputStatistics.fileCount"

TOLD = {
    "a run facet in a call with the START": (event(run_facets=NOMINAL), "$.run.facets.nominalTime.nominalStartTime", "kept"),
    "the same without one": (
        event("COMPLETE", run_facets=NOMINAL), "$.run.facets.nominalTime.nominalStartTime", "policy:state=none",
    ),
    "an end that repeats the start": (
        event(run_facets=NOMINAL), "$.run.facets.nominalTime.nominalEndTime", "duplicate-of:nominalStartTime",
    ),
    "provenance": (event(run_facets={"a": {"_producer": "p", "x": 1}}), "$.run.facets.a._producer", "envelope"),
    "a facet nobody knows": (event(run_facets={"a": {"x": 1}}), "$.run.facets.a.x", "kept"),
    "one that is no object": (event(run_facets={"a": "x"}), "$.run.facets.a", "malformed"),
    "one that was not serialized": (event(run_facets={"a": "<<non-serializable: object>>"}), "$.run.facets.a", "non-serializable"),
    "a logical plan": (event(run_facets={"spark_unknown": {"plan": [1]}}), "$.run.facets.spark_unknown.plan[0]", "plan"),
    "what a run that starts did to an output": (event(outputs=[COUNTED]), FILES, "kept"),
    "what a run that only runs did to an output": (event("RUNNING", outputs=[COUNTED]), FILES, "pending-terminal"),
    "a type of a column": (
        event(inputs=[dataset("d.s.t", facets=FIELDS)]), "$.inputs[0].facets.schema.fields[0].type", "mapped",
    ),
    "a placeholder job": (event(job="unknown"), "$.job.name", "no-home:placeholder job"),
    "a run facet of a job event": (
        job_event(job_facets=NOMINAL), "$.job.facets.nominalTime.nominalStartTime", "no-home:no run",
    ),
    "a tombstone": (event(job_facets={"documentation": {"_deleted": True}}), "$.job.facets.documentation._deleted", "mapped"),
    "the producer without a START": (COMPLETE, "$.producer", "mapped"),
    "the producer of a job event": (job_event(), "$.producer", "kept"),
    "the producer of a dataset event": (dataset_event(dataset("d.s.t")), "$.producer", "kept"),
    "the run id of a run that leaves nothing": (event("RUNNING"), "$.run.runId", "pending-terminal"),
    "an unreadable leaf of a good facet": (
        event(run_facets={"tags": {"tags": [{"key": {"a": 1}}]}}), "$.run.facets.tags.tags[0].key.a", "malformed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_a_leaf_is_told_to_end_where_it_does(case):
    said, path, expected = TOLD[case]
    line = reported([said])[path]
    assert expected in (line["verdict"], line["reason"])


@pytest.mark.parametrize(
    "rule", [{"dataset_name": {"deny": ["d.s.*"]}}, {"facet": {"deny": ["schema"]}}, {"through": ["d.s.*"]}]
)
def test_what_a_filter_leaves_out_of_an_event_is_told_with_its_rule(rule):
    lines = reported([event(inputs=[dataset("d.s.t", facets=FIELDS)])], Bridge(Settings(filters=rule)))
    assert lines["$.inputs[0].facets.schema.fields[0].name"]["reason"].startswith("filtered:")
    assert lines["$.job.name"]["verdict"] == "mapped"


def test_every_leaf_of_an_event_that_a_filter_leaves_out_is_told_with_its_rule():
    using = Bridge(Settings(filters={"job_name": {"deny": ["tmp_*"]}}))
    said = [event(job="tmp_x"), event(job="etl")]
    lines = list(using.translate(packed(said), report=True).report.lines())
    assert {line["reason"] for line in lines if line["event"] == "event[0]"} == {"filtered:job_name deny: tmp_*"}
    assert [line for line in lines if line["event"] == "event[1]" and "filtered" in (line["reason"] or "")] == []


def test_what_the_profile_and_the_settings_leave_out_is_told():
    sql = event(job_facets={"sql": {"query": "select 1"}})
    assert reported([sql], bridge("1.7"))["$.job.facets.sql.query"]["target"] == "dataTransformLogic.transforms"
    assert reported([sql])["$.job.facets.sql.query"]["target"] == "dataJobInfo.customProperties"
    using = Bridge(Settings(schema={"write": "outputs"}))
    lines = reported([event(inputs=[dataset("d.s.t", facets=FIELDS)])], using)
    assert lines["$.inputs[0].facets.schema.fields[0].type"]["reason"] == "policy:schema.write"


# -- the truth test --------------------------------------------------------------------------------------------------------

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_COUNTS = re.compile(
    rb'"openlineage\.[^"]*\.(?:sha256|bytes|length|count)":"[^"]*",?'
    rb'|\{"op":"add","path":"[^"]*\.(?:sha256|bytes|length|count)","value":"[^"]*"\},?'
)


def other(path, value):
    """Return a value that means something else than ``value`` at ``path``."""
    key = path[-1]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + (1 if key != "ordinal_position" else 1000 if path[-2] == 0 else -1000)
    if key == "namespace" and "job" not in path[-3:]:
        # Another host gives the same URN in most systems, another system never does.
        return "gs://elsewhere" if value.startswith("s3") else "s3://elsewhere"
    if path == ("producer",):
        return SPARK if "airflow" in value or "openlineage" not in value.lower() else AIRFLOW
    words = {"dagRunState": "skipped", "status": "fail" if value == "pass" else "pass"}
    if key in words and ("tests" in path or key == "dagRunState"):
        return words[key]
    return f"{int(value[:4]) + 1}{value[4:]}" if _TIME.match(value) else f"{value}_x"


def put(document, paths, value):
    found = copy.deepcopy(document)
    for path in paths:
        inner = found
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
    return found


def leaves(value, path=()):
    if isinstance(value, dict | list) and value:
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    else:
        yield path, value


def shown(path):
    text = "$"
    for step in path:
        plain = isinstance(step, str) and re.fullmatch(r"[^.\[\]]+", step)
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if plain else f'["{step}"]'
    return text


def call(document, whole):
    """Return the events of a call: the event alone, or behind a bare START of its run."""
    if not whole or "run" not in document or document.get("eventType") == "START":
        return [document]
    job = {key: document["job"][key] for key in ("namespace", "name")}
    start = {
        "eventType": "START",
        "eventTime": "1990-01-01T00:00:00Z",
        "producer": document.get("producer"),
        "job": job,
    }
    return [{**start, "run": {"runId": document["run"]["runId"]}}, document]


def written(document, whole, profile):
    """Return the proposals of a call, sorted."""
    return sorted(map(ndjson_line, bridge(profile).translate(packed(call(document, whole))).proposals))


_SAME = {
    "test": "checks",
    "tests": "checks",
    "dataQualityAssertions": "checks",
    "assertions": "checks",
    "dataQuality": "dataQualityMetrics",
}


def statement(path):
    """Return what a leaf is about: its names, without positions and without the bag that its facet lies in."""
    words = [step for step in path if isinstance(step, str)]
    bag = next((word for word in ("facets", "inputFacets", "outputFacets") if word in words), None)
    words = words[words.index(bag) + 1 :] if bag else words
    # The facets of checks are merged by name (facets.md 2.3.3); ``type`` is ``assertion`` there.
    return tuple("assertion" if word == "type" and "test" in words else _SAME.get(word, word) for word in words)


def repeated(document, path, value):
    """Return the paths of the leaves that say the same thing: in another bag, another check, another entry."""
    return [here for here, said in leaves(document) if said == value and statement(here) == statement(path)]


#: Leaves that are told to be mapped or kept, and yet lose to another statement of the same call.
LOSING = {
    r"\.hive_query\.operationName$": "a lifecycle word of the output stands on a higher rung of the ladder (facets.md 4.6)",
    r"^\$\.eventTime$": "an event without a type is no point, and neither the first nor the last of its run",
    r"\.columnLineage\.fields\..*\.transformations\[\d+\]\.(type|subtype|masking)$":
        "of a column that touches every output only the edge tells the kind, and that once the run has ended",
}  # fmt: skip
#: Withheld leaves by whose value another leaf is judged.
JUDGING = {"no-home:untyped-projection": "the names of a projection decide which column lineage is believed"}


def bears_out(line, before, after):
    """Return whether the verdict is borne out by what a changed leaf gives: the same proposals only if it is withheld."""
    if line["verdict"] != "withheld":
        return after != before
    return [_COUNTS.sub(b"", one) for one in after] == [_COUNTS.sub(b"", one) for one in before]


def told_by_a_test(document, path):
    check = document
    for step in path[:-1]:
        check = check[step]
    tests = document.get("run", {}).get("facets", {}).get("test", {}).get("tests", [])
    return str(check.get("name")).rpartition(".")[2] in [str(test.get("name")).rpartition(".")[2] for test in tests]


def exempt(line, document, path, value, **how):
    """Return whether the leaf is one that ruling 29 excuses."""
    profile = bridge(how["profile"])
    changed = put(document, [path], other(path, value))
    again = reported(call(changed, how["whole"]), profile).get(shown(path))
    if again is not None and (again["verdict"], again["reason"]) != (line["verdict"], line["reason"]):
        return True  # the report tells of the new value what it did not tell of the old one
    if line["verdict"] == "withheld":
        return line["reason"] in JUDGING
    if path[-1] == "ordinal_position":
        columns = document
        for step in path[:-2]:
            columns = columns[step]
        return len(columns) == 1  # a single column has no order
    if path[-1] == "success" and told_by_a_test(document, path):
        return True  # of one check in two facets, the test's word counts (facets.md 2.3.3)
    same = repeated(document, path, value)
    if len(same) > 1 and written(put(document, same, other(path, value)), **how) != written(document, **how):
        return True  # said twice is one statement (facets.md 0.6.1)
    return any(re.search(pattern, line["path"]) for pattern in LOSING)


def lies(documents, share, **how):
    """Return (place, path, verdict, value) of each sampled leaf whose verdict is not borne out, and what was tried."""
    chance = random.Random(f"{share}{how}")  # noqa: S311 - reproducible, not secret
    found, tried = [], Counter()
    for place, document in documents:
        chosen = [leaf for leaf in leaves(document) if leaf[1] not in (None, {}, []) and chance.random() < share]
        if not chosen:
            continue
        lines, before = reported(call(document, how["whole"]), bridge(how["profile"])), written(document, **how)
        for path, value in chosen:
            line = lines[shown(path)]
            tried[line["verdict"]] += 1
            after = written(put(document, [path], other(path, value)), **how)
            if not bears_out(line, before, after) and not exempt(line, document, path, value, **how):
                found.append((place, shown(path), line["verdict"], line["target"] or line["reason"], value))
    return found, tried


def documents():
    return [(one.place.rpartition("/")[2], json.loads(one.raw)) for one in (*examples(), *corpus())]


@pytest.mark.slow
@pytest.mark.parametrize(("whole", "profile"), [(False, "0.15.0"), (True, "0.15.0"), (True, "1.7")])
def test_a_change_of_a_leaf_changes_the_proposals_if_and_only_if_it_is_not_withheld(whole, profile):
    found, tried = lies(documents(), 0.04, whole=whole, profile=profile)
    assert found == []
    assert all(tried[verdict] > 40 for verdict in VERDICTS), tried


def test_the_truth_test_finds_a_lie(monkeypatch):
    """A row that tells of a home that nothing goes to, and one that tells of a loss that is none."""
    said = event("START", job_facets={"sql": {"query": "select 1", "dialect": "ansi"}})
    assert lies([("here", said)], 1, whole=True, profile="1.7")[0] == []
    monkeypatch.setattr("dh_bridge.translation.facets.sql.sql.leaves", {})
    told = reported([said], bridge("1.7"))["$.job.facets.sql.query"]
    assert told["verdict"] == "kept"
    before = written(said, whole=True, profile="1.7")
    assert bears_out({**told, "verdict": "withheld"}, before, [b"another", *before]) is False
    assert bears_out(told, before, list(before)) is False
