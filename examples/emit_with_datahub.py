"""Send proposals through an emitter of acryl-datahub; without the address of a server, print them.

pip install '.[datahub]'
python examples/emit_with_datahub.py [http://localhost:8080]
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from datahub.emitter.rest_emitter import DatahubRestEmitter

from dh_bridge import translate
from dh_bridge.datahub.emitters import emit

EVENTS = Path(__file__).parent / "events" / "dbt.ndjson"


class Shown:
    """An emitter that prints: any object with ``emit`` works."""

    def __init__(self) -> None:
        self.seen = Counter()

    def emit(self, mcp: object) -> None:
        self.seen[type(mcp).__name__, mcp.changeType, mcp.aspectName] += 1

    def flush(self) -> None:
        for (kind, change, aspect), number in sorted(self.seen.items()):
            print(f"  {number:>4}  {change:<6}  {aspect:<32}  {kind}")


def main(server: str | None = None) -> None:
    translation = translate(EVENTS.read_bytes().splitlines())
    emitter = DatahubRestEmitter(server) if server else Shown()
    sent = emit(emitter, translation.proposals)
    print(f"{sent} proposals {'sent to ' + server if server else 'shown; name a server to send them'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
