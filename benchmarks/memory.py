"""Memory over a long file: prints what the process holds after each tenth of it.

    python benchmarks/memory.py FILE EVENTS [WINDOW]

The file is one call, read, translated, validated and serialised as ``dh-bridge translate FILE`` does; WINDOW is the number of
events after which ended runs close (default: that of the settings). A line of JSON tells of each tenth.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ours import one_core

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.openlineage.read import read_events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.openlineage.events import DeadLetter, Event

_STATM = Path("/proc/self/statm")


def held() -> float:
    """Return the resident memory of this process in MiB; where /proc is missing, the most that it ever was."""
    if _STATM.exists():
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def watched(file: str, total: int) -> Iterator[Event | DeadLetter]:
    """Yield the events of ``file``, and tell after each tenth of them."""
    began = time.perf_counter()
    due = total // 10
    for number, event in enumerate(read_events([file]), 1):
        yield event
        if number >= due:
            print(json.dumps({"events": number, "held": held(), "seconds": time.perf_counter() - began}), flush=True)
            due += total // 10


def main() -> None:
    """Translate the file into nothing."""
    file, total, *window = sys.argv[1:]
    one_core()
    gc.set_threshold(100_000, 50, 50)  # as dh_bridge.cli.main
    bridge = Bridge()
    gc.freeze()
    size = int(window[0]) if window else bridge.settings.window
    with Path(os.devnull).open("wb") as nowhere:
        for translation in bridge.stream(watched(file, int(total)), window=size):
            nowhere.writelines(map(ndjson_line, translation.proposals))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak": peak}))


if __name__ == "__main__":
    main()
