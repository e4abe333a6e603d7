"""unknownSourceAttribute (run): repeats airflow.task."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, facet, of_run


def test_names_and_types_are_kept_and_the_bulk_is_withheld():
    items = [
        {"name": "BashOperator", "type": "operator", "properties": {"bash_command": "x"}},
        7,
        {"name": [1]},
        {"name": 1},
    ]
    found = of_run("unknownSourceAttribute", facet(unknownItems=items), report=True)
    properties = found.properties(DPI)
    assert (
        properties["unknownSourceAttribute.unknownItems"]
        == '[{"name":"BashOperator","type":"operator"},{},{"name":"1"}]'
    )
    assert {"unknownSourceAttribute.sha256", "unknownSourceAttribute.bytes"} <= properties.keys()
    assert not any("bash_command" in value for value in properties.values())
    path = "$.run.facets.unknownSourceAttribute.unknownItems[0].properties.bash_command"
    assert found.outcomes()[path] == ("dropped", "bulk")


@pytest.mark.parametrize("items", [None, [], "x"])
def test_without_items_the_hash_stays(items):
    properties = of_run("unknownSourceAttribute", facet(unknownItems=items)).properties(DPI)
    assert "unknownSourceAttribute.unknownItems" not in properties
    assert "unknownSourceAttribute.sha256" in properties
