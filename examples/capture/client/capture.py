"""openlineage-python: run, job and dataset events with its own facet classes, through its file transport."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import night
import static
from openlineage.client import OpenLineageClient
from openlineage.client.facet_v2 import set_producer

if TYPE_CHECKING:
    from openlineage.client.client import Event

PRODUCER = "https://git.shop.example/data/pipeline/tree/1.4.0"


def main(sent: Path) -> None:
    """Write `client.ndjson` into the folder `sent`."""
    set_producer(PRODUCER)
    transport = {"type": "file", "log_file_path": str(sent / "client.ndjson"), "append": True}
    client = OpenLineageClient(config={"transport": transport})
    diary: list[Event] = []
    night.collector(diary)
    night.bad_night(diary)
    static.tell(diary)
    night.good_night(diary)
    for event in sorted(diary, key=lambda event: event.eventTime):  # tasks overlap, as they do on a real night
        client.emit(event)
    client.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
