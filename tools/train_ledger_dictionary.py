"""Make the dictionary of new ledgers of the example events: src/dh_bridge/ledger/states.zdict.

Ledgers refer to this file. To train another one, keep this one beside it: the values of existing ledgers need it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import zstandard

from dh_bridge.ledger import Ledger, compression
from dh_bridge.openlineage.read import read_events
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.sinks.base import SinkOptions, open_sink
from dh_bridge.storage.database import Database

ROOT = Path(__file__).resolve().parents[1]
DICTIONARY = ROOT / "src" / "dh_bridge" / "ledger" / "states.zdict"
FOLDERS = (ROOT / "examples" / "events", ROOT / "tests" / "golden" / "events")


def main() -> None:
    """Train the dictionary."""
    options = Options(Settings(datahub_version="1.7"), is_stateful=True)
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        for number, events in enumerate(FOLDERS):
            output = Path(folder) / f"{number}.ndjson"
            with Database(Path(folder) / f"{number}.db") as file:
                sink = open_sink(f"file:{output}", SinkOptions())
                for _ in Ledger(file, options, sink).stream(read_events([str(events)])):
                    pass
                sink.close()
                samples += compression.Compression(file.connection).samples(limit=100_000)
            samples += output.read_bytes().splitlines()
    dictionary = zstandard.train_dictionary(compression.DICTIONARY_BYTES, samples, level=3, threads=1)
    DICTIONARY.write_bytes(dictionary.as_bytes())
    print(f"{len(samples):,} values, {len(dictionary):,} bytes, number {dictionary.dict_id()}")


if __name__ == "__main__":
    main()
