"""Files of this machine: which ones hold events, in which parts; what cannot be opened is reported. No Spark here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.sample_events import event
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.spark import files
from dh_bridge.spark.files import decode_part, encode_parts, file_parts
from dh_bridge.spark.stages import RecordStep, _read_part

RAW = sent([event("START")])[0]


def places(folder):
    rows = RecordStep(Settings())
    return [
        (place, reason)
        for shown, part in encode_parts([str(folder)])
        for _, _, place, _, reason in rows._rows([_batch(shown, part)])
    ]


def _batch(place, part):
    import pyarrow as pa  # noqa: PLC0415 - an optional extra

    return pa.RecordBatch.from_pydict({"location": [place], "value": [part], "whole": pa.array([None], pa.bool_())})


def test_file_with_a_name_outside_utf_8_is_read_as_by_emit(tmp_path):
    name = os.path.join(os.fsencode(tmp_path), b"\xff\xe9.ndjson")  # noqa: PTH118 - bytes
    try:
        Path(os.fsdecode(name)).write_bytes(RAW + b"\n" + RAW)
    except OSError:
        pytest.skip("this file system wants names of UTF-8")
    ((shown, part),) = encode_parts([str(tmp_path)])
    assert shown.encode().decode() == f"{tmp_path}/\ufffd\ufffd.ndjson"
    assert decode_part(part) == (os.fsdecode(name), 0, 0)
    assert [(place, reason) for place, reason in places(tmp_path)] == [
        (f"{os.fsdecode(name)}:{number}", None) for number in (1, 2)
    ]


def test_unreadable_large_file_is_reported_by_the_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_PART_BYTES", 10)
    (tmp_path / "a.ndjson").write_bytes(RAW)
    assert len(list(file_parts([str(tmp_path)]))) > 1

    opened = Path.open

    def refused(path, *how, **more):
        if path.suffix == ".ndjson":
            raise PermissionError(13, "Permission denied")
        return opened(path, *how, **more)

    monkeypatch.setattr(Path, "open", refused)
    assert list(file_parts([str(tmp_path)])) == [(str(tmp_path / "a.ndjson"), 0, 0)]
    ((_, reason),) = places(tmp_path)
    assert reason == "cannot read the file: [Errno 13] Permission denied"


def test_part_of_a_file_that_is_gone_is_a_dead_letter(tmp_path):
    (letter,) = _read_part(str(tmp_path / "gone.ndjson"), 10, 20, Bridge())
    assert isinstance(letter, DeadLetter)
    assert letter.location == f"{tmp_path / 'gone.ndjson'}@10"
    assert letter.reason.startswith("cannot read the file: [Errno 2]")


def test_file_too_large_for_spark_is_reported_by_the_worker():
    (found,) = RecordStep(Settings())._rows([_whole_batch("s3a://b/large.json")])
    assert found[2] == "s3a://b/large.json"
    assert "binaryFile.maxLength" in found[4]


def _whole_batch(place):
    import pyarrow as pa  # noqa: PLC0415 - an optional extra

    return pa.RecordBatch.from_pydict({"location": [place], "value": pa.array([None], pa.binary()), "whole": [True]})
