"""Before each task Spark lets Python read the directories of its archives again: the workers have none in Python's cache."""

from __future__ import annotations

import importlib
import sys
import zipfile
from zipimport import zipimporter

import pyarrow as pa

from dh_bridge.settings import Settings
from dh_bridge.spark.stages import RecordStep, forget_archives


def archive_finders():
    return [path for path, finder in sys.path_importer_cache.items() if isinstance(finder, zipimporter)]


def test_worker_has_no_archives_in_its_cache_after_a_step(session):
    step = RecordStep(Settings())

    def archives(record_batches):
        list(record_batches)
        _ = step.bridge
        paths = [("path", path) for path in sys.path if path.endswith((".zip", ".jar"))]
        cached = [("cache", path) for path in archive_finders()]
        yield pa.RecordBatch.from_pydict(dict(zip(("where", "path"), zip(*paths, *cached, strict=True), strict=True)))

    rows = session.range(1, numPartitions=1).mapInArrow(archives, "where string, path string").collect()
    assert {row.where for row in rows} == {"path"}


def test_modules_of_archives_are_found_afterwards(tmp_path, monkeypatch):
    for number in (1, 2):
        with zipfile.ZipFile(tmp_path / f"{number}.zip", "w") as archive:
            archive.writestr(f"archived_{number}.py", f"number = {number}")
            archive.writestr(f"later_{number}.py", f"number = {number + 10}")
        monkeypatch.syspath_prepend(str(tmp_path / f"{number}.zip"))
    assert importlib.import_module("archived_1").number == 1
    assert archive_finders()
    forget_archives()
    assert archive_finders() == []
    assert importlib.import_module("later_1").number == 11
    assert importlib.import_module("archived_2").number == 2
