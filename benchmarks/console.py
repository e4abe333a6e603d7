"""The console on a catalogue of 100,000 datasets and a million runs, in Chromium; ``make bench-console``.

    python benchmarks/console.py [--file FILE] [--runs 1000000] [--datasets 100000] [--write]

`large_catalogue.py` writes the catalogue, unless FILE is there. The server is a process of its own. For each view the table has the
processor time of the server for its answers, and the time from the change of the address to the content in the page; the best of
three, the first one after the start of the server apart. Needs Chromium (`make browser`).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import psutil
from large_catalogue import Shop, write_catalogue
from playwright.sync_api import sync_playwright
from results import machine, markdown, put

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROUNDS = 3
HEAD = """## Console

Written by `make bench-console ARGS=--write`: `dh-bridge console` on a catalogue of {datasets:,} datasets and {runs:,} runs, in Chromium.
*Server* is the processor time of its answers, *page* the time until the content is shown, both in milliseconds: the first time after
the start, and the best of three later ones. The limits are 1,000 ms for the first content and 2,000 ms for a graph of 500 nodes."""


class View(NamedTuple):
    """A view: its name, its address, and the selector of its content."""

    name: str
    address: str
    content: str


def views(shop: Shop) -> list[View]:
    """Return the views that are measured."""
    hot, job = quote(shop.dataset_urn(0)), quote(shop.job_urn(0))
    return [
        View("overview: numbers", "overview", ".figures .counted"),
        View("overview: runs by day and state", "overview", ".chart canvas"),
        View("runs", "runs", "tbody tr"),
        View("failed runs", "runs?failed=1", "tbody tr"),
        View("runs of the hot job", f"runs?urn={job}", "tbody tr"),
        View("search payment", "search?q=payment", "tbody tr"),
        View("lineage, 200 nodes", f"lineage?urn={hot}&depth=4&nodes=200", "g.node"),
        View("lineage, 500 nodes", f"lineage?urn={hot}&depth=4&nodes=500", "g.node"),
        View("checks", "checks", "tbody tr"),
        View("problems", "problems", ".figures b"),
        View("inspector, an example", "inspector?example=client:2", ".line.mapped"),
    ]


def measure(page: Page, server: psutil.Process, view: View) -> tuple[float, float]:
    """Open a view; return the milliseconds of the server's processor time, and of the time until the content is shown."""
    page.evaluate("() => { location.hash = '#/entity'; }")
    page.wait_for_selector(".note.bad")
    before, begin = server.cpu_times(), time.perf_counter()
    page.evaluate("hash => { location.hash = hash; }", f"#/{view.address}")
    page.wait_for_selector(view.content, state="attached")
    page.evaluate("() => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)))")
    shown = time.perf_counter() - begin
    page.wait_for_load_state("networkidle")
    after = server.cpu_times()
    return 1000 * (after.user + after.system - before.user - before.system), 1000 * shown


def rows(path: Path, shop: Shop) -> list[tuple[str, ...]]:
    """Return the rows of the table."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium: run `make browser`")
    command = [sys.executable, "-m", "dh_bridge", "console", str(path), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, sync_playwright() as playwright:
        url = process.stdout.readline().strip() if process.stdout is not None else ""
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        begin = time.perf_counter()
        page.goto(url)
        table = []
        for name, content in (
            ("first content", ".figures"),
            ("numbers", ".figures .counted"),
            ("runs by day", ".chart canvas"),
        ):
            page.wait_for_selector(content)
            table.append((f"start of the page: {name}", "", f"{1000 * (time.perf_counter() - begin):,.0f}", "", ""))
        server = psutil.Process(process.pid)
        for view in views(shop):
            first = measure(page, server, view)
            later = [measure(page, server, view) for _ in range(ROUNDS)]
            best = [min(times) for times in zip(*later, strict=True)]
            nodes = page.locator("g.node").count()
            name = f"{view.name} ({nodes} drawn)" if nodes else view.name
            table.append((name, *(f"{value:,.0f}" for value in (*first, *best))))
            print(table[-1], round(statistics.median(times[1] for times in later)), file=sys.stderr)
        browser.close()
        process.terminate()
    return table


def main() -> None:
    """Write the catalogue if it is missing, open the views, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--file", type=Path)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--datasets", type=int, default=100_000)
    parser.add_argument("--write", action="store_true", help="Update benchmarks/RESULTS.md.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dh_bridge_bench_") as folder:
        path = options.file or Path(folder) / "large.db"
        shop = Shop(options.runs, options.datasets)
        if not path.exists():
            write_catalogue(path, options.runs, options.datasets)
        table = [("view", "server, first", "page, first", "server, later", "page, later"), *rows(path, shop)]
    print(markdown(table))
    if options.write:
        head = HEAD.format(runs=options.runs, datasets=options.datasets)
        put("console", head, [markdown(table), machine()])


if __name__ == "__main__":
    main()
