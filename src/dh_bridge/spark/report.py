"""The outcomes of the fields of many events, counted by producer, facet, outcome and reason.

Each run is a call of its own here: an aspect of a job or dataset counts as written by every run that says something of it.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.read import events_of
from dh_bridge.settings.loading import settings_of
from dh_bridge.spark.rows import Row, batches, rows_of
from dh_bridge.spark.stages import Step
from dh_bridge.spark.translation import ordered, parts_of, records_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike

REPORT = "producer string, facet string, outcome string, reason string, fields long"
"""Columns of a report: ``facet`` as ``inputs.facets.schema``, "" for the envelope; ``outcome`` is mapped, property or dropped."""

_FACET = re.compile(
    r'\$\.(run|job|dataset|inputs|outputs)(?:\[\d+\])?\.(facets|inputFacets|outputFacets)[.\[]"?([^.\["\]]+)'
)
_MOST = 10_000
"""Combinations that a worker counts before it hands them on."""


def report(
    events: DataFrame,
    settings: SettingsLike = None,
    *,
    partitions: int | None = None,
    between: tuple[str | None, str | None] = (None, None),
) -> DataFrame:
    """Return coverage and loss of ``events`` (see REPORT), the largest first; ``between`` as of `Translated`."""
    chosen = settings_of(settings)
    return field_counts(
        ordered(records_of(events, chosen, between), partitions or parts_of(events.sparkSession)), chosen
    )


def field_counts(records: DataFrame, settings: Settings) -> DataFrame:
    """Return the same of records, sorted by run."""
    counted = records.mapInArrow(FieldCounts(settings), REPORT)
    found = counted.groupBy("producer", "facet", "outcome", "reason").agg({"fields": "sum"})
    return found.withColumnRenamed("sum(fields)", "fields").orderBy("fields", ascending=False)


class FieldCounts(Step):
    """RECORD, sorted by key -> REPORT."""

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the counts of a part."""
        return batches(self._rows(found), REPORT)

    def _rows(self, found: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        counts: Counter[tuple[str, str, str, str]] = Counter()
        for _, run in groupby((row for row in rows_of(found) if row[4] is None), key=itemgetter(0)):
            items = [item for row in run for item in events_of(row[3], row[2], self.bridge.zone)]
            counts.update(self._counted([item for item in items if not isinstance(item, DeadLetter)]))
            if len(counts) > _MOST:
                yield from ((*key, number) for key, number in counts.items())
                counts.clear()
        yield from ((*key, number) for key, number in counts.items())

    def _counted(self, events: list[Event]) -> Iterator[tuple[str, str, str, str]]:
        producers = {event.place: event.producer or "" for event in events}
        told = self.bridge.translate(events, report=True).report
        for line in told.lines() if told is not None else ():
            match = _FACET.match(line["path"])
            facet = ".".join(match.groups()) if match else ""
            yield producers.get(line["event"], ""), facet, line["outcome"], line["reason"] or ""
