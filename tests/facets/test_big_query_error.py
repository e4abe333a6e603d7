"""bigQuery_error (run)."""

from __future__ import annotations

from support.facet_cases import DPI, facet, of_run


def test_errors_are_kept_capped_and_redacted():
    found = of_run("bigQuery_error", facet(clientError="x" * 9000, parserError="at https://ann:pw@db/x", more=None))
    kept = found.kept(DPI)
    assert len(kept["bigQuery_error.clientError"]) == 4000
    assert kept["bigQuery_error.parserError"] == "at https://ann:***@db/x"
    assert "bigQuery_error.more" not in kept
