"""Small events, and a look into what becomes of them: shared by the tests of facets and of the rendering."""

from __future__ import annotations

import copy
import json
from functools import lru_cache
from typing import Any

import pytest
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

from dh_bridge.bridge import Bridge
from dh_bridge.settings import Settings
from support.public_data import NO_SPEC, SPEC

DOCUMENTS = SPEC / "tests"
"""The specification's own documents, each with the facets of one schema."""

RUN = "01938a9c-0000-7000-8000-000000000001"
PARENT = "01938a9c-0000-7000-8000-0000000000aa"
NAMESPACE, NAME = "shop", "daily.load"
FLOW = "urn:li:dataFlow:(openlineage,daily,shop)"
JOB = f"urn:li:dataJob:({FLOW},daily.load)"


def job_on(platform: str) -> str:
    """Return the URN of the job where `jobType.integration` chooses its platform."""
    return JOB.replace("(openlineage,", f"({platform},")


TWIN = f"urn:li:dataJob:({FLOW},daily)"
DPI = f"urn:li:dataProcessInstance:{RUN}"
PARENT_DPI = f"urn:li:dataProcessInstance:{PARENT}"
POSTGRES = "postgres://db:5432"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
TOTALS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.totals,PROD)"
START, END = "2026-11-20T01:00:00Z", "2026-11-20T01:00:30Z"
START_MS, END_MS = 1795136400000, 1795136430000
AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
OL = "https://github.com/OpenLineage/OpenLineage"
SPARK = f"{OL}/tree/1.53.0/integration/spark"
DBT = f"{OL}/tree/1.54.0/integration/dbt"
GX = f"{OL}/tree/1.54.0/integration/common/src/openlineage/common/provider/great_expectations"
OWN = "https://example.com/own-scripts"
DATAHUB = "urn:li:corpuser:datahub"


def facet(**leaves: Any) -> dict[str, Any]:
    """A facet with the provenance that every facet carries."""
    return {"_producer": OWN, "_schemaURL": "https://openlineage.io/spec/facets/x.json", **leaves}


def orders(**bags: Any) -> dict[str, Any]:
    return {"namespace": POSTGRES, "name": "shop.public.orders", **bags}


def totals(**bags: Any) -> dict[str, Any]:
    return {"namespace": POSTGRES, "name": "shop.public.totals", **bags}


def event(
    kind: str | None = "COMPLETE",
    *,
    time: str | None = None,
    run: dict[str, Any] | None = None,
    job: dict[str, Any] | None = None,
    inputs: list[Any] | None = None,
    outputs: list[Any] | None = None,
    run_id: str = RUN,
    namespace: str = NAMESPACE,
    name: str = NAME,
    producer: str = OWN,
) -> dict[str, Any]:
    """A RunEvent; START at 01:00:00, everything else at 01:00:30 unless ``time`` says otherwise."""
    found: dict[str, Any] = {
        "eventTime": time or (START if kind == "START" else END),
        "producer": producer,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id, "facets": run or {}},
        "job": {"namespace": namespace, "name": name, "facets": job or {}},
    }
    if kind is not None:
        found["eventType"] = kind
    if inputs is not None:
        found["inputs"] = inputs
    if outputs is not None:
        found["outputs"] = outputs
    return copy.deepcopy(found)


def pair(**parts: Any) -> list[dict[str, Any]]:
    """START and COMPLETE with the same facets, inputs and outputs."""
    return [event("START", **parts), event("COMPLETE", **parts)]


def job_event(**parts: Any) -> dict[str, Any]:
    found = event(None, **parts)
    del found["run"]
    found["schemaURL"] = found["schemaURL"].replace("RunEvent", "JobEvent")
    return found


def dataset_event(dataset: dict[str, Any], *, time: str = END) -> dict[str, Any]:
    return {
        "eventTime": time,
        "producer": OWN,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
        "dataset": dataset,
    }


class Translated:
    """What a call made of its events."""

    def __init__(self, translation: Any) -> None:
        self.translation = translation
        assert translation.rejected == [], translation.rejected
        assert translation.dead == []
        for proposal in translation.proposals:
            assert proposal.value not in ({}, []), proposal
        self.proposals = translation.proposals

    def all(self, urn: str, aspect: str) -> list[Any]:
        return [one.value for one in self.proposals if one.entity_urn == urn and one.aspect_name == aspect]

    def has(self, urn: str, aspect: str) -> bool:
        return bool(self.all(urn, aspect))

    def one(self, urn: str, aspect: str) -> Any:
        found = self.all(urn, aspect)
        assert len(found) == 1, [(one.entity_urn, one.aspect_name) for one in self.proposals]
        return found[0]

    def patched(self, urn: str, aspect: str) -> dict[str, Any]:
        """Path -> value of the ``add`` operations of a PATCH (``None`` for a removal)."""
        return {one["path"]: one.get("value") for one in self.one(urn, aspect)}

    def properties(self, urn: str) -> dict[str, str]:
        """Custom properties of an entity without the prefix ``openlineage.``."""
        aspect = {
            "dataProcessInstance": "dataProcessInstanceProperties",
            "dataFlow": "dataFlowInfo",
            "dataJob": "dataJobInfo",
            "dataset": "datasetProperties",
        }[urn.split(":")[2]]
        if urn.startswith("urn:li:dataProcessInstance"):
            properties = self.one(urn, aspect)["customProperties"]
        else:
            start = "/customProperties/"
            properties = {
                path.removeprefix(start).replace("~1", "/").replace("~0", "~"): value
                for path, value in self.patched(urn, aspect).items()
                if path.startswith(start)
            }
        assert all(key.startswith("openlineage.") for key in properties)
        return {key.removeprefix("openlineage."): value for key, value in properties.items()}

    def entities(self, kind: str) -> set[str]:
        return {one.entity_urn for one in self.proposals if one.entity_type == kind}

    def outcomes(self) -> dict[str, tuple[str, str | None]]:
        """Path -> (outcome, target or reason) of every leaf; needs ``report=True``."""
        return {
            line["path"]: (line["outcome"], line["target"] or line["reason"])
            for line in self.translation.report.lines()
        }


def translate_events(*events: Any, report: bool = False, **settings: Any) -> Translated:
    """Translate events (dicts, lists of them, or client objects) by one configuration, for the oldest version unless it says."""
    flat: list[Any] = []
    for one in events:
        flat += one if isinstance(one, list) else [one]
    return Translated(_bridge(json.dumps(settings)).translate(flat, report=report))


@lru_cache(maxsize=64)
def _bridge(settings: str) -> Bridge:
    return Bridge(Settings(**{"datahub_version": "0.15.0", **json.loads(settings)}))  # it holds no state between calls


def of_run(key: str, value: Any, **settings: Any) -> Translated:
    return translate_events(pair(run={key: value}), **settings)


def of_job(key: str, value: Any, **settings: Any) -> Translated:
    return translate_events(pair(job={key: value}), **settings)


def of_output(key: str, value: Any, bag: str = "facets", **settings: Any) -> Translated:
    return translate_events(pair(inputs=[orders()], outputs=[totals(**{bag: {key: value}})]), **settings)


def of_input(key: str, value: Any, bag: str = "facets", **settings: Any) -> Translated:
    return translate_events(pair(inputs=[orders(**{bag: {key: value}})], outputs=[totals()]), **settings)


def spec(folder: str, name: str = "1") -> dict[str, Any]:
    """The facets of a document of the specification's own tests."""
    path = DOCUMENTS / folder / f"{name}.json"
    if not path.exists():
        pytest.skip(NO_SPEC)
    return json.loads(path.read_text(encoding="utf-8"))


def client_pair(
    *,
    run: dict[str, Any] | None = None,
    job: dict[str, Any] | None = None,
    inputs: dict[str, Any] | None = None,
    outputs: dict[str, Any] | None = None,
    input_facets: dict[str, Any] | None = None,
    output_facets: dict[str, Any] | None = None,
) -> list[RunEvent]:
    """START and COMPLETE as openlineage-python builds them, with its own facet classes; orders in, totals out."""
    return [
        RunEvent(
            eventTime=time,
            producer=OWN,
            eventType=state,
            run=Run(RUN, facets=run or {}),
            job=Job(NAMESPACE, NAME, facets=job or {}),
            inputs=[InputDataset(POSTGRES, "shop.public.orders", facets=inputs or {}, inputFacets=input_facets or {})],
            outputs=[
                OutputDataset(POSTGRES, "shop.public.totals", facets=outputs or {}, outputFacets=output_facets or {})
            ],
        )
        for state, time in ((RunState.START, START), (RunState.COMPLETE, END))
    ]
