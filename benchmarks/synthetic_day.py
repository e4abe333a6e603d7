"""Write a synthetic day: 200 jobs that run each hour with stable schemas, 9,600 events, the same ones each time.

    python benchmarks/synthetic_day.py [--jobs 200] [--runs 24] [--events 2] > day.ndjson

A job reads one to five tables that jobs before it write, and writes one or two; START and COMPLETE of a run both tell of the
job, its tables and their schemas in full, as Spark's listener does. What differs from hour to hour are the run, its times and
how many rows were written. Events are in the order of their times, so that runs lie among each other. With more than two
events a run is RUNNING in between, which tells that it is alive and no more.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import uuid
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.40.1/integration/spark"
SPEC = "https://openlineage.io/spec"
DAY = datetime(2026, 11, 20, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
SEED = 2026
_TYPES = ("string", "long", "decimal(18,2)", "timestamp", "boolean")


def facet(name: str, version: str, /, **said: Any) -> dict[str, Any]:
    """Return a standard facet."""
    return {"_producer": PRODUCER, "_schemaURL": f"{SPEC}/facets/{version}/{name}.json#/$defs/{name}", **said}


def table(number: int) -> dict[str, Any]:
    """Return a table as every run tells of it: its name and its schema of five to fifteen columns."""
    columns = [
        {"name": f"column_{i}", "type": _TYPES[(number + i) % 5], "description": f"what column {i} of {number} holds"}
        for i in range(5 + number % 11)
    ]
    return {
        "namespace": "postgres://warehouse.example.com:5432",
        "name": f"shop.public.table_{number}",
        "facets": {
            "schema": facet("SchemaDatasetFacet", "1-1-1", fields=columns),
            "dataSource": facet(
                "DatasourceDatasetFacet", "1-0-1", name="warehouse", uri="postgres://warehouse.example.com:5432"
            ),
        },
    }


def tables(job: int) -> tuple[list[int], list[int]]:
    """Return the numbers of the tables that a job reads and writes."""
    reads = sorted({(job * 7 + i * 13) % max(job, 5) for i in range(1 + job % 5)})
    return reads, [job, 1_000 + job] if job % 4 == 0 else [job]


def written(number: int, reads: list[int], rows: int | None) -> dict[str, Any]:
    """Return an output with the lineage of its columns; ``rows`` of the COMPLETE event."""
    found = table(number)
    fields = {
        f"column_{i}": {
            "inputFields": [
                {"namespace": found["namespace"], "name": f"shop.public.table_{read}", "field": f"column_{i % 5}"}
                for read in reads[:2]
            ]
        }
        for i in range(5)
    }
    found["facets"]["columnLineage"] = facet("ColumnLineageDatasetFacet", "1-2-0", fields=fields)
    if rows is not None:
        found["outputFacets"] = {
            "outputStatistics": facet("OutputStatisticsOutputDatasetFacet", "1-0-2", rowCount=rows, size=rows * 100)
        }
    return found


def described(job: int, reads: list[int]) -> dict[str, Any]:
    """Return the facets of a job."""
    query = f"insert into table_{job} select * from table_{reads[0]}"  # noqa: S608 - a text, never run
    return {
        "jobType": facet("JobTypeJobFacet", "2-0-3", processingType="BATCH", integration="SPARK", jobType="JOB"),
        "documentation": facet("DocumentationJobFacet", "1-0-1", description=f"Loads what job {job} loads."),
        "sql": facet("SQLJobFacet", "1-0-1", query=query, dialect="spark"),
    }


def event(job: int, run: int, kind: str, when: datetime) -> dict[str, Any]:
    """Return one event of the ``run``-th run of a job."""
    reads, writes = tables(job) if kind != "RUNNING" else ([], [])
    rows = 1_000 + (job * 31 + run * 17) % 997 if kind == "COMPLETE" else None
    began = DAY + run * HOUR
    return {
        "eventType": kind,
        "eventTime": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "producer": PRODUCER,
        "schemaURL": f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {
            "runId": str(uuid.uuid5(uuid.NAMESPACE_URL, f"synthetic day/{job}/{run}")),
            "facets": {
                "nominalTime": facet(
                    "NominalTimeRunFacet", "1-0-1", nominalStartTime=began.isoformat().replace("+00:00", "Z")
                ),
                "processing_engine": facet(
                    "ProcessingEngineRunFacet",
                    "1-1-1",
                    name="spark",
                    version="3.5.3",
                    openlineageAdapterVersion="1.40.1",
                ),
            },
        },
        "job": {
            "namespace": "nightly",
            "name": f"load.job_{job}",
            "facets": described(job, reads) if reads else {},
        },
        "inputs": [table(number) for number in reads],
        "outputs": [written(number, reads, rows) for number in writes],
    }


def day(jobs: int = 200, runs: int = 24, events: int = 2) -> Iterator[str]:
    """Yield the events as lines of JSON, by time; an hour is held in memory, so days may be as long as they like."""
    chance = random.Random(SEED)  # noqa: S311 - reproducible, not secret
    for run in range(runs):
        due = []
        for job in range(jobs):
            began = DAY + run * HOUR + timedelta(seconds=job * 7)
            ended = began + timedelta(seconds=chance.randint(20, 1_800))
            due += [(began, job, "START"), (ended, job, "COMPLETE")]
            due += [(began + (ended - began) * i / (events - 1), job, "RUNNING") for i in range(1, events - 1)]
        for when, job, kind in sorted(due):
            yield json.dumps(event(job, run, kind, when), separators=(",", ":"))


def main() -> None:
    """Write the day to standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--events", type=int, default=2)
    options = parser.parse_args()
    sys.stdout.writelines(line + "\n" for line in day(options.jobs, options.runs, options.events))


if __name__ == "__main__":
    main()
