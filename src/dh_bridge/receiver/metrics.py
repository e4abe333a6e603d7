"""What a receiver counts, from any of its threads, for people and for Prometheus."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING

from dh_bridge.receiver.backlog import Waits

if TYPE_CHECKING:
    from collections.abc import Callable

_HELP = {
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


_GAUGES = {
    "waiting": "Proposals that wait in the ledger.",
    "waiting_seconds": "For how long the oldest of them waits.",
}


class Meters:
    """Counters that only grow; ``waits`` says what waits in the ledger, nothing in a catalogue, ``stall`` why nothing leaves it."""

    def __init__(self, waits: Callable[[], Waits] = Waits) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._statuses: Counter[int] = Counter()
        self.waits = waits
        self.stall: Callable[[], str | None] = lambda: None

    def add(self, **counts: int) -> None:
        """Add to the counters of these names."""
        with self._lock:
            self._counts.update(counts)

    def answered(self, status: int) -> None:
        """Count a request by its status."""
        with self._lock:
            self._statuses[status] += 1

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def lines(self) -> list[str]:
        """Return the counters as lines that a person likes to read."""
        shown = {
            "requests": sum(self._statuses.values()),
            **{name: self._counts[name] for name in _HELP if name != "requests"},
        }
        shown["waiting"] = self.waits().number
        kept = {name: number for name, number in shown.items() if number or name in ("events", "proposals")}
        width = max(map(len, kept))
        return [f"{name.replace('_', ' ').ljust(width)}  {number:>9,}" for name, number in kept.items()]

    def metrics(self) -> str:
        """Return the counters in the text format of Prometheus."""
        with self._lock:
            statuses, counts = dict(self._statuses), Counter(self._counts)
        found: list[str] = []
        for name, about in _HELP.items():
            metric = f"dh_bridge_{name}_total"
            found += [f"# HELP {metric} {about}", f"# TYPE {metric} counter"]
            if name == "requests":
                found += [f'{metric}{{status="{status}"}} {number}' for status, number in sorted(statuses.items())]
            else:
                found.append(f"{metric} {counts[name]}")
        waits = self.waits()
        for (name, about), number in zip(_GAUGES.items(), (waits.number, waits.seconds), strict=True):
            metric = f"dh_bridge_{name}"
            found += [f"# HELP {metric} {about}", f"# TYPE {metric} gauge", f"{metric} {number}"]
        return "\n".join([*found, ""])
