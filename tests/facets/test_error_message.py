"""errorMessage (run)."""

from __future__ import annotations

from openlineage.client.facet_v2 import error_message_run
from support.facet_cases import DPI, client_pair, event, facet, of_run, spec, translate_events


def test_message_language_and_trace_are_kept_on_the_run():
    properties = of_run(
        "errorMessage", facet(message="boom", programmingLanguage="PYTHON", stackTrace="at x")
    ).properties(DPI)
    assert properties["errorMessage.message"] == "boom"
    assert properties["errorMessage.programmingLanguage"] == "PYTHON"
    assert properties["errorMessage.stackTrace"] == "at x"


def test_long_trace_keeps_its_head_and_its_tail():
    text = of_run("errorMessage", facet(stackTrace="H" * 5000 + "T" * 5000)).properties(DPI)["errorMessage.stackTrace"]
    assert len(text) <= 4000
    assert text.startswith("H" * 2600)
    assert text.endswith("T" * 1300)
    assert "sha256:" in text


def test_credentials_are_removed_from_message_and_stack_trace():
    body = facet(message="cannot open postgres://ann:secret@db/x", stackTrace="jdbc://a:b@c/d?password=p")
    properties = of_run("errorMessage", body).properties(DPI)
    assert properties["errorMessage.message"] == "cannot open postgres://ann:***@db/x"
    assert properties["errorMessage.stackTrace"] == "jdbc://a:***@c/d?password=***"


def test_error_message_never_changes_the_result():
    found = of_run("errorMessage", facet(message="only a warning"))
    assert found.all(DPI, "dataProcessInstanceRunEvent")[-1]["result"]["type"] == "SUCCESS"


def test_later_error_message_replaces_the_complete_facet():
    stated = [
        event("START", run={"errorMessage": facet(message="first", stackTrace="trace")}),
        event("FAIL", run={"errorMessage": facet(message="second")}),
    ]
    for order in (stated, stated[::-1]):
        properties = translate_events(order).properties(DPI)
        assert properties["errorMessage.message"] == "second"
        assert "errorMessage.stackTrace" not in properties


def test_empty_and_null_error_messages_are_ignored():
    properties = of_run("errorMessage", facet(message="", stackTrace=None)).properties(DPI)
    assert not any(key.startswith("errorMessage") for key in properties)


def test_specification_s_document_is_read():
    properties = of_run("errorMessage", spec("ErrorMessageRunFacet")["errorMessage"]).properties(DPI)
    assert properties["errorMessage.message"] == "failed"
    assert properties["errorMessage.programmingLanguage"] == "JAVA"
    assert properties["errorMessage.stackTrace"] == "<stack_trace>"


def test_client_s_class_is_read():
    made = error_message_run.ErrorMessageRunFacet(message="boom", programmingLanguage="python")
    properties = translate_events(client_pair(run={"errorMessage": made})).properties(DPI)
    assert (properties["errorMessage.message"], properties["errorMessage.programmingLanguage"]) == ("boom", "python")
