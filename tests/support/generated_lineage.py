"""The runs of gen_runs with what they lack: several producers and systems, explicit lineage, symlinks, temporary datasets.

`group(seed, i)` gives one group, as gen_runs does; groups share nothing but datasets of the lake.
"""

from __future__ import annotations

import re

from support import generated_runs

HOME = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/"
PRODUCERS = (
    f"{HOME}spark",
    f"{HOME}dbt",
    f"{HOME}flink",
    "https://github.com/apache/airflow/tree/2.20.3",
    "https://me",
)
FEATURES = re.findall(r"\w+", "symlinks temporary joblineage lineage2 systems paths queries told engine tries own root")
PLACES = (
    ("s3://lake", "wh/db.db/t1"), ("s3a://lake", "/wh/db.db/t1/dt=1/"), ("kafka://b:1", "one;two"), ("inmemory://", "x"),
    ("hdfs://nn", "/wh/t1"), ("snowflake://xy", "DB.S.T"), ("snowflake://xy", "db.s.t"), ("food", "t"),
)  # fmt: skip
SYMLINKS = (("hive://h:9083", "db.t1"), ("arn:aws:glue:eu:1", "table/db/t1"), ("s3://lake/wh", "db.t2"))


def facet(**body):
    return generated_runs._f(body, "Facet")


class Gen(generated_runs.Gen):
    def __init__(self, seed, i):
        super().__init__(seed, i)
        r = self.r
        self.feat |= set(r.sample(FEATURES, r.choice((3, 5, 8))))
        self.producer = r.choice(PRODUCERS)
        if "queries" in self.feat:
            self.names = ["app", "app.a", "app.a.query.1", "app.a.sql.2", "app.b"]
            self.jobs = [r.choice(self.names) for _ in self.ids]
        if "own" in self.feat:  # ids that are no UUIDs, of which runs of several jobs have the same
            self.ids = [r.choice((run, f"build-{k % 2}")) for k, run in enumerate(self.ids)]

    def source(self):
        r = self.r
        if r.random() < 0.25:
            found = {
                "type": "JOB",
                "namespace": r.choice((self.ns, "other")),
                "name": r.choice([*self.names, "app.up"]),
            }
            return found | ({"runId": r.choice(self.ids)} if r.random() < 0.5 else {})
        found = {
            "type": "DATASET",
            "namespace": f"postgres://{self.ns}:5432",
            "name": r.choice(("db.s.t1", "db.s.tmp_1")),
        }
        if r.random() < 0.6:
            found["field"] = r.choice("ab")
        if r.random() < 0.4:
            word = {"type": r.choice(("DIRECT", "INDIRECT")), "subtype": r.choice(("IDENTITY", "FILTER"))}
            found["transformations"] = [{**word, "description": r.choice(("w1", "w2", ""))}]
        return found

    def sources(self):
        return [self.source() for _ in range(self.r.randint(0, 2))]

    def lineage(self):
        r = self.r
        found = {"inputs": self.sources()} if r.random() < 0.7 else {}
        columns = {column: {"inputs": self.sources()} for column in "ab"[: r.randint(0, 2)]}
        return found | ({"fields": columns} if columns else {})

    def dataset(self, side):
        r, found = self.r, super().dataset(side)
        facets = found.setdefault("facets", {})
        if self.has("systems", 0.5):
            found["namespace"], found["name"] = r.choice(PLACES)
        if self.has("paths", 0.5):
            found["namespace"], found["name"] = "s3://lake", r.choice(("wh/t1", "wh/t1/", "wh/t1/dt=1", "wh/t1/dt=2"))
        if self.has("temporary", 0.4):
            found["namespace"], found["name"] = f"postgres://{self.ns}:5432", f"db.s.tmp_{r.choice('12')}"
            facets["datasetType"] = facet(datasetType="TABLE", subType=r.choice(("TEMPORARY", "")))
        if self.has("symlinks", 0.5):
            namespace, name = r.choice(SYMLINKS)
            facets["symlinks"] = facet(identifiers=[{"namespace": namespace, "name": name, "type": "TABLE"}])
        if self.has("lineage2"):
            facets["lineage"] = facet(**self.lineage())
        return found

    def job(self, name):
        r, found = self.r, super().job(name)
        if self.has("joblineage"):
            entries = [{**self.source(), **self.lineage()} for _ in range(r.randint(0, 2))]
            found["facets"]["lineage"] = facet(entries=entries)
        if self.has("told", 0.5):
            found["facets"]["dbt_node"] = facet(unique_id="model.p.x", database="db", schema="s", alias="t1")
            kind = r.choice(("DAG", "TASK", "MODEL", "QUERY"))
            found["facets"]["jobType"] = facet(jobType=kind, integration="AIRFLOW", processingType="BATCH")
        return found

    def run(self, k):
        r, found = self.r, super().run(k)
        facets = found["facets"]
        if self.has("engine", 0.5):
            facets["processing_engine"] = facet(name=r.choice(("spark", "Airflow")), version="1")
        if self.has("told"):
            task = {"dag": {"dag_id": "app"}, "task": {"task_id": r.choice("ab")}, "dagRun": {"run_id": "m__1"}}
            facets["airflow"] = facet(**task)
            facets["dbt_run"] = facet(invocation_id=r.choice(("i1", "i2")))
        if self.has("tries", 0.5):
            facets["airflow"] = facet(taskInstance={"try_number": r.choice((1, 2, 3))}, task={"retries": 2})
        if self.has("root", 0.5) and facets.get("parent"):
            above = {"namespace": self.ns, "name": r.choice(self.names)}
            facets["parent"]["root"] = {"run": {"runId": r.choice(self.ids)}, "job": above}
        return found

    def event(self, k):
        return {**super().event(k), "producer": self.producer}


def group(seed, i):
    """One group: list of distinct events of 1-4 related runs."""
    found = Gen(seed, i)
    return [found.event(k) for k in range(len(found.ids)) for _ in range(found.r.choice((1, 1, 2, 3, 6)))]
