"""What a checkpoint belongs to: a change of it is refused when a stream starts, with what the change would mean.

A stream sends only changes. So what a run or an entity had under the old settings would stay in the target, and nothing would say
so.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import msgspec

import dh_bridge
from dh_bridge.errors import SettingsError
from dh_bridge.spark.hadoop import read_bytes, store_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from dh_bridge.settings import Settings

NOTES_NAME = "notes.json"
_OTHER_SETTINGS = frozenset(
    {
        "datahub_version",
        "window",
        "ledger",
        "log",
        "rest",
        "kafka",
        "receiver",
        "airflow",
        "writes",
        "max_new_entities_per_hour",
    }
)
"""Settings that do not change what a stream makes of its events, and the version, which is compared by itself."""
_LOGIN = re.compile(r"(//)[^/@]*@")
_SOURCES = "_dh_bridge_sources"


class CheckpointNotes(msgspec.Struct, frozen=True):
    """The notes of a checkpoint. None: unknown, so it is not compared."""

    datahub_version: str | None = None
    settings: str | None = None
    sources: list[str] | None = None
    target: str | None = None
    product_version: str = dh_bridge.__version__


_MEANINGS = {
    "datahub_version": ("DataHub version", "runs that ended keep the aspects of the old version"),
    "settings": ("settings", "runs that ended keep the metadata of the old settings"),
    "sources": ("source", "its offsets are those of the old source, so events would be skipped or read twice"),
    "target": ("target", "a new target would get only what changes from now on"),
}
"""Field -> how a message calls it, and what a change would mean."""


def with_source(events: DataFrame, *names: str) -> DataFrame:
    """Return events with the names of what they are read from."""
    setattr(events, _SOURCES, names)
    return events


def source_names(events: DataFrame) -> Sequence[str] | None:
    """Return the names of what events are read from; None for a DataFrame that was made by other means."""
    names: Sequence[str] | None = getattr(events, _SOURCES, None)
    return names


def notes_of(settings: Settings, events: DataFrame, target: str | None) -> CheckpointNotes:
    """Return the notes of a stream. ``target`` is None for a function."""
    names = source_names(events)
    text = settings.model_dump_json(by_alias=True, exclude=set(_OTHER_SETTINGS))
    return CheckpointNotes(
        datahub_version=settings.datahub_version,
        settings=hashlib.sha256(text.encode()).hexdigest()[:16],
        sources=None if names is None else [_LOGIN.sub(r"\1", name) for name in names],
        target=None if target is None else _LOGIN.sub(r"\1", target),
    )


def check_notes(spark: SparkSession, checkpoint: str, notes: CheckpointNotes, *, accept_changes: bool = False) -> None:
    """Compare the notes of a checkpoint with those of a stream that starts, and store the new ones.

    Raises:
        SettingsError: Something changed, and ``accept_changes`` is False.
    """
    name = f"{checkpoint.rstrip('/')}/dh_bridge/{NOTES_NAME}"
    stored = read_bytes(spark, name)
    earlier = CheckpointNotes() if stored is None else msgspec.json.decode(stored, type=CheckpointNotes)
    changes = [
        (label, getattr(earlier, field), getattr(notes, field), meaning)
        for field, (label, meaning) in _MEANINGS.items()
        if None not in (getattr(earlier, field), getattr(notes, field))
        and getattr(earlier, field) != getattr(notes, field)
    ]
    if changes and not accept_changes:
        label, old, new, meaning = changes[0]
        raise SettingsError(
            f"the checkpoint is for another {label} ({_text(old)}, now {_text(new)}): {meaning}",
            location=f"checkpoint {checkpoint}",
            remedy="use a new checkpoint, which reads all events again, or pass --accept-changes (accept_changes=True)",
        )
    if earlier != notes:
        stated_values = {
            field: value for field in notes.__struct_fields__ if (value := getattr(notes, field)) is not None
        }
        store, path = store_of(spark, name)
        stream = store.create(path, True)  # noqa: FBT003 - Java's
        stream.write(bytearray(msgspec.json.encode(msgspec.structs.replace(earlier, **stated_values))))
        stream.close()


def _text(value: object) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)
