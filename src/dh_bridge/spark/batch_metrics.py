"""Metrics of a stream's batches: in Spark's own progress, and as JSON lines.

Spark's progress (``query.lastProgress``, listeners, the UI) takes metrics of the rows that it reads: the events. What happens to their
proposals is known only when a batch ends, so the line of a batch has both.
"""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.errors import SinkError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OBSERVATION = "dh_bridge"
"""The name of the metrics in ``query.lastProgress.observedMetrics``: ``events`` and ``dead``."""


class DeliveryCounts(NamedTuple):
    """What a consumer of batches returns, so that the metrics have it.

    Attributes:
        delivered: the number of delivered proposals.
        refused: the number of proposals that the target rejected.
    """

    delivered: int
    refused: int


class BatchMetrics(msgspec.Struct, frozen=True):
    """The metrics of a batch.

    Attributes:
        stream: the id of the stream in its checkpoint; None if it is unknown.
        batch: the number of the batch.
        time: when the batch ended, in ISO 8601.
        events: the number of events.
        dead: the number of events that cannot be used.
        delivered: the number of delivered proposals; None if a function of yours delivers and does not return counts.
        refused: the number of proposals that the target rejected; None as for ``delivered``.
        seconds: the wall time of the batch.
    """

    stream: str | None
    batch: int
    time: str
    events: int
    dead: int
    delivered: int | None
    refused: int | None
    seconds: float


def observed(records: DataFrame) -> DataFrame:
    """Return the records (see RECORD) of a stream, whose numbers appear in Spark's progress under OBSERVATION."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    is_dead = F.col("reason").isNotNull()
    return records.observe(OBSERVATION, F.count_if(~is_dead).alias("events"), F.count_if(is_dead).alias("dead"))


class MetricsFile:
    """A file of the driver with a JSON line for each batch (see BatchMetrics)."""

    def __init__(self, path: str) -> None:
        """Open the file, to append to it.

        Raises:
            SinkError: The file cannot be opened.
        """
        self._path = Path(path)
        self._append(b"")

    def write(self, metrics: BatchMetrics) -> None:
        """Append the metrics of a batch."""
        self._append(msgspec.json.encode(metrics) + b"\n")

    def _append(self, content: bytes) -> None:
        try:
            with self._path.open("ab") as file:
                file.write(content)
        except OSError as error:
            raise SinkError(
                f"cannot write the metrics: {error.strerror}", location=str(self._path), remedy="choose another file"
            ) from error


def now_text() -> str:
    """Return the present time in ISO 8601."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
