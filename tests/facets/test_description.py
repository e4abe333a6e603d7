"""description (dataset)."""

from __future__ import annotations

import pytest
from support.facet_cases import ORDERS, facet, of_input, orders, pair, translate_events


def test_description_is_used_without_a_documentation_facet():
    found = of_input("description", facet(description="Orders, one a line", more=1), report=True)
    assert found.patched(ORDERS, "datasetProperties")["/description"] == "Orders, one a line"
    assert found.properties(ORDERS)["description.more"] == "1"
    assert found.outcomes()["$.inputs[0].facets.description.description"] == ("mapped", "datasetProperties.description")
    both = {"description": facet(description="a"), "documentation": facet(description="b")}
    stated = translate_events(pair(inputs=[orders(facets=both)]))
    assert stated.patched(ORDERS, "datasetProperties")["/description"] == "b"


@pytest.mark.parametrize("text", [None, "", " ", {}, ["x"]])
def test_non_text_description_is_ignored(text):
    assert "/description" not in of_input("description", facet(description=text)).patched(ORDERS, "datasetProperties")
