"""Proposals to a server at URL, which answers at once: ours, or acryl-datahub's REST emitter.

    python benchmarks/delivery_rest.py ours|batch|single URL ROUNDS FILE

The proposals of FILE's events are made beforehand, for acryl-datahub as objects of its own. What is timed is to serialise and
send them. A line of JSON tells what came out; the fastest of ROUNDS counts.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from results import fastest, one_core

from dh_bridge.bridge import Bridge
from dh_bridge.openlineage.read import read_events
from dh_bridge.sinks.base import SinkOptions, open_sink

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.datahub.proposal import Proposal


def ours(url: str, proposals: list[Proposal]) -> Callable[[], None]:
    """Return what sends all of them through our sink, 200 a request."""
    sink = open_sink(f"rest:{url}", SinkOptions(run_id="benchmark", pipeline_name="benchmark"))

    def send() -> None:
        delivery = sink.emit(proposals)
        assert delivery.delivered == len(proposals), delivery.failed[0]  # noqa: S101 - a measurement of errors is none

    return send


def theirs(url: str, proposals: list[Proposal], *, single: bool) -> Callable[[], None]:
    """Return what sends all of them through acryl-datahub's emitter, 200 a request or one by one."""
    from datahub.emitter.rest_emitter import DatahubRestEmitter  # noqa: PLC0415 - not in our process

    emitter = DatahubRestEmitter(url)
    objects = [one.to_mcpw() for one in proposals]

    def send() -> None:
        if single:
            for one in objects:
                emitter.emit_mcp(one)
        else:
            for start in range(0, len(objects), 200):
                emitter.emit_mcps(objects[start : start + 200])

    return send


def main() -> None:
    """Measure, and print one line of JSON."""
    who, url, rounds, file = sys.argv[1:]
    one_core()
    proposals = [one for event in read_events([file]) for one in Bridge().translate(event).proposals]
    send = ours(url, proposals) if who == "ours" else theirs(url, proposals, single=who == "single")
    print(json.dumps({"proposals": len(proposals), "seconds": fastest(int(rounds), send)}))


if __name__ == "__main__":
    main()
