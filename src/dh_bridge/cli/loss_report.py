"""The output of `dh-bridge explain --loss`: dropped fields by facet and reason, with counts."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from dh_bridge.cli.terminal import echo, json_line, say, write, write_table
from dh_bridge.report.reasons import REASONS, find_reason, is_loss

if TYPE_CHECKING:
    from collections.abc import Iterable

_FACET = re.compile(
    r"\$\.(?P<part>run|job|dataset|inputs|outputs)(?:\[\d+\])?\.(?:facets|inputFacets|outputFacets)"
    r"(?:\.(?P<name>[^.\[\]]+)|\[\"(?P<quoted>[^\"]+)\"\])"
)
_POSITION = re.compile(r"\[\d+\]")
_MAX_GROUPS = 10_000
_MAX_PATH_LENGTH = 70
_OTHER = ("(others)", "", "(more than 10,000 groups)")


class LossReport:
    """Counts dropped fields by facet and reason.

    Args:
        shows_all: Count envelope fields, empty values and duplicates, too.
    """

    def __init__(self, *, shows_all: bool) -> None:
        self._shows_all = shows_all
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._paths: dict[tuple[str, str, str], str] = {}
        self._hidden: Counter[str] = Counter()

    def select(self, lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the lines of dropped fields, without those that are no loss unless all are shown."""
        dropped = [line for line in lines if line["outcome"] == "dropped"]
        return [line for line in dropped if self._shows_all or is_loss(line["reason"])]

    def add(self, lines: Iterable[dict[str, Any]]) -> None:
        """Count the dropped fields of a report."""
        for line in lines:
            if line["outcome"] != "dropped":
                continue
            reason = _POSITION.sub("[]", line["reason"])
            if not self._shows_all and not is_loss(reason):
                self._hidden[reason.partition(":")[0]] += 1
                continue
            match = _FACET.match(line["path"])
            key = (
                (match["part"], match["name"] or match["quoted"], reason) if match else ("event", "(no facet)", reason)
            )
            if key not in self._counts and len(self._counts) >= _MAX_GROUPS:
                key = _OTHER
            self._counts[key] += 1
            self._paths.setdefault(key, line["path"])

    def write(self) -> None:
        """Write the table, the meanings of its reasons, and the number of hidden fields."""
        if self._counts:
            rows = [
                (count, part, facet, reason, _shorten(self._paths[part, facet, reason]))
                for (part, facet, reason), count in sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
            ]
            write_table(("fields", "of", "facet", "reason", "first field"), rows)
            echo()
            listed_reasons = {
                reason.name: reason for *_, text in self._counts if (reason := find_reason(text)) is not None
            }
            for reason in listed_reasons.values():
                echo(f"{reason.name}: {reason.meaning}")
        else:
            echo("Nothing is lost.")
        if self._hidden:
            counts = ", ".join(f"{count:,} {reason}" for reason, count in self._hidden.most_common())
            say(f"Not counted as lost: {counts} (--all shows them, --reasons explains them).")


def write_reasons(*, as_json: bool) -> None:
    """Write the list of all reasons with their meanings."""
    if as_json:
        write(json_line(reason._asdict()) for reason in REASONS)
    else:
        rows = [(reason.name, "yes" if reason.is_loss else "no", reason.meaning) for reason in REASONS]
        write_table(("reason", "loss", "meaning"), rows)


def _shorten(path: str) -> str:
    return path if len(path) <= _MAX_PATH_LENGTH else f"{path[: _MAX_PATH_LENGTH - 1]}…"
