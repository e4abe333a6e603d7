from __future__ import annotations

import subprocess
import sys

import pytest
from support.sink_contract import CASES

from dh_bridge.errors import SettingsError
from dh_bridge.sinks.base import SINK_KINDS, SinkOptions, open_sink, strip_credentials


def test_every_scheme_has_a_case_in_the_contract(tmp_path):
    ready = [case for case in CASES if not case.needs]
    schemes = {case.target(tmp_path).partition(":")[0] for case in ready} | {case.name for case in CASES if case.needs}
    assert schemes == set(SINK_KINDS)


@pytest.mark.parametrize("target", ["", "memory", "postgres:x", "/tmp/out.json", ":x"])  # noqa: S108 - a name only
def test_unknown_target_error_lists_the_persistent_kinds(target):
    with pytest.raises(SettingsError) as caught:
        open_sink(target)
    offered = str(caught.value).partition("use one of ")[2].partition(";")[0].rstrip(")").split(", ")
    assert offered == [f"{scheme}:" for scheme, kind in SINK_KINDS.items() if kind.is_persistent]


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("http://gms:8080", "rest:http://gms:8080"),
        ("HTTPS://gms", "rest:HTTPS://gms"),
        ("out/shop.db", "catalog:out/shop.db"),
        ("p.ndjson", "file:p.ndjson"),
        ("/out.json", "file:/out.json"),
        ("rest", "rest:"),
        ("memory", "memory:"),
        ("catalog.db", "catalog:catalog.db"),
        ("catalgo:shop.db", "catalog:shop.db"),
        ("Rest:http://gms:8080", "rest:http://gms:8080"),
        ("REST:http://gms:8080", "rest:http://gms:8080"),
    ],
)
def test_target_with_a_wrong_scheme_suggests_the_right_one(target, meant):
    with pytest.raises(SettingsError, match=f"did you mean {meant}[?]"):
        open_sink(target)


@pytest.mark.parametrize("target", ["s3://bucket/p.ndjson", "sqlite:///shop.db"])
def test_place_on_another_machine_is_no_file(target):
    with pytest.raises(SettingsError) as caught:
        open_sink(target)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("target", "file_format", "reason"),
    [
        ("memory:x", None, "neither"),
        ("memory:", "json", "neither"),
        ("catalog:", None, "requires a file"),
        ("catalog:x.db", "json", "not supported by catalog:"),
        ("file:", None, "requires a path"),
        ("file:out.txt", None, "cannot infer the format"),
        ("file:out.json", "xml", "unknown file format"),
    ],
)
def test_unsupported_sink_option_is_refused(target, file_format, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=reason):
        open_sink(target, SinkOptions(file_format=file_format))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("file:a?b#c@d", "file:a?b#c@d"),
        ("kafka:h:9092", "kafka:h:9092"),
        ("rest:http://h:1/gms", "rest:http://h:1/gms"),
        ("rest:http://me:pw@h:1/gms?token=x#y", "rest:http://h:1/gms"),
        ("http://me:p/w@h", "http://…"),
        ("http://h?token=p@w", "http://…"),
    ],
)
def test_target_is_shown_without_its_secrets(target, text):
    assert strip_credentials(target) == text


def test_unknown_target_is_refused_without_its_secrets():
    with pytest.raises(SettingsError) as caught:
        open_sink("https://me:hunter2@h?token=hunter2")
    assert "hunter2" not in str(caught.value)


def test_naming_sinks_loads_none_of_them():
    code = "import sys, dh_bridge.sinks.base; print([m for m in sys.modules if m.startswith('dh_bridge.sinks.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['dh_bridge.sinks.base']"
