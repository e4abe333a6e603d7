from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.source.file import GenericFileSource
from datahub.metadata.schema_classes import MetadataChangeProposalClass
from support.sink_contract import CAFE, DATASET, BrokenOffError, break_off, proposals

from dh_bridge.datahub.proposal import ndjson_line, patch, upsert
from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import SinkOptions, open_sink


def read_by_datahub(path):
    """Run ``datahub ingest``'s own file source on a file; return what it would ingest."""
    source = GenericFileSource.create({"path": str(path)}, PipelineContext(run_id="test"))
    units = [unit.metadata for unit in source.get_workunits_internal()]
    assert not source.report.failures
    return units


def test_datahub_reads_the_array_patches_included(tmp_path):
    path = tmp_path / "out.json"
    schema = {
        "schemaName": "orders",
        "platform": "urn:li:dataPlatform:postgres",
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [
            {
                "fieldPath": "id",
                "nullable": False,
                "type": {"type": {"com.linkedin.schema.NumberType": {}}},
                "nativeDataType": "bigint",
                "recursive": False,
                "isPartOfKey": True,
            }
        ],
    }
    batch = [*proposals(), upsert("dataset", DATASET, "schemaMetadata", schema)]
    with open_sink(f"file:{path}") as sink:
        sink.emit(batch[:2])
        sink.emit(batch[2:])
    read = read_by_datahub(path)
    assert [(unit.entityType, unit.entityUrn, unit.changeType, unit.aspectName) for unit in read] == [
        (sent.entity_type, sent.entity_urn, sent.change_type, sent.aspect_name) for sent in batch
    ]
    for unit, sent in zip(read, batch, strict=True):
        mcp = unit if isinstance(unit, MetadataChangeProposalClass) else unit.make_mcp()
        assert mcp.aspect.contentType == (
            "application/json-patch+json" if sent.change_type == "PATCH" else "application/json"
        )
        assert json.loads(mcp.aspect.value)
        if sent.aspect_name != "schemaMetadata":  # DataHub's own writer fills in defaults there
            assert json.loads(mcp.aspect.value) == sent.value


def test_datahub_reads_an_empty_array(tmp_path):
    with open_sink(f"file:{tmp_path / 'out.json'}"):
        pass
    assert read_by_datahub(tmp_path / "out.json") == []


def test_ndjson_is_the_line_of_each_proposal_and_grows(tmp_path):
    path = tmp_path / "out.jsonl"
    for proposal in proposals():
        with open_sink(f"file:{path}") as sink:
            sink.emit([proposal])
    assert path.read_bytes() == b"".join(map(ndjson_line, proposals()))
    line = json.loads(path.read_text(encoding="utf-8").splitlines()[1])
    assert line["changeType"] == "PATCH"
    assert line["aspect"]["json"][0]["op"] == "add"


def test_ndjson_goes_into_a_pipe(tmp_path):
    pipe = tmp_path / "pipe.ndjson"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader, open_sink(f"file:{pipe}") as sink:
        sink.emit(proposals())
        sink.close()
        assert reader.stdout.read() == b"".join(map(ndjson_line, proposals()))


def test_ndjson_can_be_read_after_each_batch(tmp_path):
    with open_sink(f"file:{tmp_path / 'out.ndjson'}") as sink:
        sink.emit(proposals())
        assert len((tmp_path / "out.ndjson").read_bytes().splitlines()) == 3


def test_line_that_broke_off_does_not_spoil_the_next(tmp_path):
    path = tmp_path / "out.ndjson"
    path.write_bytes(b'{"entityType": "data')
    with open_sink(f"file:{path}") as sink:
        sink.emit(proposals()[:1])
    assert json.loads(path.read_bytes().splitlines()[1])["entityUrn"] == DATASET


def test_json_array_replaces_the_file_only_when_complete(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("[]")
    with open_sink(f"file:{path}") as sink:
        sink.emit(proposals())
        assert path.read_text() == "[]"
    assert len(json.loads(path.read_bytes())) == 3
    assert list(tmp_path.iterdir()) == [path]


def test_error_leaves_the_old_array_and_nothing_else(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("[]")
    with pytest.raises(BrokenOffError):
        break_off(f"file:{path}")
    assert path.read_text() == "[]"
    assert list(tmp_path.iterdir()) == [path]


def test_error_after_close_keeps_the_complete_array(tmp_path):
    path = tmp_path / "out.json"
    with pytest.raises(BrokenOffError):
        break_off(f"file:{path}", close_first=True)
    assert len(json.loads(path.read_bytes())) == 3


@pytest.mark.parametrize(("file_format", "first"), [("ndjson", b"{"), ("json", b"[")])
def test_format_that_is_named_beats_the_ending(tmp_path, file_format, first):
    with open_sink(f"file:{tmp_path / 'out.txt'}", SinkOptions(file_format=file_format)) as sink:
        sink.emit(proposals())
    assert (tmp_path / "out.txt").read_bytes()[:1] == first


@pytest.mark.parametrize(("file_format", "items"), [(None, 3), ("ndjson", 3), ("json", 3)])
def test_standard_output_is_written_and_left_open(capfdbinary, tmp_path, monkeypatch, file_format, items):
    monkeypatch.chdir(tmp_path)
    with open_sink("file:-", SinkOptions(file_format=file_format)) as sink:
        sink.emit(proposals())
    print("still open", flush=True)  # noqa: T201 - the test is about standard output
    out = capfdbinary.readouterr().out.decode().removesuffix("still open\n")
    read = json.loads(out) if file_format == "json" else [json.loads(line) for line in out.splitlines()]
    assert len(read) == items
    assert list(tmp_path.iterdir()) == []


def test_interrupted_array_on_stdout_is_invalid_json(capfdbinary):
    with pytest.raises(BrokenOffError):
        break_off("file:-", file_format="json")
    with pytest.raises(json.JSONDecodeError):
        json.loads(capfdbinary.readouterr().out)


@pytest.mark.parametrize("name", ["missing/out.json", "missing/out.ndjson"])
def test_place_that_cannot_be_written_is_a_sink_error(tmp_path, name):
    with pytest.raises(SinkError, match="No such file") as caught:
        open_sink(f"file:{tmp_path / name}")
    assert name in str(caught.value)


@pytest.mark.parametrize("file_format", ["json", "ndjson"])
def test_full_disk_is_a_sink_error(file_format):
    full_disk = Path("/dev/full")
    if not full_disk.exists():
        pytest.skip("/dev/full exists on Linux only")
    sink = open_sink("file:-", SinkOptions(file_format=file_format))
    with full_disk.open("wb", buffering=0) as full:
        sink._file = full
        with pytest.raises(SinkError, match="No space left"):
            sink.emit(proposals())


@pytest.mark.parametrize("number", [1, 5_000])
def test_full_disk_is_no_other_error_when_the_sink_is_closed(number):
    if not Path("/dev/full").exists():
        pytest.skip("/dev/full exists on Linux only")
    sink = open_sink("file:/dev/full", SinkOptions(file_format="ndjson"))
    with pytest.raises(SinkError, match="No space left"), sink:
        sink.emit(proposals()[:1] * number)


@contextmanager
def room(size):
    """Let no file grow beyond a size: what more is written comes back as from a full disk, the part that fits is there."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def tables(number):
    return [
        upsert("dataset", DATASET.replace("orders", f"t{i}"), "subTypes", {"typeNames": ["Table"]})
        for i in range(number)
    ]


@pytest.mark.parametrize("number", [3, 3_000])  # less and more than a buffer holds
@pytest.mark.parametrize("ending", ["ndjson", "json"])
def test_full_disk_repeats_no_part_of_the_failed_batch(tmp_path, ending, number):
    path = tmp_path / f"out.{ending}"
    first, second = proposals(), tables(number)
    with open_sink(f"file:{path}") as sink:
        sink.emit(first)
        (written,) = tmp_path.iterdir()
        size = written.stat().st_size
        with room(size + 100), pytest.raises(SinkError, match="File too large"):
            sink.emit(second)
        assert written.stat().st_size == size
        sink.emit(second)
    text = path.read_text(encoding="utf-8")
    found = json.loads(text) if ending == "json" else [json.loads(line) for line in text.splitlines()]
    assert [one["entityUrn"] for one in found] == [one.entity_urn for one in [*first, *second]]


def test_failed_batch_leaves_later_writes_of_others(tmp_path):
    path = tmp_path / "out.ndjson"

    class Torn:
        """Takes five bytes, and then no more; somebody else is faster."""

        def __init__(self, file):
            self.file = file
            self.tries = 0

        def write(self, data):
            self.tries += 1
            if self.tries == 1:
                return self.file.write(data[:5])
            with path.open("ab") as theirs:
                theirs.write(b"theirs\n")
            raise OSError(errno.ENOSPC, "No space left on device")

        def __getattr__(self, name):
            return getattr(self.file, name)

    with open_sink(f"file:{path}") as sink:
        sink._file = Torn(sink._file)
        with pytest.raises(SinkError, match="No space left"):
            sink.emit(proposals())
    assert path.read_bytes() == b'{"enttheirs\n'


def test_array_that_cannot_be_ended_leaves_nothing(tmp_path):
    with room(1), pytest.raises(SinkError, match="File too large"), open_sink(f"file:{tmp_path / 'out.json'}"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_broken_line_that_cannot_be_ended_is_a_sink_error(tmp_path):
    path = tmp_path / "out.ndjson"
    path.write_bytes(b'{"entityType": "data')
    with room(path.stat().st_size), pytest.raises(SinkError, match="File too large"):
        open_sink(f"file:{path}")


def test_folder_at_the_array_path_leaves_no_temporary_file(tmp_path):
    (tmp_path / "out.json").mkdir()
    with pytest.raises(SinkError, match="cannot write the file"), open_sink(f"file:{tmp_path / 'out.json'}"):
        pass
    assert list(tmp_path.iterdir()) == [tmp_path / "out.json"]


def test_folder_at_the_array_path_is_a_sink_error(tmp_path):
    (tmp_path / "out.json").mkdir()
    sink = open_sink(f"file:{tmp_path / 'out.json'}")
    with pytest.raises(SinkError, match="cannot write the file"):
        sink.close()


def test_text_that_is_not_ascii_arrives_as_it_was(tmp_path):
    with open_sink(f"file:{tmp_path / 'out.json'}") as sink:
        sink.emit([patch("dataset", CAFE, "datasetProperties", [{"op": "add", "path": "/name", "value": "ü𝄞"}])])
    unit = read_by_datahub(tmp_path / "out.json")[0]
    assert unit.entityUrn == CAFE
    assert json.loads(unit.aspect.value)[0]["value"] == "ü𝄞"


def test_array_is_streamed(tmp_path):
    with open_sink(f"file:{tmp_path / 'out.json'}") as sink:
        sink.emit(proposals())
        partial = next(tmp_path.glob(".out.json.*.partial"))
        before = partial.stat().st_size
        sink.emit(proposals())
        assert partial.stat().st_size > before > 0


def test_json_array_has_run_metadata_and_versioned_tag_patches(tmp_path):
    operation = {"op": "add", "path": "/tags/urn:li:tag:x", "value": {"tag": "urn:li:tag:x"}}
    batch = [*proposals(), patch("dataset", DATASET, "globalTags", [operation])]
    options = SinkOptions(run_id="mine", pipeline_name="nightly", datahub_version="1.7")
    with open_sink(f"file:{tmp_path / 'out.json'}", options) as sink:
        sink.emit(batch)
    units = read_by_datahub(tmp_path / "out.json")
    assert [(unit.systemMetadata.runId, unit.systemMetadata.pipelineName) for unit in units] == [
        ("mine", "nightly")
    ] * 4
    assert json.loads(units[3].aspect.value)["patch"] == [{**operation, "path": "/tags//urn:li:tag:x"}]
    assert units[3].aspect.contentType == "application/json-patch+json"


def test_ndjson_is_independent_of_the_writer(tmp_path):
    with open_sink(f"file:{tmp_path / 'out.ndjson'}", SinkOptions(run_id="mine", datahub_version="1.7")) as sink:
        sink.emit(proposals())
    assert (tmp_path / "out.ndjson").read_bytes() == b"".join(map(ndjson_line, proposals()))
