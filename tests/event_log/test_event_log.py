"""The event log: what is acknowledged is read again, by any process, after any damage at its end."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import msgspec
import pytest
import zstandard

from dh_bridge.errors import SinkError
from dh_bridge.event_log import EventLog, LoggedEvent, segment_writer
from dh_bridge.event_log import log as log_module
from dh_bridge.event_log.format import FORMAT_VERSION, MAGIC, encode_record
from dh_bridge.event_log.log_erase import erase_events

FIXTURE = Path(__file__).with_name("format-1.log")
DAY = 86_400
MAX_BYTES = 1 << 30


def logged(number, size=0):
    return LoggedEvent(
        number, f"e:{number}", "run", b'{"n":%d,"text":"%s"}' % (number, os.urandom(size // 2).hex().encode())
    )


def open_log(folder, **options):
    return EventLog(folder, **{"max_bytes": MAX_BYTES, **options})


def read_all(folder, after=0):
    with open_log(folder) as log:
        events = []
        while (batch := log.read_after(after, max_events=3, max_bytes=1 << 20)).events:
            events += batch.events
            after = batch.last
    return events


def numbers(folder, after=0):
    return [(position, event.received) for position, event in read_all(folder, after)]


def segments(folder):
    return sorted(folder.glob("*.log"))


def test_events_are_read_from_any_position(tmp_path):
    with open_log(tmp_path) as log:
        assert log.append([logged(1)]) == range(1, 2)
        assert log.append([logged(number) for number in range(2, 12)]) == range(2, 12)
        assert log.append([logged(12)]) == range(12, 13)
        assert log.status(4)[1:5] == (1, 12, 8, log.status(4).unfolded_bytes)
    for after in range(13):
        assert numbers(tmp_path, after) == [(number, number) for number in range(after + 1, 13)]


def test_reader_follows_a_log_that_grows(tmp_path):
    with open_log(tmp_path) as writer, open_log(tmp_path) as reader:
        after = 0
        for number in range(1, 30):
            assert reader.read_after(after, max_events=5, max_bytes=1 << 20).events == []
            writer.append([logged(number)])
            after = reader.read_after(after, max_events=5, max_bytes=1 << 20).last
            assert after == number


def test_batch_ends_at_its_maximum_of_events_and_bytes(tmp_path):
    with open_log(tmp_path) as log:
        log.append([logged(number, 1_000) for number in range(1, 11)])
        assert log.read_after(0, max_events=4, max_bytes=1 << 20).last == 4
        assert log.read_after(4, max_events=10, max_bytes=2_500).last == 6
        assert log.read_after(6, max_events=10, max_bytes=1).last == 7


def test_log_of_format_1_is_read(tmp_path):
    shutil.copy(FIXTURE, tmp_path / "00000000000000000001.log")
    assert [
        (position, event.received % 1_000, event.location, event.run_key, event.event)
        for position, event in read_all(tmp_path)
    ] == [
        (number, number, f"events.ndjson:{number}", f"run-{number % 3}", b'{"n":%d}' % number) for number in range(1, 8)
    ]
    with open_log(tmp_path) as log:
        assert log.append([logged(8)]) == range(8, 9)
    assert [position for position, _ in read_all(tmp_path)] == list(range(1, 9))


def test_log_is_read_without_the_package():
    """The format as docs/ledger.md describes it, with zstandard and msgpack alone."""
    data = FIXTURE.read_bytes()
    assert data[:8] == b"dhBlog\r\n"
    (length,) = struct.unpack_from("<I", data, 8)
    header = msgspec.msgpack.decode(data[12 : 12 + length])
    assert struct.unpack_from("<I", data, 12 + length)[0] == zlib.crc32(data[12 : 12 + length])
    assert (header["version"], header["first"]) == (1, 1)
    dictionary = zstandard.ZstdCompressionDict(header["dictionary"])
    offset, events = 16 + length, []
    while offset < len(data):
        _, first, count, frame_length, checksum = struct.unpack_from("<4sQIII", data, offset)
        frame = data[offset + 24 : offset + 24 + frame_length]
        assert checksum == zlib.crc32(frame, zlib.crc32(data[offset : offset + 20]))
        found = msgspec.msgpack.decode(zstandard.ZstdDecompressor(dict_data=dictionary).decompress(frame))
        assert (first, count) == (len(events) + 1, len(found))
        events += found
        offset += 24 + frame_length
    assert [event[3] for event in events] == [b'{"n":%d}' % number for number in range(1, 8)]


def make_segment(folder, version, events, **header):
    """Write a segment as a later release may write it."""
    body = msgspec.msgpack.encode(
        {"version": version, "first": 1, "log_id": b"1", "created": 1, "dictionary": b"", **header}
    )
    record = encode_record(1, len(events), zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(events)))
    path = folder / "00000000000000000001.log"
    path.write_bytes(MAGIC + struct.pack("<I", len(body)) + body + struct.pack("<I", zlib.crc32(body)) + record)


def test_fields_of_the_next_release_are_skipped(tmp_path):
    make_segment(tmp_path, FORMAT_VERSION, [[7, "e:1", "run", b"{}", "tenant", [1, 2]]], owner="etl")
    assert [event for _, event in read_all(tmp_path)] == [LoggedEvent(7, "e:1", "run", b"{}")]
    with open_log(tmp_path) as log:
        assert log.append([logged(2)]) == range(2, 3)
    assert [position for position, _ in read_all(tmp_path)] == [1, 2]


def test_fields_of_the_next_release_outlive_an_erasure(tmp_path):
    events = [[number, "e", f"run-{number}", b"{}", "tenant"] for number in range(4)]
    make_segment(tmp_path, FORMAT_VERSION, events, owner="etl")
    assert erase_events(tmp_path, lambda event: event.run_key == "run-2") == 1
    data = segments(tmp_path)[0].read_bytes()
    assert b"owner" in data
    assert [position for position, _ in read_all(tmp_path)] == [1, 2, 4]
    frames = [frame for frame in data.split(b"\xd5dhR")[1:] if len(frame) > 20]
    stored = [msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(frame[20:])) for frame in frames]
    assert [event for part in stored for event in part] == [events[0], events[1], events[3]]


def test_log_of_a_newer_format_is_refused_with_the_remedy(tmp_path):
    make_segment(tmp_path, FORMAT_VERSION + 1, [[7, "e:1", "run", b"{}"]])
    with pytest.raises(SinkError) as caught:
        read_all(tmp_path)
    assert caught.value.problem == f"the event log has format {FORMAT_VERSION + 1}, newer than {FORMAT_VERSION}"
    assert caught.value.remedy == "use a newer dh-bridge"
    with open_log(tmp_path) as log, pytest.raises(SinkError, match="use a newer dh-bridge"):
        log.append([logged(2)])


@pytest.fixture
def damaged(tmp_path):
    """Return a function that makes a log of four acknowledged events, of which the last two are then changed."""
    folder = tmp_path / "original"
    with open_log(folder) as log:
        log.append([logged(1), logged(2)])
        start = segments(folder)[0].stat().st_size
        log.append([logged(3, 60)])
        middle = segments(folder)[0].stat().st_size
        log.append([logged(4, 60)])
    data = segments(folder)[0].read_bytes()

    def make(changed):
        shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
        (tmp_path / "damaged").mkdir()
        (tmp_path / "damaged" / "00000000000000000001.log").write_bytes(changed)
        return tmp_path / "damaged"

    return make, data, start, middle


def test_log_cut_at_every_byte_keeps_all_complete_records_and_goes_on(damaged):
    make, data, start, middle = damaged
    for end in range(start, len(data)):
        folder = make(data[:end])
        retained = [1, 2, 3][: 3 if end >= middle else 2]
        assert [event.received for _, event in read_all(folder)] == retained
        with open_log(folder) as log:
            positions = log.append([logged(9)])
        assert positions.start > 3 if end not in (start, middle) else positions.start == len(retained) + 1
        assert [event.received for _, event in read_all(folder)] == [*retained, 9]


def test_cut_is_logged(damaged, caplog):
    make, data, _, _ = damaged
    with open_log(make(data[:-1])) as log:
        log.append([logged(9)])
    assert "are an incomplete record, and are cut off: its events were not acknowledged" in caplog.text


def test_flipped_bit_loses_its_record_only(damaged, caplog):
    make, data, start, middle = damaged
    for place in range(start, len(data)):
        caplog.clear()
        folder = make(data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :])
        retained = [1, 2, 4] if place < middle else [1, 2, 3]
        assert [event.received for _, event in read_all(folder)] == retained
        assert ("are damaged from byte" in caplog.text) == (place < middle)
        with open_log(folder) as log:
            log.append([logged(9)])
        assert [event.received for _, event in read_all(folder)] == [*retained, 9]


def test_damaged_header_is_an_error_that_names_the_segment(damaged):
    make, data, _, _ = damaged
    with pytest.raises(SinkError, match="the header of the segment is damaged") as caught:
        read_all(make(data[:100]))
    assert caught.value.location.endswith("00000000000000000001.log")


WRITER = """
import sys
from pathlib import Path
from dh_bridge.event_log import EventLog, LoggedEvent

first = int(sys.argv[2])
with EventLog(Path(sys.argv[1]), max_bytes=1 << 30) as log:
    for number in range(first, first + 60):
        log.append([LoggedEvent(number, "e", "", b"{}")] * 2)
"""


def test_processes_append_beside_each_other(tmp_path):
    arguments = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*arguments, str(1_000 * n)]) for n in (1, 2, 3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    found = numbers(tmp_path)
    assert [position for position, _ in found] == list(range(1, 361))
    assert sorted(number for _, number in found) == sorted(
        [*range(1_000, 1_060), *range(2_000, 2_060), *range(3_000, 3_060)] * 2
    )


def test_two_writers_share_segments_that_end(tmp_path, monkeypatch):
    monkeypatch.setattr(log_module, "SEGMENT_BYTES", 200_000)
    with open_log(tmp_path) as one, open_log(tmp_path) as other:
        for number in range(1, 61):
            (one if number % 3 else other).append([logged(number, 20_000)])
    assert len(segments(tmp_path)) > 3
    assert numbers(tmp_path) == [(number, number) for number in range(1, 61)]


@pytest.mark.parametrize("has_link", [False, True], ids=["deleted", "linked elsewhere"])
def test_log_that_was_deleted_begins_again_with_another_id(tmp_path, has_link):
    folder = tmp_path / "log"
    with open_log(folder) as log:
        log.append([logged(1)])
        if has_link:
            (tmp_path / "linked").hardlink_to(segments(folder)[0])
        first_id = log.log_id()
        shutil.rmtree(folder)
        log.append([logged(2)])
        assert log.log_id() != first_id
        assert log.read_after(0, max_events=9, max_bytes=999).events[0].event.received == 2
    assert numbers(folder) == [(1, 2)]


def test_positions_begin_where_the_ledger_wants_them(tmp_path):
    with open_log(tmp_path) as log:
        log.append([logged(1)])
        assert log.append([logged(2)], min_position=100) == range(100, 101)
        assert log.append([logged(3)], min_position=50) == range(101, 102)
    assert numbers(tmp_path) == [(1, 1), (100, 2), (101, 3)]
    assert numbers(tmp_path, 40) == [(100, 2), (101, 3)]


class Clock:
    def __init__(self):
        self.now = 1_796_000_000.0

    def __call__(self):
        return self.now


def make_days(folder, clock, days):
    """Append an event a day: each day is a segment."""
    with open_log(folder, clock=clock) as log:
        for day in range(1, days + 1):
            log.append([logged(day)])
            clock.now += DAY


def test_old_segments_are_deleted_once_they_are_processed(tmp_path):
    clock = Clock()
    make_days(tmp_path, clock, 10)
    with open_log(tmp_path, clock=clock) as log:
        assert log.delete_old(0, retention_days=3) == 0  # nothing is processed
        assert log.delete_old(4, retention_days=3) == 4
        assert log.delete_old(10, retention_days=3) == 2
        assert log.first_position() == 7
    assert numbers(tmp_path) == [(7, 7), (8, 8), (9, 9), (10, 10)]


def _fill(log):
    """Append events until the log is full; return the number of accepted ones."""
    number = 0
    while True:
        try:
            log.append([logged(number + 1, 20_000)])
        except SinkError:
            return number
        number += 1


def test_large_log_loses_processed_segments_and_refuses_events_beyond_its_size(tmp_path):
    with open_log(tmp_path, max_bytes=1_600_000) as log:
        accepted = _fill(log)
        with pytest.raises(SinkError, match=r"the event log is full: 1,600,000 bytes .*log\.max_bytes") as caught:
            log.append([logged(0)])
        assert caught.value.retryable
        assert log.status(0).unfolded_events == accepted
        assert log.delete_old(accepted, retention_days=30) >= 1
        log.append([logged(accepted + 1)])
    assert numbers(tmp_path)[-1][1] == accepted + 1


def test_full_disk_refuses_events_and_recovers(tmp_path, monkeypatch):
    """A write that breaks off leaves no part of a record, and no gap that hides what comes later."""
    written = []

    def write_in_part(descriptor, data):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(1)
        return os.write(descriptor, data[: len(data) // 2])

    with open_log(tmp_path) as log:
        log.append([logged(1)])
        with monkeypatch.context() as patched:
            patched.setattr(segment_writer, "os", _os_with(write=write_in_part))
            with pytest.raises(SinkError, match="cannot write the event log: the disk is full") as caught:
                log.append([logged(2), logged(3)])
        assert caught.value.retryable
        assert log.append([logged(4)]) == range(2, 3)
    assert numbers(tmp_path) == [(1, 1), (2, 4)]


def _os_with(**functions):
    class Os:
        def __getattr__(self, name):
            return functions.get(name) or getattr(os, name)

    return Os()


def test_segment_that_was_ended_alone_is_continued(tmp_path, monkeypatch):
    """A process is killed after the end mark, before the next segment exists."""
    with open_log(tmp_path) as log:
        log.append([logged(1)])
        monkeypatch.setattr(log._writer, "_create", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "gone")))
        with pytest.raises(SinkError):
            log.append([logged(2)], min_position=5)
    with open_log(tmp_path) as log:
        assert log.append([logged(3)]).start > 1
    assert [number for _, number in numbers(tmp_path)] == [1, 3]


def test_files_of_the_log_are_private(tmp_path):
    with open_log(tmp_path / "log") as log:
        log.append([logged(1)])
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "log", *(tmp_path / "log").iterdir())} == {0}


def test_last_position_is_found_without_reading_the_events(tmp_path, monkeypatch):
    with open_log(tmp_path) as log:
        assert log.last_position() == 0
        for number in range(1, 4):
            log.append([logged(number * 10 + item, 200) for item in range(number)])
            assert log.last_position() == log.status(0).last
        monkeypatch.setattr(log_module, "SEGMENT_DAYS", -1)
        log.append([logged(9)])
        assert len(segments(tmp_path)) == 2
        assert log.last_position() == 7
        assert log.total_bytes() == log.status(0).total_bytes


@pytest.mark.parametrize("damage", [-3, 60])
def test_last_position_skips_damage_as_the_reader_does(tmp_path, damage):
    with open_log(tmp_path) as log:
        for number in range(1, 6):
            log.append([logged(number, 200)])
    (segment,) = segments(tmp_path)
    data = bytearray(segment.read_bytes())
    place = len(data) + damage if damage < 0 else data.index(b"\xd5dhR") + damage
    data[place] ^= 0xFF
    segment.write_bytes(data)
    with open_log(tmp_path) as log:
        assert log.last_position() == log.status(0).last


def test_position_before_a_time_is_found_in_the_headers(tmp_path, monkeypatch):
    monkeypatch.setattr(log_module, "SEGMENT_DAYS", 0)
    times = [1.0]
    with open_log(tmp_path, clock=lambda: times[0]) as log:
        assert log.position_before_time(5_000_000) == 0
        for seconds in (10, 20, 30):
            times[0] = seconds
            log.append([logged(seconds)])
        assert len(segments(tmp_path)) == 3
        assert [log.position_before_time(seconds * 1_000_000) for seconds in (5, 10, 15, 20, 29, 30, 99)] == [
            0,
            0,
            0,
            1,
            1,
            2,
            2,
        ]
