"""Hostile OpenLineage runs, deterministic.

Groups of 1-4 related runs (parents, children, shared jobs and datasets), 1-8 events each. `group(seed, i)` gives one group
as a list of events (no duplicates); groups share nothing (the group number is part of every namespace and run id).
"""

from __future__ import annotations

import random
import re
import uuid
from datetime import datetime, timedelta, timezone

P = "https://github.com/OpenLineage/OpenLineage/blob/1.53.0/integration/spark"
BASE = datetime(2026, 10, 5, 9, 59, 59, 998000, tzinfo=timezone.utc)
FEATURES = re.findall(
    r"\w+",
    """
    jobType stream snapshot periodic sql jobdoc jobtags jobowners parent forward test testnoio dqa dqabags dqm stats
    lifecycle drop schema schemadel coltags lineage bare collin subset names unknown label nominal deps tomb catalog dstags
    io emptyio jobevent dsevent twin sametime hours attempts instats error
""",
)


def _f(body, facet, deleted=None):
    out = {"_producer": P, "_schemaURL": f"https://openlineage.io/spec/facets/1-0-0/{facet}.json#/$defs/{facet}"}
    if deleted:
        out["_deleted"] = True
    out.update(body)
    return out


class Gen:
    def __init__(self, seed, i):
        self.r = random.Random(f"{seed}/{i}")  # noqa: S311 - reproducible, not secret
        r, self.i = self.r, i
        self.feat = set(r.sample(FEATURES, r.choice((4, 7, 10, 14, 20)))) | {"io"}
        self.ns = f"ns{seed}-{i}"
        self.ids = [
            str(uuid.UUID(int=r.getrandbits(128), version=4)) for _ in range(r.choices((1, 2, 3, 4), (4, 3, 2, 1))[0])
        ]
        names = ["app", "app.a", "app.b"] if "twin" in self.feat else ["app.a", "app.b"]
        self.jobs = [r.choice(names) for _ in self.ids]
        self.names = names

    def has(self, feature, p=0.6):
        return feature in self.feat and self.r.random() < p

    def time(self):
        r = self.r
        us = r.choice((0, 0, 400, 1000, 1400, 2000, 2900, 14000, 5_000_000))
        if "sametime" in self.feat:
            us = r.choice((0, 300, 1000))
        if "hours" in self.feat:
            us += 3_600_000_000 * r.choice((0, 0, 1, 2))
        t = BASE + timedelta(microseconds=us)
        if r.random() < 0.2:
            return t.astimezone(timezone(timedelta(hours=2))).isoformat(timespec="microseconds")
        return t.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def schema(self):
        r = self.r
        if self.has("schemadel", 0.35):
            return _f({"fields": []}, "SchemaDatasetFacet", "deleted")
        kind = r.choice(("typed", "typed2", "untyped", "half", "null"))
        if kind == "null":
            return None
        cols = ["a", "b", "c"][: r.randint(1, 3)]
        fields = [
            {"name": c}
            if kind == "untyped" or (kind == "half" and k)
            else {"name": c, "type": "bigint" if kind == "typed2" else "string"}
            for k, c in enumerate(cols)
        ]
        return _f({"fields": fields}, "SchemaDatasetFacet")

    def check(self):
        r = self.r
        out = {
            "assertion": r.choice(("not_null", "unique")),
            "success": r.choice((True, True, False, "<<non-serializable: bool>>")),
        }
        if r.random() < 0.5:
            out["column"] = r.choice("ab")
        if r.random() < 0.4:
            out["name"] = r.choice(("t1", "t2"))
        if r.random() < 0.3:
            out["severity"] = r.choice(("warn", "error"))
        if r.random() < 0.3:
            out["description"] = r.choice(("d1", "d2"))
        return out

    def dqa(self):
        return _f(
            {"assertions": [self.check() for _ in range(self.r.choice((0, 1, 1, 2)))]},
            "DataQualityAssertionsDatasetFacet",
        )

    def subset(self, side):
        cond = {"type": "partition", "partitions": [{"identifier": self.r.choice(("p1", "p2"))}]}
        return _f({f"{side}Condition": cond}, "BaseSubsetDatasetFacet")

    def dataset(self, side):  # noqa: PLR0912 - one line for each feature
        r = self.r
        d = {"namespace": f"postgres://{self.ns}:5432", "name": r.choice(("db.s.t1", "db.s.t2", "db.s.t3"))}
        f, own = {}, {}
        if self.has("schema"):
            f["schema"] = self.schema()
        if side == "output" and (self.has("lifecycle") or self.has("drop")):
            words = (
                ("DROP", "CREATE", "TRUNCATE", "ALTER")
                if "drop" in self.feat
                else ("OVERWRITE", "CREATE", "ALTER", "TRUNCATE")
            )
            f["lifecycleStateChange"] = _f(
                {"lifecycleStateChange": r.choice(words)}, "LifecycleStateChangeDatasetFacet", self.has("tomb", 0.3)
            )
        if self.has("catalog", 0.4):
            f["catalog"] = _f(
                r.choice(({"framework": "hive", "type": "hive"}, {"framework": "iceberg", "name": "c"})),
                "CatalogDatasetFacet",
                self.has("tomb", 0.3),
            )
        if self.has("dstags", 0.4):
            f["tags"] = _f(
                {"tags": [{"key": r.choice("xyz"), "value": "true", "source": "s"} for _ in range(r.randint(0, 2))]},
                "TagsDatasetFacet",
                self.has("tomb", 0.4),
            )
        if self.has("coltags", 0.5):
            f.setdefault("tags", _f({"tags": []}, "TagsDatasetFacet"))["tags"].append(
                {"key": r.choice("xyz"), "value": "true", "source": "s", "field": r.choice("ab")}
            )
        if side == "output" and self.has("lineage", 0.5):
            f["lineage"] = _f(
                {
                    "inputs": [
                        {"type": "DATASET", "namespace": d["namespace"], "name": r.choice(("db.s.t1", "db.s.t2"))}
                        for _ in range(r.randint(0, 1))
                    ]
                },
                "LineageDatasetFacet",
                self.has("tomb", 0.3),
            )
        if self.has("dstags", 0.3):
            f["documentation"] = _f(
                {"description": r.choice(("doc1", "doc2"))}, "DocumentationDatasetFacet", self.has("tomb", 0.4)
            )
        if self.has("dqa"):
            (own if "dqabags" not in self.feat or r.random() < 0.5 else f)["dataQualityAssertions"] = self.dqa()
            if self.has("dqabags", 0.4):
                f["dataQualityAssertions"] = r.choice((own.get("dataQualityAssertions"), self.dqa()))
        if self.has("dqm"):
            (own if r.random() < 0.5 else f)["dataQualityMetrics"] = _f(
                {} if self.has("bare", 0.4) else {"rowCount": r.randint(0, 3)},
                "DataQualityMetricsDatasetFacet",
                self.has("tomb", 0.3),
            )
        if side == "output" and self.has("stats"):
            own["outputStatistics"] = _f(
                {k: r.randint(0, 3) for k in ("rowCount", "size", "fileCount") if r.random() < 0.7},
                "OutputStatisticsOutputDatasetFacet",
            )
        if side == "input" and self.has("instats"):
            own["inputStatistics"] = _f({"rowCount": r.randint(0, 3)}, "InputStatisticsInputDatasetFacet")
        if self.has("subset", 0.4):
            own["subset"] = self.subset(side)
        if side == "output" and self.has("collin"):
            tr = [{"type": "DIRECT", "subtype": r.choice(("IDENTITY", "AGGREGATION"))}]
            f["columnLineage"] = _f(
                {
                    "fields": {
                        c: {
                            "inputFields": [
                                {
                                    "namespace": d["namespace"],
                                    "name": r.choice(("db.s.t1", "db.s.t2")),
                                    "field": r.choice("ab"),
                                    "transformations": tr,
                                }
                            ]
                        }
                        for c in "ab"[: r.randint(1, 2)]
                    }
                },
                "ColumnLineageDatasetFacet",
                self.has("tomb", 0.3),
            )
        if f or r.random() < 0.3:
            d["facets"] = f
        if own:
            d[f"{side}Facets"] = own
        return d

    def io(self, event):
        r = self.r
        for side in ("inputs", "outputs"):
            roll = r.random()
            if "emptyio" in self.feat and roll < 0.3:
                event[side] = r.choice(([], None))
            elif roll < 0.65:
                event[side] = list(
                    {d["name"]: d for d in (self.dataset(side[:-1]) for _ in range(r.choice((1, 1, 2))))}.values()
                )

    def job(self, name):
        r, f = self.r, {}
        if self.has("jobType") or self.has("stream") or self.has("snapshot") or self.has("periodic"):
            body = {"integration": "SPARK"}
            if not self.has("bare", 0.5):
                body["jobType"] = r.choice(("SQL_JOB", "APPLICATION"))
            if r.random() < 0.8:
                body["processingType"] = (
                    r.choice(("STREAMING", "BATCH", "SERVICE")) if "stream" in self.feat else "BATCH"
                )
            if self.has("snapshot", 0.7):
                body["emissionPattern"] = {
                    "eventTrigger": "EVENT",
                    "eventContentMode": r.choice(("COMPLETE_SNAPSHOT", "COMPLETE_SNAPSHOT", "ACCUMULATIVE")),
                }
            elif self.has("periodic", 0.7):
                body["emissionPattern"] = {
                    "eventTrigger": "PERIODIC",
                    "eventContentMode": "ACCUMULATIVE",
                    "windowDuration": r.choice(("PT1M", "PT5M")),
                }
            f["jobType"] = _f(body, "JobTypeJobFacet", self.has("tomb", 0.25))
        if self.has("sql"):
            f["sql"] = _f(
                {"query": r.choice(("select 1", "select 1, 2", "select 1, 3", "select 12", "sel"))},
                "SQLJobFacet",
                self.has("tomb", 0.25),
            )
        if self.has("jobdoc"):
            f["documentation"] = _f(
                {"description": r.choice(("j1", "j2"))}, "DocumentationJobFacet", self.has("tomb", 0.4)
            )
        if self.has("jobdoc", 0.5):
            f["sourceCodeLocation"] = _f(
                {"type": "git", "url": r.choice(("https://g/x", "https://g/y"))}
                if not self.has("bare")
                else {"type": "git", "path": "x"},
                "SourceCodeLocationJobFacet",
                self.has("tomb", 0.3),
            )
        if self.has("jobtags"):
            f["tags"] = _f(
                {"tags": [{"key": r.choice("pq"), "value": "true", "source": "s"} for _ in range(r.randint(0, 2))]},
                "TagsJobFacet",
                self.has("tomb", 0.3),
            )
        if self.has("jobowners"):
            f["ownership"] = _f(
                {"owners": [{"name": r.choice(("user:u", "team:v")), "type": "OWNER"}]},
                "OwnershipJobFacet",
                self.has("tomb", 0.3),
            )
        return {"namespace": self.ns, "name": name, "facets": f}

    def run(self, k):
        r, f = self.r, {}
        if self.has("parent"):
            other = r.choice([*self.ids, f"0b5e0000-0000-4000-8000-{self.i % 10**12:012}"])
            name = (
                self.jobs[self.ids.index(other)]
                if other in self.ids and r.random() < 0.7
                else r.choice([*self.names, "unknown", "par"])
            )
            body = {"run": {"runId": other}, "job": {"namespace": self.ns, "name": name}}
            if self.has("forward", 0.7):
                g = self.job(name)["facets"]
                body["job"]["facets"] = {
                    key: v for key, v in g.items() if key in ("jobType", "tags", "ownership", "documentation")
                }
            f["parent"] = r.choice((None, *[_f(body, "ParentRunFacet")] * 5))
        if self.has("test"):
            tests = []
            for _ in range(r.choice((0, 1, 1, 2))):
                t = {
                    "name": r.choice(("t1", "t2")),
                    "status": r.choice(("pass", "fail", "skip", "odd")),
                    "type": r.choice(("not_null", "unique")),
                }
                if r.random() < 0.3:
                    t["params"] = {"dataset": r.choice(("db.s.t1", "db.s.t2"))}
                tests.append(t)
            f["test"] = _f({"tests": tests}, "TestRunFacet")
        if self.has("label", 0.4):
            f["airflow"] = _f(
                {
                    "dagRun": {
                        "run_id": r.choice(("manual__1", "sched__2")),
                        "run_type": r.choice(("manual", "scheduled")),
                    }
                },
                "AirflowRunFacet",
            )
        if self.has("nominal", 0.4):
            f["nominalTime"] = _f(
                {"nominalStartTime": r.choice(("2026-10-05T00:00:00Z", "2026-10-06T00:00:00Z"))}, "NominalTimeRunFacet"
            )
        if self.has("error", 0.4):
            f["errorMessage"] = _f(
                {"message": r.choice(("boom", "bang")), "programmingLanguage": "java"}, "ErrorMessageRunFacet"
            )
        if self.has("deps", 0.5):
            f["jobDependencies"] = _f(
                {
                    "upstream": [
                        {"job": {"namespace": self.ns, "name": "app.up"}, "run": {"runId": r.choice(self.ids)}}
                        for _ in range(r.randint(0, 1))
                    ]
                },
                "JobDependenciesRunFacet",
            )
        return {"runId": self.ids[k].upper() if r.random() < 0.05 else self.ids[k], "facets": f}

    def event(self, k):
        r = self.r
        roll = r.random()
        if "dsevent" in self.feat and roll < 0.25:
            return {
                "eventTime": self.time(),
                "producer": P,
                "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
                "dataset": self.dataset(r.choice(("input", "output"))),
            }
        name = self.jobs[k]
        if self.has("names", 0.5):
            name = r.choice(self.names)
        if self.has("unknown", 0.5):
            name = "unknown"
        if "jobevent" in self.feat and roll > 0.8:
            ev = {
                "eventTime": self.time(),
                "producer": P,
                "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent",
                "job": self.job(name),
            }
            self.io(ev)
            return ev
        ev = {
            "eventTime": self.time(),
            "producer": P,
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        }
        weights = (3, 3, 4, 3, 2, 1, 1) if "attempts" in self.feat else (3, 2, 4, 1, 1, 1, 1)
        word = r.choices(("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER", None), weights)[0]
        if word:
            ev["eventType"] = word
        ev["run"], ev["job"] = self.run(k), self.job(name)
        if not ("testnoio" in self.feat and "test" in ev["run"]["facets"] and r.random() < 0.7):
            self.io(ev)
        return ev


def group(seed, i, max_events=8):
    """One group: list of distinct events of 1-4 related runs."""
    g = Gen(seed, i)
    per = g.r.choices((1, 2, 3, 4, 6, 8), (3, 4, 4, 2, 1, 1))[0]
    return [
        g.event(k) for k in range(len(g.ids)) for _ in range(max(1, min(max_events, per - (k > 0) * g.r.randint(0, 2))))
    ]


def group_of_tries(seed, i):
    """A group whose runs state tries, most of them of Airflow's tasks and DAG runs."""
    events, r = group(seed, i), random.Random(f"tries {seed}/{i}")
    is_airflow = r.random() < 0.7
    for ev in events:
        if is_airflow:
            ev["producer"] = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
        if "run" not in ev:
            continue
        facets = ev["run"]["facets"]
        if r.random() < 0.6:
            airflow = facets.get("airflow") or _f({}, "AirflowRunFacet")
            facets["airflow"] = {**airflow, "task": {"retries": 2}, "taskInstance": {"try_number": r.choice((1, 1, 2, 3))}}
        if r.random() < 0.2:
            state = {"dagRunState": r.choice(("running", "failed", "success")), "tasksState": {"a": "failed", "b": "success"}}
            facets["airflowState"] = _f(state, "AirflowStateRunFacet")
    return events
