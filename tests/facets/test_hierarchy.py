"""hierarchy (dataset)."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import hierarchy_dataset
from support.facet_cases import TOTALS, client_pair, facet, of_output, spec, translate_events


def properties(levels, **settings):
    return of_output("hierarchy", facet(hierarchy=levels), **settings).properties(TOTALS).get("hierarchy")


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_hierarchy_levels_are_one_property_in_order(profile):
    levels = [{"type": "DATABASE", "name": "db"}, {"type": "TABLE", "name": "t"}]
    assert properties(levels, datahub_version=profile) == '[["DATABASE","db"],["TABLE","t"]]'
    assert properties(levels[::-1]) == '[["TABLE","t"],["DATABASE","db"]]'


def test_no_container_is_made_of_it():
    assert of_output("hierarchy", facet(hierarchy=[{"type": "DATABASE", "name": "db"}])).entities("container") == set()


def test_hierarchy_skips_empty_levels_and_truncates_long_names():
    assert properties([{"type": "SCHEMA"}, {}, {"name": 7}, "x"]) == '[["SCHEMA",""],["","7"]]'
    for nothing in ([], None, "db", [{}]):
        assert properties(nothing) is None
    assert len(properties([{"type": "T", "name": "x" * 9000}])) == 4000
    assert (
        of_output("hierarchy", facet(hierarchy=[{"name": "x"}], _deleted=True)).properties(TOTALS).get("hierarchy")
        is None
    )


def test_specification_s_document_is_read():
    found = of_output("hierarchy", spec("HierarchyDatasetFacet")["hierarchy"]).properties(TOTALS)["hierarchy"]
    assert found == '[["DATABASE","my_db"],["SCHEMA","my_schema"],["TABLE","my_table"]]'


def test_client_s_class_is_read():
    level = hierarchy_dataset.HierarchyDatasetFacetLevel(type="DATABASE", name="db")
    made = hierarchy_dataset.HierarchyDatasetFacet(hierarchy=[level])
    assert (
        translate_events(client_pair(outputs={"hierarchy": made})).properties(TOTALS)["hierarchy"]
        == '[["DATABASE","db"]]'
    )
