"""What a run wrote, as the report asks for it."""

from __future__ import annotations

import pytest
from support.ledger_batches import NOW, compiled, read
from support.report_truth import reported
from support.sample_events import RUN, aspects, dataset, dataset_event, event

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger import Ledger
from dh_bridge.options import Options
from dh_bridge.sinks.catalog import CatalogSink


def test_properties_over_the_limit_are_reported_as_too_large():
    many = {f"k{number:03}": "v" for number in range(300)}
    document = event(
        "START", run_facets={"spark_jobDetails": {"_producer": "https://x", "_schemaURL": "https://x", **many}}
    )
    found = Bridge(Settings()).translate(document, report=True)
    lines = {line["path"]: line for line in found.report.lines()}
    outcomes = {name: lines[f"$.run.facets.spark_jobDetails.{name}"] for name in many}
    (properties,) = [
        one.value["customProperties"] for one in found.proposals if one.aspect_name == "dataProcessInstanceProperties"
    ]
    for name, line in outcomes.items():
        there = f"openlineage.spark_jobDetails.{name}" in properties
        assert (line["outcome"], line["reason"]) == (("property", None) if there else ("dropped", "too-large"))
    assert sum(line["reason"] == "too-large" for line in outcomes.values()) == 100


def test_values_over_the_result_limit_are_reported_as_dropped():
    """Where a target cannot create them; what a facet says of the validation is repeated beside each result."""
    meta = {f"m{number:03}": str(number) for number in range(230)}
    check = {"dataQualityAssertions": {"assertions": [{"assertion": "not_null", "column": "id", "success": True}]}}
    stated = event(
        "COMPLETE", run_facets={"great_expectations_meta": meta}, inputs=[dataset("d.s.t", inputFacets=check)]
    )
    bridge = Bridge()
    bridge.options.can_create = False
    (result,) = aspects(bridge.translate(stated), "assertionRunEvent")
    lines = reported([stated], bridge)
    path = "$.run.facets.great_expectations_meta."
    retained = {name for name in meta if lines[path + name]["target"] == f"assertionRunEvent.runtimeContext[{name}]"}
    assert retained == meta.keys() & result["runtimeContext"].keys()
    assert len(result["runtimeContext"]) == 200
    assert {lines[path + name]["reason"] for name in meta.keys() - retained} == {"policy:state=none"}


# -- by entity ----------------------------------------------------------------------------------------------------------

STATED = {
    "schema": {"fields": [{"name": "id", "type": "int"}]},
    "documentation": {"description": "what it is"},
    "ownership": {"owners": [{"name": "team:shop", "type": "DATAOWNER"}]},
    "own": {"x": 1},
}
DESCRIBED, OWNER = "facets.documentation.description", "facets.ownership.owners[0].name"
TYPE, OWN = "facets.schema.fields[0].type", "facets.own.x"


def outcomes(*events, **chosen):
    """Return (outcome, target or reason) by path, of the last of the events."""
    lines = reported(list(events), Bridge(Settings(**chosen)))
    return {path: (line["outcome"], line["target"] or line["reason"]) for path, line in lines.items()}


def both(kind="START", **parts):
    return event(
        kind, inputs=[dataset("d.s.read", facets=STATED)], outputs=[dataset("d.s.made", facets=STATED)], **parts
    )


@pytest.mark.parametrize(
    ("chosen", "leaf", "aspect", "reason"),
    [
        ({"materialize": "outputs"}, DESCRIBED, "datasetProperties.description", "policy:materialize"),
        (
            {"materialize": "outputs"},
            OWN,
            "datasetProperties.customProperties[openlineage.facet.own]",
            "policy:materialize",
        ),
        ({"schema": {"write": "outputs"}}, TYPE, "schemaMetadata.fields[].nativeDataType", "policy:schema.write"),
    ],
)
def test_aspect_of_an_output_is_not_reported_for_an_input(chosen, leaf, aspect, reason):
    found = outcomes(both(), **chosen)
    assert found[f"$.outputs[0].{leaf}"][1] == aspect
    assert found[f"$.inputs[0].{leaf}"] == ("dropped", reason)
    assert outcomes(both())[f"$.inputs[0].{leaf}"][1] == aspect


def test_dataset_written_by_one_run_is_mapped_for_all_runs():
    written = event("START", run=RUN[:-1] + "9", outputs=[dataset("d.s.read")])
    found = outcomes(written, both(), materialize="outputs")
    assert found[f"$.inputs[0].{DESCRIBED}"] == ("mapped", "datasetProperties.description")


def test_owners_of_a_dataset_are_not_those_of_a_job():
    """A placeholder job is not written, and a job's owners are not where a dataset's are."""
    found = outcomes(both(job="unknown", job_facets={"ownership": STATED["ownership"]}))
    assert found["$.job.facets.ownership.owners[0].name"] == ("dropped", "no-field:placeholder job")
    assert found[f"$.inputs[0].{OWNER}"] == ("mapped", "ownership.owners[].owner")


def test_aspects_held_by_writes_are_reported_as_dropped():
    found = outcomes(both(), writes={"aspects": ["datasetProperties", "dataJob*", "dataFlow*"]})
    assert found[f"$.inputs[0].{TYPE}"] == ("dropped", "policy:writes")
    assert found[f"$.inputs[0].{DESCRIBED}"] == ("mapped", "datasetProperties.description")
    assert found["$.eventType"] == ("dropped", "policy:writes")


def test_property_limit_is_reported_for_its_dataset_only():
    many = {f"k{number:03}": "v" for number in range(300)}
    full = {"storage": {"storageLayer": "iceberg", **many}}
    stated = event(
        inputs=[dataset("d.s.read", facets=full)], outputs=[dataset("d.s.made", facets={"storage": {"k299": "v"}})]
    )
    found = outcomes(stated)
    assert found["$.inputs[0].facets.storage.k299"] == ("dropped", "too-large")
    assert found["$.outputs[0].facets.storage.k299"][0] == "property"


def test_upstreams_of_a_dataset_event_are_not_those_of_a_run():
    """The run's lineage stands on its job; a placeholder job is not written."""
    fields = {"id": {"inputFields": [{"namespace": "postgres://db:5432", "name": "d.s.read", "field": "id"}]}}
    made = dataset("d.s.made", facets={"columnLineage": {"fields": fields}})
    leaf = "facets.columnLineage.fields.id.inputFields[0].field"
    found = outcomes(dataset_event(made), event(outputs=[made]))
    assert found[f"$.outputs[0].{leaf}"] == ("mapped", "dataJobInputOutput.fineGrainedLineages")
    found = outcomes(dataset_event(made), event(outputs=[made], job="unknown"))
    assert found[f"$.outputs[0].{leaf}"] == ("dropped", "no-field:placeholder job")
    assert outcomes(dataset_event(made))[f"$.dataset.{leaf}"] == ("mapped", "upstreamLineage.fineGrainedLineages")


def test_proposal_that_the_profile_refuses_has_reached_nothing(monkeypatch):
    monkeypatch.setattr(Options, "check_environments", lambda _self: None)  # what else is refused is our mistake
    found = outcomes(both(), datahub_version="0.15.0", naming={"env": "SBX"})
    assert found[f"$.inputs[0].{DESCRIBED}"] == ("dropped", "profile")


# -- what a ledger knows -----------------------------------------------------------------------------------------------


def report_of_ledger(*batches, **chosen):
    """Return (outcome, target or reason) by path, of the last batch's event."""
    with CatalogSink(Catalog(":memory:")) as sink:
        ledger = Ledger(sink.catalog, compiled(Settings(**chosen)), sink, clock=lambda: NOW, report=True)
        for batch in batches:
            translation, _ = ledger.process_and_deliver(read(batch))
    return {line["path"]: (line["outcome"], line["target"] or line["reason"]) for line in translation.report.lines()}


def test_fields_sent_by_the_ledger_before_are_mapped():
    """An event that comes again changes nothing, and nothing of it is sent."""
    stated = both("COMPLETE")
    assert report_of_ledger([stated], [stated]) == report_of_ledger([stated])


def test_ledger_report_uses_resolved_facts_of_other_runs():
    """That a dataset is temporary, another run said."""
    marked = {"datasetType": {"datasetType": "TABLE", "subType": "TEMPORARY"}}
    other = event("COMPLETE", run=RUN[:-1] + "9", job="etl.other", outputs=[dataset("d.s.read", facets=marked)])
    found = report_of_ledger([other], [both("COMPLETE")], temporary={"dataset_type": "drop_edges"})
    assert found["$.inputs[0].name"] == ("mapped", "dataProcessInstanceInput.inputs")
    assert found["$.outputs[0].name"] == ("mapped", "dataJobInputOutput.outputDatasetEdges")
