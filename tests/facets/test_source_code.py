"""sourceCode (job)."""

from __future__ import annotations

import hashlib

import pytest
from openlineage.client.facet_v2 import source_code_job
from support.facet_cases import JOB, client_pair, facet, of_job, pair, spec, translate_events


def test_source_code_is_reduced_to_hash_and_length():
    found = of_job("sourceCode", facet(language="python", sourceCode="print(1)"), report=True)
    properties = found.properties(JOB)
    assert properties["sourceCode.language"] == "python"
    assert properties["sourceCode.sha256"] == hashlib.sha256(b"print(1)").hexdigest()
    assert properties["sourceCode.length"] == "8"
    assert "print(1)" not in properties.values()
    assert found.outcomes()["$.job.facets.sourceCode.sourceCode"] == ("dropped", "secret")


def test_source_code_is_kept_redacted_by_setting():
    body = facet(language="bash", sourceCode="curl postgres://ann:secret@db/x")
    assert (
        of_job("sourceCode", body, source_code="keep").properties(JOB)["sourceCode.sourceCode"]
        == "curl postgres://ann:***@db/x"
    )


@pytest.mark.parametrize("language", ["SQL", "sql"])
def test_sql_is_a_statement_as_the_sql_facet_s(language):
    body = facet(language=language, sourceCode="select 1")
    found = of_job("sourceCode", body, datahub_version="1.7")
    (transform,) = found.one(JOB, "dataTransformLogic")["transforms"]
    assert transform["queryStatement"] == {"value": "select 1", "language": "SQL"}
    assert of_job("sourceCode", body).properties(JOB)["sql.query"] == "select 1"


def test_sql_facet_wins():
    job = {"sourceCode": facet(language="SQL", sourceCode="select 1"), "sql": facet(query="select 2")}
    found = translate_events(pair(job=job), report=True)
    assert found.properties(JOB)["sql.query"] == "select 2"
    assert found.outcomes()["$.job.facets.sourceCode.sourceCode"] == ("dropped", "duplicate-of:sql.query")


def test_empty_facet_adds_no_properties():
    assert not any(key.startswith("source") for key in of_job("sourceCode", facet(sourceCode="")).properties(JOB))


def test_specification_s_document_is_read():
    properties = of_job("sourceCode", spec("SourceCodeJobFacet")["sourceCode"]).properties(JOB)
    assert (properties["sourceCode.language"], properties["sourceCode.length"]) == ("bash", "18")


def test_client_s_class_is_read():
    made = source_code_job.SourceCodeJobFacet(language="python", sourceCode="pass")
    assert translate_events(client_pair(job={"sourceCode": made})).properties(JOB)["sourceCode.length"] == "4"
