"""Translate the example events in Python, and print counts of the result.

python examples/translate.py [EVENTS]
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from dh_bridge import Bridge, Settings

EVENTS = Path(__file__).parent / "events" / "client.ndjson"


def main(path: Path = EVENTS) -> None:
    bridge = Bridge(Settings(datahub_version="1.4"))  # the version of your DataHub server
    events = path.read_bytes().splitlines()
    translation = bridge.translate(events, report=True)

    counts = translation.counts
    print(f"{counts.events} events of {counts.runs} runs became {counts.proposals} proposals")
    aspects = Counter(proposal.aspect_name for proposal in translation.proposals)
    for aspect, number in aspects.most_common(5):
        print(f"  {number:>4}  {aspect}")

    dropped = Counter(line["reason"] for line in translation.report.lines() if line["outcome"] == "dropped")
    print(f"{counts.mapped} fields mapped, {counts.properties} stored as properties, {counts.dropped} dropped:")
    for reason, number in dropped.most_common(3):
        print(f"  {number:>4}  {reason}")

    for letter in translation.dead:
        print(f"cannot be used: {letter.location}: {letter.reason}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
