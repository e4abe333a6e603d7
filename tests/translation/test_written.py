"""What a run wrote, as the report asks for it."""

from __future__ import annotations

from samples import event

from dh_bridge import Bridge, Settings


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
