"""Which files of a folder are read: none of them is left out in silence."""

from __future__ import annotations

import errno
import os

import pytest

from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.folders import event_files, is_event_file_of
from dh_bridge.openlineage.read import read_events


@pytest.fixture
def folder(tmp_path):
    """Return a folder of ``a.json``, ``day/b.json`` and what is not to be read."""
    place = tmp_path / "events"
    for name in ("a.json", "day/b.json", ".hidden/c.json", "day/.d.json"):
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    return place


def names(folder):
    return [file.relative_to(folder).as_posix() for file in event_files(folder)]


def test_hidden_files_are_no_event_files(folder):
    assert names(folder) == ["a.json", "day/b.json"]


def test_folder_behind_a_link_is_read_once_and_a_circle_ends(folder):
    (folder / "today").symlink_to(folder / "day")
    (folder / "now").symlink_to(folder / "day" / "b.json")
    (folder / "now.json").symlink_to(folder / "day" / "b.json")
    (folder / "day" / "up").symlink_to(folder)
    assert names(folder) == ["a.json", "day/b.json", "now", "now.json"]


@pytest.fixture
def leading_out(folder):
    """Return links out of the folder: to a folder, twice, to files, and to nothing."""
    other = folder.parent / "events-other"
    other.mkdir()
    (other / "e.json").write_text("{}")
    (other / "secret").write_text("root:x")
    (folder / "today").symlink_to(other)
    (folder / "day" / "tomorrow").symlink_to("../../events-other")
    (folder / "passwd.json").symlink_to(other / "secret")
    (folder / "gone.json").symlink_to(other / "gone.json")
    (folder / "notes.md").symlink_to(other / "secret")
    (folder / "day" / "chain.json").symlink_to(folder / "passwd.json")
    return ["day/chain.json", "day/tomorrow", "gone.json", "passwd.json", "today"]


def test_link_that_leads_out_of_the_folder_is_not_followed(folder, leading_out):
    outside = []
    found = [file.relative_to(folder).as_posix() for file in event_files(folder, on_outside_link=outside.append)]
    assert found == ["a.json", "day/b.json"]
    assert sorted(link.relative_to(folder).as_posix() for link in outside) == leading_out


def test_folder_that_is_named_may_be_a_link_itself(folder):
    (folder.parent / "link").symlink_to(folder)
    assert [file.name for file in event_files(folder.parent / "link")] == ["a.json", "b.json"]
    assert [file.name for file in event_files(folder.parent / "link" / "a.json")] == ["a.json"]


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("events/a.json", True),
        ("events/new.json", True),
        ("events/new/dead.ndjson", True),
        ("other/dead.ndjson", True),  # behind a link
        ("events/a.db", False),
        ("events/.new.json", False),
        ("events/.hidden/c.json", False),
        ("other/new/dead.ndjson", False),
        ("dead.ndjson", False),
    ],
)
def test_event_file_is_recognised_before_it_exists(folder, name, read):
    other = folder.parent / "other"
    other.mkdir()
    (folder / "today").symlink_to(other)
    assert is_event_file_of(folder, (folder.parent / name).resolve()) is read


def test_unreadable_folder_is_one_dead_letter(folder, monkeypatch):
    """As root one may list everything, so the system's answer is given for it."""
    (folder / "locked").mkdir()
    listed, opened = os.scandir, os.open

    def refused(call):
        def answer(path, *more, **named):
            if os.fspath(path).endswith("locked"):
                raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
            return call(path, *more, **named)

        return answer

    monkeypatch.setattr(os, "scandir", refused(listed))
    monkeypatch.setattr(os, "open", refused(opened))
    assert names(folder) == ["a.json", "day/b.json", "locked"]
    found = list(read_events([folder]))
    assert all(isinstance(one, DeadLetter) for one in found)  # those of the other two files are empty
    assert found[-1].location == str(folder / "locked")
    assert "cannot read the file" in found[-1].reason
