"""Every text that is kept is redacted and capped, whatever it is supposed to hold."""

from __future__ import annotations

import json

import pytest
from support.facet_cases import (
    DPI,
    JOB,
    ORDERS,
    TOTALS,
    dataset_event,
    facet,
    of_input,
    of_job,
    of_output,
    of_run,
    orders,
    pair,
    totals,
    translate_events,
)
from support.sample_events import event, job_event

from dh_bridge import Settings, translate

PASSWORD = "hunter2pw"  # noqa: S105 - what the tests look for
TEXT = f"see sftp://ann:{PASSWORD}@host/x " + "y" * 9000
SHORT = f"sftp://ann:{PASSWORD}@host/x"
CASES = {
    "documentation": (of_job, {"description": "d", "contentType": TEXT}),
    "jobType": (of_job, {"processingType": TEXT, "integration": TEXT, "jobType": TEXT,
                         "emissionPattern": {"eventTrigger": TEXT, "eventContentMode": TEXT, "windowDuration": TEXT}}),
    "sql": (of_job, {"query": "select 1", "dialect": TEXT}),
    "sourceCode": (of_job, {"language": TEXT, "sourceCode": "x"}),
    "ownership": (of_job, {"owners": [{"name": "ann", "type": TEXT}, {"name": "bob", "type": SHORT}]}),
    "parent": (of_run, {"run": {"runId": "r"}, "job": {"namespace": TEXT, "name": "a.b"},
                        "root": {"run": {"runId": TEXT}, "job": {"namespace": TEXT, "name": "a"}}}),
    "processing_engine": (of_run, {"name": TEXT, "version": TEXT, "openlineageAdapterVersion": TEXT}),
    "nominalTime": (of_run, {"nominalStartTime": TEXT, "nominalEndTime": TEXT + "z"}),
    "errorMessage": (of_run, {"message": TEXT, "programmingLanguage": TEXT, "stackTrace": TEXT}),
    "externalQuery": (of_run, {"externalQueryId": TEXT, "source": TEXT}),
    "unknownSourceAttribute": (of_run, {"unknownItems": [{"name": SHORT, "type": TEXT}]}),
    "airflow": (of_run, {"taskUuid": TEXT, "dag": {"dag_id": TEXT}}),
    "dbt_run": (of_run, {"project_name": TEXT}),
    "dataQualityMetrics": (of_input, {"rowCount": 1, "lastUpdated": TEXT}),
    "lifecycleStateChange": (of_output, {"lifecycleStateChange": "RENAME" + TEXT,
                                         "previousIdentifier": {"namespace": SHORT, "name": TEXT}}),
}  # fmt: skip


def texts(found):
    """Yield (key, text) of every property that was written."""
    for proposal in found.proposals:
        values = proposal.value if isinstance(proposal.value, list) else [proposal.value]
        for value in values:
            if str(value.get("path", "")).startswith("/customProperties/"):
                yield value["path"], value["value"]
            inner = value.get("value") if isinstance(value.get("value"), dict) else value
            for part in ("customProperties", "properties", "runtimeContext"):
                yield from inner.get(part, {}).items()


@pytest.mark.parametrize("key", CASES)
def test_properties_are_redacted_and_limited_in_length(key):
    place, body = CASES[key]
    for profile in ("0.15.0", "1.7"):
        found = list(texts(place(key, facet(**body), datahub_version=profile, optional_metadata=["queries"])))
        assert not [name for name, text in found if PASSWORD in text]
        # a stack trace is cut to its head and tail
        assert not [name for name, text in found if len(text) > 4000]


def test_names_of_owners_hide_no_type():
    found = of_job("ownership", facet(owners=[{"name": "token-team", "type": "Watcher"}]))
    assert json.loads(found.properties(JOB)["ownership.types"]) == {"token-team": "Watcher"}


def test_earlier_name_is_kept_without_its_password():
    body = facet(
        lifecycleStateChange="RENAME",
        previousIdentifier={"namespace": f"postgres://ann:{PASSWORD}@db:5432", "name": "shop.public.old"},
    )
    found = translate_events(dataset_event(totals(facets={"lifecycleStateChange": body})))
    assert json.loads(found.properties(TOTALS)["previousIdentifier"]) == {
        "namespace": "postgres://ann:***@db:5432",
        "name": "shop.public.old",
    }
    assert not [name for name, text in texts(found) if PASSWORD in text]


def test_marks_of_many_columns_are_no_longer_than_a_property():
    touching = [
        {**orders(), "field": f"column_{number}_of_a_wide_table", "transformations": [{"type": "INDIRECT", "subtype": "JOIN"}]}
        for number in range(200)
    ]  # fmt: skip
    cll = facet(fields={"b": {"inputFields": [{**orders(), "field": "x"}]}}, dataset=touching)
    found = translate_events(pair(inputs=[orders()], outputs=[totals(facets={"columnLineage": cll})]))
    edge = found.patched(JOB, "dataJobInputOutput")[f"/inputDatasetEdges/{ORDERS}"]
    assert len(edge["properties"]["openlineage.columnLineage.indirect"]) == 4000
    found = translate_events(dataset_event(totals(facets={"columnLineage": cll})))
    edge = found.patched(TOTALS, "upstreamLineage")[f"/upstreams/{ORDERS}"]
    assert len(edge["properties"]["openlineage.columnLineage.indirect"]) == 4000


def test_columns_of_a_condition_are_named_without_secrets():
    side = {"type": "field", "field": SHORT}
    other = {"type": "literal", "value": "1"}
    condition = {"type": "compare", "left": side, "right": other, "comparison": "EQUAL"}
    found = of_input("subset", facet(inputCondition=condition), "inputFacets")
    assert json.loads(found.properties(DPI)["inputs.subset"]) == {ORDERS: '"sftp://ann:***@host/x" = 1'}


@pytest.mark.parametrize("kind", [event, job_event])
def test_event_envelope_texts_are_redacted_and_limited(kind):
    producer = f"https://ann:{PASSWORD}@host/x"
    found = translate(
        kind(namespace=SHORT, job=f"load {TEXT}", producer=producer), settings=Settings(datahub_version="1.7")
    )
    stated = dict(texts(found))
    written = {key.rpartition(".")[2]: text for key, text in stated.items()}
    assert {"namespace", "name", "producer"} <= written.keys()
    assert not [key for key, text in stated.items() if PASSWORD in text or len(text) > 4000]
