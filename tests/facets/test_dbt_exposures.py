"""dbt_exposures (dataset)."""

from __future__ import annotations

import pytest
from support.facet_cases import TOTALS, facet, of_output


def test_exposures_are_kept_as_one_json():
    exposures = [{"unique_id": "exposure.shop.board", "name": "board", "type": "dashboard", "url": "https://bi/1"}]
    assert of_output("dbt_exposures", facet(exposures=exposures)).properties(TOTALS)["dbt_exposures"] == (
        '[{"name":"board","type":"dashboard","unique_id":"exposure.shop.board","url":"https://bi/1"}]'
    )


@pytest.mark.parametrize(
    ("body", "properties"),
    [
        ({"exposures": []}, {}),
        ({"exposures": "board"}, {"dbt_exposures.exposures": "board"}),
        ({"exposures": None}, {}),
        (
            {"exposures": [{"url": "https://u:pw@bi/1"}], "more": 1},
            {"dbt_exposures": '[{"url":"https://u:***@bi/1"}]', "dbt_exposures.more": "1"},
        ),
    ],
)
def test_other_shapes_are_kept_as_they_are(body, properties):
    found = of_output("dbt_exposures", facet(**body)).properties(TOTALS)
    assert {key: text for key, text in found.items() if key.startswith("dbt")} == properties


def test_report_names_the_property_of_bare_names():
    found = of_output("dbt_exposures", facet(exposures=["board"]), report=True)
    assert found.properties(TOTALS)["dbt_exposures"] == '["board"]'
    target = "datasetProperties.customProperties[openlineage.dbt_exposures]"
    assert found.outcomes()["$.outputs[0].facets.dbt_exposures.exposures[0]"] == ("property", target)
