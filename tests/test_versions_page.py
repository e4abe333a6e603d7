"""docs/versions.md states the table of DataHub Cloud that the code has."""

from __future__ import annotations

import re
from pathlib import Path

from dh_bridge.datahub.versions import CLOUD_RELEASES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "versions.md"


def test_page_has_every_cloud_release():
    rows = re.findall(r"^\| ([\d.]+)(?: \(.*?\))? \| ([\d.]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    known = [(".".join(map(str, first)), core) for first, core in reversed(CLOUD_RELEASES) if first != (0,)]
    assert rows == known
