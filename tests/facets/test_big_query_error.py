"""bigQuery_error (run)."""

from __future__ import annotations

from support.facet_cases import DPI, facet, of_run


def test_errors_are_kept_capped_and_redacted():
    found = of_run("bigQuery_error", facet(clientError="x" * 9000, parserError="at https://ann:pw@db/x", more=None))
    properties = found.properties(DPI)
    assert len(properties["bigQuery_error.clientError"]) == 4000
    assert properties["bigQuery_error.parserError"] == "at https://ann:***@db/x"
    assert "bigQuery_error.more" not in properties
