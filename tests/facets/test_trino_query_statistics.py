"""trino_query_statistics (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, JOB, TOTALS, event, facet, orders, totals, translate_events


def query(outputs=None, **body):
    facets = {"trino_query_statistics": facet(**body)}
    return translate_events(
        event("START"), event(run=facets, outputs=[totals()] if outputs is None else outputs), report=True
    )


def test_query_statistics_are_one_json_with_parsed_numbers():
    found = query(cpuTime="0.125", peakTaskTotalMemory="1024", physicalInputBytes=7, complete="true", stages="[{}]")
    properties = found.properties(DPI)["trino_query_statistics"]
    assert properties == '{"cpuTime":0.125,"peakTaskTotalMemory":1024,"physicalInputBytes":7}'
    stated = found.outcomes()
    assert stated["$.run.facets.trino_query_statistics.stages"] == ("dropped", "no-field:not a number")
    target = "dataProcessInstanceProperties.customProperties[openlineage.trino_query_statistics]"
    assert stated["$.run.facets.trino_query_statistics.cpuTime"] == ("property", target)


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ({"writtenRows": "12", "outputPositions": "1"}, 12),
        ({"outputPositions": 9}, 9),
        ({"writtenRows": 0}, 0),
        ({"writtenRows": -1}, None),
        ({"writtenRows": 2**63 - 1}, None),
        ({"writtenRows": "1.5"}, None),
        ({"writtenRows": True, "outputRows": 3}, None),
        ({"writtenRows": "NaN"}, None),
        ({"writtenRows": "1e999"}, None),
        ({"writtenRows": "9" * 5000}, None),
        ({"writtenRows": "\u0667"}, None),
        ({}, None),
    ],
)
def test_written_rows_replace_missing_output_statistics(body, rows):
    found = query(**body)
    assert found.one(TOTALS, "operation").get("numAffectedRows") == rows
    assert found.properties(DPI).get("outputs.rowCount") == (None if rows is None else str(rows))


def test_written_rows_are_on_the_edge():
    edge = query(writtenRows=5).patched(JOB, "dataJobInputOutput")[f"/outputDatasetEdges/{TOTALS}"]
    assert edge["properties"] == {"openlineage.outputStatistics.rowCount": "5"}


@pytest.mark.parametrize("bag", ["facets", "outputFacets"])
def test_statistics_of_the_output_win(bag):
    found = query(outputs=[totals(**{bag: {"outputStatistics": facet(rowCount=3)}})], writtenRows=99)
    assert found.one(TOTALS, "operation")["numAffectedRows"] == 3


def test_written_rows_are_ignored_without_exactly_one_output():
    found = query(outputs=[totals(), orders()], writtenRows=5)
    assert "numAffectedRows" not in found.one(TOTALS, "operation")
    assert "outputs.rowCount" not in query(outputs=[], writtenRows=5).properties(DPI)
