"""Make the dictionary of the event log of the example events: src/dh_bridge/event_log/events.zdict.

Each segment has a copy of its dictionary, so a new dictionary changes new segments only.
"""

from __future__ import annotations

from pathlib import Path

import zstandard

ROOT = Path(__file__).resolve().parents[1]
DICTIONARY = ROOT / "src" / "dh_bridge" / "event_log" / "events.zdict"
MAX_BYTES = 64 * 1024
FOLDERS = (ROOT / "examples" / "events", ROOT / "tests" / "golden" / "events")


def main() -> None:
    """Train the dictionary."""
    samples = [
        line
        for folder in FOLDERS
        for path in sorted(folder.glob("**/*.ndjson"))
        for line in path.read_bytes().splitlines()
        if line.strip()
    ]
    dictionary = zstandard.train_dictionary(MAX_BYTES, samples, level=3, threads=1)
    DICTIONARY.write_bytes(dictionary.as_bytes())
    print(f"{len(samples):,} events, {len(dictionary):,} bytes")


if __name__ == "__main__":
    main()
