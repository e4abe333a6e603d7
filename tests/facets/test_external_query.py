"""externalQuery (run)."""

from __future__ import annotations

from openlineage.client.facet_v2 import external_query_run
from support.facet_cases import DPI, TOTALS, client_pair, event, facet, of_run, pair, spec, told, totals

BODY = facet(externalQueryId="01b-2", source="snowflake")


def test_id_and_source_are_kept_on_the_run():
    kept = of_run("externalQuery", BODY).kept(DPI)
    assert kept["externalQuery.externalQueryId"] == "01b-2"
    assert kept["externalQuery.source"] == "snowflake"


def test_external_query_id_names_the_run_of_a_query_only():
    query = told(pair(run={"externalQuery": BODY}, job={"jobType": facet(jobType="QUERY")}))
    assert query.one(DPI, "dataProcessInstanceProperties")["name"] == "01b-2"
    assert of_run("externalQuery", BODY).one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]


def test_operation_has_the_external_query_id_of_any_event():
    for said in (
        [event("START", run={"externalQuery": BODY}), event(outputs=[totals()])],
        [event(run={"externalQuery": BODY}, outputs=[totals()])],
    ):
        operation = told(said).one(TOTALS, "operation")
        assert operation["customProperties"]["openlineage.externalQueryId"] == "01b-2"


def test_null_values_are_ignored():
    kept = of_run("externalQuery", facet(externalQueryId=None, source="")).kept(DPI)
    assert not any(key.startswith("externalQuery") for key in kept)


def test_specification_s_document_is_read():
    kept = of_run("externalQuery", spec("ExternalQueryRunFacet")["externalQuery"]).kept(DPI)
    assert kept["externalQuery.source"] == "bigquery"
    assert kept["externalQuery.externalQueryId"].startswith("bigquery_1690280798993890")


def test_client_s_class_is_read():
    made = external_query_run.ExternalQueryRunFacet(externalQueryId="q", source="s")
    kept = told(client_pair(run={"externalQuery": made})).kept(DPI)
    assert (kept["externalQuery.externalQueryId"], kept["externalQuery.source"]) == ("q", "s")
