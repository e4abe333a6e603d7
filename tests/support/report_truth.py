"""Whether the field report is true: each field gets another value, and the change is looked for at the line's target.

A line ``mapped`` or ``kept`` names ``aspect.path`` (``ownership.owners[].type``; ``…customProperties[key]``): the change has
to be among the leaves of that aspect below that path, a withheld leaf may not change anything.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from functools import cache

from dh_bridge import Bridge, Settings
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.testing.matching import operations
from support.sample_events import AIRFLOW, ROOT, SPARK, corpus, examples, packed

OUTCOMES = {"mapped", "property", "dropped"}


#: What settings are called behind a profile: ``1.7 with queries``.
ASKED = {
    "queries": {"optional_metadata": ["queries"]},
    "outputs": {"materialize": "outputs", "schema": {"write": "outputs"}},
    "nothing": {"materialize": "none", "schema": {"write": "never"}},
    "lineage on datasets": {"column_lineage": {"target": "dataset"}},
    "no edges of temporary ones": {"temporary": {"dataset_type": "drop_edges"}},
    "no temporary ones": {"temporary": {"dataset_type": "collapse"}},
    "lineage through orders": {"temporary": {"datasets": ["*orders"]}},
    "containers": {"optional_metadata": ["containers"]},
    "tags of runs": {"tags": {"of_runs": "job"}, "dbt": {"model_metadata": ["tags", "owners"]}},
    "removals": {"lifecycle": {"soft_delete": ["drop", "rename"]}},
    "warnings as successes": {"assertions": {"warn_as": "success"}},
    "applications": {"identity": {"granularity": "application"}},
    "compat": {"identity": {"mode": "datahub-openlineage"}},
}


@cache
def bridge(profile="0.15.0"):
    """Return the bridge of a profile and of settings, as ``ASKED`` calls them."""
    version, _, asked = profile.partition(" with ")
    return Bridge(Settings(datahub_version=version, **ASKED.get(asked, {})))


def reported(events, using=None):
    """Return the lines of the last event by path."""
    translation = (using or bridge()).translate(packed(events), report=True)
    lines = [line for line in translation.report.lines() if line["event"] == f"event[{len(events) - 1}]"]
    return {line["path"]: line for line in lines}


_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_COUNTS = re.compile(
    rb'"openlineage\.[^"]*\.(?:sha256|bytes|length|count)":"[^"]*",?'
    rb'|\{"op":"add","path":"[^"]*\.(?:sha256|bytes|length|count)","value":"[^"]*"\},?'
)


#: Of a closed list only another known word means something else.
_WORDS = {("icebergCommitReport", "operation"): "delete", ("trino_query_context", "query_type"): "DELETE"}


def other(path, value):  # noqa: PLR0911 - a line for each kind of leaf
    """Return a value that means something else than ``value`` at ``path``."""
    key = path[-1]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + (1 if key != "ordinal_position" else 1000 if path[-2] == 0 else -1000)
    if key == "namespace" and "job" not in path[-3:]:
        # Another host gives the same URN in most systems, another system never does.
        return "gs://elsewhere" if value.startswith("s3") else "s3://elsewhere"
    if path == ("eventType",):
        return "COMPLETE" if value in ("START", "RUNNING", "OTHER") else "START"
    if key == "type" and "schema" in path:
        return "bigint" if "bool" in value.lower() else "boolean"
    if path[-2:] == ("dataRentgen_run", "attempt"):
        return f"{value}0"  # only the number in front counts
    if path == ("producer",):
        return SPARK if "airflow" in value else AIRFLOW
    words = {"dagRunState": "skipped", "status": "fail" if value == "pass" else "pass"}
    if key in words and ("tests" in path or key == "dagRunState"):
        return words[key]
    if path[-2:] in _WORDS or (key == "type" and "owners" in path):
        return _WORDS.get(path[-2:], "STEWARD" if value.upper() != "STEWARD" else "DATAOWNER")
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
    if ".sql." in document["job"]["name"]:  # a statement of dbt starts no run
        return [document]
    job = {key: document["job"][key] for key in ("namespace", "name")}
    start = {
        "eventType": "START",
        "eventTime": "1990-01-01T00:00:00Z",
        "producer": document.get("producer"),
        "job": job,
    }
    facets = document["job"].get("facets")
    job_type = facets.get("jobType") if isinstance(facets, dict) else None
    if job_type:  # the job of an unknown producer is known by it
        job["facets"] = {"jobType": job_type}
    return [{**start, "run": {"runId": document["run"]["runId"]}}, document]


def written(document, whole, profile):
    """Return the proposals of a call, sorted as their lines are."""
    return sorted(bridge(profile).translate(packed(call(document, whole))).proposals, key=ndjson_line)


# -- the target of a line ------------------------------------------------------------------------------------------------

_TARGET = re.compile(r"(?P<aspect>\w+)(?:\.(?P<path>[^\[]*(?:\[\][^\[]*)*))?(?:\[(?P<key>.+)\])?")
#: A job of the level of its flow has its properties there; the report names the one or the other.
_OF_JOBS = ("dataJobInfo", "dataFlowInfo")
_BRANCH = re.compile(r"com\.linkedin\.|(?:array|boolean|double|float|int|long|map|string)$")


def at_target(proposals, target):
    """Return the leaves that a line's target names: of its aspect, on any entity, below its path and custom property."""
    found = _TARGET.fullmatch(target)
    wanted = [step for step in re.split(r"[.\[\]]+", found["path"] or "") if step]
    aspects = _OF_JOBS if found["aspect"] in _OF_JOBS else (found["aspect"],)
    named = [
        (one.entity_urn, words, text)
        for one in proposals
        if one.aspect_name in aspects
        for words, text in ([((), "")] if wanted == ["urn"] else _stated(one))
        if wanted == ["urn"] or _leads(wanted, found["key"], words)
    ]
    return sorted(
        named, key=lambda leaf: leaf[:2]
    )  # the order of an array's entries counts, that of proposals does not


def _stated(proposal):
    """Yield (steps without positions and union branches, value as text) of what a proposal says."""
    if proposal.change_type != "PATCH":
        for path, value in leaves(proposal.value):
            branch = (
                path[-1] if _BRANCH.match(str(path[-1])) and value == {} else ""
            )  # such a branch is all that is said
            yield _words(path), branch or json.dumps(value)
        return
    for operation in operations(proposal):
        start = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        for path, value in leaves(operation.get("value")):
            yield _words((*start, *path)), f"{operation['op']} {json.dumps(value)}"


def _words(path):
    return tuple(step for step in path if isinstance(step, str) and not _BRANCH.match(step))


def _leads(wanted, key, words):
    """Return whether a path leads below ``wanted`` (keys of arrays stand between its steps) and to the property ``key``."""
    here = 0
    for step in wanted:
        if step not in words[here:]:
            return False
        here = words.index(step, here) + 1
    return key is None or (len(words) > here and _is_property(words[here], key))


def _is_property(name, key):
    """Return whether a custom property is the one that is named: it, a part of it, or the JSON of what it is part of."""
    return name == key or name.startswith(f"{key}.") or (name.count(".") > 1 and key.startswith(f"{name}."))


# -- what a leaf is ------------------------------------------------------------------------------------------------------

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
    # The facets of checks are merged by name; ``type`` is ``assertion`` there.
    return tuple("assertion" if word == "type" and "test" in words else _SAME.get(word, word) for word in words)


def repeated(document, path, value):
    """Return the paths of the leaves that say the same thing: in another bag, another check, another entry."""
    return [here for here, stated in leaves(document) if stated == value and statement(here) == statement(path)]


#: Fields that are reported as mapped or as properties, and yet lose to another statement of the same call.
LOSING = {
    r"\.hive_query\.operationName$": "a lifecycle word of the output stands on a higher rung of the ladder",
    r"^\$\.eventTime$": "an event without a type is no point, and neither the first nor the last of its run",
}  # fmt: skip
#: Targets of which the highest rung speaks: a leaf of a lower one changes only what it is besides (a property, a reason).
LADDERS = {
    "dataJobInfo.type": "the namespace's scheme decides the platform before the producer",
    "dataProcessInstanceProperties.name": "the best label",
    "dataProcessInstanceProperties.type": "streaming, scheduled or ad hoc: several facets state it, most values mean none of them",
    "dataProcessInstanceProperties.externalUrl": "the best page",
    "dataProcessInstanceRunEvent.externalUrl": "the best page",
    "dataProcessInstanceRunEvent.durationMillis": "a duration that is said stands before two times",
    "operation.numAffectedRows": "the best count",
    "operation.operationType": "a word that is no operation leaves it to the next rung",
    "assertionRunEvent.batchSpec": "the active batch definition stands before the batch's specification",
}
#: Withheld leaves by whose value another leaf is judged.
JUDGING = {"no-field:projection": "the names of a projection decide which column lineage is believed"}


def bears_out(line, before, after):
    """Return whether the outcome is borne out by what a changed leaf gives: a change at the target, or none at all."""
    if line["outcome"] == "dropped":
        return [_COUNTS.sub(b"", ndjson_line(one)) for one in after] == [
            _COUNTS.sub(b"", ndjson_line(one)) for one in before
        ]
    if line["target"] == "retraction of the bridge's own contribution":
        return after != before
    return at_target(after, line["target"]) != at_target(before, line["target"])


def exempt(line, document, path, value, **how):
    """Return whether the leaf need not bear its line out."""
    profile = bridge(how["profile"])
    changed = put(document, [path], other(path, value))
    again = reported(call(changed, how["whole"]), profile).get(shown(path))
    if again is not None and (again["outcome"], again["reason"]) != (line["outcome"], line["reason"]):
        return True  # the report has a line for the new value that it did not have for the old one
    if line["outcome"] == "dropped":
        return line["reason"] in JUDGING
    if line["target"] in LADDERS and (not how["whole"] or written(changed, **how) != written(document, **how)):
        return True  # it does not win; in a call without a START it is no property either
    if path[-1] == "ordinal_position":
        columns = document
        for step in path[:-2]:
            columns = columns[step]
        return len(columns) == 1  # a single column has no order
    same = repeated(document, path, value)
    if len(same) > 1 and written(put(document, same, other(path, value)), **how) != written(document, **how):
        return True  # said twice is one statement
    return any(re.search(pattern, line["path"]) for pattern in LOSING) or _is_cut_to_application(
        line, document, value, how
    )


def _is_cut_to_application(line, document, value, how):
    """Return whether the field is the name of a Spark operation, of which the target has the application's part."""
    if line["path"] != "$.job.name" or not line["target"].endswith("job.name]"):
        return False
    texts = [leaf[-1].partition('"')[2][:-1] for leaf in at_target(written(document, **how), line["target"])]
    return value not in texts and any(value.startswith(f"{text}.") for text in texts)


def lies(documents, share, only=None, **how):
    """Return (place, path, outcome, value) of each sampled leaf whose outcome is not borne out, and what was tried.

    ``only``: whether a leaf's path is looked at.
    """
    chance = random.Random(f"{share}{how}")  # noqa: S311 - reproducible, not secret
    found, tried = [], Counter()
    for place, document in documents:
        chosen = [
            leaf
            for leaf in leaves(document)
            if leaf[1] not in (None, {}, []) and chance.random() < share and (only is None or only(leaf[0]))
        ]
        if not chosen:
            continue
        lines, before = reported(call(document, how["whole"]), bridge(how["profile"])), written(document, **how)
        for path, value in chosen:
            line = lines[shown(path)]
            tried[line["outcome"]] += 1
            after = written(put(document, [path], other(path, value)), **how)
            if not bears_out(line, before, after) and not exempt(line, document, path, value, **how):
                found.append((place, shown(path), line["outcome"], line["target"] or line["reason"], value))
    return found, tried


def golden():
    """Return (file, event) of every golden case of facets and producers: the event that says it all."""
    paths = sorted((ROOT / "tests" / "golden").glob("*/*.events.json"))
    return [(path.name, json.loads(path.read_text(encoding="utf-8"))[-1]) for path in paths]


def documents():
    return [(one.location.rpartition("/")[2], json.loads(one.raw)) for one in (*examples(), *corpus())]


# -- secrets -------------------------------------------------------------------------------------------------------------

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl"
INTO = "injected"
SECRETS = {f"{INTO}_password": "hunter2", f"{INTO}_map": {"api_key": 5, "x": "plain", "deep": {"token": "t", "y": "z"}},
           f"{INTO}_nested": {"secrets": {"db": {"prod": "a", "n": 5}}, "api": {"key": "b"}, "user": {"auth": {"who": "c"}}},
           f"{INTO}_list": [{"pwd": "p", "z": 1}, JWT, {"vault": {"tokens": [{"a": {"b": "d"}}]}, "access": {"key": "e"}}],
           f"{INTO}_word": JWT, f"{INTO}_plain": "plain"}  # fmt: skip


def with_secrets(document):
    """Return an event with secrets in each of its facets, in maps and lists of theirs too."""
    found = copy.deepcopy(document)
    for path in {path[: _depth(path)] for path, _ in leaves(document) if _depth(path)}:
        facet = found
        for step in path:
            facet = facet[step]
        if isinstance(facet, dict) and "_deleted" not in facet:
            facet.update(copy.deepcopy(SECRETS))
            for open_map in ("properties", "runtimeArgs", "catalogProperties", "metadata", "environment-properties"):
                if isinstance(facet.get(open_map), dict):
                    facet[open_map].update(copy.deepcopy(SECRETS))
    return found


def _depth(path):
    """Return how many steps lead to the facet that a leaf is in, 0 where it is in none."""
    return next((at + 2 for at, step in enumerate(path) if step in ("facets", "inputFacets", "outputFacets")), 0)


def injected(path):
    return any(isinstance(step, str) and step.startswith(INTO) for step in path)
