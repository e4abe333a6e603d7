"""The sheets are loaded once, the user's shadow ours, and a broken one is refused at the start."""

from __future__ import annotations

import pytest

from dh_bridge import Bridge, Settings
from dh_bridge.errors import MappingError
from dh_bridge.naming import Naming
from dh_bridge.naming.models import parse_system
from dh_bridge.settings.naming import NamingSettings

SHEET = """\
system: House store
platform: house
registered: false
namespaces:
- {pattern: 'house://{host}', form: lenient}
names:
- {level: table, pattern: '{room}.{*table}'}
dataset: '{room}.{table}'
case: keep
containers: []
fqn: not_listed
joins: nothing_to_join
verified: none
evidence: ours
examples:
- {namespace: house://h, name: kitchen.pots, level: table, form: lenient, urn: 'urn:li:dataset:(urn:li:dataPlatform:house,kitchen.pots,PROD)', fqn: null}
"""


@pytest.fixture
def overlay(tmp_path):
    (tmp_path / "naming").mkdir()
    return tmp_path


def test_new_system_is_one_file(overlay):
    (overlay / "naming" / "house.yaml").write_text(SHEET)
    named = Naming(NamingSettings(), overlay)("house://h", "kitchen.pots")
    assert named.urn == "urn:li:dataset:(urn:li:dataPlatform:house,kitchen.pots,PROD)"
    assert named.rule == "house: house://{host} + {room}.{*table}"


def test_file_of_the_user_shadows_ours(overlay):
    (overlay / "naming" / "kafka.yaml").write_text(SHEET.replace("house://{host}", "kafka://{host}"))
    assert Naming(NamingSettings(), overlay)("kafka://h", "a.b").platform == "house"
    assert Naming(NamingSettings())("kafka://h", "a.b").platform == "kafka"


BROKEN = [
    ("[]", "expected the keys of a naming system"),
    ("a: [", "x.yaml"),
    (SHEET.replace("case: keep", "case: title"), r"title.*\$\.case"),
    (SHEET.replace("joins:", "jions:"), "jions|joins"),
    (SHEET.replace("registered: false\n", ""), "registered"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_invalid_mapping_is_refused_with_its_location(text, message):
    with pytest.raises(MappingError, match=message) as error:
        parse_system(text, "x", "x.yaml")
    assert error.value.location == "x.yaml"


@pytest.mark.parametrize("folder", ["naming", "producers"])
@pytest.mark.parametrize("broken", ["folder", "latin-1"])
def test_file_that_cannot_be_read_is_refused_by_name(tmp_path, folder, broken):
    file = tmp_path / folder / "house.yaml"
    file.parent.mkdir()
    if broken == "folder":
        file.mkdir()
    else:
        file.write_bytes("title: Küche".encode("latin-1"))
    with pytest.raises(MappingError, match="cannot read the file") as error:
        Bridge(Settings(mappings=tmp_path))
    assert error.value.location == str(file)


def test_broken_pattern_is_refused_at_the_start(overlay):
    (overlay / "naming" / "house.yaml").write_text(SHEET.replace("house://{host}", "house://{host"))
    with pytest.raises(MappingError, match=r"house\.yaml"):
        Naming(NamingSettings(), overlay)


def test_examples_are_not_read_at_run_time():
    assert parse_system(SHEET + "- {broken", "x", "x.yaml").platform == "house"


def test_answer_is_made_once():
    naming = Naming(NamingSettings())
    assert naming("kafka://b", "t") is naming("kafka://b", "t")
    assert naming("kafka://b", "t", select="delta") is not naming("kafka://b", "t")


def test_cache_size_is_bounded(monkeypatch):
    monkeypatch.setattr("dh_bridge.naming.naming._MAX_CACHED_NAMES", 4)
    monkeypatch.setattr("dh_bridge.naming.naming._MAX_CACHED_NAMESPACES", 4)
    monkeypatch.setattr("dh_bridge.naming.containers._MAX_CACHED_NAMES", 4)
    naming = Naming(NamingSettings())
    first = naming("s3://b0", "a/x")
    for index in range(40):
        naming(f"s3://b{index}", f"{index}/x")
    assert len(naming._young) <= 4
    assert len(naming._old) <= 4
    assert len(naming._parsed_namespaces) <= 4
    assert naming("s3://b0", "a/x") == first
