"""Zstandard: read as gzip is, frame by frame, also where a file breaks off or would fill the memory."""

from __future__ import annotations

import io
import json
import tracemalloc

import pytest
import zstandard
from support.sample_events import event

from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.read import read_events

LINES = [json.dumps(event(run=f"01a1f6ae-0000-7000-8000-{number:012}")).encode() + b"\n" for number in range(300)]


def packed(data):
    return zstandard.ZstdCompressor().compress(data)


def runs(items):
    return [item.run_id[-3:] for item in items if isinstance(item, Event)]


NUMBERS = [f"{number:03}" for number in range(300)]


@pytest.mark.parametrize(
    "content",
    [
        packed(b"".join(LINES)),
        packed(b"".join(LINES[:100])) + packed(b"".join(LINES[100:])),
        b"".join(map(packed, LINES)),
        packed(b"[" + b",".join(LINES) + b"]"),
    ],
    ids=["lines", "two frames", "a frame for each line", "array"],
)
def test_packed_events_are_read(tmp_path, content):
    (tmp_path / "events.ndjson.zst").write_bytes(content)
    (tmp_path / "without-ending").write_bytes(content)
    assert runs(read_events([tmp_path / "events.ndjson.zst"])) == NUMBERS
    assert runs(read_events([tmp_path])) == NUMBERS * 2
    assert runs(read_events(["-"], stdin=io.BytesIO(content))) == NUMBERS


@pytest.mark.parametrize("is_damaged", [False, True])
def test_broken_off_file_is_a_dead_letter_after_its_events(tmp_path, is_damaged):
    content = b"".join(packed(b"".join(LINES[start : start + 50])) for start in range(0, 300, 50))
    end = len(content) - 20
    (tmp_path / "e.zst").write_bytes(content[:end] + (b"\xff" * 20 if is_damaged else b""))
    items = list(read_events([tmp_path / "e.zst"]))
    letter = items[-1]
    assert isinstance(letter, DeadLetter)
    assert letter.reason.startswith("cannot read the file: ")
    assert runs(items)[:250] == NUMBERS[:250]


def test_file_that_is_mostly_repetition_is_unpacked_in_small_parts(tmp_path):
    """1 GB of white space in 32 KB."""
    compressor = zstandard.ZstdCompressor().compressobj()
    with (tmp_path / "e.zst").open("wb") as file:
        line = b" " * (1 << 20) + b"\n"
        for _ in range(1_000):
            file.write(compressor.compress(line))
        file.write(compressor.compress(LINES[7]))
        file.write(compressor.flush())
    tracemalloc.start()
    try:
        assert runs(read_events([tmp_path / "e.zst"])) == ["007"]
        assert tracemalloc.get_traced_memory()[1] < 300_000_000
    finally:
        tracemalloc.stop()
