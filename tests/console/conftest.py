"""A catalogue of the example events and one of hostile names, and the page that shows them in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browser import WatchedPage, open_browser, require_chromium

from dh_bridge.bridge import Bridge
from dh_bridge.bundled import EXAMPLES
from dh_bridge.catalog.store import Catalog
from dh_bridge.console import ConsoleSource, run_console
from dh_bridge.openlineage.inputs import iter_events
from dh_bridge.settings import Settings

ENRICHED = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.marts.orders_enriched,PROD)"
STAGED = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.staging.stg_orders,PROD)"


def write_catalogue(path, events):
    bridge = Bridge()
    with Catalog(path) as catalog:
        for translation in bridge.stream(iter_events(events, bridge.zone)):
            delivery = catalog.apply(translation.proposals)
            assert delivery.failures == []


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("console") / "demo.db"
    write_catalogue(path, Path(EXAMPLES))
    return path


@pytest.fixture(scope="session")
def demo(demo_file):
    return ConsoleSource(str(demo_file), Settings())


@pytest.fixture(scope="session")
def chromium():
    with open_browser(require_chromium()) as browser:
        yield browser


@pytest.fixture
def open_page(chromium):
    """Return a function that opens the console of a source in a page of its own."""
    contexts, servers = [], []

    def open_source(source, **options):
        server = run_console(source)
        console = server.__enter__()
        servers.append(server)
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, **options)
        contexts.append(context)
        watched = WatchedPage(context.new_page())
        watched.address = console.address
        watched.page.goto(console.url)
        watched.page.get_by_role("heading", level=1).wait_for()
        return watched

    yield open_source
    for context in contexts:
        context.close()
    for server in servers:
        server.__exit__(None, None, None)
