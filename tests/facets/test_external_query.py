"""externalQuery (run)."""

from __future__ import annotations

from openlineage.client.facet_v2 import external_query_run
from support.facet_cases import DPI, TOTALS, client_pair, event, facet, of_run, pair, spec, totals, translate_events

BODY = facet(externalQueryId="01b-2", source="snowflake")


def test_id_and_source_are_kept_on_the_run():
    properties = of_run("externalQuery", BODY).properties(DPI)
    assert properties["externalQuery.externalQueryId"] == "01b-2"
    assert properties["externalQuery.source"] == "snowflake"


def test_external_query_id_names_the_run_of_a_query_only():
    query = translate_events(pair(run={"externalQuery": BODY}, job={"jobType": facet(jobType="QUERY")}))
    assert query.one(DPI, "dataProcessInstanceProperties")["name"] == "01b-2"
    assert of_run("externalQuery", BODY).one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]


def test_operation_has_the_external_query_id_of_any_event():
    for stated in (
        [event("START", run={"externalQuery": BODY}), event(outputs=[totals()])],
        [event(run={"externalQuery": BODY}, outputs=[totals()])],
    ):
        operation = translate_events(stated).one(TOTALS, "operation")
        assert operation["customProperties"]["openlineage.externalQueryId"] == "01b-2"


def test_null_values_are_ignored():
    properties = of_run("externalQuery", facet(externalQueryId=None, source="")).properties(DPI)
    assert not any(key.startswith("externalQuery") for key in properties)


def test_specification_s_document_is_read():
    properties = of_run("externalQuery", spec("ExternalQueryRunFacet")["externalQuery"]).properties(DPI)
    assert properties["externalQuery.source"] == "bigquery"
    assert properties["externalQuery.externalQueryId"].startswith("bigquery_1690280798993890")


def test_client_s_class_is_read():
    made = external_query_run.ExternalQueryRunFacet(externalQueryId="q", source="s")
    properties = translate_events(client_pair(run={"externalQuery": made})).properties(DPI)
    assert (properties["externalQuery.externalQueryId"], properties["externalQuery.source"]) == ("q", "s")
