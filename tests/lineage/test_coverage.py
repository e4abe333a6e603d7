"""What the field report states about the older form of a transformation."""

from __future__ import annotations

import pytest
from support.facet_cases import facet, of_output, orders

FILTER = [{"type": "INDIRECT", "subtype": "FILTER"}]
DROP = {"column_lineage": {"indirect": "drop"}}


def outcomes(*sources, **settings):
    entry = {"inputFields": list(sources), "transformationType": "MASKED", "transformationDescription": "words"}
    found = of_output("columnLineage", facet(fields={"total": entry}), report=True, **settings).outcomes()
    start = "$.outputs[0].facets.columnLineage.fields.total.transformation"
    return [found[start + leaf] for leaf in ("Type", "Description")]


@pytest.mark.parametrize(
    ("source", "settings"),
    [(orders(), {}), (orders(field=""), {}), ({"field": "a"}, {}), (orders(field="a", transformations=FILTER), DROP)],
)
def test_transformations_of_dropped_columns_are_reported(source, settings):
    assert outcomes(source, **settings) == [("dropped", "no-field:no input column")] * 2
    kind, words = outcomes(source, orders(field="a"), **settings)
    assert kind == ("mapped", "dataJobInputOutput.fineGrainedLineages")
    assert words[0] == "property"


def test_transformation_type_of_mapped_columns_is_a_duplicate():
    output = orders(field="a", transformations=[{"type": "DIRECT", "subtype": "IDENTITY"}])
    assert outcomes(output, orders())[0] == ("dropped", "duplicate-of:transformations")
