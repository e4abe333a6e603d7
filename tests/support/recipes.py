"""Recipes, and pipelines of DataHub's that run them."""

from __future__ import annotations

import json
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from datahub.ingestion.run.pipeline import Pipeline

TYPE = "dh_bridge.ingestion.OpenLineageSource"
JOB = {"namespace": "prod", "name": "nightly.load"}
TABLE = {"namespace": "postgres://warehouse:5432", "name": "shop.public.orders"}


def event(kind, minute, run="0190a3b4-c5d6-7e8f-8a9b-acbdcedf0001", **more):
    """Return an event of a run that writes a table."""
    return {
        "eventType": kind,
        "eventTime": f"2026-11-23T10:{minute:02d}:00Z",
        "producer": "https://example.com/loader",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run},
        "job": JOB,
        "inputs": [],
        "outputs": [TABLE],
    } | more


def written(path, *events):
    """Write events, one a line, and return where."""
    path.write_text("".join(json.dumps(one) + "\n" for one in events))
    return str(path)


def pipeline(place, sink, *, top=None, dry_run=False, preview=False, **config):
    """Return a pipeline from a place of events to a sink of DataHub's; ``top`` goes into the recipe itself."""
    return Pipeline.create(
        {"source": {"type": TYPE, "config": {"events": [str(place)]} | config}, "sink": sink, **(top or {})},
        dry_run=dry_run,
        preview_mode=preview,
        preview_workunits=2,
        report_to=None,
        no_progress=True,
    )


def ran(*args, **kwargs):
    """Run a pipeline to its end; return it."""
    found = pipeline(*args, **kwargs)
    found.run()
    return found


def to_file(path):
    """Return DataHub's file sink."""
    return {"type": "file", "config": {"filename": str(path)}}


def to_gms(gms):
    """Return DataHub's REST sink, which waits for each answer and gives up soon."""
    return {"type": "datahub-rest", "config": {"server": gms.url, "mode": "SYNC", "retry_max_times": 1}}


def about(path):
    """Return (URN, aspect) of each proposal that a file sink wrote, in order."""
    return [(one["entityUrn"], one["aspectName"]) for one in json.loads(path.read_text())]
