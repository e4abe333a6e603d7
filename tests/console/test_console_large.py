"""The page in Chromium on a generated catalogue: 2,000 datasets and 10,000 runs, with a dataset that each job reads."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from support.large_catalogues import write_large_catalogue

from dh_bridge.console import ConsoleSource
from dh_bridge.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.browser]

RUNS, DATASETS = 10_000, 2_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The console's source, and the entities of the catalogue."""
    path = tmp_path_factory.mktemp("large") / "large.db"
    shop = write_large_catalogue(path, RUNS, DATASETS)
    return ConsoleSource(str(path), Settings()), shop


def test_each_view_shows_a_first_page_of_many(open_page, large):
    source, shop = large
    watched = open_page(source)
    page = watched.page
    watched.show("overview", "large.db")
    page.locator(".figures").get_by_text(f"{DATASETS:,}", exact=True).wait_for()
    page.get_by_role("link", name=re.compile(f"^{RUNS:,}")).wait_for()
    page.get_by_role("img", name="Runs by day: airflow").locator("canvas").wait_for()
    for view, heading, rows in (
        ("runs", "Runs", 50),
        (f"runs?urn={quote(shop.job_urn(0))}", "Runs", 50),
        ("checks?failed=1", "Checks", 1),
        ("search?q=payment&type=datasets", "Entities with “payment”", 100),
    ):
        watched.show(view, heading)
        page.locator("tbody tr").nth(rows - 1).wait_for()
        assert page.locator("tbody tr").count() <= 100
    watched.show("problems", "Problems")
    page.get_by_role("link", name=f"{RUNS // 20:,} failed runs").wait_for()
    page.get_by_role("button", name="Compare the names in this file").click()
    page.get_by_text(f"{DATASETS:,} datasets compared").wait_for()
    assert watched.problems == []


def test_next_page_follows_the_first(open_page, large):
    watched = open_page(large[0])
    page = watched.page
    watched.show("runs", "Runs")
    page.get_by_text(f"50 of {RUNS:,}").wait_for()
    page.get_by_role("button", name="Show more").click()
    page.locator("tbody tr").nth(99).wait_for()
    links = page.locator("tbody a.mono").evaluate_all("links => links.map(link => link.href)")
    assert len(set(links)) == 100
    assert watched.problems == []


def test_large_neighbourhood_is_cut_with_a_count_on_the_page(open_page, large):
    source, shop = large
    watched = open_page(source)
    page = watched.page
    page.evaluate("hash => { location.hash = hash; }", f"#/lineage?urn={quote(shop.dataset_urn(0))}&depth=4&nodes=500")
    page.locator("g.node").nth(499).wait_for(state="attached")
    assert page.locator("g.node").count() == 500
    hidden = page.locator(".cut").inner_text()
    assert int(re.match(r"[\d,]+", hidden)[0].replace(",", "")) > 100
    assert watched.problems == []
