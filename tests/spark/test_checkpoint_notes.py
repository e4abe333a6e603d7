"""A checkpoint remembers what it belongs to: a change is refused with what it would mean, and can be accepted."""

from __future__ import annotations

import pytest
from support.sample_events import event
from support.sample_events import packed as sent

from dh_bridge import Settings
from dh_bridge.errors import SettingsError
from dh_bridge.spark import stream, stream_files
from dh_bridge.spark.checkpoint_notes import CheckpointNotes, check_notes, notes_of, with_source

NOTES = CheckpointNotes("1.4", "abc", ["landing"], "catalog:a.db")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"datahub_version": "1.7"},
            r"another DataHub version \(1.4, now 1.7\): runs that ended keep the aspects of the old version",
        ),
        ({"settings": "def"}, r"another settings \(abc, now def\): runs that ended keep the metadata"),
        ({"sources": ["a", "b"]}, r"another source \(landing, now a, b\): its offsets are those of the old source"),
        (
            {"target": "rest:x"},
            r"another target \(catalog:a.db, now rest:x\): a new target would get only what changes",
        ),
    ],
)
def test_change_is_refused_with_its_meaning_and_can_be_accepted(session, tmp_path, changed, message):
    checkpoint = str(tmp_path)
    other = CheckpointNotes(
        **{"datahub_version": "1.4", "settings": "abc", "sources": ["landing"], "target": "catalog:a.db"} | changed
    )
    check_notes(session, checkpoint, NOTES)
    check_notes(session, checkpoint, NOTES)
    with pytest.raises(SettingsError, match=message) as caught:
        check_notes(session, checkpoint, other)
    assert "use a new checkpoint, which reads all events again, or pass --accept-changes" in str(caught.value)
    check_notes(session, checkpoint, other, accept_changes=True)
    check_notes(session, checkpoint, other)


def test_unknown_values_and_other_settings_are_not_compared(session, tmp_path):
    rows = session.createDataFrame([("a",)], "value string")
    settings = Settings(datahub_version="1.4")
    notes = notes_of(settings, with_source(rows, "kafka b:9092 t"), "rest:http://me:secret@gms:8080")
    assert (notes.sources, notes.target) == (["kafka b:9092 t"], "rest:http://gms:8080")
    assert notes.settings == notes_of(Settings(datahub_version="1.7", window=5), rows, None).settings
    assert notes.settings != notes_of(Settings(naming={"env": "DEV"}), rows, None).settings
    check_notes(session, str(tmp_path), notes)
    check_notes(session, str(tmp_path), CheckpointNotes())
    with pytest.raises(SettingsError, match="another target"):
        check_notes(session, str(tmp_path), CheckpointNotes(target="catalog:b.db"))


def test_stream_with_another_target_is_refused_before_it_starts(session, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.json").write_bytes(sent([event("START")])[0])

    def start(target):
        events = stream_files(session, str(tmp_path / "in"))
        streamed = stream(
            events, checkpoint=str(tmp_path / "c"), settings=Settings(datahub_version="1.7"), partitions=1
        )
        streamed.to(f"parquet:{tmp_path / target}").start().awaitTermination()

    start("one")
    with pytest.raises(SettingsError, match="the checkpoint is for another target"):
        start("two")
    start("one")
