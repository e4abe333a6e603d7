"""Memory over a long file: prints what the process holds after each tenth of it.

    python benchmarks/memory.py FILE EVENTS [WINDOW]

The file is one call, read, translated, validated and serialised as ``dh-bridge translate FILE`` does; WINDOW is the number of
events after which ended runs close (default: that of the settings). A line of JSON tells of each tenth.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from results import freeze, held, one_core, peak

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.openlineage.read import read_events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.openlineage.events import DeadLetter, Event


def watched(file: str, total: int) -> Iterator[Event | DeadLetter]:
    """Yield the events of ``file``, and tell after each tenth of them."""
    began = time.process_time()
    due = total // 10
    for number, event in enumerate(read_events([file]), 1):
        yield event
        if number >= due:
            print(json.dumps({"events": number, "held": held(), "seconds": time.process_time() - began}), flush=True)
            due += total // 10


def main() -> None:
    """Translate the file into nothing."""
    file, total, *window = sys.argv[1:]
    one_core()
    bridge = Bridge()
    freeze()
    size = int(window[0]) if window else bridge.settings.window
    with Path(os.devnull).open("wb") as nowhere:
        for translation in bridge.stream(watched(file, int(total)), window=size):
            nowhere.writelines(map(ndjson_line, translation.proposals))
    print(json.dumps({"peak": peak()}))


if __name__ == "__main__":
    main()
