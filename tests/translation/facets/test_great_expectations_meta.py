"""great_expectations_meta (run): suite, checkpoint and batch of a validation."""

from __future__ import annotations

from facet_cases import DPI, GX, event, facet, of_run, orders, told

META = facet(
    great_expectations_version="1.24.1",
    expectation_suite_name="orders",
    run_id={"run_time": "2026-11-21T07:14:38"},
    active_batch_definition={"data_asset_name": "orders", "datasource_name": "warehouse", "batch_identifiers": {}},
    batch_spec={"query": "select 1", "type": "query"},
)


def test_the_batch_stands_with_the_results():
    checks = {"greatExpectations_assertions": facet(assertions=[{"expectationType": "expect_x", "success": True}])}
    found = told(event(run={"great_expectations_meta": META}, inputs=[orders(inputFacets=checks)], producer=GX))
    (result,) = [one.value for one in found.proposals if one.aspect_name == "assertionRunEvent"]
    batch = result["batchSpec"]
    assert batch["query"] == "select 1"
    assert batch["customProperties"] == {"data_asset_name": "orders", "datasource_name": "warehouse"}
    assert '"data_asset_name":"orders"' in batch["nativeBatchId"]
    assert result["runtimeContext"]["expectation_suite_name"] == "orders"


def test_the_rest_is_kept_on_the_run():
    kept = of_run("great_expectations_meta", META).kept(DPI)
    assert kept["great_expectations_meta.great_expectations_version"] == "1.24.1"
    assert kept["great_expectations_meta.run_id.run_time"] == "2026-11-21T07:14:38"


def test_an_empty_one_says_nothing():
    kept = of_run("great_expectations_meta", facet()).kept(DPI)
    assert not any(key.startswith("great") for key in kept)
