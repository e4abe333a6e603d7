"""What Spark's workers note of events beside their translation: statistics of runs, names of datasets, what learning follows.

Steps as in :mod:`dh_bridge.spark.stages`: Arrow batches in, Arrow batches out. No pyspark here.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from dh_bridge.errors import EventError
from dh_bridge.learning import Learner
from dh_bridge.openlineage.parsing import parse
from dh_bridge.review.near import last_name, near_misses
from dh_bridge.spark.rows import Row, batches, rows_of
from dh_bridge.spark.stages import Step
from dh_bridge.translation.naming.datasets import dataset_name, datasets_of
from dh_bridge.translation.naming.namespaces import canonical
from dh_bridge.translation.naming.rules import Locations
from dh_bridge.translation.packing import packed
from dh_bridge.translation.runs.other_runs import hand_over
from dh_bridge.translation.runs.settling import history_of, settle
from dh_bridge.translation.slots import STATISTIC
from dh_bridge.translation.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from dh_bridge.openlineage.events import Event
    from dh_bridge.settings import Settings
    from dh_bridge.translation.runstate import RunState

COUNTED = (
    "job string, run string, started long, ended long, result string, duration long,"
    " direction string, dataset string, row_count long, bytes long, files long"
)
"""A row for each run (``direction`` and ``dataset`` null), and one for each dataset that a job of it counted; times in
microseconds, ``duration`` in milliseconds, ``ended`` null for a run without a terminal event."""
NAMED = "urn string, namespace string, name string, last string, events long"
"""How often a dataset was named, by which namespace (without credentials) and name; ``last``: the part of the name in which
near misses are equal."""
NEAR = "urn string, found string, differs string, rule string"
"""Two URNs that look like one dataset, how they differ, and the setting that would make the first one the second."""
NOTES = "notes binary"

_LEAVES = ("rowCount", "size", "fileCount")
_MOST = 10_000
"""Names that a worker counts before it hands them on."""
_CROWD = 2_000
"""URNs with one last name beyond which they are not compared in pairs: such a name says nothing."""


class CountRuns(Step):
    """RECORD, sorted by key -> COUNTED."""

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what the runs of a part counted."""
        return batches(self._rows(found), COUNTED)

    def _rows(self, found: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        options = self.bridge.options
        walk = Walk(options)
        for _, rows in groupby(rows_of(found), key=itemgetter(0)):
            runs: dict[str, RunState] = {}
            for event in _parsed(rows, self):
                walk.event(event, runs)
            for state in settle(list(runs.values()), hand_over, options)[0]:
                if state.urn:
                    yield from self._counted(state)

    def _counted(self, state: RunState) -> Iterator[Row]:
        found, job = history_of(state, self.bridge.options), state.job()
        end = found.points[-1] if found.end is not None and found.points else None
        duration = None if end is None or end.duration is None else end.duration // 1000
        run = (state.urn, found.start, found.end, found.winner, duration)
        yield (job.job_urn if job is not None else None, *run, None, None, None, None, None)
        for task, slots in state.cells.items():
            counts: dict[tuple[str, str], dict[str, int]] = {}
            for (direction, dataset, leaf), (_, count) in slots.get(STATISTIC, {}).items():
                counts.setdefault((direction, dataset), {})[leaf] = count
            for (direction, dataset), told in counts.items():
                yield (task, *run, direction, dataset, *map(told.get, _LEAVES))


class NameDatasets(Step):
    """RECORD -> NAMED."""

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the names of a part, each at least once."""
        return batches(self._rows(found), NAMED)

    def _rows(self, found: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        locations = Locations(self.bridge.settings.naming.locations)
        counts: Counter[tuple[str, str, str, str]] = Counter()
        for event in _parsed(rows_of(found), self):
            counts.update(self._names(event, locations))
            if len(counts) > _MOST:
                yield from ((*key, number) for key, number in counts.items())
                counts.clear()
        yield from ((*key, number) for key, number in counts.items())

    def _names(self, event: Event, locations: Locations) -> Iterator[tuple[str, str, str, str]]:
        for dataset in datasets_of(event, self.bridge.options.naming):
            name = dataset_name(dataset, self.bridge.options.naming)
            if name.endpoint is not None and name.endpoint.startswith("urn:li:dataset:"):
                text = canonical(name.namespace).text
                place = locations.canonical([name.namespace, text]) or text
                yield name.endpoint, place, name.name, last_name(name.endpoint)


class FindNear:
    """(last, urn, namespace), sorted by last -> NEAR."""

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the near misses of a part, each pair once."""
        return batches(self._rows(found), NEAR)

    def _rows(self, found: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        for _, rows in groupby(rows_of(found), key=itemgetter(0)):
            names = {urn: namespace for _, urn, namespace in rows}
            if 1 < len(names) <= _CROWD:
                yield from (near for near in near_misses(names.items(), names) if near.urn < near.found)


class Learn(Step):
    """RECORD -> NOTES: what a learner saw of each part."""

    def __init__(self, settings: Settings, limit: int) -> None:
        super().__init__(settings)
        self.limit = limit

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the notes of a part."""
        learner = Learner(self.bridge.settings, limit=self.limit)
        for event in _parsed(rows_of(found), self):
            learner.see(event)
        return batches([(packed(learner.notes()),)], NOTES)


def _parsed(rows: Iterable[Row], step: Step) -> Iterator[Event]:
    """Yield the events of rows of RECORD; bad ones are told of elsewhere."""
    for _, _, place, raw, reason in rows:
        if reason is None:
            try:
                yield parse(raw, place, step.bridge.zone)
            except EventError:  # the records' step has told of it
                continue
