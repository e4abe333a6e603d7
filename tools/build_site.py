"""Build the site of the documentation into out/site: stage the pages, then run Zensical in strict mode.

The staged folder mirrors the checkout: README.md, docs/, the pages beside them, and the files that they link to. So a relative
link works on the site as it does in the checkout. Zensical reports pages and anchors that do not exist; this script reports
links to other missing files, and anything that a built page would load from another host.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("*.md", "docs/*.md", "examples/*.md", "benchmarks/*.md")
FILES = ("docs/*.css", "docs/images/*", "docs/*.json")
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)")
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=\"?(https?://[^\"\s>]+)", re.IGNORECASE)
_LINKED = re.compile(r"<link\b[^>]*>", re.IGNORECASE)
_HOST = re.compile(r"href=\"?(https?://[^\"\s>]+)", re.IGNORECASE)


def stage(folder: Path) -> list[str]:
    """Copy the pages and the files that they need into ``folder``; return the links that lead nowhere."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    needed = {path for pattern in FILES for path in ROOT.glob(pattern)} | set(pages)
    missing = []
    for page in pages:
        for link in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
            target = (page.parent / link).resolve()
            if target.is_file() and target.is_relative_to(ROOT):
                needed.add(target)
            else:
                missing.append(f"{page.relative_to(ROOT)}: {link} is no file of the checkout")
    for path in needed:
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return missing


def requests_to_other_hosts(site: Path) -> list[str]:
    """Return what the built pages would load from other hosts; links that a reader may follow do not count."""
    loaded = set()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        addresses = [*_LOADED.findall(text)]
        for tag in _LINKED.findall(text):
            if 'rel="canonical"' not in tag:
                addresses += _HOST.findall(tag)
        loaded |= {f"{page.relative_to(site)} loads {address}" for address in addresses}
    return sorted(loaded)


def main() -> int:
    """Build the site; return 1 if a link or a request to another host is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=ROOT / "out", help="folder for site/ and site-pages/ (default: out/)"
    )
    out = parser.parse_args().out.resolve()
    zensical = Path(sys.executable).parent / "zensical"
    if not zensical.exists():
        print("Zensical is not installed. It needs Python 3.11 or newer, and the extra dev.", file=sys.stderr)
        return 1
    begin = time.monotonic()
    problems = stage(out / "site-pages")
    config = Path(shutil.copy(ROOT / "docs" / "mkdocs.yml", out))
    built = subprocess.run(
        [zensical, "build", "--clean", "--strict", "--config-file", config],
        cwd=out,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        problems.append(built.stderr.partition("Traceback")[0].strip())
    else:
        problems += requests_to_other_hosts(out / "site")
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        pages = sum(1 for _ in (out / "site").rglob("*.html"))
        print(f"{pages} pages in {out / 'site'}, built in {time.monotonic() - begin:.1f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
