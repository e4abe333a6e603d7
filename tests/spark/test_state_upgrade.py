"""A checkpoint of an earlier release goes on: its state is built again from its events."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.generated_runs import group
from support.partitions import dumped
from support.sample_events import event
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SettingsError
from dh_bridge.spark import state, state_upgrade, stream, stream_files
from dh_bridge.state_codec.codec import VERSION, StateVersionError

SETTINGS = Settings(datahub_version="1.7")
FILES = 4


class BrokenOffError(Exception):
    pass


@pytest.fixture
def raws():
    return [raw for i in range(4) for raw in sent(group(2026, i))]


def land(folder, raws, numbers):
    folder.mkdir(exist_ok=True)
    for number in numbers:
        (folder / f"{number}.ndjson").write_bytes(b"\n".join(raws[number::FILES]))


def follow(session, home, **options):
    events = stream_files(session, str(home / "landing"), options={"maxFilesPerTrigger": "1"})
    streamed = stream(events, checkpoint=str(home / "checkpoint"), settings=SETTINGS, partitions=1)
    for name, value in options.items():
        getattr(streamed, name)(value)
    streamed.to(f"catalog:{home / 'shop.db'}").start().awaitTermination()


def make_older(folder):
    """Make of a state one of format 0, whose contributions this release cannot read."""
    (folder / "done" / f"format={VERSION}").rename(folder / "done" / f"format={VERSION - 1}")
    for name in ("pieces", "told"):
        for file in (folder / name).rglob("*.parquet"):
            table = pq.read_table(file, partitioning=None)
            unreadable = pa.array([b"\x00older"] * table.num_rows)
            pq.write_table(table.set_column(table.column_names.index("data"), "data", unreadable), file)
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def dump(home):
    with Catalog(str(home / "shop.db")) as catalog:
        return list(dump_catalog(catalog))


@pytest.mark.parametrize("compacted", [False, True])
def test_stream_on_a_checkpoint_of_an_earlier_release_equals_one_call(session, raws, tmp_path, monkeypatch, compacted):
    if compacted:
        monkeypatch.setattr(state, "BATCHES_PER_COMPACTION", 2)
    land(tmp_path / "landing", raws, range(2))
    follow(session, tmp_path)
    folder = tmp_path / "checkpoint" / "dh_bridge"
    assert (folder / "done" / "base=1").exists() is compacted
    make_older(folder)
    land(tmp_path / "landing", raws, range(2, FILES))
    follow(session, tmp_path)
    assert dump(tmp_path) == dumped(Bridge(SETTINGS).translate(raws).proposals)
    assert not (folder / "done").exists()
    assert not (folder / "events").exists()
    assert (folder / f"format={VERSION}" / "done" / "batch=3").exists()


def test_rebuild_that_is_interrupted_begins_again(session, raws, tmp_path, monkeypatch):
    land(tmp_path / "landing", raws, range(2))
    follow(session, tmp_path)
    make_older(tmp_path / "checkpoint" / "dh_bridge")

    real = state_upgrade._records
    parts = []

    def break_off(events, settings):
        parts.append(events)
        if len(parts) == 2:
            raise BrokenOffError
        return real(events, settings)

    with monkeypatch.context() as patched:
        patched.setattr(state_upgrade, "_records", break_off)
        with pytest.raises(BrokenOffError):
            follow(session, tmp_path)
    land(tmp_path / "landing", raws, range(2, FILES))
    follow(session, tmp_path)
    assert dump(tmp_path) == dumped(Bridge(SETTINGS).translate(raws).proposals)


def test_checkpoint_that_cannot_be_built_again_is_refused(session, tmp_path, monkeypatch):
    monkeypatch.setattr(state, "BATCHES_PER_COMPACTION", 1)
    (tmp_path / "landing").mkdir()
    for day in (18, 19, 20):
        run = f"018cc251-f400-734d-88b3-1e3d63fe62{day}"
        (tmp_path / "landing" / f"{day}.ndjson").write_bytes(
            sent([event("COMPLETE", f"2026-11-{day}T10:00:00Z", run=run)])[0]
        )
        follow(session, tmp_path, retain=0.5)
    make_older(tmp_path / "checkpoint" / "dh_bridge")
    with pytest.raises(SettingsError, match="the events of deleted runs"):
        follow(session, tmp_path)


def test_checkpoint_of_a_newer_release_is_refused(session, raws, tmp_path):
    land(tmp_path / "landing", raws, [0])
    follow(session, tmp_path)
    done = tmp_path / "checkpoint" / "dh_bridge" / "done"
    (done / f"format={VERSION}").rename(done / f"format={VERSION + 1}")
    with pytest.raises(StateVersionError, match=f"format {VERSION + 1}"):
        follow(session, tmp_path)
