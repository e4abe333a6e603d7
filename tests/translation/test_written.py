"""What a run wrote, as the report asks for it."""

from __future__ import annotations

from samples import aspects, dataset, event
from truth import reported

from dh_bridge import Bridge, Settings, translate


def test_properties_that_are_too_many_are_reported_and_the_others_are_kept():
    many = {f"k{number:03}": "v" for number in range(300)}
    document = event(
        "START", run_facets={"spark_jobDetails": {"_producer": "https://x", "_schemaURL": "https://x", **many}}
    )
    found = Bridge(Settings()).translate(document, report=True)
    lines = {line["path"]: line for line in found.report.lines()}
    verdicts = {name: lines[f"$.run.facets.spark_jobDetails.{name}"] for name in many}
    (properties,) = [
        one.value["customProperties"] for one in found.proposals if one.aspect_name == "dataProcessInstanceProperties"
    ]
    for name, line in verdicts.items():
        there = f"openlineage.spark_jobDetails.{name}" in properties
        assert (line["verdict"], line["reason"]) == (("kept", None) if there else ("withheld", "too-large"))
    assert sum(line["reason"] == "too-large" for line in verdicts.values()) == 100


def test_what_has_no_room_beside_a_result_is_told_where_the_run_has_no_properties():
    """A run without START has none; what its facet says of the validation is repeated beside each result."""
    meta = {f"m{number:03}": str(number) for number in range(230)}
    check = {"dataQualityAssertions": {"assertions": [{"assertion": "not_null", "column": "id", "success": True}]}}
    said = event("COMPLETE", run_facets={"great_expectations_meta": meta}, inputs=[dataset("d.s.t", inputFacets=check)])
    translation = translate(said)
    (result,) = aspects(translation, "assertionRunEvent")
    lines = reported([said])
    path = "$.run.facets.great_expectations_meta."
    kept = {name for name in meta if lines[path + name]["target"] == f"assertionRunEvent.runtimeContext[{name}]"}
    assert kept == meta.keys() & result["runtimeContext"].keys()
    assert len(result["runtimeContext"]) == 200
    assert {lines[path + name]["reason"] for name in meta.keys() - kept} == {"policy:state=none"}
