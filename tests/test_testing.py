"""``dh_bridge.testing``: what it finds, what it complains of, and what it makes."""

from __future__ import annotations

import json
import re
import sys

import pytest
from hypothesis import HealthCheck, given
from hypothesis import find as simplest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as hypothesis_strategies
from support.sample_events import dataset, event, packed

from dh_bridge import Bridge, Settings, translate
from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.errors import SettingsError
from dh_bridge.facets import registry
from dh_bridge.testing import assert_golden, cases, events, facets, find, runs, strategies, values_at
from dh_bridge.testing.golden import differences

URN = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a,PROD)"
JOB = "urn:li:dataJob:(urn:li:dataFlow:(a,b,c),d)"
INFO = upsert("dataJob", JOB, "dataJobInfo", {"name": "d", "type": {"string": "a"}, "customProperties": {"a.b/c": "1"}})
OWNERS = upsert("dataset", URN, "ownership", {"owners": [{"owner": "urn:x", "type": "NONE"}, {"owner": "urn:y"}]})
TAGS = patch("dataset", URN, "globalTags", [{"op": "add", "path": "/tags/urn:t", "value": {"tag": "urn:t"}}])
GONE = patch("dataset", URN, "datasetProperties", [{"op": "remove", "path": "/customProperties/x"}])
ENVELOPED = patch("dataset", URN, "globalTags", {"arrayPrimaryKeys": {}, "patch": TAGS.value})
ALL = [INFO, OWNERS, TAGS, GONE]

BRIDGE = Bridge()
few = hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(
    ("proposal", "path", "values"),
    [
        (INFO, "/name", ["d"]),
        (INFO, "/type", ["a"]),
        (INFO, "/type/string", ["a"]),
        (INFO, "/customProperties/a.b~1c", ["1"]),
        (INFO, "/customProperties/*", ["1"]),
        (INFO, "/nowhere/at/all", []),
        (INFO, "/name/0", []),
        (OWNERS, "/owners/*/owner", ["urn:x", "urn:y"]),
        (OWNERS, "/owners/1/owner", ["urn:y"]),
        (OWNERS, "/owners/7", []),
        (OWNERS, "/owners/first", []),
        (TAGS, "/tags/urn:t/tag", ["urn:t"]),
        (TAGS, "/tags/*", [{"tag": "urn:t"}]),
        (TAGS, "/tags", []),
        (ENVELOPED, "/tags/*/tag", ["urn:t"]),
        (GONE, "/customProperties/x", []),
    ],
)
def test_value_is_found_at_its_pointer(proposal, path, values):
    assert values_at(proposal, path) == values


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"aspect": "ownership"}, OWNERS),
        ({"urn": JOB}, INFO),
        ({"urn": "urn:li:dataset:*"}, OWNERS),
        ({"path": "/name"}, INFO),
        ({"aspect": "globalTags", "urn": URN, "path": "/tags/*/tag", "value": "urn:t"}, TAGS),
        ({"path": "/owners/*/owner", "value": lambda owner: owner.endswith("y")}, OWNERS),
    ],
)
def test_proposal_is_found_by_its_content(asked, found):
    assert find(ALL, **asked) is found


@pytest.mark.parametrize(
    ("proposals", "asked", "stated"),
    [
        ([], {"aspect": "status"}, "no proposal has aspect='status': there are no proposals"),
        (ALL, {"aspect": "status"}, f"UPSERT ownership of {URN}"),
        (ALL, {"aspect": "dataJobInfo", "path": "/name", "value": "e"}, f"UPSERT dataJobInfo of {JOB}: 'd'"),
        (ALL, {"aspect": "dataJobInfo", "path": "/x"}, "no such path, only /name, /type, /customProperties"),
        (ALL, {"aspect": "globalTags", "path": "/x"}, "no such path, only /tags/urn:t"),
        ([INFO] * 20, {"aspect": "status"}, "… and 8 more"),
    ],
)
def test_complaint_names_what_there_is_instead(proposals, asked, stated):
    with pytest.raises(AssertionError, match=re.escape(stated)):
        find(proposals, **asked)


def test_order_of_proposals_is_no_difference_but_one_too_few_is():
    assert differences(ALL, ALL[::-1]) == []
    assert differences([INFO], [INFO, INFO])[0] == f"+ UPSERT dataJobInfo of {JOB}"
    assert differences([TAGS], []) == [f"- PATCH globalTags of {URN}", '  - add./tags/urn:t.tag: "urn:t"']


def test_differences_name_the_field_and_distinguish_true_from_1():
    other = upsert("dataset", URN, "status", {"removed": True, "x": "long " * 50})
    lines = differences([upsert("dataset", URN, "status", {"removed": 1})], [other])
    assert lines[:3] == [f"~ UPSERT status of {URN}", "  - removed: 1", "  + removed: true"]
    assert lines[3].startswith('  + x: "long')
    assert len(lines[3]) < 200


def test_two_operations_in_another_order_are_a_difference():
    again = [{"op": "add", "path": "/tags/a", "value": 1}, {"op": "add", "path": "/tags/b", "value": 2}]
    old, new = (patch("dataset", URN, "globalTags", order) for order in (again, again[::-1]))
    assert differences([old], [new])[1:] == ["  ~ only the order differs"]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a golden case."""
    lines = packed([event("START"), event("COMPLETE", "2026-11-20T10:01:00Z", outputs=[dataset("shop.public.a")])])
    (tmp_path / "a.events.json").write_bytes(b"\n".join(lines))
    assert_golden(tmp_path, Settings(), update=True)
    return tmp_path


def test_golden_files_match_under_their_own_settings(folder):
    assert_golden(folder, Settings())
    with pytest.raises(AssertionError, match=r"a\.events\.json\n"):
        assert_golden(folder, {"naming.env": "DEV"})


def test_golden_files_are_compared_under_the_settings_file(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_golden(folder)
    (tmp_path / "dh_bridge.yml").write_text("naming:\n  env: DEV\n")
    for named in (None, tmp_path / "dh_bridge.yml"):
        with pytest.raises(AssertionError, match="PROD"):
            assert_golden(folder, named)


def test_file_without_its_other_half_is_a_difference(folder):
    (folder / "b.proposals.ndjson").write_text("")
    with pytest.raises(AssertionError, match=r"b\.events\.json is missing"):
        assert_golden(folder, Settings(), update=True)
    (folder / "b.proposals.ndjson").unlink()
    (folder / "a.proposals.ndjson").unlink()
    with pytest.raises(
        AssertionError, match=r"a\.proposals\.ndjson is missing: `dh-bridge golden DIR --update` writes it"
    ):
        assert_golden(folder, Settings())


def test_broken_golden_file_is_named_and_fixed_by_an_update(folder):
    broken = folder / "a.proposals.ndjson"
    broken.write_text("\n{}\n")
    with pytest.raises(SettingsError, match=r"a\.proposals\.ndjson:2"):
        assert_golden(folder, Settings())
    assert_golden(folder, Settings(), update=True)
    assert_golden(folder, Settings())


def test_invalid_event_is_named_once_and_hidden_files_ignored(tmp_path):
    (tmp_path / ".events.json").write_text("{}")
    (tmp_path / "a.events.json").write_text("{bad\n")
    with pytest.raises(AssertionError) as raised:
        assert_golden(tmp_path, Settings())
    assert str(raised.value).count(f"{tmp_path / 'a.events.json'}:") == 1


def test_folder_without_cases_is_no_test(tmp_path):
    with pytest.raises(SettingsError, match="no golden cases"):
        cases(tmp_path)


@few
@given(events())
def test_events_of_the_strategy_can_be_used_and_written(drawn):
    translation = translate(json.dumps(drawn))
    assert (translation.dead, translation.rejected) == ([], [])


@few
@given(runs())
def test_runs_of_the_strategy_are_one_run_that_ends(drawn):
    assert len({one["run"]["runId"] for one in drawn}) == 1
    assert drawn[-1]["eventType"] in ("COMPLETE", "FAIL", "ABORT")
    translation = BRIDGE.translate(drawn)
    assert translation.counts.runs == 1
    assert translation.rejected == []


@few
@given(facets("dataset"))
def test_facets_of_the_strategy_are_those_of_the_registry(bag):
    assert set(bag) <= set(registry()["dataset"])
    assert all("_producer" in facet for facet in bag.values())


@pytest.mark.parametrize(("at", "key"), [(at, key) for at, keys in registry().items() for key in keys])
def test_every_facet_can_be_drawn(at, key):
    drawn = simplest(strategies._facet(hypothesis_strategies, at, key), lambda _: True)
    assert drawn["_schemaURL"].endswith(key)


def test_missing_hypothesis_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ModuleNotFoundError, match="pip install hypothesis"):
        events()


def test_path_that_is_no_json_pointer_is_an_error():
    with pytest.raises(ValueError, match=r"'type' is not a JSON pointer: use '/type'"):
        find(ALL, aspect="dataJobInfo", path="type")
    assert values_at(OWNERS, "/owners/²") == []


@pytest.mark.parametrize("value", ["[5]", '{"patch": 3}', '[{"op": "add"}]'])
def test_golden_patch_that_is_none_is_named_with_its_line(folder, value):
    stated = f'{{"entityType":"dataset","entityUrn":"{URN}","changeType":"PATCH","aspectName":"globalTags","aspect":{{"json":{value}}}}}'
    (folder / "a.proposals.ndjson").write_text(stated)
    with pytest.raises(SettingsError, match=r"a\.proposals\.ndjson:1: not a proposal: "):
        assert_golden(folder, Settings())


def test_golden_file_that_cannot_be_read_or_written_is_named(folder):
    (folder / "a.proposals.ndjson").unlink()
    (folder / "a.proposals.ndjson").mkdir()
    for update, words in ((False, "cannot read the file"), (True, "cannot write the file")):
        with pytest.raises(SettingsError, match=rf"a\.proposals\.ndjson: {words}: "):
            assert_golden(folder, Settings(), update=update)
