"""The state of a stream that an earlier release wrote: it is built again from the events that the checkpoint has.

Events are stored as they were read, so every release can read them. What the runs contribute has a format of its own (see
:data:`dh_bridge.state_codec.codec.VERSION`). The new state is written into ``format=F`` below the old one. The old marks are removed
when the new state is complete: until then the old state counts, so a rebuild that is interrupted begins again.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError
from dh_bridge.spark.hadoop import store_of
from dh_bridge.spark.state import EVENTS, TABLES, StreamState, mark_names
from dh_bridge.spark.stream_batch import StreamBatch
from dh_bridge.spark.translation import records_of
from dh_bridge.state_codec.codec import VERSION, StateVersionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dh_bridge.settings import Settings

log = logging.getLogger("dh_bridge.spark")

_FORMAT_MARK = re.compile(r"format=(\d+)\Z")
_BATCH_MARK = re.compile(r"(?:batch|base)=(\d+)\Z")

_REPLACED = "replaced"


def current_state_folder(spark: SparkSession, folder: str, settings: Settings, *, partitions: int | None = None) -> str:
    """Return the folder with the state in the format of this release; build the state again if an earlier release wrote it.

    Args:
        spark: The session.
        folder: The folder of the state in the checkpoint.
        settings: The settings of the stream.
        partitions: The number of partitions of the shuffles.

    Raises:
        StateVersionError: A newer release wrote the state.
        SettingsError: The state has runs that were deleted (``--retain``), so their events are missing.
    """
    root = folder.rstrip("/")
    for state_format in range(VERSION + 1):
        candidate = _folder_of(root, state_format)
        names = mark_names(spark, candidate)
        if any(map(_BATCH_MARK.match, names)):
            break
    else:
        return root
    stated_formats = [int(match[1]) for match in map(_FORMAT_MARK.match, names) if match]
    if max(stated_formats, default=0) > VERSION:
        raise StateVersionError(f"format {max(stated_formats)}", location=folder)
    if VERSION in stated_formats:
        return candidate
    rebuilt = _folder_of(root, VERSION)
    _rebuild(spark, candidate, rebuilt, settings, partitions)
    return rebuilt


def _folder_of(root: str, state_format: int) -> str:
    """Return where a rebuild writes the state of a format; format 0 is what no rebuild wrote."""
    return f"{root}/format={state_format}" if state_format else root


def _rebuild(spark: SparkSession, old: str, new: str, settings: Settings, partitions: int | None) -> None:
    numbers = [int(match[1]) for match in map(_BATCH_MARK.match, mark_names(spark, old)) if match]
    last = max(numbers)
    log.warning("%s: an earlier release wrote the state: building it again from its events", old)
    old_state = StreamState(spark, old, last, any_format=True)
    if old_state.has_evicted_runs():
        raise SettingsError(
            "an earlier release wrote the state, and the events of deleted runs (--retain) are missing to build it again",
            location=old,
            remedy="finish the stream with the earlier release, and start a new checkpoint",
        )
    store, path = store_of(spark, new)
    store.delete(path, True)  # noqa: FBT003 - Java's
    # the last batch apart: Spark may repeat it, and then reads the state before it
    last_events = spark.read.schema(EVENTS).parquet(f"{old}/events/batch={last}")
    for number, events in ((last - 1, old_state.read("events")), (last, last_events)):
        if number >= 0:
            batch = StreamBatch(_records(events, settings), number, new, settings, partitions=partitions)
            batch.run(lambda *_: None)
    replaced_marks = store_of(spark, f"{old}/{_REPLACED}")[1]
    store.rename(store_of(spark, f"{old}/done")[1], replaced_marks)
    for path in (*(store_of(spark, f"{old}/{name}")[1] for name in TABLES), replaced_marks):
        store.delete(path, True)  # noqa: FBT003 - Java's


def _records(events: DataFrame, settings: Settings) -> DataFrame:
    """Return the stored events as records: names, and so the keys of runs, may have changed with the release."""
    rows = events.filter("raw IS NOT NULL").selectExpr("location", "raw AS value", "false AS whole")
    return records_of(rows, settings)
