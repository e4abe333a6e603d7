"""docs/coverage.md: what of other models the bridge writes, and why not the rest; from docs/coverage/*.yaml, whose rows are tests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROWS = Path(__file__).resolve().parent.parent / "docs" / "coverage"
_ORDER = ("data_rentgen", "google", "data_process_instance", "assertion")
_VERDICTS = ("from OpenLineage", "from the SDK", "never")
_HEAD = """# Coverage

{note}

Four models of others, name by name: what of them the bridge writes into DataHub from OpenLineage events, what only from
Python (`dh_bridge.sdk`), and what never, because of what. Paths are of the aspect's JSON (`*`: any member); a version is the
first DataHub that has the field. Every row that claims a value is a test: `tests/coverage/test_coverage.py` translates an
event, or makes the call, and looks for the value at the path.

"""


def coverage_page(table: Callable[[Iterable[str], Iterable[Iterable[Any]]], str], note: str) -> str:
    """Return docs/coverage.md."""
    pages = [yaml.safe_load((ROWS / f"{name}.yaml").read_text(encoding="utf-8")) for name in _ORDER]
    totals, parts = [], []
    for page in pages:
        rows = list(_rows(page))
        counts = Counter(verdict.partition(",")[0] for _, verdict, _ in rows)
        totals.append((page["title"].partition(":")[0], len(rows), *(counts[verdict] for verdict in _VERDICTS)))
        parts.append(f"## {page['title']}\n\n{table((page['of'], 'verdict', 'where'), rows)}")
    summary = table(("", "names", *_VERDICTS), totals)
    return _HEAD.format(note=note) + summary + "\n" + "\n".join(parts)


def _rows(page: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for row in page["rows"]:
        for name in [row["of"]] if isinstance(row["of"], str) else row["of"]:
            yield (f"`{name}`", *_claim(row))


def _claim(row: dict[str, Any]) -> tuple[str, str]:
    if "never" in row:
        return f"never, because {row['never']}", ""
    aspect, path, _ = row["at"]
    since = f" (DataHub {row['profile']})" if "profile" in row else ""
    where = f"`{aspect}` `{path}`{since}" + (f"; {row['note']}" if "note" in row else "")
    return ("from the SDK" if "sdk" in row else "from OpenLineage"), where
