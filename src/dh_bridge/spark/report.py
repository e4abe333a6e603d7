"""The outcomes of the fields of many events, counted by producer, facet, outcome and reason.

Each run is a call of its own here: an aspect of a job or dataset counts as written by every run with facts about it.
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
from dh_bridge.spark.rows import Row, rows_of, to_record_batches
from dh_bridge.spark.stages import Step
from dh_bridge.spark.translation import default_partitions, records_of, sort_by_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike

REPORT = "producer string, facet string, outcome string, reason string, fields long"
"""Columns of a report: ``facet`` as ``inputs.facets.schema``, "" for the envelope; ``outcome`` is mapped, property or dropped."""

_FACET_PATH = re.compile(
    r'\$\.(run|job|dataset|inputs|outputs)(?:\[\d+\])?\.(facets|inputFacets|outputFacets)[.\[]"?([^.\["\]]+)'
)
_MAX_COMBINATIONS = 10_000
"""Combinations that a worker counts before it yields them."""


def report(
    events: DataFrame,
    settings: SettingsLike = None,
    *,
    partitions: int | None = None,
    between: tuple[str | None, str | None] = (None, None),
) -> DataFrame:
    """Return coverage and loss of ``events`` (see REPORT), the largest first; ``between`` as of `SparkTranslation`."""
    resolved_settings = settings_of(settings)
    return field_counts(
        sort_by_run(
            records_of(events, resolved_settings, between), partitions or default_partitions(events.sparkSession)
        ),
        resolved_settings,
    )


def field_counts(records: DataFrame, settings: Settings) -> DataFrame:
    """Return the same for records, sorted by run."""
    part_counts = records.mapInArrow(FieldCounts(settings), REPORT)
    totals = part_counts.groupBy("producer", "facet", "outcome", "reason").agg({"fields": "sum"})
    return totals.withColumnRenamed("sum(fields)", "fields").orderBy("fields", ascending=False)


class FieldCounts(Step):
    """RECORD, sorted by key -> REPORT."""

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the counts of a part."""
        return to_record_batches(self._rows(record_batches), REPORT)

    def _rows(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        counts: Counter[tuple[str, str, str, str]] = Counter()
        for _, run in groupby((row for row in rows_of(record_batches) if row[4] is None), key=itemgetter(0)):
            items = [item for row in run for item in events_of(row[3], row[2], self.bridge.zone)]
            counts.update(self._field_outcomes([item for item in items if not isinstance(item, DeadLetter)]))
            if len(counts) > _MAX_COMBINATIONS:
                yield from ((*key, number) for key, number in counts.items())
                counts.clear()
        yield from ((*key, number) for key, number in counts.items())

    def _field_outcomes(self, events: list[Event]) -> Iterator[tuple[str, str, str, str]]:
        producers = {event.location: event.producer or "" for event in events}
        field_report = self.bridge.translate(events, report=True).report
        for line in field_report.lines() if field_report is not None else ():
            match = _FACET_PATH.match(line["path"])
            facet = ".".join(match.groups()) if match else ""
            yield producers.get(line["event"], ""), facet, line["outcome"], line["reason"] or ""
