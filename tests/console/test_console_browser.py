"""The page in Chromium: each view on the catalogue of the example events, hostile names, and nothing from other origins."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from support.browser import find_chromium

from dh_bridge.catalog.store import Catalog
from dh_bridge.console import ConsoleSource
from dh_bridge.console.inspector import inspect_events
from dh_bridge.datahub.proposal import upsert
from dh_bridge.ledger import open_ledger
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.openlineage.read import events_of
from dh_bridge.settings import Settings
from dh_bridge.sinks.memory import MemorySink

pytestmark = [pytest.mark.slow, pytest.mark.browser]

GOLDEN = Path(__file__).parents[1] / "golden" / "producers"
ENRICHED = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.marts.orders_enriched,PROD)"
MARKUP = "<img src=x onerror=alert(1)>"
HOSTILE_NAME = f'{MARKUP}\u202egpj.\x1b[31m\u0007 & "quotes"'
HOSTILE_JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,evil,prod),load)"
PASTED = json.dumps(
    {
        "eventType": "COMPLETE", "eventTime": "2026-11-01T10:00:00Z", "producer": "https://example.com/tool",
        "run": {"runId": "01941b29-7e3a-7c5e-9f43-0d6f3a1c2b11", "facets": {"note": {"text": HOSTILE_NAME}}},
        "job": {"namespace": "prod", "name": "shop.load"},
    }
)  # fmt: skip
HOSTILE_SET = "urn:li:dataset:(urn:li:dataPlatform:hive,<img/src=x>,PROD)"


def address(view, **parameters):
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
    return f"{view}?{query}" if query else view


VIEWS = {
    "overview": "demo.db",
    "lineage": "Lineage",
    address("lineage", urn=ENRICHED): "shop.marts.orders_enriched",
    "runs": "Runs",
    "runs?failed=1": "Runs",
    "checks": "Checks",
    address("entity", urn=ENRICHED): "shop.marts.orders_enriched",
    "search?q=orders": "Entities with “orders”",
    "inspector": "Event inspector",
    "inspector?example=client:2": "Event inspector",
    "problems": "Problems",
    "events": "Events",
}


def violations(page):
    results = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
    return [
        (violation["id"], [node["html"] for node in violation["nodes"]][:3])
        for violation in results.response["violations"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_view_is_shown_without_errors_and_is_accessible(open_page, demo, scheme):
    watched = open_page(demo, color_scheme=scheme, reduced_motion="reduce")
    for view, heading in VIEWS.items():
        watched.show(view, heading)
        watched.page.wait_for_load_state("networkidle")
        assert violations(watched.page) == [], view
    assert watched.problems == []
    assert {re.match(r"https?://[^/]+/", url)[0] for url in watched.requests} == {watched.address}


def test_token_leaves_the_address_and_its_absence_is_explained(open_page, demo):
    watched = open_page(demo)
    assert "token" not in watched.page.evaluate("location.href")
    stranger = watched.page.context.browser.new_context().new_page()
    stranger.goto(watched.address)
    stranger.get_by_text("This page needs its token").wait_for()
    stranger.context.close()


def test_second_tab_takes_the_token_of_the_first(open_page, demo):
    watched = open_page(demo)
    tab = watched.page.context.new_page()
    tab.goto(f"{watched.address}#/runs")
    tab.get_by_role("heading", level=1, name="Runs").wait_for()


def test_search_suggests_and_opens_a_dataset_by_keyboard(open_page, demo):
    watched = open_page(demo)
    page = watched.page
    page.keyboard.press("/")
    page.keyboard.type("enriched")
    page.get_by_role("option", name=re.compile("shop.marts.orders_enriched dataset")).wait_for()
    names = page.get_by_role("option").all_inner_texts()
    position = next(index for index, name in enumerate(names) if name.startswith("shop.marts.orders_enriched\n"))
    for _ in range(position + 1):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="shop.marts.orders_enriched").wait_for()
    assert watched.problems == []


def test_graph_shows_a_column_over_datasets_and_exports(open_page, demo):
    watched = open_page(demo)
    page = watched.page
    watched.show(address("lineage", urn=ENRICHED), "shop.marts.orders_enriched")
    page.get_by_role("button", name="shop.marts.orders_enriched, dataset").click()
    page.get_by_role("button", name="order_id INTEGER").click()
    page.locator("path.column-edge").first.wait_for(state="attached")
    assert page.locator("path.column-edge").count() >= 2
    page.get_by_text("from shop.staging.stg_orders.order_id").wait_for()
    for button, ending, begin in (
        ("SVG", ".svg", b"<svg"),
        ("PNG", ".png", b"\x89PNG"),
        ("Mermaid", ".mmd", b"flowchart LR"),
    ):
        with page.expect_download() as download:
            page.get_by_role("button", name=button, exact=True).click()
        assert download.value.suggested_filename == f"shop.marts.orders_enriched{ending}"
        content = download.value.path().read_bytes()
        assert content.startswith(begin)
        assert len(content) > 300
    assert watched.problems == []


def test_arrow_keys_follow_the_edges_of_the_graph(open_page, demo):
    watched = open_page(demo)
    page = watched.page
    watched.show(address("lineage", urn=ENRICHED), "shop.marts.orders_enriched")
    page.get_by_role("button", name="shop.marts.orders_enriched, dataset").focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.dataset.urn").startswith("urn:li:dataJob:(urn:li:dataFlow:(dbt")
    page.keyboard.press("Enter")
    page.get_by_role("complementary", name="Details").get_by_role("heading", level=2).wait_for()


def test_permalink_of_a_graph_keeps_its_options(open_page, demo):
    watched = open_page(demo)
    page = watched.page
    watched.show(address("lineage", urn=ENRICHED, direction="up", depth="1"), "shop.marts.orders_enriched")
    assert page.locator("g.node").count() == 2
    page.get_by_label("Steps").fill("2")
    page.get_by_label("Steps").press("Enter")
    page.locator("g.node").nth(3).wait_for()
    assert "depth=2" in page.evaluate("location.hash")
    assert "direction=up" in page.evaluate("location.hash")


def test_hostile_names_are_shown_as_text(open_page, tmp_path):
    file = tmp_path / "hostile.db"
    with Catalog(file) as catalog:
        delivery = catalog.apply(
            [
                upsert("dataJob", HOSTILE_JOB, "dataJobInfo", {"name": HOSTILE_NAME, "type": {"string": "airflow"}}),
                upsert(
                    "dataJob", HOSTILE_JOB, "dataJobInputOutput", {"inputDatasets": [HOSTILE_SET], "outputDatasets": []}
                ),
                upsert("dataset", HOSTILE_SET, "status", {"removed": False}),
            ]
        )
        assert delivery.failures == []
    watched = open_page(ConsoleSource(str(file), Settings()))
    page = watched.page
    page.on("dialog", lambda dialog: watched.problems.append(f"dialog: {dialog.message}"))
    for view in (
        address("lineage", urn=HOSTILE_JOB),
        address("entity", urn=HOSTILE_JOB),
        address("search", q="load"),
        address("search", q=MARKUP),
    ):
        page.evaluate("hash => { location.hash = hash; }", f"#/{view}")
        page.wait_for_load_state("networkidle")
        page.get_by_text(MARKUP).first.wait_for(state="attached")
        assert page.locator("img").count() == 0
        assert "\u202e" not in page.content()
        assert "\x1b" not in page.content()
    page.get_by_text("\\u202egpj.\\u001b[31m\\u0007").first.wait_for(state="attached")
    assert watched.problems == []


def test_reason_of_a_skip_names_the_package(monkeypatch):
    monkeypatch.setenv("TESTS_CHROMIUM", "/opt/chromium")
    assert find_chromium() == "/opt/chromium"


def test_inspector_lights_the_value_that_a_field_became_and_back(open_page, demo):
    watched = open_page(demo)
    page = watched.page
    watched.show("inspector?example=client:2", "Event inspector")
    field = page.get_by_label("Fields of the event").locator(".line.mapped", has_text="order_id").first
    field.hover()
    lit = page.get_by_label("Values of the aspects").locator(".lit")
    assert lit.all_inner_texts() == ['fieldPath: "order_id"']
    page.get_by_text("schemaMetadata.fields", exact=True).wait_for()
    lit.first.hover()
    assert 'name: "order_id"' in "".join(page.get_by_label("Fields of the event").locator(".lit").all_inner_texts())
    assert watched.problems == []


def test_inspector_moves_by_keyboard_and_filters_by_outcome(open_page, demo):
    watched = open_page(demo)
    page = watched.page
    watched.show("inspector?example=client:2", "Event inspector")
    page.get_by_label("Fields of the event").locator(".line[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator(".line.lit").count() >= 1
    lost = page.get_by_role("button", name=re.compile("[0-9]+ dropped"))
    lost.click()
    assert lost.get_attribute("aria-pressed") == "true"
    assert watched.problems == []


def test_inspector_is_a_playground_for_pasted_events(open_page, tmp_path):
    Catalog(tmp_path / "empty.db").close()
    watched = open_page(ConsoleSource(str(tmp_path / "empty.db"), Settings()))
    page = watched.page
    watched.show("inspector", "Event inspector")
    page.get_by_role("textbox", name="Event").fill(PASTED)
    page.get_by_role("button", name="Inspect").click()
    page.get_by_label("Values of the aspects").get_by_text("shop.load").first.wait_for()
    assert page.locator("img").count() == 0
    assert "\u202e" not in page.content()
    page.get_by_label("Fields of the event").get_by_text(MARKUP).wait_for()
    page.get_by_text("Paste an event").click()
    page.get_by_role("textbox", name="Event").fill("{")
    page.get_by_role("button", name="Inspect").click()
    page.get_by_text("event cannot be used").wait_for()
    assert watched.problems == []


def test_inspector_shows_each_golden_event_with_its_outcomes(open_page, demo):
    watched = open_page(demo)
    page = watched.page
    watched.show("inspector", "Event inspector")
    paths = sorted(GOLDEN.glob("*.events.json"))
    assert len(paths) > 20
    for path in paths:
        page.locator("details").first.evaluate("details => { details.open = true; }")
        page.get_by_role("textbox", name="Event").fill(path.read_text(encoding="utf-8"))
        with page.expect_response("**/api/inspect") as response:
            page.get_by_role("button", name="Inspect").click()
        assert response.value.ok, path.name
        events = inspect_events(demo.bridge, path.read_bytes()).events
        for position, event in enumerate(events):
            page.locator(".pane-head").first.get_by_text(event.job).first.wait_for(state="attached")
            if len(events) > 1:
                page.locator("#which").select_option(index=position)
            shown = Counter(
                page.get_by_label("Fields of the event")
                .locator(".line[data-line]")
                .evaluate_all("lines => lines.map(line => line.classList[1])")
            )
            lost = sum(field.outcome == "dropped" and field.is_loss for field in event.fields)
            expected = Counter(event.counts) + Counter(lost=lost)
            expected["dropped"] -= lost
            assert shown == +expected, (path.name, position)
    page.get_by_label("Fields of the event").locator(".line.mapped").first.hover()
    page.get_by_label("Values of the aspects").locator(".lit").first.wait_for()
    assert watched.problems == []


def test_dead_letter_is_dropped_on_the_page(open_page, tmp_path):
    file = tmp_path / "dead.db"
    with Catalog(file) as catalog, catalog.transaction():
        letter = upsert("dataset", ENRICHED, "status", {"removed": False})
        Outbox(catalog.connection).add_dead_letter(letter, f"HTTP 422: {MARKUP}", 1_796_000_000_000)
    watched = open_page(ConsoleSource(str(file), Settings()))
    page = watched.page
    watched.show("problems", "Problems")
    page.get_by_text(f"HTTP 422: {MARKUP}").wait_for()
    page.get_by_role("button", name="Drop", exact=True).click()
    page.get_by_text("No problems").wait_for()
    assert watched.problems == []


def hostile_event(number):
    return {
        "eventType": "COMPLETE", "eventTime": f"2026-11-01T10:{number:02}:00Z", "producer": f"https://{MARKUP}/tool",
        "run": {"runId": f"01941b29-7e3a-7c5e-9f43-0d6f3a1c2b{number:02}", "facets": {HOSTILE_NAME: {"cost": number}}},
        "job": {"namespace": "prod", "name": f"load_1f{number:02}9c4e1a-0000-4000-8000-0123456789{number:02}"},
        "outputs": [{"namespace": f"acmedb://{MARKUP}", "name": HOSTILE_NAME}],
    }  # fmt: skip


@pytest.fixture
def logged(tmp_path):
    """A ledger with a log of hostile events, and datasets with nearly equal names."""
    path = tmp_path / "logged.db"
    settings = Settings(datahub_version="1.4")
    events = [hostile_event(number) for number in range(30)]
    events[0]["inputs"] = [
        {"namespace": "postgres://db:5432", "name": name} for name in ("shop.a.orders", "x.shop.a.orders")
    ]
    with open_ledger(path, MemorySink(), settings) as ledger:
        for _ in ledger.stream(events_of(json.dumps(events).encode(), "events")):
            pass
    return ConsoleSource(str(path), settings)


def test_check_of_the_log_leads_from_findings_to_events(open_page, logged):
    watched = open_page(logged, reduced_motion="reduce")
    page = watched.page
    watched.show("problems", "Problems")
    page.get_by_role("button", name="Check", exact=True).first.click()
    page.get_by_text("30 events checked").wait_for()
    growing = page.get_by_role("region", name="Names that grow")
    growing.get_by_text("30 flows become 1").wait_for()
    facets = page.get_by_role("region", name="Unknown facets")
    facets.get_by_text(MARKUP).wait_for()
    page.get_by_role("region", name="Unknown platforms of datasets").get_by_text(MARKUP).first.wait_for()
    assert page.locator("img").count() == 0
    assert "\u202e" not in page.content()
    assert violations(page) == []
    facets.get_by_role("link", name="find events").click()
    page.get_by_role("heading", level=1, name="Events").wait_for()
    page.locator("tbody tr").nth(29).wait_for()
    assert violations(page) == []
    page.locator("tbody tr a").first.click()
    page.get_by_label("Fields of the event").get_by_text(MARKUP).first.wait_for()
    assert watched.problems == []


def test_names_that_nearly_match_are_compared_on_request(open_page, logged):
    watched = open_page(logged)
    page = watched.page
    watched.show("problems", "Problems")
    assert not any("near-misses" in url for url in watched.requests)
    page.get_by_role("button", name="Compare the names in this file").click()
    page.get_by_role("region", name="Names that nearly match").get_by_text("instance or tiers").wait_for()
    assert violations(page) == []
    assert watched.problems == []


def test_overview_shows_events_of_each_producer(open_page, logged):
    watched = open_page(logged)
    page = watched.page
    watched.show("overview", "logged.db")
    producers = page.get_by_role("region", name="Events of each producer")
    assert producers.locator("tbody td.number").first.inner_text() == "30"
    page.get_by_role("img", name=re.compile("Events by day")).wait_for()
    page.get_by_role("region", name="Sizes").get_by_text("Event log").wait_for()
    assert page.locator("img").count() == 0
    assert violations(page) == []
    assert watched.problems == []


def test_chosen_theme_is_set_before_the_first_paint(open_page, demo):
    watched = open_page(demo, color_scheme="light")
    page = watched.page
    page.get_by_role("button", name="Dark theme").click()
    page.route("**/js/main.js", lambda route: route.abort())
    page.reload(wait_until="load")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(19, 21, 25)"


def test_index_preloads_each_module_that_the_page_imports(open_page, demo):
    watched = open_page(demo)
    page = watched.page
    page.wait_for_load_state("networkidle")
    preloaded = set(page.locator("link[rel=modulepreload]").evaluate_all("links => links.map(link => link.href)"))
    modules = {url for url in watched.requests if url.endswith(".js")}
    own = {f"{watched.address}{name}" for name in ("js/main.js", "js/theme_start.js", "vendor/uplot.js")}
    assert modules - own == preloaded
    assert len(modules) == len([url for url in watched.requests if url.endswith(".js")])


@pytest.mark.parametrize("view", [view for view in VIEWS if view != "lineage"])
def test_narrow_page_does_not_scroll_sideways(open_page, demo, view):
    watched = open_page(demo)
    watched.page.set_viewport_size({"width": 390, "height": 800})
    watched.show(view, VIEWS[view])
    watched.page.wait_for_load_state("networkidle")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390
