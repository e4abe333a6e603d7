"""Write docs/images/lineage.svg: the lineage that ``dh-bridge demo`` finds in the example events.

The SVG contains its Mermaid source (``<metadata>``). A test compares it with the source that the current code makes, so the picture
does not depend on the version of the renderer.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING

from diagrams import mermaid_svg

from dh_bridge.catalog.store import Catalog
from dh_bridge.cli.demo import find_most_derived

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.catalog.lineage import LineageNode

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "lineage.svg"


def lineage_source() -> str:
    """Return the Mermaid source: each dataset with its platform and the job that writes it; arrows show where data flows."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "demo.db")
        demo = [sys.executable, "-m", "dh_bridge", "demo", "--to", f"catalog:{file}"]
        subprocess.run(demo, check=True, capture_output=True)
        with Catalog(str(file)) as catalog:
            root = find_most_derived(catalog)
    assert root is not None  # noqa: S101 - the example events have lineage
    writers: dict[str, list[LineageNode]] = {}
    nodes: dict[str, LineageNode] = {}
    for node in _walk(root):
        nodes.setdefault(node.urn, node)
        if node.upstream:
            writers[node.urn] = node.upstream
    datasets = [node for node in nodes.values() if node.type == "dataset"]
    numbers = {node.urn: f"n{number}" for number, node in enumerate(datasets)}
    boxes, arrows = [], []
    for dataset in datasets:
        jobs = [node for node in writers.get(dataset.urn, ()) if node.type != "dataset"]
        lines = [dataset.name, _platform(dataset), *(f"by {job.name.rpartition('.')[2]}" for job in jobs)]
        boxes.append(f'    {numbers[dataset.urn]}["{"<br>".join(lines)}"]')
        arrows += [
            f"    {numbers[source.urn]} --> {numbers[dataset.urn]}"
            for job in jobs
            for source in writers.get(job.urn, ())
            if source.urn in numbers
        ]
    return "\n".join(["flowchart LR", *boxes, *dict.fromkeys(arrows)]) + "\n"


def _walk(node: LineageNode) -> Iterator[LineageNode]:
    yield node
    for upstream in node.upstream:
        yield from _walk(upstream)


def _platform(node: LineageNode) -> str:
    platform = re.search(r"urn:li:dataPlatform:([^,]+)", node.urn)
    return platform[1] if platform else ""


def source_of(svg: str) -> str:
    """Return the Mermaid source that a picture contains."""
    text = svg.partition("<metadata>")[2].partition("</metadata>")[0]
    return unescape(text)


def main() -> int:
    """Write the picture if its source has changed."""
    source = lineage_source()
    if PICTURE.exists() and source_of(PICTURE.read_text(encoding="utf-8")) == source:
        return 0
    svg = mermaid_svg(source)
    end = svg.index(">", svg.index("<svg")) + 1
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(f"{svg[:end]}<metadata>{escape(source)}</metadata>{svg[end:]}", encoding="utf-8")
    print(f"{PICTURE.name}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
