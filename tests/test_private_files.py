"""Files that may hold texts of events are for their owner alone; a mode that a user gave stays."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest

from dh_bridge import private_files
from dh_bridge.catalog.store import Catalog
from dh_bridge.ledger.delivery_lock import try_delivery_lock

EVENT = json.dumps(
    {
        "eventTime": "2026-01-15T10:00:00Z", "eventType": "COMPLETE", "producer": "https://x", "schemaURL": "https://x#/$defs/RunEvent",
        "run": {"runId": "018cc251-f400-734d-88b3-1e3d63fe6299"}, "job": {"namespace": "n", "name": "j"},
    }
)  # fmt: skip
PRIVATE, GIVEN = 0o600, 0o640


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def emitted(folder, *arguments):
    """Run the command with the widest umask."""
    code = "import os, sys; os.umask(0); from dh_bridge.cli import main; main()"
    command = [sys.executable, "-c", code, "emit", "-", *arguments]
    subprocess.run(command, input=f"{EVENT}\nno JSON\n", text=True, check=False, cwd=folder, capture_output=True)


@pytest.fixture
def folder(tmp_path):
    emitted(tmp_path, "--to", "catalog:shop.db", "--report", "report.ndjson", "--dead-letters", "dead.ndjson")
    emitted(tmp_path, "--to", "file:out.ndjson", "--ledger", "ledger.db")
    emitted(tmp_path, "--to", "file:out.json")
    return tmp_path


def test_new_files_are_for_their_owner_alone(folder):
    names = {path.name for path in folder.iterdir()}
    assert names >= {"shop.db", "report.ndjson", "dead.ndjson", "out.ndjson", "ledger.db", "out.json"}
    assert {path.name: oct(mode(path)) for path in files_below(folder) if mode(path) != PRIVATE} == {}
    assert {path.name: oct(mode(path)) for path in folder.iterdir() if path.is_dir()} == {
        "ledger.db.log": "0o700", "shop.db.log": "0o700"
    }  # fmt: skip


def test_files_of_a_user_keep_their_mode(folder):
    for path in files_below(folder):
        path.chmod(GIVEN)
    emitted(folder, "--to", "catalog:shop.db", "--report", "report.ndjson", "--dead-letters", "dead.ndjson")
    emitted(folder, "--to", "file:out.ndjson", "--ledger", "ledger.db")
    emitted(folder, "--to", "file:out.json")
    assert {path.name: oct(mode(path)) for path in files_below(folder) if mode(path) != GIVEN} == {}


def test_files_beside_a_database_have_its_mode(tmp_path):
    before = os.umask(0)
    try:
        with (
            Catalog(tmp_path / "shop.db") as catalog,
            try_delivery_lock(str(tmp_path / "shop.db")),
            catalog.transaction(),
        ):
            assert {path.name for path in tmp_path.iterdir()} >= {"shop.db", "shop.db-wal", "shop.db-shm"}
            assert {mode(path) for path in tmp_path.iterdir()} == {PRIVATE}
    finally:
        os.umask(before)


def test_creation_where_it_is_impossible_is_left_to_the_caller(tmp_path):
    private_files.create_private(tmp_path / "none" / "shop.db")
    private_files.create_private(tmp_path)
    private_files.copy_mode(tmp_path / "none", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_file_is_private_from_its_first_moment(tmp_path):
    before = os.umask(0)
    try:
        with private_files.open_private(str(tmp_path / "a"), "wb") as file:
            assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == PRIVATE
    finally:
        os.umask(before)


def test_file_is_replaced_as_a_whole_and_keeps_its_mode(tmp_path):
    path = tmp_path / "a"
    with private_files.replacing(path) as file:
        file.write(b"old")
        assert not path.exists()
        assert [mode(draft) for draft in tmp_path.iterdir()] == [PRIVATE]
    assert mode(path) == PRIVATE
    path.chmod(GIVEN)
    with private_files.replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert (path.read_bytes(), mode(path), [*tmp_path.iterdir()]) == (b"new", GIVEN, [path])


def test_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), private_files.replacing(path) as file:
        file.write(bytes(1 // 0))
    assert (path.read_bytes(), [*tmp_path.iterdir()]) == (b"old", [path])
