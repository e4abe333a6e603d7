"""Write tests/event_log/format-1.log: a log of format 1, which all later versions must read. It is never written again."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from dh_bridge.event_log import EventLog, LoggedEvent

FIXTURE = Path(__file__).with_name("format-1.log")
EVENTS = [
    LoggedEvent(1_796_000_000_000_000 + number, f"events.ndjson:{number}", f"run-{number % 3}", b'{"n":%d}' % number)
    for number in range(1, 8)
]


def main() -> None:
    """Write the fixture: three records, the second of which has five events."""
    with TemporaryDirectory() as folder, EventLog(Path(folder), max_bytes=1 << 30, clock=lambda: 1_796_000_000) as log:
        for part in (EVENTS[:1], EVENTS[1:6], EVENTS[6:]):
            log.append(part)
        shutil.copy(next(Path(folder).glob("*.log")), FIXTURE)


if __name__ == "__main__":
    main()
