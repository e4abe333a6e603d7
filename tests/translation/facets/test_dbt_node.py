"""dbt_node (job)."""

from __future__ import annotations

from facet_cases import JOB, facet, of_job


def test_file_and_unique_id_are_kept_on_the_job():
    body = facet(original_file_path="models/orders.sql", database="shop", unique_id="model.shop.orders", test_type=None)
    kept = of_job("dbt_node", body).kept(JOB)
    assert kept["dbt_node.original_file_path"] == "models/orders.sql"
    assert kept["dbt_node.unique_id"] == "model.shop.orders"
    assert "dbt_node.test_type" not in kept


def test_a_path_as_dbt_writes_it_on_windows_is_a_page_too():
    links = {"dbt_repository": "https://git.example.com/shop/"}
    found = of_job("dbt_node", facet(original_file_path="models\\a b.sql"), links=links)
    assert found.patched(JOB, "dataJobInfo")["/externalUrl"] == "https://git.example.com/shop/models/a%20b.sql"
    assert found.kept(JOB)["dbt_node.original_file_path"] == "models\\a b.sql"
