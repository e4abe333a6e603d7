"""Events from files, folders, pipes and bytes; what cannot be read is one dead letter and the rest goes on."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import tarfile
import zipfile

import pytest
from support.sample_events import event, job_event

from dh_bridge.errors import EventError
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.read import events_of, read_events

RUNS = [event(run=f"run-{number}") for number in range(3)]
LINES = [json.dumps(one).encode() for one in RUNS]
PRETTY = json.dumps(RUNS[0], indent=2).encode()
BOM = b"\xef\xbb\xbf"


@pytest.fixture
def read_content(tmp_path):
    """Return a function that writes bytes to a file, reads it, and returns (location, run id or reason) of each item."""

    def summary_of(content, name="events.json"):
        path = tmp_path / name
        path.write_bytes(content)
        return summary(read_events([path]), tmp_path)

    return summary_of


def summary(items, root=""):
    found = []
    for item in items:
        place = item.location.removeprefix(f"{root}/")
        found.append((place, item.run_id if isinstance(item, Event) else item.reason))
    return found


FORMS = {
    "one object": (LINES[0], ["events.json:1"]),
    "one pretty-printed object": (PRETTY, ["events.json"]),
    "a pretty-printed object behind a byte-order mark": (BOM + PRETTY, ["events.json"]),
    "a pretty-printed object with blank lines around": (b"\n\n" + PRETTY + b"\n\n", ["events.json"]),
    "an array on one line": (b"[" + b",".join(LINES) + b"]", [f"events.json:1[{n}]" for n in range(3)]),
    "an array over lines": (b"[\n" + b",\n".join(LINES) + b"\n]\n", [f"events.json[{n}]" for n in range(3)]),
    "a pretty-printed array": (json.dumps(RUNS, indent=1).encode(), [f"events.json[{n}]" for n in range(3)]),
    "an array whose first line is an event": (
        b"[" + b"\n,".join(LINES) + b"]",
        [f"events.json[{n}]" for n in range(3)],
    ),
    "one event a line": (b"\n".join(LINES), [f"events.json:{n}" for n in (1, 2, 3)]),
    "one event a line behind a byte-order mark": (BOM + b"\n".join(LINES), [f"events.json:{n}" for n in (1, 2, 3)]),
    "lines that end as on Windows": (b"\r\n".join(LINES) + b"\r\n", [f"events.json:{n}" for n in (1, 2, 3)]),
    "blank lines between": (b"\n" + b"\n \n".join(LINES), [f"events.json:{n}" for n in (2, 4, 6)]),
    "two files put together, each with its mark": (
        LINES[0] + b"\n" + BOM + LINES[1],
        ["events.json:1", "events.json:2"],
    ),
    "an array on a line of its own": (
        LINES[0] + b"\n[" + b",".join(LINES[1:]) + b"]",
        ["events.json:1", "events.json:2[0]", "events.json:2[1]"],
    ),
    "pretty-printed objects, as of `jq .`": (
        b"\n".join(json.dumps(one, indent=2).encode() for one in RUNS),
        [f"events.json[{n}]" for n in range(3)],
    ),
    "pretty-printed objects without a line between": (
        b"".join(json.dumps(one, indent=2).encode() for one in RUNS),
        [f"events.json[{n}]" for n in range(3)],
    ),
    "objects on one line": (b"".join(LINES), [f"events.json:1[{n}]" for n in range(3)]),
    "lines of an array without its brackets": (b",\n".join(LINES) + b",", [f"events.json[{n}]" for n in range(3)]),
    "a page of Marquez": (
        b'{"totalCount": 7, "events": [' + b",".join(LINES) + b"]}",
        [f"events.json:1.events[{n}]" for n in range(3)],
    ),
    "a page of Marquez, pretty-printed": (
        json.dumps({"events": RUNS, "totalCount": 3}, indent=2).encode(),
        [f"events.json.events[{n}]" for n in range(3)],
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_every_file_format_yields_events_with_locations(read_content, form, packed):
    content, places = FORMS[form]
    found = read_content(gzip.compress(content) if packed else content)
    assert [place for place, _ in found] == places
    assert [run for _, run in found] == [f"run-{number}" for number in range(len(places))]


@pytest.mark.parametrize("content", [b"", b"\n \n", BOM, b"[]", b"[ ]\n", gzip.compress(b"", mtime=0)])
def test_empty_file_is_no_event_and_no_dead_letter(read_content, content):
    assert read_content(content) == []


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("at", [0, 1, 3])
@pytest.mark.parametrize(
    "broken", [b'{"eventTime": "2026', b"}", b"not json at all", b'{"a": }', b"\xff\xfe{}", b"7", b"{}"]
)
def test_broken_line_is_a_dead_letter_between_its_neighbours(read_content, broken, at, packed):
    content = b"\n".join([*LINES[:at], broken, *LINES[at:]])
    found = read_content(gzip.compress(content) if packed else content)
    assert [place for place, _ in found] == [f"events.json:{n}" for n in (1, 2, 3, 4)]
    assert [run for _, run in found[:at] + found[at + 1 :]] == ["run-0", "run-1", "run-2"]
    assert f"events.json:{at + 1}" in found[at][1]


def test_stream_with_a_broken_first_line_is_read_lazily():
    taken = []

    class Endless(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, room):
            line = (b'{"eventTime": "2026' if not taken else LINES[0]) + b"\n"
            taken.append(line)
            room[: len(line)] = line
            return len(line)

    items = read_events(["-"], stdin=io.BufferedReader(Endless()))
    letter, *good = (next(items) for _ in range(100))
    assert isinstance(letter, DeadLetter)
    assert [one.run_id for one in good] == ["run-0"] * 99
    assert len(taken) < 110


def test_dead_letter_keeps_the_original_bytes(tmp_path):
    (tmp_path / "e.ndjson").write_bytes(b"\xff broken\n" + LINES[0])
    letter, good = read_events([tmp_path / "e.ndjson"])
    assert isinstance(letter, DeadLetter)
    assert (letter.raw, good.run_id) == (b"\xff broken", "run-0")
    assert letter.row() == {"place": letter.location, "reason": letter.reason, "event": "\\xff broken"}


def test_broken_member_of_an_array_leaves_the_others(read_content):
    found = read_content(json.dumps([RUNS[0], 5, None, {"job": {}}, RUNS[1]]).encode())
    assert [place for place, _ in found] == [f"events.json:1[{n}]" for n in range(5)]
    assert [found[0][1], found[4][1]] == ["run-0", "run-1"]
    assert ["a number, not an object" in found[1][1], "eventTime is missing" in found[3][1]] == [True, True]


@pytest.mark.parametrize("content", [PRETTY[:-20], b"[" + LINES[0] + b",\n", b"[1,\n2", b'{\n"a": 1\n}\n}'])
def test_document_that_breaks_off_is_one_dead_letter(read_content, content):
    ((place, reason),) = read_content(content)
    assert place == "events.json"
    assert "not" in reason


def test_truncated_gzip_yields_the_events_before_the_break(read_content):
    noise = random.Random(1)  # noqa: S311 - noise, not secrets
    events = [event(run=f"run-{n}", run_facets={"noise": {"x": noise.random()}}) for n in range(2000)]
    content = gzip.compress("\n".join(map(json.dumps, events)).encode())
    found = read_content(content[: len(content) // 2], "events.ndjson.gz")
    assert 100 < len(found) < 2000
    assert [run for _, run in found[:-1]] == [f"run-{n}" for n in range(len(found) - 1)]
    assert found[-1][0] == "events.ndjson.gz"
    assert found[-1][1].startswith("cannot read the file: ")


def test_truncated_gzip_loses_no_complete_event(read_content):
    lines = b"".join(json.dumps(event(run=f"run-{n}")).encode() + b"\n" for n in range(2000))
    found = read_content(gzip.compress(lines)[:-8], "events.ndjson.gz")  # all but the check at its end
    assert [run for _, run in found[:-1]] == [f"run-{n}" for n in range(2000)]
    assert found[-1][1].startswith("cannot read the file: ")


@pytest.mark.parametrize("cut", [3, 12, 40])
def test_gzip_that_is_hardly_begun_is_one_dead_letter(read_content, cut):
    ((place, reason),) = read_content(gzip.compress(LINES[0])[:cut])
    assert (place, reason[:22]) == ("events.json", "cannot read the file: ")


def test_damaged_gzip_is_one_dead_letter(read_content):
    content = bytearray(gzip.compress(LINES[0]))
    content[12:40] = b"\xff" * 28
    assert [reason[:22] for _, reason in read_content(bytes(content))] == ["cannot read the file: "]


@pytest.mark.parametrize(
    ("form", "indent"),
    [("{}", None), ("{}", 1), ("[{},{}]", None), ("[{},{}]", 1), ("[\n{},\n{}\n]", None), ("{}\n{}", None)],
)
def test_event_with_a_number_that_json_does_not_know_is_read(read_content, form, indent):
    stated = json.dumps(event(run="r", run_facets={"m": {"mean": float("nan"), "note": "NaN"}}), indent=indent)
    found = read_content(form.replace("{}", stated).encode())
    assert [run for _, run in found] == ["r"] * form.count("{}")


@pytest.mark.parametrize("form", ["{}", "[{},{}]", "{}\n{}", "[\n{}\n,{}]"])
def test_event_with_half_a_character_is_read(read_content, form):
    stated = json.dumps(event(run="r", run_facets={"m": {"message": "caf\udce9"}}))
    assert [run for _, run in read_content(form.replace("{}", stated).encode())] == ["r"] * form.count("{}")


def test_dead_letters_can_be_read_again(read_content):
    bad = [b'{"eventTime": 1}', b"[1, {]", b'{"a": "caf\xe9"}', b""]
    letters = [
        DeadLetter(f"old:{number}", "why", raw).row() for number, raw in enumerate([LINES[0], *bad, b"[%s]" % LINES[1]])
    ]
    again = read_content("\n".join(json.dumps(one) for one in letters).encode())
    assert [place for place, _ in again] == [
        "events.json:1", "events.json:2", "events.json:3", "events.json:4", "events.json:5", "events.json:6[0]",
    ]  # fmt: skip
    assert [again[0][1], again[5][1]] == ["run-0", "run-1"]
    (letter,) = events_of(json.dumps(letters[1]).encode(), "x")
    assert letter == DeadLetter(
        "x",
        "x: not an OpenLineage event: run, job and dataset are missing (send a RunEvent, JobEvent or DatasetEvent)",
        bad[0],
    )


def test_dead_letter_is_not_opened_where_there_is_a_bound():
    letter = json.dumps(DeadLetter("old", "why", b"[%s]" % b",".join([LINES[0]] * 5)).row()).encode()
    assert len(list(events_of(letter, "x"))) == 5
    (retained,) = events_of(letter, "x", max_events=3)
    assert retained.raw == letter


def test_letter_in_a_letter_and_what_only_looks_like_one(read_content):
    twice = DeadLetter("a", "b", json.dumps(DeadLetter("c", "d", LINES[0]).row()).encode()).row()
    assert read_content(json.dumps(twice).encode()) == [("events.json:1", "run-0")]
    for other in ({**twice, "more": 1}, {**twice, "event": 1}, {"event": twice["event"]}):
        ((_, reason),) = read_content(json.dumps(other).encode())
        assert "run, job and dataset are missing" in reason


def test_broken_document_ends_the_input_as_one_dead_letter():
    *good, letter = events_of(LINES[0] + b" " + LINES[1] + b' {"eventTime": "2026' + LINES[2], "x")
    assert [(one.location, one.run_id) for one in good] == [("x[0]", "run-0"), ("x[1]", "run-1")]
    assert (letter.location, letter.raw) == ("x[2]", b'{"eventTime": "2026' + LINES[2])


def test_documents_that_are_dead_letters_are_opened(read_content):
    letters = [DeadLetter("old", "why", one).row() for one in LINES[:2]]
    again = read_content(b"\n".join(json.dumps(one, indent=2).encode() for one in letters))
    assert again == [("events.json[0]", "run-0"), ("events.json[1]", "run-1")]


@pytest.mark.parametrize("more", [{"eventType": "START"}, {"events": {}}, {"totalCount": "3"}])
def test_page_lookalike_is_a_dead_letter(more):
    raw = json.dumps({"events": RUNS, **more}).encode()
    assert [one.raw for one in events_of(raw, "x")] == [raw]


def test_pages_within_pages_are_not_opened_without_end():
    deep = b'{"events":[' * 400 + LINES[0] + b"]}" * 400
    assert [one.location for one in events_of(deep, "x")] == ["x.events[0]"]


@pytest.mark.parametrize("sent", [b"".join(LINES), b'{"events": [%s]}' % LINES[0]])
def test_nothing_is_looked_for_within_what_has_a_bound(sent):
    assert [one.raw for one in events_of(sent, "x", max_events=9)] == [sent]


def test_line_limit_is_enforced():
    sent = b"\n".join(LINES[:3])
    assert [one.location for one in events_of(sent, "x", max_events=3)] == ["x:1", "x:2", "x:3"]
    with pytest.raises(EventError, match="more than 2 lines"):
        list(events_of(sent, "x", max_events=2))
    pretty = json.dumps(json.loads(LINES[0]), indent=1).encode()
    assert [one.location for one in events_of(pretty, "x", max_events=2)] == ["x"]


def test_broken_array_is_kept_unrepaired():
    broken = b'[{"a": NaN}, {"b": "NaN"]'
    (letter,) = events_of(broken, "x")
    assert letter.raw == broken
    assert "not a JSON array" in letter.reason


def test_missing_file_is_one_dead_letter(tmp_path):
    (tmp_path / "there.json").write_bytes(LINES[0])
    found = summary(read_events([tmp_path / "gone.json", tmp_path / "there.json"]), tmp_path)
    assert found[0][0] == "gone.json"
    assert "cannot read the file" in found[0][1]
    assert found[1:] == [("there.json:1", "run-0")]


def test_folder_is_read_in_order_despite_bad_files(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.ndjson").write_bytes(LINES[0])
    (tmp_path / "b.gz").write_bytes(gzip.compress(LINES[0])[:20])
    (tmp_path / "c.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "d.JSON").write_bytes(LINES[1])
    (tmp_path / "sub" / "e.jsonl").write_bytes(LINES[2])
    (tmp_path / ".hidden.json").write_bytes(LINES[0])
    for ignored in ("notes.md", "code.py"):
        (tmp_path / ignored).write_text("# no event")
    found = summary(read_events([tmp_path]), tmp_path)
    assert [place for place, _ in found] == ["a.ndjson:1", "b.gz", "c.json", "d.JSON:1", "sub/e.jsonl:1"]
    assert all(reason.startswith("cannot read the file") for _, reason in found[1:3])


def test_skipped_files_of_a_folder_are_reported(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("a.json", "part-00000", ".c.crc"):
        (tmp_path / name).write_bytes(LINES[0])
    (tmp_path / "sub" / "b.parquet").write_bytes(b"PAR1")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    passed = []
    found = summary(read_events([tmp_path], on_skipped_file=passed.append), tmp_path)
    assert found == [("a.json:1", "run-0"), ("part-00000:1", "run-0")]
    assert passed == [tmp_path / "sub" / "b.parquet"]


def test_file_that_is_named_is_read_whatever_its_suffix(read_content):
    assert read_content(LINES[0], "events.out") == [("events.out:1", "run-0")]


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_dash_is_the_standard_input(packed):
    content = b"\n".join(LINES)
    pipe = io.BytesIO(gzip.compress(content) if packed else content)
    assert summary(read_events(["-"], stdin=pipe)) == [(f"stdin:{n + 1}", f"run-{n}") for n in range(3)]


def archive(kind):
    """Return events as another kind of file holds them."""
    file = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as folder:
            folder.writestr("events.json", LINES[0])
    else:
        with tarfile.open(fileobj=file, mode=f"w:{kind}") as folder:
            folder.addfile(tarfile.TarInfo("events.json"))
    return file.getvalue()


STRANGE = {
    "a ZIP archive, not JSON (unpack it first)": archive("zip"),
    "a tar archive, not JSON (unpack it first)": archive("gz"),
    "a bzip2 file, not JSON (unpack it first)": bz2.compress(LINES[0]),
    "an xz file, not JSON (unpack it first)": lzma.compress(LINES[0]),
    "an SQLite database, not JSON (export its events as lines of JSON)": b"SQLite format 3\x00" + bytes(84),
    "UTF-16 text, not JSON (save it as UTF-8)": json.dumps(RUNS, indent=1).encode("utf-16"),
}


@pytest.mark.parametrize("reason", STRANGE)
def test_file_of_another_kind_is_one_message(read_content, reason):
    assert read_content(STRANGE[reason]) == [("events.json", reason)]


@pytest.mark.parametrize("document", [RUNS[0], RUNS])
@pytest.mark.parametrize("coding", ["UTF-16", "UTF-16-LE", "UTF-16-BE", "UTF-32", "UTF-32-LE", "UTF-32-BE"])
def test_file_in_utf_16_or_utf_32_is_one_dead_letter(read_content, coding, document):
    reason = f"{coding[:6]} text, not JSON (save it as UTF-8)"
    assert read_content("\n".join([json.dumps(document)] * 3).encode(coding)) == [("events.json", reason)]


def test_pipe_that_breaks_off_is_a_dead_letter():
    pipe = io.BytesIO(gzip.compress(LINES[0])[:30])
    assert [reason[:22] for _, reason in summary(read_events(["-"], stdin=pipe))] == ["cannot read the file: "]


def test_stdin_is_the_default_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LINES[0])))
    assert summary(read_events(["-"])) == [("stdin:1", "run-0")]


def test_lines_are_read_one_by_one():
    """The second line is not asked for before the first event was given."""

    class Pipe(io.RawIOBase):
        given = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            if self.given == len(LINES):
                return 0
            line = LINES[self.given] + b" " * (io.DEFAULT_BUFFER_SIZE - len(LINES[self.given]) - 1) + b"\n"
            buffer[: len(line)] = line
            self.given += 1
            return len(line)

    pipe = Pipe()
    events = read_events(["-"], stdin=pipe)
    assert (next(events).run_id, pipe.given) == ("run-0", 1)
    assert ([one.run_id for one in events], pipe.given) == (["run-1", "run-2"], 3)


def test_bytes_are_an_event_or_an_array_of_them():
    assert [one.location for one in events_of(LINES[0], "here")] == ["here"]
    assert [one.location for one in events_of(BOM + b"[" + LINES[0] + b"]", "here")] == ["here[0]"]
    (letter,) = events_of(b"[" + LINES[0], "here")
    assert letter.reason.startswith("not a JSON array of events")


def test_job_and_dataset_events_are_read_beside_run_events(read_content):
    found = read_content(LINES[0] + b"\n" + json.dumps(job_event()).encode())
    assert found == [("events.json:1", "run-0"), ("events.json:2", "")]
