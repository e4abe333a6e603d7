"""The docs site builds in strict mode, contains every page, and loads nothing from other hosts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
SECONDS_AT_MOST = 60
NOT_IN_NAV = {"avro_schemas/SOURCE.md"}


class _Loader(yaml.SafeLoader):
    """Reads ``!!python/name:`` tags as text."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/name:", lambda _loader, name, _node: name)


def nav_pages(entries):
    for entry in entries:
        for target in entry.values():
            yield from [target] if isinstance(target, str) else nav_pages(target)


def build(out):
    return subprocess.run(
        [sys.executable, ROOT / "tools" / "build_site.py", "--out", out], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("zensical", reason="Zensical needs Python 3.11 or newer")
    out = tmp_path_factory.mktemp("site")
    begin = time.monotonic()
    done = build(out)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begin < SECONDS_AT_MOST
    return out / "site"


def test_navigation_contains_every_page():
    config = yaml.load((ROOT / "docs" / "mkdocs.yml").read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a safe loader
    listed = list(nav_pages(config["nav"]))
    pages = {
        path.relative_to(ROOT).as_posix()
        for pattern in ("*.md", "docs/*.md", "examples/*.md", "benchmarks/*.md")
        for path in ROOT.glob(pattern)
    }
    assert set(listed) == pages - NOT_IN_NAV
    assert len(listed) == len(set(listed))


def test_every_page_is_built_and_can_be_searched(site):
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {"index.html", "docs/tutorial.html", "docs/cli.html", "docs/how-it-works.html", "CHANGELOG.html"} <= built
    index = json.dumps(json.loads((site / "search.json").read_text(encoding="utf-8")))
    assert "docs/ledger.html" in index


def test_diagrams_are_pictures_that_need_no_script(site):
    sources = {
        page.relative_to(ROOT): page.read_text(encoding="utf-8").count("```mermaid\n")
        for page in ROOT.glob("docs/*.md")
    }
    assert sum(sources.values()) >= 2
    for page, number in sources.items():
        built = (site / page).with_suffix(".html").read_text(encoding="utf-8")
        assert len(re.findall(r'<figure class="diagram"><svg', built)) == number, page


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[a](docs/cli.md#no-such-heading)", "anchor does not exist"),
        ("[a](docs/no_such_page.md)", "is no file of the checkout"),
        ('<img src="https://example.com/logo.png">', "loads https://example.com/logo.png"),
    ],
    ids=["anchor", "page", "host"],
)
def test_build_with_a_wrong_page_fails(text, problem, tmp_path):
    pytest.importorskip("zensical", reason="Zensical needs Python 3.11 or newer")
    copy = tmp_path / "checkout"
    (copy / "docs").mkdir(parents=True)
    (copy / "tools").mkdir()
    for name in ("diagrams.py", "build_site.py"):
        (copy / "tools" / name).write_bytes((ROOT / "tools" / name).read_bytes())
    config = (ROOT / "docs" / "mkdocs.yml").read_text(encoding="utf-8")
    (copy / "docs" / "mkdocs.yml").write_text(
        config.partition("nav:")[0] + "nav:\n- Home: README.md\n- C: docs/cli.md\n"
    )
    (copy / "docs" / "site.css").touch()
    (copy / "docs" / "cli.md").write_text("# Commands\n", encoding="utf-8")
    (copy / "README.md").write_text(f"# Home\n\n{text}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, copy / "tools" / "build_site.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert problem in done.stderr
