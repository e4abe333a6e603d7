"""Parquet files of local folders are written by the workers, and equal those that Spark writes into stores."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's custom
from support.sample_events import dataset, event
from support.sample_events import packed as sent

from dh_bridge.errors import SinkError
from dh_bridge.spark import local_files
from dh_bridge.spark.proposal_packs import PackBuilder, PackOpener
from dh_bridge.spark.targets import proposal_of, write_folder
from dh_bridge.spark.translation import translate


def translated(session, tmp_path):
    (tmp_path / "events.ndjson").write_bytes(b"\n".join(sent([event("COMPLETE", outputs=[dataset("d.s.a")])])))
    return translate(session.read.text(str(tmp_path / "events.ndjson")), {"datahub_version": "1.7"})


def test_files_of_a_local_folder_equal_those_of_a_store(session, tmp_path):
    (tmp_path / "store").mkdir()
    session.conf.set("fs.viewfs.mounttable.tests.link./store", f"file://{tmp_path}/store")
    with translated(session, tmp_path) as translation:
        local_count = write_folder(translation.proposals, f"parquet:{tmp_path}/local")
        store_count = write_folder(translation.proposals, "parquet:viewfs://tests/store/out")
        assert local_count == store_count == translation.proposals.count() > 5
    local, stored = session.read.parquet(f"{tmp_path}/local"), session.read.parquet(f"{tmp_path}/store/out")
    assert local.dtypes == stored.dtypes
    columns = [name for name in local.columns if name != "written_at"]
    assert sorted(map(repr, local.select(columns).collect())) == sorted(map(repr, stored.select(columns).collect()))
    (file,) = (tmp_path / "local").iterdir()
    assert pq.read_metadata(file).created_by.startswith("parquet-cpp-arrow")
    assert not pq.read_metadata(next((tmp_path / "store/out").glob("*.parquet"))).created_by.startswith("parquet-cpp")


def test_failed_write_leaves_no_files(session, tmp_path):
    rows = session.range(3).select(F.assert_true(F.col("id") < 2).cast("string").alias("aspect"))
    with pytest.raises(Exception, match="is not true"):
        local_files.write_local_parquet(rows, tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(SinkError, match="Not a directory"):
        local_files.write_local_parquet(session.range(1), tmp_path / "file")


def test_file_of_many_rows_has_row_groups_of_bounded_size(tmp_path, monkeypatch):
    monkeypatch.setattr(local_files, "_ROW_GROUP_BYTES", 1000)
    batches = [pa.RecordBatch.from_pydict({"aspect": [str(number) * 90 for number in range(5)]}) for _ in range(9)]
    (result,) = local_files._ParquetWriter(str(tmp_path))(batches)
    (row,) = result.to_pylist()
    file = pq.ParquetFile(tmp_path / row["name"])
    assert row["row_count"] == file.metadata.num_rows == 45
    assert file.metadata.num_row_groups == 3
    assert list(local_files._ParquetWriter(str(tmp_path))([])) == []


def test_pack_holds_proposals_in_order_without_those_of_dropped_runs(session, tmp_path):
    with translated(session, tmp_path) as translation:
        packs = PackBuilder()
        assert packs.take() is None
        rows = translation.proposals.collect()
        batch = pa.RecordBatch.from_pydict({"data": [pack_of(packs, "a", rows), pack_of(packs, "b", rows[:2])]})
    urns = [row.entity_urn for row in rows]
    names = [urn for part in PackOpener()([batch]) for urn in part.column("entity_urn").to_pylist()]
    assert names == [*urns, *urns[:2]]
    (part,) = PackOpener(["a"])([batch])
    assert part.column("entity_urn").to_pylist() == urns[:2]


def pack_of(packs, key, rows):
    packs.add([proposal_of(row) for row in rows], key)
    return packs.take()
