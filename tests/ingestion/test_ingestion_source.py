"""The source inside DataHub's own pipelines, with DataHub's own sinks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.run.pipeline import PipelineInitError
from support.gms import Gms
from support.recipes import TABLE, about, event, pipeline, ran, to_file, to_gms, written

from dh_bridge import Bridge
from dh_bridge.delivery import open_target
from dh_bridge.ingestion import RecipeConfig
from dh_bridge.openlineage.read import read_events
from dh_bridge.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
#: with tags and owners, whose patches differ between versions
DBT = ROOT / "examples" / "events" / "dbt.ndjson"
PAGE = ROOT / "docs" / "datahub-ingest.md"


# acryl-datahub's own, on Python 3.12 and later
pytestmark = pytest.mark.filterwarnings("ignore:There is no current event loop")


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.4.0") as server:
        yield server


def messages(entries):
    return [entry.message for entry in entries]


def contexts(entries):
    return [text for entry in entries for text in entry.context]


@pytest.mark.parametrize("version", ["0.15.0", "1.4.0", "1.5.0"])
def test_rest_sink_of_datahub_writes_the_same_state_as_emit(tmp_path, version):
    with Gms(tmp_path / "theirs.db", version=version) as theirs, Gms(tmp_path / "ours.db", version=version) as ours:
        found = ran(DBT, to_gms(theirs))
        assert not found.sink.get_report().failures
        destination = open_target(f"rest:{ours.url}", Settings(), environ={"HOME": str(tmp_path)})
        with destination.sink:
            for translation in Bridge(destination.settings).stream(read_events([DBT])):
                assert not destination.sink.emit(translation.proposals).failures
        assert theirs.dump() == ours.dump()


def test_transformers_get_aspects_as_they_know_them(tmp_path):
    adds = {"type": "simple_add_dataset_tags", "config": {"tag_urns": ["urn:li:tag:lineage"]}}
    place = written(tmp_path / "e.ndjson", event("COMPLETE", 1))
    found = pipeline(place, to_file(tmp_path / "out.json"), top={"transformers": [adds]})
    kinds = {type(unit.metadata) for unit in found.source.get_workunits() if unit.metadata.changeType == "UPSERT"}
    found.sink.close()
    assert kinds == {MetadataChangeProposalWrapper}


@pytest.mark.filterwarnings("ignore:Call to deprecated method:DeprecationWarning")  # acryl-datahub's own call
def test_aspects_added_by_a_transformer_are_written(tmp_path):
    adds = {"type": "simple_add_dataset_tags", "config": {"tag_urns": ["urn:li:tag:lineage"]}}
    ran(
        written(tmp_path / "e.ndjson", event("COMPLETE", 1)),
        to_file(tmp_path / "out.json"),
        top={"transformers": [adds]},
    )
    assert any(aspect == "globalTags" and TABLE["name"] in urn for urn, aspect in about(tmp_path / "out.json"))


def test_pipeline_run_id_is_on_every_written_aspect(tmp_path, gms):
    found = ran(written(tmp_path / "e.ndjson", event("COMPLETE", 1)), to_gms(gms))
    assert {metadata["runId"] for metadata in gms.metadata.values()} == {found.config.run_id}


def test_source_report_counts_events_and_outcomes(tmp_path):
    place = written(tmp_path / "e.ndjson", event("START", 1), event("COMPLETE", 2))
    report = ran(place, to_file(tmp_path / "out.json"), report=True).source.get_report()
    counts = json.loads(json.dumps(report.as_obj()))["counts"]
    assert [counts[name] for name in ("events", "runs", "jobs", "datasets")] == [2, 1, 1, 1]
    assert counts["proposals"] == report.events_produced == len(about(tmp_path / "out.json"))
    assert counts["mapped"] > counts["dropped"] > 0
    assert report.dropped == {"empty": counts["dropped"]}


def test_invalid_event_is_a_warning_and_the_others_are_written(tmp_path):
    place = tmp_path / "e.ndjson"
    place.write_text(json.dumps(event("START", 1)) + '\n{"broken\n' + json.dumps(event("COMPLETE", 2)) + "\n")
    report = ran(place, to_file(tmp_path / "out.json")).source.get_report()
    assert (report.counts.events, report.counts.dead) == (2, 1)
    assert messages(report.warnings) == ["An event cannot be used; the others are processed"]
    assert f"{place}:2" in contexts(report.warnings)[0]


def test_settings_apply_and_filtered_entities_are_counted(tmp_path):
    place = written(
        tmp_path / "e.ndjson", event("COMPLETE", 1), event("COMPLETE", 2, job={"namespace": "x", "name": "tmp_1"})
    )
    settings = {"filters.jobs": ["!tmp_*"], "writes": {"entities": ["!dataset"]}}
    report = ran(place, to_file(tmp_path / "out.json"), settings=settings).source.get_report()
    urns = [urn for urn, _ in about(tmp_path / "out.json")]
    assert not [urn for urn in urns if "tmp_1" in urn or urn.startswith("urn:li:dataset:")]
    assert sum(report.counts.filtered.values()) > 1, report.counts


def test_skipped_files_of_a_folder_are_in_the_report(tmp_path):
    (tmp_path / "folder").mkdir()
    written(tmp_path / "folder" / "e.ndjson", event("COMPLETE", 1))
    (tmp_path / "folder" / "part-0").write_bytes(b"PAR1")
    found = ran(tmp_path / "folder", to_file(tmp_path / "out.json"), settings={"datahub_version": "1.4"})
    (stated,) = contexts(found.source.get_report().infos)
    assert stated.startswith(f"{tmp_path / 'folder' / 'part-0'}; the endings .json, .ndjson")


def test_profile_is_that_of_the_server_that_the_recipe_knows(tmp_path, gms):
    place = written(tmp_path / "e.ndjson", event("COMPLETE", 1))
    beside = {"datahub_api": {"server": gms.url}}
    found = ran(place, to_file(tmp_path / "new.json"), top=beside)
    assert not messages(found.source.get_report().infos)
    found = ran(place, to_file(tmp_path / "newest.json"))
    assert contexts(found.source.get_report().infos)[0].startswith("written for DataHub 1.7")
    ran(place, to_file(tmp_path / "old.json"), top=beside, settings={"datahub_version": "0.15.0"})
    assert set(about(tmp_path / "new.json")) > set(about(tmp_path / "old.json"))


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"events": ["/nowhere/e.ndjson"]}, "/nowhere/e.ndjson does not exist"),
        ({"events": []}, "events"),
        ({"event": ["e"]}, "event"),
        ({"settings": {"datahub_versio": "1.4"}}, "did you mean `datahub_version`"),
        ({"settings": {"datahub_version": "0.9"}}, "0.9"),
        ({"settings": {"state": "read"}}, "cannot read aspects from"),
        ({"settings": {"max_new_entities_per_hour": 5}}, "do not report which entities are new"),
        ({"config": "/nowhere/dh_bridge.yml"}, "/nowhere/dh_bridge.yml"),
    ],
)
def test_invalid_recipe_is_refused_before_any_write(tmp_path, config, text):
    place = written(tmp_path / "e.ndjson", event("COMPLETE", 1))
    with pytest.raises(PipelineInitError) as refusal:
        pipeline(place, to_file(tmp_path / "out.json"), **config)
    assert text in str(refusal.value)


def test_page_shows_a_recipe_that_runs_and_knows_every_key(tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    recipe = yaml.safe_load(re.search(r"```yaml\n(.+?)```", page, re.DOTALL)[1])
    assert recipe["source"]["type"] == "dh-bridge"
    stated = recipe["source"]["config"] | {"events": [written(tmp_path / "e.ndjson", event("COMPLETE", 1))]}
    found = ran(None, to_file(tmp_path / "out.json"), **stated)
    assert found.source.get_report().counts.events == 1
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == [*RecipeConfig.model_fields]


@pytest.mark.slow
def test_datahub_ingest_knows_the_source_by_its_short_name(tmp_path):
    place = written(tmp_path / "e.ndjson", event("COMPLETE", 1))
    recipe = tmp_path / "recipe.yml"
    sink = {"type": "file", "config": {"filename": str(tmp_path / "out.json")}}
    recipe.write_text(json.dumps({"source": {"type": "dh-bridge", "config": {"events": [place]}}, "sink": sink}))
    command = [Path(sys.executable).with_name("datahub"), "ingest", "-c", recipe, "--no-default-report"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert any(TABLE["name"] in urn for urn, _ in about(tmp_path / "out.json"))
