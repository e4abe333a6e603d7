"""The bridge: what it takes, what it counts, and that one bad event stops no other."""

from __future__ import annotations

import functools
import json
import pickle
import shutil
import threading
import types
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from uuid import UUID, uuid5

import attr
import pytest
from openlineage.client import event_v2
from pydantic import SecretStr
from support.sample_events import (
    AIRFLOW,
    RUN,
    T0,
    dataset,
    dataset_event,
    event,
    examples,
    job_event,
    lines,
    one,
    packed,
)

import dh_bridge
from dh_bridge import Bridge, Settings, bridge, translate
from dh_bridge.bundled import MAPPINGS
from dh_bridge.errors import MappingError, SettingsError, SinkError
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.settings import EventTimeSettings
from dh_bridge.sinks.memory import MemorySink

STATED = event(inputs=[dataset("d.s.a")], run_facets={"tags": {"tags": [{"key": "k", "value": "v", "source": "s"}]}})
TEXT = json.dumps(STATED)
UPSTREAM = "22222222-2222-4222-8222-222222222222"
LETTER = DeadLetter("there", "why", b"x")


def client_event():
    return event_v2.RunEvent(
        eventTime=T0, eventType=event_v2.RunState.START, producer=STATED["producer"],
        run=event_v2.Run(RUN), job=event_v2.Job("ns", "etl.load"), inputs=[event_v2.InputDataset("postgres://db:5432", "d.s.a")],
    )  # fmt: skip


FORMS = {
    "a dict": (STATED, ["event"]),
    "a read-only mapping": (types.MappingProxyType(STATED), ["event"]),
    "a text": (TEXT, ["event"]),
    "a text with blanks around": (f"\n {TEXT}\n", ["event"]),
    "a text behind a byte-order mark": ("\ufeff" + TEXT, ["event"]),
    "bytes": (TEXT.encode(), ["event"]),
    "a bytearray": (bytearray(TEXT.encode()), ["event"]),
    "a view of bytes": (memoryview(TEXT.encode()), ["event"]),
    "a parsed event": (parse_event(TEXT.encode(), "f:1"), ["f:1"]),
    "an array as text": (f"[{TEXT}, {TEXT}]", ["event[0]", "event[1]"]),
    "a list of dicts": ([STATED, STATED], ["event[0]", "event[1]"]),
    "a tuple of all sorts": (
        (STATED, TEXT, TEXT.encode(), parse_event(TEXT.encode(), "f:2")),
        ["event[0]", "event[1]", "event[2]", "f:2"],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_event_may_come_in_any_form(form):
    events, places = FORMS[form]
    translation = translate(events, report=True)
    assert list(dict.fromkeys(line["event"] for line in translation.report.lines())) == places
    assert lines(translation) == lines(translate(STATED))
    assert translation.counts.events == len(places)


def test_openlineage_client_event_is_accepted():
    for events in (client_event(), [client_event()], iter([client_event()])):
        translation = translate(events)
        assert one(translation, "dataProcessInstanceInput") == {
            "inputs": ["urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.a,PROD)"]
        }
        assert translation.dead == []
    assert attr.has(type(client_event()))


def test_events_of_nested_lists_have_distinct_locations():
    translation = translate([TEXT, f"[{TEXT}, {TEXT}]", [STATED]], report=True)
    places = {line["event"] for line in translation.report.lines()}
    assert places == {"event[0]", "event[1][0]", "event[1][1]", "event[2][0]"}


def test_generator_is_read_once():
    translation = translate(one_ for one_ in [STATED, event("COMPLETE", "2026-11-20T10:01:00Z")])
    assert (translation.counts.events, translation.counts.runs) == (2, 1)


@pytest.mark.parametrize("nothing", [[], (), iter(()), "[]", b"[]"])
def test_empty_input_yields_an_empty_translation(nothing):
    translation = translate(nothing, report=True)
    assert (translation.proposals, translation.dead, translation.rejected) == ([], [], [])
    assert list(translation.report.lines()) == []
    assert translation.counts.events == 0


class Unshown:
    def __repr__(self):
        raise RuntimeError


BAD = {
    "no JSON": "{",
    "nothing": "",
    "an empty dict": {},
    "a dict that holds an object": {"eventTime": object()},
    "a dict with half a character": {"eventTime": "\ud800"},
    "a text with half a character": '{"a": "\ud800"}',
    "bytes that are no text": b"\xff\xfe",
    "no time": {key: value for key, value in STATED.items() if key != "eventTime"},
    "a list in a list": "[[]]",
    "no event at all": None,
    "a number": 5,
    "a list that holds a number": [5],
    "an object": object(),
    "an object that cannot be shown": Unshown(),
    "a dict that is too deep": functools.reduce(lambda inner, _: {"a": inner}, range(100_000), {}),
    "a text that names a file": __file__,
    "an object that looks like an event": types.SimpleNamespace(eventTime=T0),
    "a path where nothing is": Path("event[1]"),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_event_is_a_dead_letter_between_the_others(case):
    translation = translate([STATED, BAD[case], job_event()])
    (letter,) = translation.dead
    assert letter.location.startswith("event[1]")
    assert letter.reason
    assert set(letter.row()) == {"place", "reason", "event"}
    assert (translation.counts.events, translation.counts.dead) == (2, 1)
    assert lines(translation) == lines(translate([STATED, job_event()]))


def test_event_with_half_a_character_is_translated_in_every_form():
    stated = {**STATED, "job": {"namespace": "ns", "name": "caf\udce9"}}
    plain = {**STATED, "job": {"namespace": "ns", "name": "caf\\udce9"}}
    for form in (stated, json.dumps(stated), json.dumps(stated, ensure_ascii=False), json.dumps(stated).encode()):
        assert lines(translate(form)) == lines(translate(plain))


@pytest.mark.parametrize("number", ["1e999", "-1e400", "9" * 5000])
def test_number_beyond_all_doubles_costs_its_facet_alone(number):
    facet = '{"_producer": "p", "_schemaURL": "s", "x": 1}'.replace("1", number)
    odd = [
        TEXT.replace('"facets": {', f'"facets": {{"mine": {facet},', 1),
        TEXT.replace("{", f'{{"x": {number},', 1),
    ]
    for report in (True, False):
        translation = translate([*odd, TEXT], report=report)
        assert (translation.dead, translation.counts.events) == ([], 3)
        assert lines(translation) == lines(translate(TEXT))


def test_run_with_upstream_job_and_assertions_has_both():
    checked = {"dataQualityAssertions": {"assertions": [{"assertion": "not_null", "success": True, "column": "id"}]}}
    named = {"lineage": {"inputs": [{"type": "JOB", "namespace": "ns", "name": "etl.extract"}]}}
    translation = translate(
        event("COMPLETE", inputs=[dataset("d.s.a", inputFacets=checked)], outputs=[dataset("d.s.b", facets=named)])
    )
    assert one(translation, "assertionRunEvent")["runtimeContext"]["job"] == "ns/etl.load"
    assert any(b"etl.extract" in line for line in lines(translation))


@pytest.mark.parametrize("nothing", [None, 5, object()])
def test_unsupported_event_type_is_a_type_error(nothing):
    with pytest.raises(TypeError, match=r"unsupported type of events .*: pass dicts"):
        translate(nothing)


def test_file_name_as_text_suggests_a_path_object():
    (letter,) = translate(__file__).dead
    assert letter.reason == f"event: this is the name of a file, not an event (pass Path({__file__!r}))"
    (letter,) = translate("nosuch/events.ndjson").dead
    assert letter.reason == "event: this is the name of a file, not an event (pass Path('nosuch/events.ndjson'))"


def test_path_is_the_events_of_its_file_or_folder(tmp_path):
    (tmp_path / "a.ndjson").write_text(f"{TEXT}\n{{\n")
    for path in (tmp_path, tmp_path / "a.ndjson", [tmp_path / "a.ndjson"]):
        found = translate(path)
        assert lines(found) == lines(translate(STATED))
        assert [letter.location for letter in found.dead] == [f"{tmp_path}/a.ndjson:2"]


def test_dead_letter_among_the_events_is_passed_on():
    assert translate([LETTER, STATED]).dead == [LETTER]
    assert translate(LETTER).dead == [LETTER]


# -- counts --------------------------------------------------------------------------------------------------------------


def test_translation_counts_what_went_in_and_came_out():
    found = translate(
        [STATED, event(run="other", job="etl.two"), job_event(job="etl.three"), dataset_event(dataset("d.s.b")), "{"]
    )
    totals = found.counts
    assert (totals.events, totals.runs, totals.jobs, totals.datasets, totals.dead, totals.rejected) == (
        4,
        2,
        3,
        2,
        1,
        0,
    )
    assert totals.proposals == len(found.proposals)
    assert (totals.mapped, totals.properties, totals.dropped) == (None, None, None)


def test_repaired_events_are_counted():
    totals = translate([event(time="2026-11-20T10:00:00"), event(run_facets="x"), event(run_facets="y")]).counts
    assert totals.notes == {"zone-less": 1, "zone-of-run": 1, "malformed:$.run.facets": 2}


def test_counts_add_up():
    first, second = translate(STATED, report=True).counts, translate([job_event(), "{"]).counts
    total = dh_bridge.bridge.Counts()
    total.add(first)
    total.add(second)
    assert (total.events, total.dead, total.runs) == (2, 1, 1)
    assert total.proposals == first.proposals + second.proposals
    assert (total.mapped, total.dropped) == (first.mapped, first.dropped)
    total.add(first)
    assert total.mapped == 2 * first.mapped


# -- settings ------------------------------------------------------------------------------------------------------------


def test_time_without_a_zone_is_of_the_zone_of_the_settings():
    local = event(time="2026-11-20T11:00:00")
    berlin = Bridge(Settings(event_time={"default_zone": "Europe/Berlin"}))
    created = one(berlin.translate(local), "dataProcessInstanceProperties")["created"]["time"]
    assert created == 1795168800000
    assert one(translate(local), "dataProcessInstanceProperties")["created"]["time"] == created + 3_600_000


def test_unknown_time_zone_is_refused_at_construction():
    with pytest.raises(ValueError, match="is not a time zone of this machine"):
        Settings(event_time={"default_zone": "Mars/Olympus"})
    unchecked = Settings(event_time=EventTimeSettings.model_construct(default_zone="Mars/Olympus"))
    with pytest.raises(SettingsError, match="unknown time zone"):
        Bridge(unchecked)


def test_settings_may_come_as_a_mapping_or_a_file(tmp_path):
    (tmp_path / "mine.yml").write_text("datahub_version: '1.7'\nruns: {abort: failure}\n")
    wanted = Settings(datahub_version="1.7", runs={"abort": "failure"})
    forms = (
        wanted,
        {"datahub_version": "1.7", "runs": {"abort": "failure"}},
        {"datahub_version": "1.7", "runs": wanted.runs},
        {"datahub_version": "1.7", "runs.abort": "failure"},
        str(tmp_path / "mine.yml"),
        tmp_path / "mine.yml",
    )
    assert [Bridge(form).settings == wanted for form in forms] == [True] * len(forms)
    assert Bridge({"rest": {"token": SecretStr("geheim")}}).settings.rest.token.get_secret_value() == "geheim"
    assert Bridge({"naming": {"rules": [{"namespace": "s3://x", "env": "dev"}]}}).settings.naming.rules[0].env == "DEV"


@pytest.mark.parametrize(
    ("stated", "error"),
    [
        ({"datahub_versio": "1.7"}, r"settings: unknown key `datahub_versio` \(did you mean `datahub_version`"),
        ({"runs": {"abort": "fail"}}, r"settings: `runs\.abort` should be .*not 'fail'"),
        ({"runs": 5}, r"settings: `runs` should be a mapping of settings"),
        ({"filters.jobs": "tmp_*"}, r"settings: `filters\.jobs` should be a list"),
        ([], r"settings: list holds no settings \(give a mapping, or a file\)"),
        ({"mappings": "nosuch"}, "settings: `mappings` nosuch is not a folder"),
        ("nosuch.yml", r"nosuch\.yml: the settings file cannot be read"),
    ],
)
def test_settings_of_a_mapping_or_a_file_are_refused_by_name(stated, error):
    with pytest.raises(SettingsError, match=error):
        Bridge(stated)


def test_settings_mapping_ignores_environment_and_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DH_BRIDGE_DATAHUB_VERSION", "1.7")
    (tmp_path / "dh_bridge.yml").write_text("runs: {abort: failure}\n")
    assert Bridge({}).settings == Bridge().settings == Settings()
    assert Bridge("dh_bridge.yml").settings == Settings(datahub_version="1.7", runs={"abort": "failure"})


def test_bridge_keeps_nothing_between_calls():
    bridge = Bridge()
    bridge.translate(event(run_facets={"nominalTime": {"nominalStartTime": "2026-11-20T00:00:00Z"}}))
    assert lines(bridge.translate(event("COMPLETE"))) == lines(translate(event("COMPLETE")))


# -- datasets of unknown namespaces -----------------------------------------------------------------------------------------


def test_unknown_namespace_is_a_dead_letter_if_configured():
    settings = {
        "naming.unknown": "fail",
        "filters.jobs": ["!scratch"],
        "filters.datasets": ["!tmp"],
    }
    table = {"identifiers": [{"namespace": "hive://h:9083", "name": "shop.orders", "type": "TABLE"}]}
    food = {"identifiers": [{"namespace": "food", "name": "orders", "type": "TABLE"}]}
    named = {
        "etl.load": dataset("orders", "food"),
        "scratch": dataset("orders", "food"),
        "etl.tmp": dataset("tmp", "food"),
        "etl.linked": dataset("orders", "food", facets={"symlinks": table}),
        "etl.other": dataset("shop.public.orders", facets={"symlinks": food}),
    }
    sent = [event("COMPLETE", job=job, run=str(uuid5(UUID(RUN), job)), outputs=[to]) for job, to in named.items()]
    found = Bridge(settings).translate(sent)
    assert [letter.reason for letter in found.dead] == [
        "food: no naming system matches this namespace (add a rule to naming.rules, or set naming.unknown to keep or drop)"
    ]
    assert {one.entity_urn for one in found.proposals if one.entity_type == "dataset"} == {
        "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)",
    }
    assert found.counts.filtered == {"jobs: !scratch": 1, "datasets: !tmp": 1}


# -- identity ---------------------------------------------------------------------------------------------------------------


def test_event_identity_is_resolved_without_translation():
    facets = {
        "parent": {"run": {"runId": "11111111-1111-4111-8111-111111111111"}, "job": {"namespace": "ns", "name": "dag"}},
        "jobDependencies": {
            "upstream": [{"run": {"runId": UPSTREAM}, "job": {"namespace": "ns", "name": "dag.a"}}, {"run": 5}, "odd"]
        },
    }
    stated = event(job="dag.task", producer=AIRFLOW, run_facets=facets, job_facets={"jobType": {"jobType": "TASK"}})
    row = Bridge().identity(parse_event(packed([stated])[0]))
    assert row["dpi"] == f"urn:li:dataProcessInstance:{RUN}"
    assert row["parentInstance"].endswith("1111")
    assert row["upstreamInstances"] == [f"urn:li:dataProcessInstance:{UPSTREAM}"]


@pytest.mark.parametrize("odd", ["x", 5, [], {"run": 5}, {"run": {"runId": 5}}, {"upstream": 5, "jobType": 5}])
def test_odd_facets_do_not_hinder_identity(odd):
    facets = {"parent": odd, "jobDependencies": odd}
    row = Bridge().identity(parse_event(packed([event(run_facets=facets, job_facets={"jobType": odd})])[0]))
    assert row["parentInstance"] is None
    for other in (job_event(), dataset_event(dataset("d.s.a"))):
        assert Bridge().identity(parse_event(packed([other])[0]))["dpi"] is None


def test_identity_and_translation_agree_on_real_events():
    bridge = Bridge()
    for stated in examples():
        urns = {p.entity_urn for p in bridge.translate(stated).proposals}
        row = bridge.identity(stated)
        assert row["dpi"] is None or row["dpi"] in urns
        assert row["dataFlow"] is None or not row["dataFlow_written"] or row["dataFlow"] in urns


def test_bundled_mappings_are_read_once_and_a_users_file_by_each_bridge(tmp_path, monkeypatch):
    Bridge()
    files = [tmp_path / "naming" / "trino.yaml", tmp_path / "producers" / "trino.yaml"]
    for file in files:
        file.parent.mkdir()
        shutil.copy(MAPPINGS / file.parent.name / file.name, file)
    texts = []
    monkeypatch.setattr("dh_bridge.bundled.read_text", lambda path: texts.append(path) or path.read_text("utf-8"))
    Bridge()
    assert texts == []
    for _ in range(2):
        Bridge(Settings(mappings=tmp_path))
    assert texts == files * 2


def test_folder_of_mappings_that_is_none_is_refused_at_the_start(tmp_path):
    with pytest.raises(SettingsError, match=r"mappings: .*nosuch is not a folder"):
        Bridge(Settings(mappings=tmp_path / "nosuch"))


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("acmedb.yaml", "contains no folder of mapping files"),  # the folder `naming` itself is named
        ("naming/acmedb.yml", "rename it to acmedb.yaml"),
        ("producer/acme.yaml", "producer: unknown folder of mapping files .rename it to producers"),
        ("Tables/owner_types.yaml", "rename it to tables"),
        ("tables/owners.yaml", "unknown table .use one of assertion_errors, assertions, .*owner_types"),
    ],
)
def test_misplaced_mapping_file_is_refused(tmp_path, file, reason):
    if "/" in file:  # beside a good one
        shutil.copytree(MAPPINGS / "naming", tmp_path / "naming")
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    with pytest.raises(MappingError, match=reason):
        Bridge(Settings(mappings=tmp_path))


def test_unrelated_files_beside_the_mappings_are_ignored(tmp_path):
    for folder in ("naming", "schema", "samples"):
        (tmp_path / folder).mkdir()
    for file in ("dh_bridge.yml", "README.md", "naming/README.md", "schema/x.yaml", "samples/x.yaml"):
        (tmp_path / file).touch()
    assert Bridge(Settings(mappings=tmp_path)).translate(event()).proposals


def test_bridge_is_reused_per_thread_and_settings(monkeypatch):
    made = []
    monkeypatch.setattr(bridge, "Bridge", lambda settings: made.append(settings) or Bridge(settings))
    monkeypatch.setattr(bridge, "_thread_cache", threading.local())
    other = Settings(datahub_version="0.15.0")
    changed = {"datahub_version": "0.15.0"}
    calls = [None, None, other, other, Settings(datahub_version="0.15.0"), changed, changed, None]
    found = [lines(translate(STATED, settings)) for settings in calls]
    assert made == [Settings(), other, Settings()]
    assert found[0] == found[1] == found[7] == lines(Bridge().translate(STATED))
    assert all(one == lines(Bridge(other).translate(STATED)) for one in found[2:7])
    assert found[2] != found[0]
    assert lines(translate(STATED, changed)) == found[2]
    changed["datahub_version"] = "1.7"
    assert lines(translate(STATED, changed)) == found[0], "a mapping is read anew"
    thread = threading.Thread(target=translate, args=(STATED,))
    thread.start()
    thread.join()
    assert len(made) == 6, "each thread has its own: what a bridge remembers is not guarded"


@pytest.mark.parametrize("report", [False, True])
def test_dead_letters_are_yielded_before_the_input_ends(report):
    few = Bridge(Settings(datahub_version="1.7", filters={"jobs": ["!ns/*"]}, window=3))
    unusable = [DeadLetter(f"log:{i}", "no JSON", b"x") for i in range(4)]
    left_out = [parse_event(TEXT.encode(), "e", few.zone)] * 4
    found = list(few.stream([*unusable, *left_out], report=report))
    assert [(len(one.dead), one.counts.dead, one.counts.events) for one in found] == [(3, 3, 0), (1, 1, 2), (0, 0, 2)]
    assert sum(sum(one.counts.filtered.values()) for one in found) == 4
    assert [one for one in found if one.proposals] == []


def test_bridge_goes_to_another_process_as_what_it_was_made_of():
    made = Bridge({"datahub_version": "1.4"}, sink="memory:", on_error="warn")
    made.run(("nightly", "shop.load"))  # its place is open now, and stays here
    again = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own
    assert again.settings == made.settings
    assert again.translate(event()).proposals == made.translate(event()).proposals
    assert again.pipeline.sink is not made.pipeline.sink
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(made.translate, event()).result() == made.translate(event())


def test_sink_that_is_open_here_goes_nowhere():
    with pytest.raises(SettingsError, match="pass its target"):
        pickle.dumps(Bridge(sink=MemorySink()))


def test_bridge_as_context_manager_closes_its_sink(tmp_path):
    with Bridge(sink=f"file:{tmp_path / 'sent.json'}") as made, made.run(("nightly", "shop.load")):
        pass
    assert json.loads((tmp_path / "sent.json").read_text())
    with pytest.raises(SinkError, match="is closed"):
        made.run(("nightly", "shop.load")).__enter__()
