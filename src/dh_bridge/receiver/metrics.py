"""What a receiver counts, from any of its threads, for people and for Prometheus."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING

from dh_bridge.receiver.backlog import BacklogSize

if TYPE_CHECKING:
    from collections.abc import Callable

_COUNTER_HELP = {
    "requests": "Requests by status, but those that asked how it is.",
    "events": "Events that are in the ledger.",
    "dead_letters": "Events that cannot be used.",
    "slow_events": "Times that an event took more than a second of CPU time in the ledger.",
    "inbox_events": "Events that were acknowledged before they were in the ledger, as another one took long.",
    "filtered": "What the filters left out.",
    "proposals": "Proposals that events came to.",
    "left_out": "Proposals of ours that their schema refuses.",
    "newer": "Aspects that were left out, as only newer versions of DataHub take them.",
    "cut": "Texts that were cut, as DataHub's search index does not take them whole.",
    "delivered": "Proposals that the place took.",
    "refused": "Proposals that the place refused for good.",
}


_GAUGE_HELP = {
    "waiting": "Proposals that wait in the ledger.",
    "waiting_seconds": "For how long the oldest of them waits.",
}


class ReceiverMetrics:
    """Counters that only grow; ``read_backlog`` says what waits in the ledger, nothing in a catalogue, ``stall_reason`` why nothing leaves it."""

    def __init__(self, read_backlog: Callable[[], BacklogSize] = BacklogSize) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._statuses: Counter[int] = Counter()
        self.read_backlog = read_backlog
        self.stall_reason: Callable[[], str | None] = lambda: None

    def add(self, **counts: int) -> None:
        """Add to the counters of these names."""
        with self._lock:
            self._counts.update(counts)

    def count_request(self, status: int) -> None:
        """Count a request by its status."""
        with self._lock:
            self._statuses[status] += 1

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def summary_lines(self) -> list[str]:
        """Return the counters as lines that a person likes to read."""
        counts = {
            "requests": sum(self._statuses.values()),
            **{name: self._counts[name] for name in _COUNTER_HELP if name != "requests"},
        }
        counts["waiting"] = self.read_backlog().number
        visible_counts = {name: number for name, number in counts.items() if number or name in ("events", "proposals")}
        width = max(map(len, visible_counts))
        return [f"{name.replace('_', ' ').ljust(width)}  {number:>9,}" for name, number in visible_counts.items()]

    def to_prometheus(self) -> str:
        """Return the counters in the text format of Prometheus."""
        with self._lock:
            statuses, counts = dict(self._statuses), Counter(self._counts)
        lines: list[str] = []
        for name, help_text in _COUNTER_HELP.items():
            metric = f"dh_bridge_{name}_total"
            lines += [f"# HELP {metric} {help_text}", f"# TYPE {metric} counter"]
            if name == "requests":
                lines += [f'{metric}{{status="{status}"}} {number}' for status, number in sorted(statuses.items())]
            else:
                lines.append(f"{metric} {counts[name]}")
        backlog = self.read_backlog()
        for (name, help_text), number in zip(_GAUGE_HELP.items(), (backlog.number, backlog.seconds), strict=True):
            metric = f"dh_bridge_{name}"
            lines += [f"# HELP {metric} {help_text}", f"# TYPE {metric} gauge", f"{metric} {number}"]
        return "\n".join([*lines, ""])
