"""The counters of a receiver, from any of its threads, for people and for Prometheus."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING

from dh_bridge.event_log import LogStatus
from dh_bridge.receiver.backlog import BacklogSize
from dh_bridge.receiver.log_backlog import age_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

_COUNTER_HELP = {
    "requests": "Requests by status, excluding /health and /metrics.",
    "accepted": "Events written to the event log.",
    "events": "Events written to the ledger.",
    "dead_letters": "Invalid events.",
    "slow_events": "Events that took more than one second of CPU time.",
    "filtered": "Events, datasets and facets removed by filters.",
    "proposals": "Proposals made from events.",
    "invalid_proposals": "Proposals dropped because they violate their schema. This is a bug of dh-bridge.",
    "unsupported_aspects": "Aspects dropped because only newer versions of DataHub support them.",
    "cut": "Texts truncated for the search index of DataHub.",
    "delivered": "Proposals accepted by the target.",
    "refused": "Proposals rejected permanently by the target.",
}


_GAUGE_HELP = {
    "waiting": "Proposals queued in the ledger.",
    "waiting_seconds": "Age of the oldest queued proposal, in seconds.",
    "log_bytes": "Size of the event log, in bytes.",
    "unfolded_events": "Events in the event log that are not in the ledger yet.",
    "unfolded_seconds": "Age of the oldest of these events, in seconds.",
}


class ReceiverMetrics:
    """Counters that only grow.

    ``read_backlog`` returns the backlog of the ledger (none for a catalogue), ``stall_reason`` why it is not delivered,
    ``read_log`` the status of the event log.
    """

    def __init__(self, read_backlog: Callable[[], BacklogSize] = BacklogSize) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._statuses: Counter[int] = Counter()
        self.read_backlog = read_backlog
        self.read_log: Callable[[], LogStatus] = LogStatus
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
        backlog, log = self.read_backlog(), self.read_log()
        gauges = (backlog.number, backlog.seconds, log.total_bytes, log.unfolded_events, age_seconds(log))
        for (name, help_text), number in zip(_GAUGE_HELP.items(), gauges, strict=True):
            metric = f"dh_bridge_{name}"
            lines += [f"# HELP {metric} {help_text}", f"# TYPE {metric} gauge", f"{metric} {number}"]
        return "\n".join([*lines, ""])
