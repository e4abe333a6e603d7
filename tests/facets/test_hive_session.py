"""hive_session (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DATAHUB, DPI, facet, of_run


def test_user_of_the_session_is_the_run_s():
    found = of_run("hive_session", facet(username="ann", clientIp="10.0.0.1", sessionId="s"))
    assert found.one(DPI, "dataProcessInstanceProperties")["created"]["actor"] == "urn:li:corpuser:ann"
    properties = found.properties(DPI)
    assert (properties["user"], properties["hive_session.clientIp"], properties["hive_session.sessionId"]) == (
        "ann",
        "10.0.0.1",
        "s",
    )


@pytest.mark.parametrize("name", ["anonymous", "hive", "", None, [7]])
def test_placeholder_is_nobody(name):
    found = of_run("hive_session", facet(username=name))
    assert found.one(DPI, "dataProcessInstanceProperties")["created"]["actor"] == DATAHUB
    assert "user" not in found.properties(DPI)


def test_report_marks_a_placeholder_user_as_property_only():
    path = "$.run.facets.hive_session.username"
    target = "dataProcessInstanceProperties.customProperties[openlineage.hive_session.username]"
    assert of_run("hive_session", facet(username="hive"), report=True).outcomes()[path] == ("property", target)
    assert of_run("hive_session", facet(username="ann"), report=True).outcomes()[path][0] == "mapped"


def test_empty_facet_has_no_effect():
    assert not any(key.startswith("hive") for key in of_run("hive_session", facet()).properties(DPI))
