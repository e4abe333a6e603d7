"""A large catalogue, written directly into its tables: a million runs and 100,000 datasets in a few minutes.

    python benchmarks/large_catalogue.py FILE [--runs 1000000] [--datasets 100000]

There is a job for every two datasets: it reads the hot dataset (number 0) and two others, and writes one. Every tenth run is one
of the hot job (number 0). One run of 20 fails. Every tenth dataset has a check, which has a result for every tenth run.
`tests/catalog/test_large_catalogue.py` compares the tables with those that the same proposals give.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dh_bridge.catalog.edges import column_edges, key_relations, relations
from dh_bridge.catalog.phrases import shorten
from dh_bridge.catalog.run_index import CREATE_RUN_TRIGGERS, FILL_RUN_TABLES, RUN_TRIGGERS, RUN_TYPE
from dh_bridge.catalog.search_index import URN_TEXT, search_form, text_rows, write_texts
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.timeseries import document_id
from dh_bridge.datahub.urns import key_aspect
from dh_bridge.storage.migrations import split_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_TIME = 1_760_000_000_000
"""Time of the first run, in milliseconds since 1970."""
RUN_DISTANCE, RUN_DURATION = 30_000, 90_000
"""Milliseconds from run to run, and from the start of a run to its end."""
ENTITIES_PER_TRANSACTION = 20_000
WORDS = [
    "customer",
    "order",
    "payment",
    "invoice",
    "stock",
    "price",
    "region",
    "country",
    "product",
    "session",
    "click",
    "email",
    "address",
    "account",
    "vendor",
    "tax",
]
COLUMNS = (
    "id",
    "created_at",
    "updated_at",
    "customer_id",
    "email",
    "status",
    "amount",
    "country_code",
    "product_id",
    "note",
)
_encode = msgspec.json.encode


class Entity(NamedTuple):
    """An entity with its aspects and points in time."""

    type: str
    urn: str
    aspects: dict[str, dict[str, Any]]
    points: list[tuple[str, dict[str, Any]]]


class Shop:
    """The entities of a catalogue with a number of runs and datasets."""

    def __init__(self, run_count: int, dataset_count: int) -> None:
        self.run_count = run_count
        self.dataset_count = max(dataset_count, 10)
        self.job_count = self.dataset_count // 2

    def dataset_urn(self, number: int) -> str:
        """Return the URN of a dataset; number 0 is the hot one."""
        words = f"{WORDS[number % 16]}_{WORDS[number // 16 % 16]}"
        return f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop{number % 50}.{words}_{number},PROD)"

    def flow_urn(self, job: int) -> str:
        """Return the URN of the flow of a job."""
        return f"urn:li:dataFlow:(airflow,nightly_{job % 500},prod)"

    def job_urn(self, job: int) -> str:
        """Return the URN of a job; number 0 is the hot one."""
        return f"urn:li:dataJob:({self.flow_urn(job)},load_{WORDS[job % 16]}_{job})"

    def inputs(self, job: int) -> list[str]:
        """Return the datasets that a job reads."""
        numbers = dict.fromkeys((0, (job * 7 + 1) % self.dataset_count, (job * 13 + 2) % self.dataset_count))
        return [self.dataset_urn(number) for number in numbers]

    def output(self, job: int) -> str:
        """Return the dataset that a job writes."""
        return self.dataset_urn(self.job_count + job)

    def entities(self) -> Iterator[Entity]:
        """Yield all entities, in an order in which they may have been written."""
        yield from map(self._dataset, range(self.dataset_count))
        yield from map(self._flow, range(min(500, self.job_count)))
        yield from map(self._job, range(self.job_count))
        yield from map(self._check, range(0, self.dataset_count, 10))
        yield from map(self._run, range(self.run_count))

    def _dataset(self, number: int) -> Entity:
        urn = self.dataset_urn(number)
        fields = [
            {
                "fieldPath": name,
                "nullable": True,
                "type": {"type": {"com.linkedin.schema.StringType": {}}},
                "nativeDataType": "text",
            }
            for name in COLUMNS
        ]
        schema = {
            "schemaName": "", "platform": "urn:li:dataPlatform:postgres", "version": 0, "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}}, "fields": fields,
        }  # fmt: skip
        properties = {
            "customProperties": {"openlineage.namespace": "postgres://db:5432"},
            "tags": [],
            "description": f"Table {number} of the shop.",
        }
        return Entity("dataset", urn, {"datasetProperties": properties, "schemaMetadata": schema}, [])

    def _flow(self, job: int) -> Entity:
        info = {"customProperties": {}, "name": f"nightly_{job}", "project": "prod"}
        return Entity("dataFlow", self.flow_urn(job), {"dataFlowInfo": info}, [])

    def _job(self, job: int) -> Entity:
        name = f"load_{WORDS[job % 16]}_{job}"
        info = {"customProperties": {}, "name": name, "type": {"string": "airflow"}, "flowUrn": self.flow_urn(job)}
        source, target = self.inputs(job)[-1], self.output(job)
        columns = [
            {
                "upstreamType": "FIELD_SET", "downstreamType": "FIELD", "confidenceScore": 1.0, "transformOperation": "IDENTITY",
                "upstreams": [f"urn:li:schemaField:({source},{column})"], "downstreams": [f"urn:li:schemaField:({target},{column})"],
            }
            for column in COLUMNS[:2]
        ]  # fmt: skip
        edges = {
            "inputDatasets": [],
            "outputDatasets": [],
            "inputDatasetEdges": [{"destinationUrn": urn} for urn in self.inputs(job)],
            "outputDatasetEdges": [{"destinationUrn": target}],
            "fineGrainedLineages": columns,
        }
        return Entity("dataJob", self.job_urn(job), {"dataJobInfo": info, "dataJobInputOutput": edges}, [])

    def _check(self, number: int) -> Entity:
        dataset = self.dataset_urn(number)
        urn = f"urn:li:assertion:check-{number}"
        info = {
            "customProperties": {"openlineage.name": "not_null"}, "type": "DATASET", "source": {"type": "EXTERNAL"},
            "datasetAssertion": {"dataset": dataset, "scope": "DATASET_ROWS", "operator": "NOT_NULL", "aggregation": "IDENTITY"},
        }  # fmt: skip
        check_count = len(range(0, self.dataset_count, 10))
        points = [
            ("assertionRunEvent", self._check_result(urn, dataset, run))
            for run in range(number // 10 * 10, self.run_count, check_count * 10)
        ]
        return Entity("assertion", urn, {"assertionInfo": info}, points)

    def _check_result(self, urn: str, dataset: str, run: int) -> dict[str, Any]:
        return {
            "timestampMillis": FIRST_TIME + run * RUN_DISTANCE + RUN_DURATION, "runId": f"run-{run}", "asserteeUrn": dataset,
            "status": "COMPLETE", "assertionUrn": urn, "result": {"type": "FAILURE" if run % 30 == 0 else "SUCCESS"},
        }  # fmt: skip

    def _run(self, run: int) -> Entity:
        job = 0 if run % 10 == 0 else run % self.job_count
        urn = f"urn:li:dataProcessInstance:{run:08x}-0000-7000-8000-{run * 2654435761 % (1 << 48):012x}"
        start = FIRST_TIME + run * RUN_DISTANCE
        properties = {
            "customProperties": {"openlineage.producer": "https://github.com/apache/airflow/tree/2.10.1", "openlineage.runId": urn[27:]},
            "name": urn[27:], "type": "BATCH_SCHEDULED", "created": {"time": start, "actor": "urn:li:corpuser:datahub"},
        }  # fmt: skip
        aspects = {
            "dataProcessInstanceProperties": properties,
            "dataProcessInstanceRelationships": {"parentTemplate": self.job_urn(job), "upstreamInstances": []},
            "dataProcessInstanceInput": {"inputs": self.inputs(job)},
            "dataProcessInstanceOutput": {"outputs": [self.output(job)]},
        }
        result = {"type": "FAILURE" if run % 20 == 7 else "SUCCESS", "nativeResultType": "airflow"}
        spec = {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"}
        started = {"timestampMillis": start, "partitionSpec": spec, "status": "STARTED", "attempt": 1}
        ended = {
            "timestampMillis": start + RUN_DURATION, "partitionSpec": spec, "status": "COMPLETE", "attempt": 1,
            "durationMillis": RUN_DURATION, "result": result,
        }  # fmt: skip
        events = [("dataProcessInstanceRunEvent", point) for point in (started, ended)]
        return Entity("dataProcessInstance", urn, aspects, events)


class _Writer:
    """Writes entities into the tables, without the triggers, whose tables are filled at the end."""

    def __init__(self, catalog: Catalog) -> None:
        self._connection = catalog.connection
        self._ids: dict[str, int] = {}

    def write(self, entities: list[Entity]) -> None:
        """Write entities in one transaction."""
        self._entities: list[tuple[int, str, str]] = []
        aspects, points, relationships, columns, texts = [], [], [], [], []
        for entity in entities:
            entity_id = self._id_of(entity.urn)
            named = {name: relations(name, value) for name, value in entity.aspects.items()}
            named[key_aspect(entity.urn)] = key_relations(entity.urn)
            if entity.type != RUN_TYPE:
                texts.append((entity_id, URN_TEXT, search_form(entity.urn)))
            for name, value in entity.aspects.items():
                texts += text_rows(entity_id, name, value)
                aspects.append((entity_id, name, shorten(name, _encode(value))))
                columns += [
                    (entity_id, name, self._id_of(downstream), self._id_of(upstream), operation)
                    for downstream, upstream, operation in column_edges(value)
                ]
            relationships += [
                (entity_id, aspect, name, self._id_of(target), lineage)
                for aspect, targets in named.items()
                for (name, target), lineage in targets.items()
            ]
            points += [
                (entity_id, name, document_id(entity.urn, value), value["timestampMillis"], _encode(value))
                for name, value in entity.points
            ]
        execute = self._connection.executemany
        self._connection.execute("BEGIN")
        execute("INSERT INTO entity (id, urn, type) VALUES (?, ?, ?)", self._entities)
        execute("INSERT INTO aspect (entity, name, value) VALUES (?, ?, ?)", aspects)
        execute(
            "INSERT INTO relationship (source, aspect, name, target, lineage) VALUES (?, ?, ?, ?, ?)", relationships
        )
        execute(
            "INSERT INTO column_edge (owner, aspect, downstream, upstream, operation) VALUES (?, ?, ?, ?, ?)", columns
        )
        execute("INSERT INTO point (entity, aspect, document, time, value) VALUES (?, ?, ?, ?, ?)", points)
        write_texts(self._connection, texts)
        self._connection.execute("COMMIT")

    def _id_of(self, urn: str) -> int:
        entity_id = self._ids.get(urn)
        if entity_id is None:
            entity_id = self._ids[urn] = len(self._ids) + 1
            self._entities.append((entity_id, urn, urn.split(":", 3)[2]))
        return entity_id


def write_catalogue(path: Path, run_count: int, dataset_count: int) -> Shop:
    """Write a new catalogue; an existing file is an error."""
    if path.exists():
        raise SystemExit(f"{path} exists. Remove it, or pass another FILE.")
    shop = Shop(run_count, dataset_count)
    with Catalog(path) as catalog:
        connection = catalog.connection
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -400000")
        for name in RUN_TRIGGERS:
            connection.execute(f"DROP TRIGGER {name}")
        writer, entities = _Writer(catalog), shop.entities()
        while chunk := list(islice(entities, ENTITIES_PER_TRANSACTION)):
            writer.write(chunk)
        connection.execute("BEGIN")
        for statement in split_statements(FILL_RUN_TABLES + CREATE_RUN_TRIGGERS):
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return shop


def main() -> None:
    """Write the catalogue, and print its size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--datasets", type=int, default=100_000)
    options = parser.parse_args()
    start = time.process_time()
    write_catalogue(options.file, options.runs, options.datasets)
    size = options.file.stat().st_size / 1e6
    print(
        f"{options.file}: {options.runs:,} runs, {options.datasets:,} datasets, {size:,.0f} MB, {time.process_time() - start:,.0f} s"
    )


if __name__ == "__main__":
    main()
