"""docs/coverage.md: which names of other models the bridge writes, and why not the others; each row of docs/coverage/*.yaml is a test."""

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

This page compares dh_bridge with four other models, name by name. The verdict of a name is one of:

- *from OpenLineage*: dh_bridge writes it to DataHub, from OpenLineage events.
- *from the SDK*: dh_bridge writes it only if a Python program reports it (`dh_bridge.sdk`).
- *never*: dh_bridge does not write it, for the reason in the last column.

For the others the last column has the aspect and the path in its JSON (`*` is any element). A DataHub version in parentheses is the first one with this
field. Each row with a value is a test: `tests/coverage/test_coverage.py` translates an event, or makes the call, and reads the value
at the path.

"""


def coverage_page(table: Callable[[Iterable[str], Iterable[Iterable[Any]]], str], note: str) -> str:
    """Return docs/coverage.md."""
    pages = [yaml.safe_load((ROWS / f"{name}.yaml").read_text(encoding="utf-8")) for name in _ORDER]
    totals, parts = [], []
    for page in pages:
        rows = list(_rows(page))
        counts = Counter(verdict for _, verdict, _ in rows)
        totals.append((page["title"].partition(":")[0], len(rows), *(counts[verdict] for verdict in _VERDICTS)))
        parts.append(f"## {page['title']}\n\n{table((page['of'], 'verdict', 'where, or why not'), rows)}")
    summary = table(("", "names", *_VERDICTS), totals)
    return _HEAD.format(note=note) + summary + "\n" + "\n".join(parts)


def _rows(page: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for row in page["rows"]:
        for name in [row["of"]] if isinstance(row["of"], str) else row["of"]:
            yield (f"`{name}`", *_claim(row))


def _claim(row: dict[str, Any]) -> tuple[str, str]:
    if "never" in row:
        return "never", row["never"]
    aspect, path, _ = row["at"]
    since = f" (DataHub {row['profile']})" if "profile" in row else ""
    where = f"`{aspect}` `{path}`{since}" + (f"; {row['note']}" if "note" in row else "")
    return ("from the SDK" if "sdk" in row else "from OpenLineage"), where
