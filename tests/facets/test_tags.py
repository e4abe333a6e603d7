"""tags (run, job, dataset)."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import tags_dataset, tags_job, tags_run
from support.facet_cases import (
    DPI,
    FLOW,
    JOB,
    TOTALS,
    client_pair,
    dataset_event,
    facet,
    of_job,
    of_output,
    of_run,
    pair,
    spec,
    totals,
    translate_events,
)


def tags(*members):
    return facet(tags=list(members))


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ({"key": "pii", "value": "true"}, "pii"),
        ({"key": "pii", "value": ""}, "pii"),
        ({"key": "pii"}, "pii"),
        ({"key": "pii", "value": None}, "pii"),
        ({"key": "pii", "value": "  "}, "pii"),
        ({"key": "prod", "value": "prod"}, "prod"),
        ({"key": "tier", "value": "1"}, "tier:1"),
        ({"key": "tier", "value": 1}, "tier:1"),
        ({"key": "tier:1", "value": "tier:1"}, "tier:1"),
        ({"key": " a ", "value": " b "}, "a:b"),
    ],
)
def test_name_of_a_tag(tag, name):
    found = of_job("tags", tags(tag))
    urn = f"urn:li:tag:{name}"
    assert list(found.patched(JOB, "globalTags")) == [f"/tags/{urn}"]
    assert found.one(urn, "tagKey") == {"name": name}
    assert not found.has(urn, "tagProperties")


def test_source_and_value_are_the_context():
    found = of_job("tags", tags({"key": "tier", "value": "1", "source": "DBT"}, {"key": "bare"}))
    assert found.patched(JOB, "globalTags") == {
        "/tags/urn:li:tag:tier:1": {"tag": "urn:li:tag:tier:1", "context": '{"source":"DBT","value":"1"}'},
        "/tags/urn:li:tag:bare": {"tag": "urn:li:tag:bare"},
    }


def test_tags_of_a_flow_level_job_are_those_of_its_flow_and_its_flow_job():
    found = translate_events(pair(job={"tags": tags({"key": "a"})}, name="daily", outputs=[totals()]))
    assert list(found.patched(FLOW, "globalTags")) == ["/tags/urn:li:tag:a"]
    assert found.patched(f"urn:li:dataJob:({FLOW},daily)", "globalTags") == found.patched(FLOW, "globalTags")


def test_tags_of_a_dataset_and_of_its_columns():
    found = of_output("tags", tags({"key": "a"}, {"key": "pii", "value": "high", "field": "email", "source": "s"}))
    assert list(found.patched(TOTALS, "globalTags")) == ["/tags/urn:li:tag:a"]
    field = "/editableSchemaFieldInfo/email"
    assert found.patched(TOTALS, "editableSchemaMetadata") == {
        f"{field}/fieldPath": "email",
        f"{field}/globalTags/tags/urn:li:tag:pii:high": {
            "tag": "urn:li:tag:pii:high",
            "context": '{"source":"s","value":"high"}',
        },
    }
    assert found.has("urn:li:tag:pii:high", "tagKey")


def test_odd_names_are_escaped_in_paths():
    found = of_output("tags", tags({"key": "a/b~c", "field": "x/y"}))
    field = "/editableSchemaFieldInfo/x~1y"
    assert set(found.patched(TOTALS, "editableSchemaMetadata")) == {
        f"{field}/fieldPath",
        f"{field}/globalTags/tags/urn:li:tag:a~1b~0c",
    }


def test_dataset_event_s_tags_are_the_dataset_s():
    assert translate_events(dataset_event(totals(facets={"tags": tags({"key": "a"})}))).has(TOTALS, "globalTags")


def test_job_s_tag_with_a_field_is_a_tag_of_the_job():
    assert of_job("tags", tags({"key": "a", "field": "x"})).has(JOB, "globalTags")


def test_excluded_and_nameless_tags_are_withheld():
    body = tags({"key": "openlineage_client_version", "value": "1.54.0"}, {"key": " ", "value": "x"}, {"value": "y"})
    found = of_job("tags", body, report=True)
    assert not found.has(JOB, "globalTags")
    outcomes = found.outcomes()
    assert outcomes["$.job.facets.tags.tags[0].value"] == ("dropped", "policy:tags.exclude")
    assert outcomes["$.job.facets.tags.tags[1].key"] == ("dropped", "malformed")
    properties = translate_events(pair(job={"tags": body}), tags={"exclude": []})
    assert properties.has(JOB, "globalTags")


@pytest.mark.parametrize("body", [tags(), facet(tags=None), facet(), facet(tags=[None])])
def test_empty_list_erases_nobody_s_tags(body):
    assert not of_job("tags", body).has(JOB, "globalTags")
    assert "tags" not in of_run("tags", body).properties(DPI)


def test_tags_of_a_run_are_properties_because_runs_have_no_tags():
    found = of_run("tags", tags({"key": "team", "value": "a", "source": "DBT_META"}, {"key": "x"}))
    properties = found.properties(DPI)
    assert properties["tags"] == '[{"key":"team","source":"DBT_META","value":"a"},{"key":"x"}]'
    assert properties["tags.team"] == "a"
    assert "tags.x" not in properties
    assert found.entities("tag") == set()


def test_version_of_the_client_is_kept_once():
    """Every event of the client carries it."""
    found = of_run(
        "tags", tags({"key": "openlineage_client_version", "value": "1.54.0", "source": "OPENLINEAGE_CLIENT"})
    )
    properties = found.properties(DPI)
    assert properties["openlineage_client_version"] == "1.54.0"
    assert "tags" not in properties


def test_run_tags_are_one_list_and_the_first_twenty_separate():
    properties = of_run("tags", tags(*({"key": f"k{number}", "value": "v"} for number in range(30)))).properties(DPI)
    assert sum(key.startswith("tags.k") for key in properties) == 20
    assert '"k29"' in properties["tags"]


def test_secret_in_a_tag_is_not_shown():
    properties = of_run("tags", tags({"key": "api_token", "value": "s3cret"}, {"key": "", "value": "v"})).properties(
        DPI
    )
    assert ("tags.api_token", "[REDACTED]") in properties.items()


def test_specification_s_documents_are_read():
    found = of_job("tags", spec("TagsJobFacet")["tags"])
    names = {"/tags/urn:li:tag:test_tag:test_value", "/tags/urn:li:tag:test_tag2:test_value2"}
    assert set(found.patched(JOB, "globalTags")) == names
    found = of_output("tags", spec("TagsDatasetFacet")["tags"])
    assert set(found.patched(TOTALS, "globalTags")) == {"/tags/urn:li:tag:test_tag2:test_value2"}
    assert "/editableSchemaFieldInfo/email/fieldPath" in found.patched(TOTALS, "editableSchemaMetadata")
    properties = of_run("tags", spec("TagsRunFacet")["tags"]).properties(DPI)
    assert (properties["tags.test_tag"], properties["tags.test_tag2"]) == ("test_value", "test_value2")


def test_client_s_classes_are_read():
    found = translate_events(
        client_pair(
            run={"tags": tags_run.TagsRunFacet([tags_run.TagsRunFacetFields("k", "v")])},
            job={"tags": tags_job.TagsJobFacet([tags_job.TagsJobFacetFields("j", "true")])},
            outputs={"tags": tags_dataset.TagsDatasetFacet([tags_dataset.TagsDatasetFacetFields("d", "1", field="c")])},
        )
    )
    assert found.properties(DPI)["tags.k"] == "v"
    assert set(found.patched(JOB, "globalTags")) == {"/tags/urn:li:tag:j"}
    assert found.has(TOTALS, "editableSchemaMetadata")
