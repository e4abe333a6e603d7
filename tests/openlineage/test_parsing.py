"""One event from bytes: what is mended and noted, and what is refused with its place."""

from __future__ import annotations

import json

import pytest
from support.sample_events import SCHEMA, T0, dataset, dataset_event, event, job_event

from dh_bridge.errors import EventError
from dh_bridge.openlineage.parsing import parse_event


def parsed(document, place="here"):
    return parse_event(json.dumps(document).encode(), place)


def without(document, *keys):
    return {key: value for key, value in document.items() if key not in keys}


# -- the strict path -------------------------------------------------------------------------------------------------


def test_run_event_is_typed_and_its_facets_stay_raw():
    stated = event(
        "complete",
        run_facets={"a": {"x": 1}},
        job_facets={"b": {}},
        inputs=[dataset("s.t", facets={"c": [1]}, inputFacets={"d": 2})],
        outputs=[dataset("s.u", outputFacets={"e": None})],
    )
    found = parsed(stated, "f.ndjson:3")
    assert (found.kind, found.type, found.run_id, found.namespace, found.name) == (
        "run", "COMPLETE", stated["run"]["runId"], "ns", "etl.load",
    )  # fmt: skip
    assert (found.location, found.notes, found.is_terminal) == ("f.ndjson:3", (), True)
    assert json.loads(found.raw) == stated
    assert bytes(found.run_facets["a"]) == b'{"x": 1}'
    assert [list(bag) for bag in (found.job_facets, found.inputs[0].facets, found.inputs[0].input_facets)] == [
        ["b"], ["c"], ["d"],
    ]  # fmt: skip
    assert list(found.outputs[0].output_facets) == ["e"]


def test_job_event_has_no_run_and_dataset_event_one_dataset():
    job = parsed(job_event(inputs=[dataset("s.t")]))
    assert (job.kind, job.run_id, job.name, len(job.inputs)) == ("job", "", "etl.load", 1)
    alone = parsed(dataset_event(dataset("s.t", facets={"schema": {}})))
    assert (alone.kind, alone.dataset.name, list(alone.dataset.facets)) == ("dataset", "s.t", ["schema"])


@pytest.mark.parametrize(
    ("url", "shape", "kind"),
    [
        (None, {"run": {"runId": "1"}, "job": {}}, "run"),
        (None, {"job": {}}, "job"),
        (None, {"dataset": {}}, "dataset"),
        ("https://elsewhere/x.json", {"job": {}}, "job"),
        (SCHEMA + "RunEvent", {"job": {}}, "job"),
        (SCHEMA + "JobEvent", {"run": {"runId": "1"}, "job": {}}, "job"),
        (SCHEMA + "DatasetEvent", {"dataset": {}, "job": {}}, "dataset"),
        (5, {"run": {"runId": "1"}, "job": {}}, "run"),
    ],
)
def test_event_kind_follows_the_schema_url_if_it_fits(url, shape, kind):
    stated = {"eventTime": T0, **shape}
    assert parsed(stated if url is None else {**stated, "schemaURL": url}).kind == kind


@pytest.mark.parametrize("missing", ["schemaURL", "eventType", "producer", "inputs", "outputs"])
def test_whatever_is_optional_may_be_missing_or_null(missing):
    stated = event(inputs=[], outputs=[])
    for one in (without(stated, missing), {**stated, missing: None}):
        found = parsed(one)
        assert (found.kind, found.run_id, found.notes) == ("run", stated["run"]["runId"], ())
    attribute = {"schemaURL": "schema_url", "eventType": "type"}.get(missing, missing)
    assert not getattr(found, attribute)


@pytest.mark.parametrize("bag", ["facets", "inputFacets", "outputFacets"])
def test_null_facets_are_absent_facets(bag):
    found = parsed(event(inputs=[dataset("s.t", **{bag: None})], run_facets=None))
    assert (found.inputs[0].facets, found.run_facets, found.notes) == ({}, {}, ())


@pytest.mark.parametrize("run_id", ["scheduled__2026-11-20", "42", "  spaced ", "a/b?c"])
def test_run_id_need_not_be_a_uuid(run_id):
    assert parsed(event(run=run_id)).run_id == run_id


def test_time_without_a_zone_leaves_a_note():
    assert parsed(event(time="2026-11-20T10:00:00")).notes == ("zone-less",)
    assert parsed(event(time="2026-11-20T10:00:00.123456789Z")).time % 1_000_000 == 123_456


@pytest.mark.parametrize(
    ("stated", "read"),
    [
        ("caf\udce9", "caf\\udce9"),
        ("cut \ud83d", "cut \\ud83d"),
        ("\udc00\ud83d", "\\udc00\\ud83d"),
        ("\\\udce9", "\\\\udce9"),
        ('\\ud83d \\\\ud83d \n"\ud83d\\', '\\ud83d \\\\ud83d \n"\\ud83d\\'),
        ("\ud83dx\U0001f600\ud83d\U0001f600", "\\ud83dx\U0001f600\\ud83d\U0001f600"),
    ],
)
def test_lone_surrogate_is_escaped_and_the_rest_is_kept(stated, read):
    found = parsed(event(job=f"job {stated}", run_facets={"m": {"message": stated, "mean": float("nan")}}))
    assert found.name == f"job {read}"
    assert json.loads(bytes(found.run_facets["m"])) == {"message": read, "mean": None}


def test_non_finite_number_becomes_null():
    bag = {"m": {"a": float("nan"), "b": [-float("inf"), 1.5], "c": 'NaN, "Infinity" -Infinity', "NaN": float("inf")}}
    found = parsed(event(run_facets=bag))  # as Python's json writes it
    assert json.loads(bytes(found.run_facets["m"])) == {**bag["m"], "a": None, "b": [None, 1.5], "NaN": None}
    with pytest.raises(EventError, match="not JSON"):
        parse_event(b'{"eventTime": NaN, "a": "' + b'\\"' * 200_000 + b"\\", "x")
    with pytest.raises(EventError, match="not JSON"):
        parse_event(b'{"eventTime": NaNny}')


# -- the lenient path ------------------------------------------------------------------------------------------------

MENDED = {
    "a bag that is a string": (
        event(inputs=[dataset("s.t", facets="<<non-serializable: dict>>")]),
        ("malformed:$.inputs[0].facets",),
    ),
    "a bag that is a list": (event(run_facets=[]), ("malformed:$.run.facets",)),
    "inputs that are an object": (event(inputs={"namespace": "a"}), ("malformed:$.inputs",)),
    "a dataset that is a string": (event(outputs=["postgres"]), ("malformed:$.outputs[0]",)),
    "a number for a name": (event(job=5), ("malformed:$.job.name",)),
    "a boolean for a producer": (event(producer=True), ("malformed:$.producer",)),
    "a list for a schema URL": (event(schemaURL=[]), ("malformed:$.schemaURL",)),
    "a job that is a string": (event() | {"job": "etl"}, ("malformed:$.job",)),
    "a dataset's name as a list": (event(inputs=[dataset(["s.t"])]), ("malformed:$.inputs[0].name",)),
    "two of them": (event(run_facets=1, inputs=3), ("malformed:$.run.facets", "malformed:$.inputs")),
}


@pytest.mark.parametrize("case", MENDED)
def test_malformed_part_is_noted_and_the_rest_is_kept(case):
    stated, notes = MENDED[case]
    found = parsed(stated)
    assert found.notes == notes
    assert (found.kind, found.run_id) == ("run", stated["run"]["runId"])


def test_numeric_name_is_text_and_a_bad_input_has_no_name():
    found = parsed(event(job=5, inputs=[None, dataset("s.t", facets={"a": {"b": [1, {"c": None}]}})]))
    assert found.name == "5"
    assert [one.name for one in found.inputs] == ["", "s.t"]
    assert json.loads(bytes(found.inputs[1].facets["a"])) == {"b": [1, {"c": None}]}


def test_dataset_event_with_malformed_parts_is_repaired():
    found = parsed(dataset_event({"namespace": "ns", "name": 7, "facets": "x"}))
    assert (found.dataset.name, found.dataset.facets) == ("7", {})
    assert found.notes == ("malformed:$.dataset.name", "malformed:$.dataset.facets")


# -- what is refused -------------------------------------------------------------------------------------------------

REFUSED = {
    "no JSON": (b"{not json", "here: not JSON"),
    "JSON that breaks off": (json.dumps(event()).encode()[:-9], "here: not JSON"),
    "JSON that breaks off behind a mended part": (b'{"producer": 5, "run": {"runId": "1', "here: not JSON"),
    "nothing": (b"", "here: not JSON"),
    "a list": (b"[]", "an array, not an object"),
    "a text": (b'"event"', "a string, not an object"),
    "a number": (b"7", "a number, not an object"),
    "no known kind": (
        json.dumps({"eventTime": T0}).encode(),
        "not an OpenLineage event: run, job and dataset are missing",
    ),
    "a proposal": (
        b'{"entityType": "dataset", "changeType": "UPSERT", "aspectName": "status", "aspect": {"json": {}}}',
        "here: a DataHub MCP, not an OpenLineage event (load it with `datahub ingest` (source type `file`); `dh-bridge check` validates it)",
    ),
    "only a run that is null": (
        json.dumps({"eventTime": T0, "run": None}).encode(),
        "not an OpenLineage event: run, job and dataset are missing",
    ),
    "no time": (json.dumps(without(event(), "eventTime")).encode(), "here $.eventTime: eventTime is missing"),
    "an empty time": (json.dumps(event(time="")).encode(), "here $.eventTime: eventTime is missing"),
    "a time that is none": (json.dumps(event(time="soon")).encode(), "$.eventTime: not an ISO 8601 time: 'soon'"),
    "a time out of range": (json.dumps(event(time="2026-11-20T10:00:00+99:00")).encode(), "here $.eventTime: "),
    "no run id": (json.dumps(event() | {"run": {}}).encode(), "here $.run.runId: the run id is missing"),
    "a blank run id": (json.dumps(event(run="  ")).encode(), "here $.run.runId: the run id is missing"),
    "a run id that is an object": (
        json.dumps(event(run={"id": 1})).encode(),
        "here $.run.runId: the run id is missing",
    ),
    "bytes that are no UTF-8 in a facet": (
        json.dumps(event(run_facets={"a": {"b": "XX"}})).encode().replace(b"XX", b"\xc3\x28"),
        "here: not JSON",
    ),
    "JSON nested without end": (
        json.dumps(event(run_facets={"a": "XX"})).encode().replace(b'"XX"', b"[" * 999_999 + b"]" * 999_999),
        "here: not JSON",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_event_is_refused_with_reason_and_remedy(case):
    raw, reason = REFUSED[case]
    with pytest.raises(EventError) as refused:
        parse_event(raw, "here")
    assert reason in str(refused.value)
    assert refused.value.remedy
