"""Tests of your own mappings and settings: golden files, a matcher for proposals, events for hypothesis.

::

    from dh_bridge import translate
    from dh_bridge.testing import assert_golden, events, find

    def test_our_mapping():
        assert_golden("tests/golden", "dh_bridge.yml")           # as ``dh-bridge golden tests/golden -c dh_bridge.yml``

    def test_the_owner_arrives():
        proposals = translate(EVENT).proposals
        find(proposals, aspect="ownership", path="/owners/*/type", value="DATAOWNER")

    @given(events())
    def test_no_event_breaks_our_rules(event):
        assert translate(event, SETTINGS).rejected == []
"""

from __future__ import annotations

from dh_bridge.testing.golden import Case, assert_golden, cases, compare
from dh_bridge.testing.matching import find, values_at
from dh_bridge.testing.strategies import events, facets, runs

__all__ = ["Case", "assert_golden", "cases", "compare", "events", "facets", "find", "runs", "values_at"]
