"""outputStatistics (output): how much a run wrote."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import output_statistics_output_dataset
from support.facet_cases import (
    DPI,
    JOB,
    ORDERS,
    TOTALS,
    client_pair,
    event,
    facet,
    of_input,
    of_output,
    pair,
    spec,
    totals,
    translate_events,
)

BODY = facet(rowCount=12, size=2048, fileCount=3)


def test_output_statistics_are_on_operation_edge_and_run():
    found = of_output("outputStatistics", BODY, "outputFacets")
    operation = found.one(TOTALS, "operation")
    assert operation["numAffectedRows"] == 12
    assert operation["customProperties"]["openlineage.outputStatistics.size"] == "2048"
    assert operation["customProperties"]["openlineage.outputStatistics.fileCount"] == "3"
    edge = found.patched(JOB, "dataJobInputOutput")[f"/outputDatasetEdges/{TOTALS}"]
    assert edge["properties"]["openlineage.outputStatistics.rowCount"] == "12"
    properties = found.properties(DPI)
    assert (properties["outputs.rowCount"], properties["outputs.size"], properties["outputs.fileCount"]) == (
        "12",
        "2048",
        "3",
    )


def test_rows_that_were_added_are_not_the_rows_of_the_table():
    assert not of_output("outputStatistics", BODY, "outputFacets").has(TOTALS, "datasetProfile")


@pytest.mark.parametrize("word", ["CREATE", "OVERWRITE"])
def test_statistics_of_a_rebuilt_table_are_its_profile(word):
    bags = {
        "facets": {"lifecycleStateChange": facet(lifecycleStateChange=word)},
        "outputFacets": {"outputStatistics": BODY},
    }
    profile = translate_events(pair(outputs=[totals(**bags)])).one(TOTALS, "datasetProfile")
    assert (profile["rowCount"], profile["sizeInBytes"]) == (12, 2048)


def test_later_lifecycle_state_does_not_remove_the_profile():
    """The existence of a point never shrinks."""
    words = [
        event("START", outputs=[totals(facets={"lifecycleStateChange": facet(lifecycleStateChange="CREATE")})]),
        event(
            outputs=[
                totals(
                    facets={"lifecycleStateChange": facet(lifecycleStateChange="ALTER")},
                    outputFacets={"outputStatistics": BODY},
                )
            ]
        ),
    ]
    assert translate_events(words).one(TOTALS, "datasetProfile")["rowCount"] == 12


def test_metrics_win_over_statistics():
    bag = {
        "lifecycleStateChange": facet(lifecycleStateChange="OVERWRITE"),
        "dataQualityMetrics": facet(rowCount=99),
        "outputStatistics": BODY,
    }
    profile = translate_events(pair(outputs=[totals(facets=bag)])).one(TOTALS, "datasetProfile")
    assert (profile["rowCount"], profile["sizeInBytes"]) == (99, 2048)


def test_spark_output_stats_key_and_dataset_facets_are_read():
    assert of_output("spark.output.stats", facet(rowCount=4)).one(TOTALS, "operation")["numAffectedRows"] == 4


def test_on_an_input_the_counts_are_those_that_were_read():
    found = of_input("outputStatistics", BODY)
    assert not found.has(ORDERS, "operation")
    assert found.properties(DPI)["inputs.rowCount"] == "12"


def test_specification_s_document_is_read():
    found = translate_events(pair(outputs=[totals(outputFacets=spec("OutputStatisticsOutputDatasetFacet"))]))
    assert found.one(TOTALS, "operation")["numAffectedRows"] == 2000
    assert found.properties(DPI)["outputs.size"] == "2097152"


def test_client_s_class_is_read():
    made = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=5, size=6)
    found = translate_events(client_pair(output_facets={"outputStatistics": made}))
    assert found.one(TOTALS, "operation")["numAffectedRows"] == 5
