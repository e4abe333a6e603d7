"""Events for tests of the heart: small ones to build, the examples, the corpus beside the checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.openlineage.read import read_events
from support.public_data import CORPUS, needs_corpus

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "events"
GOLDEN = ROOT / "tests" / "golden"

SOURCES = ["captured", pytest.param("corpus", marks=needs_corpus)]
"""Sources of real events, for tests that hold for any."""

SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.40.0/integration/spark"
AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
RUN = "018cc251-f400-734d-88b3-1e3d63fe6210"
T0 = "2026-11-20T10:00:00Z"


def dataset(name, namespace="postgres://db:5432", **bags):
    return {"namespace": namespace, "name": name, **bags}


def event(kind="START", time=T0, *, job="etl.load", namespace="ns", run=RUN, producer=SPARK, **parts):
    """Return a RunEvent; ``run_facets`` and ``job_facets`` go where their names say, the rest onto the event."""
    run_facets, job_facets = parts.pop("run_facets", None), parts.pop("job_facets", None)
    found = {
        "eventTime": time,
        "eventType": kind,
        "producer": producer,
        "schemaURL": SCHEMA + "RunEvent",
        "run": {"runId": run},
        "job": {"namespace": namespace, "name": job},
    }
    if run_facets is not None:
        found["run"]["facets"] = run_facets
    if job_facets is not None:
        found["job"]["facets"] = job_facets
    return {**found, **parts}


def job_event(time=T0, *, job="etl.load", namespace="ns", producer=SPARK, job_facets=None, **parts):
    found = {"eventTime": time, "producer": producer, "schemaURL": SCHEMA + "JobEvent"}
    return {**found, "job": {"namespace": namespace, "name": job, "facets": job_facets or {}}, **parts}


def dataset_event(dataset, time=T0, producer=SPARK):
    return {"eventTime": time, "producer": producer, "schemaURL": SCHEMA + "DatasetEvent", "dataset": dataset}


def packed(events):
    """Return events (dicts) as the bytes that a sender would send, one each."""
    return [json.dumps(one).encode() for one in events]


def lines(translation):
    """Return the proposals as sorted NDJSON; nothing may have been refused."""
    assert translation.rejected == []
    return sorted(map(ndjson_line, translation.proposals))


def aspects(translation, name, urn=None):
    """Return the values of an aspect, in the order of the proposals."""
    found = [p for p in translation.proposals if p.aspect_name == name]
    return [p.value for p in found if urn is None or p.entity_urn == urn]


def one(translation, name, urn=None):
    (found,) = aspects(translation, name, urn)
    return found


def names(translation):
    """Return the (entity type, aspect) pairs that were written."""
    return {(p.entity_type, p.aspect_name) for p in translation.proposals}


def properties(operations, prefix="/customProperties/openlineage."):
    """Return the custom properties that a PATCH adds."""
    return {o["path"].removeprefix(prefix): o["value"] for o in operations if o["path"].startswith(prefix)}


@cache
def corpus():
    """Return the corpus's events; empty when the folder is absent."""
    return tuple(read_events([CORPUS])) if CORPUS.is_dir() else ()


@cache
def documents(source):
    """Return events as JSON values.

    Args:
        source: ``captured`` for those that real producers sent to the project's own scripts, ``corpus`` for public ones.
    """
    if source == "captured":
        files = sorted([*EXAMPLES.glob("*.ndjson"), *GOLDEN.glob("events/*.ndjson")])
        return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(CORPUS.glob("*/*.json"))]


@cache
def examples():
    """Return the events that real producers sent, as they are kept in examples/."""
    return tuple(read_events(sorted(EXAMPLES.glob("*.ndjson"))))
