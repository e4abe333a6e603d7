"""dbt_node (job)."""

from __future__ import annotations

import pytest
from support.facet_cases import DBT, JOB, event, facet, of_job, orders, translate_events

LINKS = {"dbt": "https://git.example.com/shop/{path}"}


def test_file_and_unique_id_are_kept_on_the_job():
    body = facet(original_file_path="models/orders.sql", database="shop", unique_id="model.shop.orders", test_type=None)
    properties = of_job("dbt_node", body).properties(JOB)
    assert properties["dbt_node.original_file_path"] == "models/orders.sql"
    assert properties["dbt_node.unique_id"] == "model.shop.orders"
    assert "dbt_node.test_type" not in properties


def test_path_as_dbt_writes_it_on_windows_is_a_page_too():
    links = {"dbt": "https://git.example.com/shop/{path}"}
    found = of_job("dbt_node", facet(original_file_path="models\\a b.sql"), links=links)
    assert found.patched(JOB, "dataJobInfo")["/externalUrl"] == "https://git.example.com/shop/models/a%20b.sql"
    assert found.properties(JOB)["dbt_node.original_file_path"] == "models\\a b.sql"


def checked(**node):
    """A run of a test that follows dbt's log: only its end has the check."""
    check = {"assertion": "not_null", "name": "not_null_orders_id", "column": "id", "success": True}
    bag = {"dataQualityAssertions": facet(assertions=[check])}
    parts = {"job": {"dbt_node": facet(**node)}, "producer": DBT, "name": "test.shop.not_null_orders_id.1a2b"}
    events = [event("START", inputs=[orders()], **parts), event("COMPLETE", inputs=[orders(facets=bag)], **parts)]
    found = translate_events(events, report=True, links=LINKS)
    (info,) = (one.value for one in found.proposals if one.aspect_name == "assertionInfo")
    return found, info


@pytest.mark.parametrize("kind", ["generic", "singular"])
def test_type_of_a_test_is_on_its_check_too(kind):
    found, info = checked(test_type=kind, unique_id="test.shop.not_null_orders_id.1a2b")
    assert info["customProperties"]["openlineage.dbt_node.test_type"] == kind
    assert found.outcomes()["$.job.facets.dbt_node.test_type"][0] == "property"


def test_external_url_of_a_check_is_its_test_file():
    path = "tests/no_gaps.sql"
    _, info = checked(original_file_path=path, unique_id="test.shop.no_gaps")
    assert info["externalUrl"] == f"https://git.example.com/shop/{path}"
    _, info = checked(original_file_path="models/orders.sql", unique_id="model.shop.orders")
    assert "externalUrl" not in info
