"""Proposals to a server at URL, which answers at once: ours, or acryl-datahub's REST emitter; see turns.py.

    python benchmarks/delivery_rest.py ours|batch|single|translation URL FILE

The proposals of FILE's events are made beforehand, for acryl-datahub as objects of its own. What is timed is to serialise and
send them; ``translation`` makes them, each event in a call of its own, and sends nothing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from results import one_core
from turns import turns

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.proposal import ndjson_line
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
        assert delivery.delivered_count == len(proposals), delivery.failures[0]  # noqa: S101 - a measurement of errors is none

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


def translation(file: str) -> Callable[[], None]:
    """Return what makes the proposals of a file's events and their lines of NDJSON."""
    bridge = Bridge()

    def make() -> None:
        for event in read_events([file]):
            for one in bridge.translate(event).proposals:
                ndjson_line(one)

    return make


def translated(file: str) -> list[Proposal]:
    """Return the proposals of a file's events, each event a call of its own."""
    bridge = Bridge()
    return [one for event in read_events([file]) for one in bridge.translate(event).proposals]


def main() -> None:
    """Take turns."""
    who, url, file = sys.argv[1:]
    one_core()
    proposals = translated(file)
    if who == "translation":
        work = translation(file)
    else:
        work = ours(url, proposals) if who == "ours" else theirs(url, proposals, single=who == "single")
    turns(len(proposals), work)


if __name__ == "__main__":
    main()
