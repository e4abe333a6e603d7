"""Write the screenshots of docs/console.md into docs/console/, from the example events. Needs Chromium (`make browser`).

python tools/console_screenshots.py
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from dh_bridge.bridge import Bridge
from dh_bridge.bundled import EXAMPLES
from dh_bridge.console import ConsoleSource, run_console
from dh_bridge.datahub.proposal import upsert
from dh_bridge.event_log import EventLog
from dh_bridge.ledger import Ledger
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.openlineage.events import Event
from dh_bridge.openlineage.inputs import iter_events
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.sinks.base import open_sink

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "console"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.marts.orders_enriched,PROD)"
NIGHTLY_JOB = "shop_nightly"
SIZE = {"width": 1200, "height": 720}
DAY_MICROS = 86_400_000_000
LETTER_TIME = 1_795_245_300_000


def write_catalogue(path: Path) -> None:
    """Write the example events into a catalogue with an event log, each on its day, and two dead letters as a server rejects them."""
    settings = Settings()
    events = [event for event in iter_events(Path(EXAMPLES), Bridge(settings).zone) if isinstance(event, Event)]
    times = {event.time // DAY_MICROS: event.time / 1_000_000 for event in events}
    now = [0.0]
    with (
        open_sink(f"catalog:{path}") as sink,
        EventLog(log_folder(path), max_bytes=1 << 30, clock=lambda: now[0]) as log,
    ):
        catalog = sink.catalog
        ledger = Ledger(catalog, Options(settings, is_stateful=True), sink, clock=lambda: now[0], event_log=log)
        for day, day_time in sorted(times.items()):
            now[0] = day_time
            ledger.process_batch([event for event in events if event.time // DAY_MICROS == day])
        with catalog.transaction():
            outbox = Outbox(catalog.connection)
            letter = upsert("dataset", ORDERS, "ownership", {"owners": []})
            outbox.add_dead_letter(
                letter, "HTTP 403: the token's user may not edit owners of this dataset", LETTER_TIME
            )
            letter = upsert("dataset", ORDERS, "domains", {"domains": ["urn:li:domain:finance"]})
            outbox.add_dead_letter(letter, "HTTP 422: urn:li:domain:finance does not exist", LETTER_TIME)
            waiting = upsert("dataset", ORDERS, "status", {"removed": False})
            outbox.add([waiting], LETTER_TIME)


def show(page: Page, view: str) -> None:
    """Open a view and wait until it is drawn."""
    page.evaluate("hash => { location.hash = hash; }", f"#/{view}")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)


def take_overview(page: Page) -> None:
    """Show counts and events by day."""
    show(page, "overview")


def take_inspector(page: Page) -> None:
    """Light a column and what it becomes."""
    show(page, "inspector?example=client:2")
    page.get_by_label("Fields of the event").locator(".line.mapped", has_text="order_id").first.click()
    page.evaluate("scrollTo(0, 80)")
    page.wait_for_timeout(200)


def take_lineage(page: Page) -> None:
    """Show the lineage of a column."""
    show(page, f"lineage?urn={quote(ORDERS)}&direction=up&depth=3")
    page.get_by_role("button", name="shop.marts.orders_enriched, dataset").click()
    page.get_by_role("button", name="order_id INTEGER").click()
    page.wait_for_timeout(200)


def take_run(page: Page) -> None:
    """Show a run with its children."""
    show(page, f"runs?job={NIGHTLY_JOB}")
    page.get_by_role("row").filter(has=page.get_by_role("link", name="shop_nightly", exact=True)).first.locator(
        "a.mono"
    ).click()
    page.get_by_role("heading", level=2, name="Parent and children").wait_for()
    page.wait_for_timeout(200)


def take_problems(page: Page) -> None:
    """Show dead letters with the words of the server, and what a check of the log finds, in the dark theme."""
    page.get_by_role("button", name="Dark theme").click()
    show(page, "problems")
    page.get_by_role("button", name="Check", exact=True).first.click()
    page.get_by_text("events checked").wait_for()
    page.evaluate("scrollTo(0, 0)")
    page.mouse.move(0, 0)


def main() -> int:
    """Write all pictures; return the exit code."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("no Chromium: run `make browser`", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "demo.db"
        write_catalogue(file)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with run_console(ConsoleSource(str(file), Settings())) as console:
            page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
            page.goto(console.url)
            for take in (take_overview, take_inspector, take_lineage, take_run, take_problems):
                take(page)
                path = FOLDER / f"{take.__name__.removeprefix('take_')}.png"
                page.screenshot(path=path)
                print(f"{path.name}: {path.stat().st_size // 1024} KiB")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
