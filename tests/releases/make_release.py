"""Write tests/releases/VERSION: a catalogue and its event log as this release writes them. Each later release must open them.

Run it once for each release, from the root of the checkout: ``python tests/releases/make_release.py``. Before the release, the folder of its
version may be written again (``--replace``); afterwards it never changes.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import zstandard

from dh_bridge import Settings, __version__
from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger import open_ledger
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.openlineage.read import read_events
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.storage.connection import copy

FOLDER = Path(__file__).parent
EVENTS = FOLDER.parents[1] / "examples" / "events"
FILES = ("client.ndjson", "spark.ndjson", "dbt.ndjson")
SETTINGS = {"datahub_version": "1.4"}


def main() -> None:
    """Write the folder of this release."""
    target = FOLDER / __version__
    if target.exists():
        if "--replace" not in sys.argv:
            sys.exit(f"{target} exists")
        shutil.rmtree(target)
    target.mkdir()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "catalogue.db"
        with CatalogSink(Catalog(path)) as sink, open_ledger(None, sink, Settings(**SETTINGS)) as ledger:
            list(ledger.stream(read_events([EVENTS / name for name in FILES])))
        copy(path, Path(folder) / "copy.db")
        data = (Path(folder) / "copy.db").read_bytes()
        (target / "catalogue.db.zst").write_bytes(zstandard.ZstdCompressor(level=19).compress(data))
        shutil.copytree(log_folder(path), target / "catalogue.db.log", ignore=shutil.ignore_patterns("lock"))
    (target / "settings.json").write_text(json.dumps(SETTINGS) + "\n")


if __name__ == "__main__":
    main()
