"""confluent, kafkaTopic and kafkaThroughput (dataset): one JSON each, as facets that nobody knows."""

from __future__ import annotations

import pytest
from support.facet_cases import JOB, ORDERS, facet, of_input

CASES = [
    ("confluent", {"envName": "prod", "cloud": "aws"}, '{"cloud":"aws","envName":"prod"}'),
    ("kafkaTopic", {"partitions": 6, "isInternal": False}, '{"isInternal":false,"partitions":6}'),
    ("kafkaThroughput", {"bytesIn": 1.5, "windowMinutes": 5}, '{"bytesIn":1.5,"windowMinutes":5}'),
]


@pytest.mark.parametrize(("key", "body", "text"), CASES)
def test_confluent_facets_are_one_json_property_of_the_dataset(key, body, text):
    found = of_input(key, facet(**body), report=True)
    assert found.properties(ORDERS)[f"facet.{key}"] == text
    target = f"datasetProperties.customProperties[openlineage.facet.{key}]"
    leaf = f"$.inputs[0].facets.{key}.{next(iter(body))}"
    assert found.outcomes()[leaf] == ("property", target)


@pytest.mark.parametrize(("key", "body", "text"), CASES)
def test_confluent_input_facets_are_on_the_edge(key, body, text):
    edge = of_input(key, facet(**body), "inputFacets").patched(JOB, "dataJobInputOutput")
    assert edge[f"/inputDatasetEdges/{ORDERS}"]["properties"][f"openlineage.facet.{key}"] == text


@pytest.mark.parametrize("body", [facet(), {**facet(cloud="aws"), "_deleted": True}, "text"])
def test_empty_facet_adds_no_properties(body):
    assert "facet.confluent" not in of_input("confluent", body).properties(ORDERS)


def test_secrets_are_no_part_of_it():
    assert of_input("confluent", facet(api_key="k", cloud="x")).properties(ORDERS)["facet.confluent"] == (
        '{"api_key":"[REDACTED]","cloud":"x"}'
    )
