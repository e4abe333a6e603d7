"""States travel as bytes that can name nothing but what states are made of."""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict

import pytest
from samples import ROOT, dataset, event
from told import read

from dh_bridge.datahub.fine_grained import SoundPairs
from dh_bridge.errors import BridgeError
from dh_bridge.settings import Settings
from dh_bridge.translation.extract import Walk
from dh_bridge.translation.facts import JOB_PROPERTIES
from dh_bridge.translation.options import Options
from dh_bridge.translation.properties import Joined
from dh_bridge.translation.state_codec import packed, unpacked

CASES = sorted((ROOT / "tests" / "golden").glob("*/*.events.json"))
OPTIONS = Options(
    Settings(profile="1.7", containers="on", queries="on", temporary="collapse", symlinks={"siblings": True}),
    stateful=True,
)


class Trap:
    def __reduce__(self):
        return print, ("this must not run",)


@pytest.mark.parametrize("value", [Trap(), OrderedDict(a=1)])
def test_bytes_that_name_something_else_are_refused_and_run_nothing(value, capsys):
    with pytest.raises(BridgeError, match=r"^the state: cannot be read: .* is no part of a state"):
        unpacked(pickle.dumps(value))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "name",
    ["os.laws\nrestored", "dh_bridge.translationx.laws\nrestored", "dh_bridge.ledger.laws\nrestored", "laws\nrestored"],
)
def test_a_name_of_ours_in_another_place_is_no_part_of_a_state(name):
    with pytest.raises(BridgeError, match="is no part of a state"):
        unpacked(f"c{name}\n.".encode())


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("checks\nStated", "reading.checks"),
        ("subsets\nPart", "context"),
        ("place\nPart", "context"),
        ("slots\nINPUT", "facts"),
    ],
)
def test_what_was_packed_before_a_module_moved_is_read(name, home):
    found = unpacked(f"cdh_bridge.translation.{name}\n.".encode())
    assert found.__module__ == f"dh_bridge.translation.{home}"


@pytest.mark.parametrize("data", [b"", b"junk", packed({"a": {1, 2}})[:-3]])
def test_broken_bytes_are_told_of(data):
    with pytest.raises(BridgeError, match="cannot be read"):
        unpacked(data)


def test_plain_values_come_back_as_they_were():
    value = {"a": [(1, "b", {3}, frozenset({4}))], b"c": None}
    assert unpacked(packed(value)) == value


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name.removesuffix(".events.json"))
def test_the_state_of_a_run_of_each_golden_case_comes_back(case):
    """Whatever a facet states by any setting, as the containers of a hierarchy, is among what a state is made of."""
    walk, runs = Walk(OPTIONS), {}
    for one in read(json.loads(case.read_text(encoding="utf-8"))):
        walk.event(one, runs)
    for state in runs.values():
        assert unpacked(packed(state)).cells.keys() == state.cells.keys()


def test_a_column_that_nothing_or_a_job_feeds_comes_back():
    feeding = {"type": "JOB", "namespace": "ns", "name": "app.other"}
    lineage = {"lineage": {"fields": {"a": {"inputs": []}, "b": {"inputs": [feeding]}}}}
    walk, runs = Walk(OPTIONS), {}
    for one in read([event(outputs=[dataset("d.s.t", facets=lineage)])]):
        walk.event(one, runs)
    (state,) = runs.values()
    kept = [slots[JOB_PROPERTIES] for slots in unpacked(packed(state)).cells.values() if JOB_PROPERTIES in slots]
    said = [value.text for one in kept for _, value in one.values() if isinstance(value, Joined)]
    assert said == ['{"d.s.t.a":{},"d.s.t.b":{"ns/app.other":""}}']


def test_pairs_that_were_sound_are_read_back_as_plain_ones():
    """They were found sound by who built them; whoever reads bytes has to look again."""
    pairs = SoundPairs({("DIRECT:IDENTITY", "down", "up")})
    found = unpacked(packed(pairs))
    assert (type(found), found) == (frozenset, pairs)
