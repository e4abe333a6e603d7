"""What is read is not written, and no two things are written to one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click import UsageError
from support.sample_events import event

from dh_bridge.cli.path_conflicts import require_separate_folders

LINE = json.dumps(event())


@pytest.fixture
def folder(tmp_path):
    """Return a folder with one file of events, beside which all else is."""
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "events.ndjson").write_text(f"{LINE}\n", encoding="utf-8")
    (tmp_path / "alias.ndjson").symlink_to(tmp_path / "day" / "events.ndjson")
    return tmp_path


@pytest.mark.parametrize("read", ["day/events.ndjson", "./day/../day/events.ndjson", "alias.ndjson", "day"])
@pytest.mark.parametrize(
    "words",
    [
        ("translate", "--dead-letters"),
        ("translate", "--report"),
        ("emit", "--dead-letters"),
        ("emit", "--report"),
        ("emit", "--ledger"),
        ("emit", "--to", "file:"),
    ],
    ids=" ".join,
)
def test_input_file_is_refused_as_output_and_unchanged(words, read, run, folder):
    command, option, *scheme = words
    to = ["--to", "file:p.ndjson"] if command == "emit" and not scheme else []
    result = run(command, read, *to, option, "".join([*scheme, "day/events.ndjson"]))
    assert result.exit_code == 2
    assert f"{option} day/events.ndjson is among the EVENTS that are read: name another file" in result.stderr
    assert (folder / "day" / "events.ndjson").read_text(encoding="utf-8") == f"{LINE}\n"
    assert not (folder / "p.ndjson").exists()


def test_file_that_would_be_read_once_it_is_there_is_not_written(run, folder):
    assert run("emit", "day", "--to", "file:p.ndjson", "--dead-letters", "day/dead.ndjson").exit_code == 2
    assert run("emit", "day", "--to", "file:p.ndjson", "--dead-letters", "day/dead.letters").exit_code == 0
    assert run("emit", "day", "--to", "file:p.ndjson", "--dead-letters", "day/.dead.ndjson").exit_code == 0
    assert run("emit", "day", "--to", "catalog:day/shop.db").exit_code == 0
    assert [path.name for path in sorted((folder / "day").iterdir()) if path.suffix == ".ndjson"] == [
        ".dead.ndjson",
        "events.ndjson",
    ]


@pytest.mark.parametrize(
    ("options", "stated"),
    [
        (("--to", "catalog:x", "--dead-letters", "x"), "--dead-letters and --to are one file, x: name another"),
        (("--to", "file:x.ndjson", "--report", "./x.ndjson"), "--report and --to are one file"),
        (("--to", "file:p.ndjson", "--report", "x", "--dead-letters", "x"), "--report and --dead-letters are one file"),
        (("--to", "file:p.ndjson", "--ledger", "x", "--report", "x"), "--report and --ledger are one file"),
        (("--to", "file:p.ndjson", "--set", "ledger.file=x", "--report", "x"), "--report and --ledger are one file"),
    ],
)
def test_no_two_things_are_written_to_one_file(options, stated, run, folder):
    result = run("emit", "day", *options)
    assert result.exit_code == 2
    assert stated in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["alias.ndjson", "day"]


def test_dev_null_may_be_named_for_several_outputs(run, folder):
    nowhere = ("--report", "/dev/null", "--dead-letters", "/dev/null")
    assert Path("/dev/null").exists()
    assert run("emit", "day", "--to", "file:p.ndjson", *nowhere).exit_code == 0
    assert (folder / "p.ndjson").stat().st_size


def test_letters_of_a_service_are_no_ledger(run, folder):
    for options in (("--to", "catalog:x"), ("--to", "rest:http://localhost:1", "--ledger", "x")):
        result = run("serve", *options, "--dead-letters", "x")
        assert result.exit_code == 2
        assert "are one file, x: name another" in result.stderr
    assert not (folder / "x").exists()


@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("landing", "landing/bad"),
        ("landing/", "./landing"),
        ("landing", "file:landing/bad"),
        ("s3://lake/landing", "s3://lake/landing/bad/"),
        ("file:///lake/landing/", "file:///lake/landing"),
    ],
)
def test_folder_of_spark_s_in_one_that_it_reads_is_refused(read, written, folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(UsageError, match=r"--bad-records .* lies in .*: name another folder"):
        require_separate_folders(["elsewhere", read], {"--to": "out", "--bad-records": written})


@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("landing", "landing-bad"),
        ("landing/day", "landing"),
        ("landing/*.ndjson", "landing/bad"),
        ("s3://lake/landing", "s3://lake/land"),
        ("landing", None),
    ],
)
def test_folder_beside_is_none_of_those_that_are_read(read, written):
    require_separate_folders([read], {"--bad-records": written})
    with pytest.raises(UsageError):
        require_separate_folders([read.partition("*")[0]], {"--bad-records": f"{read.partition('*')[0]}/bad"})
