"""dbt_exposures (dataset)."""

from __future__ import annotations

from facet_cases import TOTALS, facet, of_output


def test_exposures_are_kept_as_one_json():
    exposures = [{"unique_id": "exposure.shop.board", "name": "board", "type": "dashboard", "url": "https://bi/1"}]
    assert of_output("dbt_exposures", facet(exposures=exposures)).kept(TOTALS)["dbt_exposures.exposures"] == (
        '[{"name":"board","type":"dashboard","unique_id":"exposure.shop.board","url":"https://bi/1"}]'
    )
