"""dh_bridge at work: each step of parse, translate, validate and serialise, as the command line does it.

    python benchmarks/ours.py alone|together ROUNDS FILE...

``alone``: every event is a call of its own, as behind a web hook. ``together``: a file is one call, as ``dh-bridge
translate FILE``: runs fold, and what they share is written once per window. A line of JSON tells what came out; each file is
read ROUNDS times, the fastest pass counts. The first file only warms up.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from results import freeze, one_core, peak

from dh_bridge.bridge import Bridge, Translation
from dh_bridge.cache import relax_garbage_collection
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.openlineage.read import read_events

if TYPE_CHECKING:
    from collections.abc import Iterator


def translations(bridge: Bridge, mode: str, file: str) -> Iterator[Translation]:
    """Yield the translations of a file's events."""
    if mode == "together":
        yield from bridge.stream(read_events([file]), piecewise=True)
        return
    for event in read_events([file]):
        yield bridge.translate(event)


def measured(bridge: Bridge, mode: str, file: str) -> dict[str, float]:
    """Return events, proposals and bytes of a file, and the seconds that they took."""
    events = proposals = size = 0
    began = time.process_time()
    for translation in translations(bridge, mode, file):
        assert not translation.rejected, translation.rejected[0]  # noqa: S101 - a measurement of errors is none
        assert not translation.dead, translation.dead[0]  # noqa: S101 - as above
        events += translation.counts.events
        for proposal in translation.proposals:
            size += len(ndjson_line(proposal))
            proposals += 1
    return {"events": events, "proposals": proposals, "bytes": size, "seconds": time.process_time() - began}


def main() -> None:
    """Measure, and print one line of JSON."""
    mode, rounds, warm, *files = sys.argv[1:]
    one_core()
    relax_garbage_collection()  # as dh_bridge.cli.main
    bridge = Bridge()
    measured(bridge, mode, warm)
    freeze()
    passes = [measured(bridge, mode, file) for file in files for _ in range(int(rounds))]
    best = max(passes, key=lambda one: one["events"] / one["seconds"])
    print(json.dumps(best | {"peak": peak()}))


if __name__ == "__main__":
    main()
