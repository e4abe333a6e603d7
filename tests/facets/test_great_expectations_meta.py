"""great_expectations_meta (run): suite, checkpoint and batch of a validation."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, GX, event, facet, of_run, orders, translate_events

META = facet(
    great_expectations_version="1.24.1",
    expectation_suite_name="orders",
    run_id={"run_time": "2026-11-21T07:14:38"},
    active_batch_definition={"data_asset_name": "orders", "datasource_name": "warehouse", "batch_identifiers": {}},
    batch_spec={"query": "select 1", "type": "query"},
)


def test_batch_is_part_of_the_assertion_results():
    checks = {"greatExpectations_assertions": facet(assertions=[{"expectationType": "expect_x", "success": True}])}
    found = translate_events(
        event(run={"great_expectations_meta": META}, inputs=[orders(inputFacets=checks)], producer=GX)
    )
    (result,) = [one.value for one in found.proposals if one.aspect_name == "assertionRunEvent"]
    batch = result["batchSpec"]
    assert batch["query"] == "select 1"
    assert batch["customProperties"] == {"data_asset_name": "orders", "datasource_name": "warehouse"}
    assert '"data_asset_name":"orders"' in batch["nativeBatchId"]
    assert result["runtimeContext"]["expectation_suite_name"] == "orders"


def test_rest_is_kept_on_the_run():
    properties = of_run("great_expectations_meta", META).properties(DPI)
    assert properties["great_expectations_meta.great_expectations_version"] == "1.24.1"
    assert properties["great_expectations_meta.run_id.run_time"] == "2026-11-21T07:14:38"


def test_empty_facet_has_no_effect():
    properties = of_run("great_expectations_meta", facet()).properties(DPI)
    assert not any(key.startswith("great") for key in properties)


EXPECTATIONS = facet(
    assertions=[{"expectationType": "expect_column_values_to_not_be_null", "column": "id", "success": True}]
)
MEASURED = facet(rowCount=10, columnMetrics={"id": {"nullCount": 2}})
BY_DAY = {"batch_identifiers": {"day": 2}, "splitter_method": "split_on_column_value", "table_name": "orders"}


def validated(batch, definition=None, **bag):
    meta = facet(active_batch_definition=definition or {"data_asset_name": "orders"}, batch_spec=batch)
    facets = {"greatExpectations_assertions": EXPECTATIONS, "dataQualityMetrics": MEASURED, **bag}
    found = translate_events(
        event(run={"great_expectations_meta": meta}, inputs=[orders(inputFacets=facets)], producer=GX)
    )
    by_aspect = {one.aspect_name: one.value for one in found.proposals}
    return by_aspect["assertionRunEvent"], by_aspect["datasetProfile"]


@pytest.mark.parametrize(
    ("batch", "definition", "part"),
    [
        (BY_DAY, None, {"partition": '[{"day":2}]', "type": "PARTITION"}),
        ({"partitioner_method": "partition_on_year"}, {"batch_identifiers": {"year": 2026}}, {"partition": '[{"year":2026}]', "type": "PARTITION"}),
        ({"query": "select * from orders where id > 3"}, None, {"partition": "select * from orders where id > 3", "type": "QUERY"}),
        ({"sampling_method": "sample_using_limit", "sampling_kwargs": {"n": 10}}, None, {"partition": "SAMPLE", "type": "QUERY"}),
    ],
)  # fmt: skip
def test_partial_batch_partitions_results_and_profile(batch, definition, part):
    """Its results and what was measured of it are those of the part, as DataHub's own action has it."""
    result, profile = validated(batch, definition)
    assert result["partitionSpec"] == profile["partitionSpec"] == part
    assert (result["result"]["rowCount"], result["result"]["missingCount"]) == (10, 2)


@pytest.mark.parametrize(
    "batch",
    [
        {"table_name": "orders", "batch_identifiers": {}},
        {"batch_identifiers": {"run": "nightly"}},
        {**BY_DAY, "splitter_method": "split_on_whole_table"},
        {**BY_DAY, "splitter_method": "_split_on_whole_table"},
        {**BY_DAY, "batch_identifiers": {}},
        {"query": ""},
        "orders",
    ],
)
def test_full_table_batch_has_the_full_table_partition(batch):
    result, profile = validated(batch)
    assert result["partitionSpec"]["type"] == profile["partitionSpec"]["type"] == "FULL_TABLE"


def test_subset_facet_wins_over_the_batch_partition():
    condition = {"type": "partition", "partitions": [{"dimensions": {"dt": "2026-11-24"}}]}
    result, profile = validated(BY_DAY, subset=facet(inputCondition=condition))
    assert (
        result["partitionSpec"]
        == profile["partitionSpec"]
        == {"partition": '[{"dt":"2026-11-24"}]', "type": "PARTITION"}
    )


def test_sample_size_is_the_limit_of_the_batch():
    result, _ = validated({"sampling_method": "sample_using_limit", "sampling_kwargs": {"n": 10}})
    assert result["batchSpec"]["limit"] == 10
