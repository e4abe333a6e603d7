"""A batch on Spark ends as ``dh-bridge emit`` of the same input; what cannot be used is reported and counted."""

from __future__ import annotations

import gzip
import json

import pytest
import zstandard
from support.generated_runs import group
from support.partitions import dumped
from support.public_data import CORPUS
from support.sample_events import EXAMPLES, corpus, event, examples
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings
from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.read import read_events
from dh_bridge.spark import SparkTranslation, files, frame, partitions_for, read, report, translate, translation
from dh_bridge.spark.files import file_parts
from dh_bridge.spark.stages import RunStep

SETTINGS = Settings(datahub_version="1.7")
EVENTS = "location string, value binary, whole boolean"


def generated(count=60):
    """Return generated runs whose groups share no dataset, one event each."""
    return [raw.replace(b"db.s.", b"db%d.s." % i) for i in range(count) for raw in sent(group(2026, i))]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Return a folder with all kinds of files, and the events in it."""
    folder = tmp_path_factory.mktemp("archive")
    raws = generated()
    third = len(raws) // 3
    middle = 2 * third + third // 2
    (folder / "lines.ndjson").write_bytes(b"\n".join(raws[:third]))
    (folder / "array.json").write_bytes(b"[" + b",".join(raws[third : 2 * third]) + b"]")
    (folder / "more.jsonl.gz").write_bytes(gzip.compress(b"\n".join(raws[2 * third : middle])))
    (folder / "rest.ndjson.zst").write_bytes(zstandard.compress(b"\n".join(raws[middle:])))
    for position, one in enumerate(examples()):
        (folder / f"single_{position}.json").write_bytes(one.raw)
    return folder, [*raws, *(one.raw for one in examples())]


def test_files_of_every_kind_end_as_one_call(session, held, archive, monkeypatch):
    monkeypatch.setattr(files, "MAX_PART_BYTES", 50_000)  # the lines in several parts
    folder, raws = archive
    paths = [str(folder), *([str(CORPUS)] if corpus() else [])]
    assert len(list(file_parts([str(folder / "lines.ndjson")]))) > 2
    found = SparkTranslation(read(session, paths), SETTINGS, partitions=3)
    one = Bridge(SETTINGS).translate([*raws, *(item.raw for item in corpus())])
    assert held(found.proposals.collect()) == dumped(one.proposals)
    counts = found.counts()
    assert (counts.events, counts.dead, counts.rejected) == (one.counts.events, 0, 0)
    assert (counts.runs, counts.jobs, counts.datasets) == (one.counts.runs, one.counts.jobs, one.counts.datasets)
    assert counts.notes == one.counts.notes
    (row,) = found.proposals.filter("aspect_name = 'dataProcessInstanceProperties'").limit(1).collect()
    assert row.timestamp.year in (2026, 2025, 2024, 2023, 2022, 2021, 2020)
    assert row.run_id
    assert row.location
    found.close()


def test_rejected_proposal_of_a_run_rendered_twice_counts_once(session, refusing, monkeypatch):
    """A run that the lineage of another one names hears of it when it is folded for the second time."""
    aspect, settings = "dataProcessInstanceRunEvent", Settings(datahub_version="1.7")
    runs = [f"018cc251-f400-734d-88b3-{number:012}" for number in range(3)]
    target = {"type": "JOB", "runId": runs[1], "namespace": "ns", "name": "etl.b"}
    lineage = {"entries": [{**target, "inputs": [{"type": "DATASET", "namespace": "postgres://db", "name": "d.s.x"}]}]}
    output = [event("COMPLETE", run=run, job=f"etl.{job}") for run, job in zip(runs, "abc", strict=True)]
    output[0]["job"]["facets"] = {"lineage": lineage}
    whole = refusing(RunStep, aspect)(settings).bridge.translate(sent(output))
    expected = sorted((one.proposal.entity_urn, one.reason) for one in whole.rejected)
    assert len(expected) == 3
    monkeypatch.setattr(translation, "RunStep", refusing(RunStep, aspect))
    rows = session.createDataFrame([(str(at), raw, False) for at, raw in enumerate(sent(output))], EVENTS)
    found = SparkTranslation(rows, settings, partitions=2)
    assert sorted((row.entity_urn, row.reason) for row in found.rejected.collect()) == expected
    assert found.counts().rejected == 3
    upstream = found.proposals.filter("aspect_name = 'dataProcessInstanceInput'").collect()
    assert [row.entity_urn.rpartition(":")[2] for row in upstream] == [runs[1]]
    found.close()


def test_large_files_are_shuffled_in_parts_of_32_megabytes(session, tmp_path):
    cores = session.sparkContext.defaultParallelism
    assert partitions_for(session, "s3a://bucket/not-here") == 3 * cores
    with (tmp_path / "large.ndjson").open("wb") as file:
        file.truncate(1000 * 32 * 2**20 + 1)  # a file of nothing takes no room
    assert partitions_for(session, str(tmp_path)) == 1001
    (tmp_path / "large.ndjson").rename(tmp_path / "large.ndjson.gz")
    assert partitions_for(session, [str(tmp_path), "s3a://bucket/not-here"]) == 2000  # eight times as much, unzipped


def test_runs_that_are_one_only_together_end_as_one_call(session, held):
    settings = Settings(datahub_version="1.7", identity={"granularity": "application"})
    files = [str(EXAMPLES / name) for name in ("spark.ndjson", "dbt.ndjson")]
    one = Bridge(settings).translate(list(read_events(files)))
    found = SparkTranslation(read(session, files), settings, partitions=3)
    assert held(found.proposals.collect()) == dumped(one.proposals)
    assert held(found.proposals.collect()) != dumped(Bridge(SETTINGS).translate(list(read_events(files))).proposals)
    counts = found.counts()
    assert (counts.events, counts.runs) == (one.counts.events, one.counts.runs)
    found.close()


def test_unusable_records_are_reported_and_others_translated(session, tmp_path):
    good = sent([event("START"), event("COMPLETE", "2026-11-20T10:05:00Z")])
    whole = gzip.compress(b"\n".join(generated(20)))
    big = json.dumps(event(run_facets={"x": {"text": "y" * 20_000_000}})).encode()
    (tmp_path / "lines.ndjson").write_bytes(b"\n".join([good[0], b'{"a": 1}', b"\xff\xfe\x00junk", b"{", good[1]]))
    (tmp_path / "cut.ndjson.gz").write_bytes(whole[: len(whole) // 2])
    packed = zstandard.compress(b"\n".join(generated(20)))
    (tmp_path / "cut.ndjson.zst").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "big.json").write_bytes(big)
    (tmp_path / "junk.log").write_bytes(bytes(range(256)) * 8)
    items = list(read_events([tmp_path]))
    found = SparkTranslation(read(session, str(tmp_path)), SETTINGS, partitions=2)
    bad = {(row.location, row.reason) for row in found.bad_records.collect()}
    expected = [item for item in items if hasattr(item, "reason")]
    assert bad == {(item.location, item.reason) for item in expected}
    assert len(bad) >= 5
    counts = found.counts()
    assert counts.dead == len(expected)
    assert counts.events + counts.dead == len(items)
    found.close()


def test_table_events_are_read_from_the_named_column(session, tmp_path):
    raws = [one.decode() for one in sent([event("START"), event("COMPLETE", "2026-11-20T10:05:00Z")])]
    table = session.createDataFrame([(1, raws[0]), (2, f"[{raws[1]}]"), (3, None)], "id int, payload string")
    table.write.parquet(str(tmp_path / "t"))
    events = read(session, str(tmp_path / "t"), format="parquet", column="payload")
    found = SparkTranslation(events, SETTINGS, partitions=1)
    counts = found.counts()
    assert (counts.events, counts.dead, counts.runs) == (2, 1, 1)
    found.close()
    late = SparkTranslation(events, SETTINGS, partitions=1, between=("2026-11-20T10:01:00Z", None))
    assert (late.counts().events, late.counts().dead) == (1, 1)
    late.close()
    with pytest.raises(SettingsError, match="--from"):
        SparkTranslation(events, SETTINGS, between=("then", None))
    with pytest.raises(SettingsError, match="unknown column 'value'; the columns are id, payload"):
        frame(table, "value")
    with pytest.raises(SettingsError, match="'id' has the type integer"):
        frame(table, "id")
    with pytest.raises(SettingsError, match="nothing does not exist"):
        read(session, str(tmp_path / "nothing"))


def test_report_counts_the_fields_that_explain_counts(session):
    client = EXAMPLES / "client.ndjson"
    rows = report(read(session, str(client)), SETTINGS, partitions=1).collect()
    whole = Bridge(SETTINGS).translate(client.read_bytes().splitlines(), report=True).report
    assert sum(row.fields for row in rows) == sum(whole.counts.values())
    assert {row.outcome for row in rows} == set(whole.counts)
    assert {"job.facets.documentation", ""} & {row.facet for row in rows}


def test_translation_is_one_verb_with_all_results(session, tmp_path):
    events = read(session, str(EXAMPLES / "great_expectations.ndjson"))
    with translate(events, SETTINGS, partitions=1) as translation:
        assert translation.proposals.columns[:4] == ["entity_type", "entity_urn", "aspect_name", "change_type"]
        count = translation.proposals.count()
        assert translation.counts().proposals == count > 10
        assert translation.bad_records.count() == 0
        assert translation.checks().count() > 0
        delivery = translation.deliver(f"catalog:{tmp_path / 'c.db'}")
        assert (delivery.delivered_count, delivery.failed_count) == (count, 0)
        assert translation.current().filter("refused IS NOT NULL").count() == 0
