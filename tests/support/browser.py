"""Chromium for the tests of the console, and the page as a person sees it."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_REMEDY = "no Chromium: install it (Debian: apt-get install chromium, which `make browser` does), or set TESTS_CHROMIUM to its path"


def find_chromium() -> str | None:
    """Return the path of Chromium; None if there is none."""
    return os.environ.get("TESTS_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


def require_chromium() -> str:
    """Return the path of Chromium; skip the test without it, and fail in CI."""
    path = find_chromium()
    if path is None and os.environ.get("CI"):
        pytest.fail(_REMEDY)
    if path is None:
        pytest.skip(_REMEDY)
    return path


@contextmanager
def open_browser(path: str) -> Iterator[Browser]:
    """Yield a browser without a window."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where Chromium is

    with sync_playwright() as playwright:
        # containers and root have no sandbox of their own; only pages of this test are opened
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


class WatchedPage:
    """A page with what went wrong on it: errors of scripts, messages of the console, requests to other origins.

    Attributes:
        page: Playwright's page.
        problems: What went wrong.
        requests: The addresses that were requested.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(f"{kind}: {text}")

    def show(self, view: str, heading: str) -> None:
        """Open a view by its address and wait until its heading is shown."""
        self.page.evaluate("hash => { location.hash = hash; }", f"#/{view}")
        self.page.get_by_role("heading", level=1, name=heading).wait_for()
