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
from dh_bridge.spark.packed_proposals import open_packs, packs_of, proposal_stats
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
    assert rows_in_order(local) == rows_in_order(stored)
    (file,) = (tmp_path / "local").iterdir()
    assert pq.read_metadata(file).created_by.startswith("parquet-cpp-arrow")
    assert not pq.read_metadata(next((tmp_path / "store/out").glob("*.parquet"))).created_by.startswith("parquet-cpp")


def test_packs_and_rows_make_the_same_files(session, tmp_path):
    with translated(session, tmp_path) as translation:
        every_row = translation.proposals.filter("entity_urn IS NOT NULL")
        assert packs_of(translation.proposals) is not None
        assert packs_of(every_row) is None
        assert proposal_stats(translation.proposals) == proposal_stats(every_row)
        for name, proposals in (("packs", translation.proposals), ("rows", every_row)):
            assert write_folder(proposals, f"parquet:{tmp_path}/{name}") == every_row.count()
    packed, plain = session.read.parquet(f"{tmp_path}/packs"), session.read.parquet(f"{tmp_path}/rows")
    assert packed.dtypes == plain.dtypes
    assert rows_in_order(packed) == rows_in_order(plain)


def test_files_have_no_proposals_of_dropped_runs_and_upserts_of_continued_ones(session, tmp_path):
    with translated(session, tmp_path) as translation:
        rows = translation.proposals.collect()
        urn = next(row.entity_urn for row in rows if row.change_type == "CREATE")
        packs = PackBuilder()
        values = [pack_of(packs, "a", rows), pack_of(packs, "b", rows[:1])]
        frame = session.createDataFrame([tuple(value) for value in values], "data binary, row_count long, size long")
        proposals = open_packs(frame, PackOpener(["b"], [urn]), batch=3)
        assert write_folder(proposals, f"parquet:{tmp_path}/out") == len(rows)
    written = session.read.parquet(f"{tmp_path}/out").orderBy("sequence").collect()
    expected = ["UPSERT" if (row.change_type, row.entity_urn) == ("CREATE", urn) else row.change_type for row in rows]
    assert [row.change_type for row in written] == expected
    assert "UPSERT" in expected
    assert {(row.stream_id, row.batch) for row in written} == {(None, 3)}


def rows_in_order(rows):
    columns = [name for name in rows.columns if name not in {"sequence", "written_at"}]
    return [repr(row) for row in rows.orderBy("sequence").select(columns).collect()]


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
        values = [pack_of(packs, "a", rows), pack_of(packs, "b", rows[:2])]
        batch = pa.RecordBatch.from_pydict({"data": [value.data for value in values]})
    assert [value.row_count for value in values] == [len(rows), 2]
    assert values[1].size == sum(len(row.aspect.encode()) for row in rows[:2])
    urns = [row.entity_urn for row in rows]
    names = [urn for part in PackOpener()([batch]) for urn in part.column("entity_urn").to_pylist()]
    assert names == [*urns, *urns[:2]]
    (part,) = PackOpener(["a"])([batch])
    assert part.column("entity_urn").to_pylist() == urns[:2]


def pack_of(packs, key, rows):
    packs.add([proposal_of(row) for row in rows], key)
    return packs.take()
