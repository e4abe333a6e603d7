"""The page of `dh-bridge lineage --html`: one file with the graph, its columns and its data."""

from __future__ import annotations

import re

import pytest

from dh_bridge.catalog.store import Catalog
from dh_bridge.console.html_page import lineage_page
from dh_bridge.datahub.proposal import upsert

ENRICHED = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.marts.orders_enriched,PROD)"
MARKUP = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def page(demo_file):
    with Catalog(demo_file, readonly=True) as catalog:
        return lineage_page(catalog, ENRICHED, direction="both", depth=20)


def test_page_names_no_other_file_and_no_host(page):
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"\b(src|href)=", markup)
    assert "@import" not in page
    assert not re.search(r"^(import|export) ", page, re.MULTILINE)


def test_policy_allows_the_script_and_the_styles_alone(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_names_cannot_end_the_script():
    job = "urn:li:dataJob:(urn:li:dataFlow:(airflow,evil,prod),load)"
    with Catalog(":memory:") as catalog:
        catalog.apply([upsert("dataJob", job, "dataJobInfo", {"name": MARKUP, "type": {"string": "airflow"}})])
        page = lineage_page(catalog, job, direction="both", depth=2)
    assert "<img" not in page
    assert page.count("</script>") == 3


@pytest.mark.slow
@pytest.mark.browser
def test_page_works_from_a_file_without_network(chromium, page, tmp_path):
    path = tmp_path / "lineage.html"
    path.write_text(page, encoding="utf-8")
    tab = chromium.new_page()
    problems = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    tab.goto(path.as_uri())
    tab.get_by_role("button", name="shop.marts.orders_enriched, dataset").click()
    tab.get_by_role("button", name="order_id INTEGER").click()
    tab.locator("path.column-edge").first.wait_for(state="attached")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="SVG").click()
    assert download.value.path().read_bytes().startswith(b"<svg")
    assert problems == []
    tab.close()
