"""processing_engine (run)."""

from __future__ import annotations

from openlineage.client.facet_v2 import processing_engine_run
from support.facet_cases import DPI, JOB, client_pair, event, facet, of_run, spec, translate_events

BODY = facet(name="spark", version="3.5", openlineageAdapterVersion="1.53")


def test_engine_is_on_the_run_and_without_the_adapter_on_the_job():
    found = of_run("processing_engine", BODY)
    properties = found.properties(DPI)
    assert (properties["processing_engine.name"], properties["processing_engine.version"]) == ("spark", "3.5")
    assert properties["processing_engine.openlineageAdapterVersion"] == "1.53"
    assert found.properties(JOB)["processing_engine.version"] == "3.5"
    assert "processing_engine.openlineageAdapterVersion" not in found.properties(JOB)


def test_complete_event_without_the_facet_keeps_the_engine():
    properties = translate_events(event("START", run={"processing_engine": BODY}), event()).properties(DPI)
    assert properties["processing_engine.name"] == "spark"


def test_adapter_alone_and_nothing_at_all():
    found = of_run("processing_engine", facet(openlineageAdapterVersion="1"))
    assert found.properties(DPI)["processing_engine.openlineageAdapterVersion"] == "1"
    assert not any(key.startswith("processing") for key in found.properties(JOB))
    assert not any(key.startswith("processing") for key in of_run("processing_engine", facet()).properties(DPI))


def test_version_may_be_a_number():
    assert of_run("processing_engine", facet(version=3.5)).properties(DPI)["processing_engine.version"] == "3.5"


def test_specification_s_document_is_read():
    properties = of_run("processing_engine", spec("ProcessingEngineRunFacet")["processing_engine"]).properties(DPI)
    assert properties["processing_engine.name"] == "Airflow"
    assert properties["processing_engine.version"] == "2.5.0"
    assert properties["processing_engine.openlineageAdapterVersion"] == "0.29.2"


def test_client_s_class_is_read():
    made = processing_engine_run.ProcessingEngineRunFacet(version="1", name="x", openlineageAdapterVersion="2")
    assert (
        translate_events(client_pair(run={"processing_engine": made})).properties(DPI)["processing_engine.name"] == "x"
    )
