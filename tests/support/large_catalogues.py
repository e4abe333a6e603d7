"""The generator of large catalogues, which the benchmarks have."""

from __future__ import annotations

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def write_large_catalogue(path, runs, datasets):
    """Write a catalogue with so many runs and datasets, and return its entities."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from large_catalogue import write_catalogue  # noqa: PLC0415 - a script beside the tests
    finally:
        sys.path.remove(str(BENCHMARKS))
    return write_catalogue(path, runs, datasets)
