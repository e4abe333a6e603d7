"""docs/systems.md and docs/facets.md have a row for each naming file and a section for each facet."""

from __future__ import annotations

import re
from pathlib import Path

from dh_bridge.bundled import mapping_files
from dh_bridge.facets import specs

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_every_naming_file_is_a_row_of_systems():
    rows = [line.split(" | ") for line in (DOCS / "systems.md").read_text(encoding="utf-8").splitlines() if "|" in line]
    assert [row[1].strip("`") for row in rows[2:]] == [path.stem for path in mapping_files("naming")]
    assert all(row[3] for row in rows)
    assert [row[4] for row in rows if row[1] == "`postgres`"] == ["`{database}.{schema}.{*table}`"]


def test_every_facet_is_a_section_of_facets():
    page = (DOCS / "facets.md").read_text(encoding="utf-8")
    assert re.findall(r"^### `([^`]+)`", page, re.MULTILINE) == [spec.keys[0] for spec in specs()]
    ownership = page.partition("## Of a job")[2].partition("### `ownership`")[2]
    assert "| `owners[].name` | mapped | `ownership.owners[].owner` |" in ownership
